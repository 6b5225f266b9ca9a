// The matmul body for software adapters, where barriers are expensive and registers cheap: no workgroup memory, a thread owns 2
// x 2 blocks (8 x 8 values) of C = A*B and iterates over the whole inner dimension.
//#include matmul_operands
override THREADS_X: u32 = 8u;
override THREADS_Y: u32 = 1u;
override SPLIT: u32 = 1u;

// `inner` is the inner dimension in blocks.
fn multiply(group: vec3<u32>, thread: vec3<u32>, inner: u32) {
    let m = 2u * (group.y * THREADS_Y + thread.y);
    let n = 2u * (group.x * THREADS_X + thread.x);
    var c00 = mat4x4<f32>();
    var c01 = mat4x4<f32>();
    var c10 = mat4x4<f32>();
    var c11 = mat4x4<f32>();
    for (var k = 0u; k < inner; k += 1u) {
        let a0 = a_block(m, k);
        let a1 = a_block(m + 1u, k);
        let b0 = b_block(k, n);
        let b1 = b_block(k, n + 1u);
        c00 += b0 * a0;
        c01 += b1 * a0;
        c10 += b0 * a1;
        c11 += b1 * a1;
    }
    store_block(m, n, c00);
    store_block(m, n + 1u, c01);
    store_block(m + 1u, n, c10);
    store_block(m + 1u, n + 1u, c11);
}
