// One thread an element, workgroups of one dimension: the elements of all rows are counted through.
//#include elementwise
const WORKGROUP_Y = 1u;

// Row and column of this thread's element; there is none when the row lies outside.
fn place(group: vec3<u32>, groups: vec3<u32>, thread: vec3<u32>, columns: u32) -> vec2<u32> {
    let i = element(group, groups, thread.x);
    return vec2<u32>(i / columns, i % columns);
}
