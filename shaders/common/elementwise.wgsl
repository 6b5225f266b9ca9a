// One thread per element.
//#include team
override WORKGROUP: u32 = 64u;

fn element(group: vec3<u32>, groups: vec3<u32>, thread: u32) -> u32 {
    return team(group, groups) * WORKGROUP + thread;
}
