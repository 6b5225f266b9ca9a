// One thread an element; grids of more than 65,535 workgroups are folded into y.
override WORKGROUP: u32 = 64u;

fn element(group: vec3<u32>, groups: vec3<u32>, thread: u32) -> u32 {
    return (group.y * groups.x + group.x) * WORKGROUP + thread;
}
