// One thread per element, workgroups of two dimensions: tiles of a matrix, numbered row by row.
//#include team
override WORKGROUP: u32 = 8u;
override WORKGROUP_Y: u32 = 8u;

// Row and column of this thread's element; there is none if one of them is outside.
fn place(group: vec3<u32>, groups: vec3<u32>, thread: vec3<u32>, columns: u32) -> vec2<u32> {
    let tiles = (columns + WORKGROUP - 1u) / WORKGROUP;
    let tile = team(group, groups);
    return vec2<u32>((tile / tiles) * WORKGROUP_Y + thread.y, (tile % tiles) * WORKGROUP + thread.x);
}
