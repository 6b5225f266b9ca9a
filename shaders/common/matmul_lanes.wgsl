// Common parts of the matmul bodies for software adapters with subgroups of 8. Loads are expensive there (each is a loop over
// the lanes, for each component) and arithmetic is nearly free, so the lanes load different rows of A and exchange them by
// broadcast. A workgroup is one subgroup; a lane owns one block of columns. 32 rows of C are four times eight: of each eight a
// lane holds the row of A given by `c_row`.
//#include matmul_operands
override THREADS_X: u32 = 8u;
override THREADS_Y: u32 = 1u;
override SPLIT: u32 = 1u;

// Returns the one of 32 rows that belongs to a lane in one of the four eights. Adjacent elements of a row of A' are rows of C.
fn c_row(eight: u32, lane: u32) -> u32 {
    return select(8u * eight + lane, 4u * lane + eight, TRANSPOSE_A);
}

// Start of the lane's rows of A, of the 32 from 4m on; for A' see step_places.
fn row_places(m: u32, lane: u32) -> vec4<u32> {
    if TRANSPOSE_A {
        return vec4<u32>(NOWHERE);
    }
    let row = 4u * m + lane;
    return vec4<u32>(a_place(row), a_place(row + 8u), a_place(row + 16u), a_place(row + 24u));
}

// Start of the rows 4k..4k+3 of A' as stored.
fn step_places(k: u32) -> vec4<u32> {
    if TRANSPOSE_A {
        let row = 4u * k;
        return vec4<u32>(a_place(row), a_place(row + 1u), a_place(row + 2u), a_place(row + 3u));
    }
    return vec4<u32>(NOWHERE);
}

// Returns the lane's values for 32 rows from 4m on: of each eight its row with the steps 4k..4k+3.
fn a_lane(rows: vec4<u32>, steps: vec4<u32>, m: u32, k: u32, lane: u32) -> mat4x4<f32> {
    if TRANSPOSE_A {
        let block = m + lane;
        return transpose(mat4x4<f32>(
            a_row(steps.x, block),
            a_row(steps.y, block),
            a_row(steps.z, block),
            a_row(steps.w, block),
        ));
    }
    return mat4x4<f32>(a_row(rows.x, k), a_row(rows.y, k), a_row(rows.z, k), a_row(rows.w, k));
}

alias Eight = array<vec4<f32>, 8>;

// Adds the products of the lanes' values with four rows of B to eight rows.
fn accumulate(c: ptr<function, Eight>, b: mat4x4<f32>, a: vec4<f32>) {
    (*c)[0] += b * subgroupBroadcast(a, 0u);
    (*c)[1] += b * subgroupBroadcast(a, 1u);
    (*c)[2] += b * subgroupBroadcast(a, 2u);
    (*c)[3] += b * subgroupBroadcast(a, 3u);
    (*c)[4] += b * subgroupBroadcast(a, 4u);
    (*c)[5] += b * subgroupBroadcast(a, 5u);
    (*c)[6] += b * subgroupBroadcast(a, 6u);
    (*c)[7] += b * subgroupBroadcast(a, 7u);
}

// Returns c[i]: an index that is not constant would put the array into memory.
fn one_of(c: Eight, i: u32) -> vec4<f32> {
    let low = select(select(select(c[3], c[2], i == 2u), c[1], i == 1u), c[0], i == 0u);
    let high = select(select(select(c[7], c[6], i == 6u), c[5], i == 5u), c[4], i == 4u);
    return select(high, low, i < 4u);
}

fn store_eighth(row: u32, n: u32, values: vec4<f32>) {
    if c_has(row, n) {
        store_row(row, n, values, before(row, n));
    }
}

// Stores the 32 rows from 4m on. Stores are not unrolled, since their code would compile slowly.
fn store_rows(m: u32, n: u32, c0: Eight, c1: Eight, c2: Eight, c3: Eight) {
    let row = 4u * m;
    for (var i = 0u; i < 8u; i += 1u) {
        store_eighth(row + c_row(0u, i), n, one_of(c0, i));
        store_eighth(row + c_row(1u, i), n, one_of(c1, i));
        store_eighth(row + c_row(2u, i), n, one_of(c2, i));
        store_eighth(row + c_row(3u, i), n, one_of(c3, i));
    }
}
