// Number of this workgroup: grids of more than 65,535 are folded into y.
fn team(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}
