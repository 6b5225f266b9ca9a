// The matmul body for software adapters with subgroups of 8, where loads are dear (each is a loop over the lanes) and
// arithmetic is nearly free: the subgroup loads 8 rows of A at once, a row a lane, and hands them round by broadcast.
// A workgroup is one subgroup and owns 32 rows x 8 blocks of C = A*B; a lane owns one block of columns.
//#include matmul_operands
override THREADS_X: u32 = 8u;
override THREADS_Y: u32 = 1u;

// Rows 4m..4m+7 of A with their values 4k..4k+3, divided between the lanes: a row a lane; of A', a row of four k's.
fn a_lane(m: u32, k: u32, lane: u32) -> vec4<f32> {
    if TRANSPOSE_A {
        return a_row(4u * k + lane % 4u, m + lane / 4u);
    }
    return a_row(4u * m + lane, k);
}

// c[i] += B' * row i of A for eight rows; the columns of b are rows of B.
fn accumulate(c: ptr<function, array<vec4<f32>, 8>>, b: mat4x4<f32>, a: vec4<f32>) {
    let a0 = subgroupBroadcast(a, 0u);
    let a1 = subgroupBroadcast(a, 1u);
    let a2 = subgroupBroadcast(a, 2u);
    let a3 = subgroupBroadcast(a, 3u);
    let a4 = subgroupBroadcast(a, 4u);
    let a5 = subgroupBroadcast(a, 5u);
    let a6 = subgroupBroadcast(a, 6u);
    let a7 = subgroupBroadcast(a, 7u);
    var upper = mat4x4<f32>(a0, a1, a2, a3);
    var lower = mat4x4<f32>(a4, a5, a6, a7);
    if TRANSPOSE_A {
        upper = transpose(upper);
        lower = transpose(lower);
    }
    (*c)[0] += b * upper[0];
    (*c)[1] += b * upper[1];
    (*c)[2] += b * upper[2];
    (*c)[3] += b * upper[3];
    (*c)[4] += b * lower[0];
    (*c)[5] += b * lower[1];
    (*c)[6] += b * lower[2];
    (*c)[7] += b * lower[3];
}

fn store_rows(m: u32, n: u32, c: array<vec4<f32>, 8>) {
    store_block(m, n, mat4x4<f32>(c[0], c[1], c[2], c[3]));
    store_block(m + 1u, n, mat4x4<f32>(c[4], c[5], c[6], c[7]));
}

// `inner` is the inner dimension in blocks; it must be the same for the whole workgroup.
fn multiply(group: vec3<u32>, thread: vec3<u32>, inner: u32) {
    let m = 8u * group.y;
    let n = 8u * group.x + thread.x;
    var c0: array<vec4<f32>, 8>;
    var c1: array<vec4<f32>, 8>;
    var c2: array<vec4<f32>, 8>;
    var c3: array<vec4<f32>, 8>;
    for (var k = 0u; k < inner; k += 1u) {
        let b = b_block(k, n);
        accumulate(&c0, b, a_lane(m, k, thread.x));
        accumulate(&c1, b, a_lane(m + 2u, k, thread.x));
        accumulate(&c2, b, a_lane(m + 4u, k, thread.x));
        accumulate(&c3, b, a_lane(m + 6u, k, thread.x));
    }
    store_rows(m, n, c0);
    store_rows(m + 2u, n, c1);
    store_rows(m + 4u, n, c2);
    store_rows(m + 6u, n, c3);
}
