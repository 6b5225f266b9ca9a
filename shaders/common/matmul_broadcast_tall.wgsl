// Like matmul_broadcast with 64 rows x 8 blocks of C = A*B, and half the loads of B per multiply-add: for products with more
// than 32 rows.
//#include matmul_lanes

// `inner` is the inner dimension in blocks; it must be the same for the whole workgroup.
fn multiply(group: vec3<u32>, thread: vec3<u32>, inner: u32) {
    let lane = thread.x;
    let m = 16u * group.y;
    let n = 8u * group.x + lane;
    let upper_rows = row_places(m, lane);
    let lower_rows = row_places(m + 8u, lane);
    var c0 = Eight();
    var c1 = Eight();
    var c2 = Eight();
    var c3 = Eight();
    var c4 = Eight();
    var c5 = Eight();
    var c6 = Eight();
    var c7 = Eight();
    for (var k = 0u; k < inner; k += 1u) {
        let steps = step_places(k);
        let upper = a_lane(upper_rows, steps, m, k, lane);
        let lower = a_lane(lower_rows, steps, m + 8u, k, lane);
        let b = b_block(k, n);
        accumulate(&c0, b, upper[0]);
        accumulate(&c1, b, upper[1]);
        accumulate(&c2, b, upper[2]);
        accumulate(&c3, b, upper[3]);
        accumulate(&c4, b, lower[0]);
        accumulate(&c5, b, lower[1]);
        accumulate(&c6, b, lower[2]);
        accumulate(&c7, b, lower[3]);
    }
    store_rows(m, n, c0, c1, c2, c3);
    store_rows(m + 8u, n, c4, c5, c6, c7);
}
