// LANES threads share a row, ROWS rows per workgroup.
//#include item_f32
//#include tree

// Reduces over the LANES threads of one row.
fn reduce_row(operation: u32, thread: vec3<u32>, value: f32) -> f32 {
    return tree(operation, thread.y * LANES, thread.x, LANES, value);
}

// Reduces over the whole workgroup.
fn reduce_all(operation: u32, thread: vec3<u32>, value: f32) -> f32 {
    return tree(operation, 0u, thread.y * LANES + thread.x, LANES * ROWS, value);
}
