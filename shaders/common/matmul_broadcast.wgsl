// The matmul body for software adapters with subgroups of 8: 32 rows x 8 blocks of C = A*B.
//#include matmul_lanes

// `inner` is the inner dimension in blocks; it must be the same for the whole workgroup.
fn multiply(group: vec3<u32>, thread: vec3<u32>, inner: u32) {
    let lane = thread.x;
    let m = 8u * group.y;
    let n = 8u * group.x + lane;
    let rows = row_places(m, lane);
    var c0 = Eight();
    var c1 = Eight();
    var c2 = Eight();
    var c3 = Eight();
    for (var k = 0u; k < inner; k += 1u) {
        let a = a_lane(rows, step_places(k), m, k, lane);
        let b = b_block(k, n);
        accumulate(&c0, b, a[0]);
        accumulate(&c1, b, a[1]);
        accumulate(&c2, b, a[2]);
        accumulate(&c3, b, a[3]);
    }
    store_rows(m, n, c0, c1, c2, c3);
}
