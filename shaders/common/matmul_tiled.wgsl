// The matmul body for real GPUs: C = A*B in 4x4 blocks, tiles of A and B shared through workgroup memory.
// A workgroup owns THREADS_Y x THREADS_X blocks of C, a thread one of them; the inner dimension is walked by
// TILE_K blocks. Loads outside give 0, so every thread reaches every barrier.
//#include matmul_operands
override THREADS_X: u32 = 8u;
override THREADS_Y: u32 = 8u;
override TILE_K: u32 = 4u;

var<workgroup> a_tile: array<mat4x4<f32>, THREADS_Y * TILE_K>;
var<workgroup> b_tile: array<mat4x4<f32>, TILE_K * THREADS_X>;

// `inner` is the inner dimension in blocks; it must be the same for the whole workgroup.
fn multiply(group: vec3<u32>, thread: vec3<u32>, inner: u32) {
    let m0 = group.y * THREADS_Y;
    let n0 = group.x * THREADS_X;
    let local = thread.y * THREADS_X + thread.x;
    var c = mat4x4<f32>();
    for (var k0 = 0u; k0 < inner; k0 += TILE_K) {
        for (var i = local; i < THREADS_Y * TILE_K; i += THREADS_X * THREADS_Y) {
            a_tile[i] = a_block(m0 + i / TILE_K, k0 + i % TILE_K);
        }
        for (var i = local; i < TILE_K * THREADS_X; i += THREADS_X * THREADS_Y) {
            b_tile[i] = b_block(k0 + i / THREADS_X, n0 + i % THREADS_X);
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE_K; k += 1u) {
            c += b_tile[k * THREADS_X + thread.x] * a_tile[thread.y * TILE_K + k];
        }
        workgroupBarrier();
    }
    store_block(m0 + thread.y, n0 + thread.x, c);
}
