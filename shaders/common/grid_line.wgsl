// One thread per element, workgroups of one dimension: the elements of all rows are numbered consecutively.
//#include elementwise
const WORKGROUP_Y = 1u;

// Row and column of this thread's element; there is none if the row is outside.
fn place(group: vec3<u32>, groups: vec3<u32>, thread: vec3<u32>, columns: u32) -> vec2<u32> {
    let i = element(group, groups, thread.x);
    return vec2<u32>(i / columns, i % columns);
}
