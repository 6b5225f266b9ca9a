// Interface between a kernel and the matmul body: 4x4 blocks from rows. A kernel of C = A*B defines
//   a_place(row)                           start of that row of A as stored; NOWHERE outside
//   a_row(place, block)                    values 4*block.. of the row that begins there; 0 outside
//   b_row(row, block)                      values 4*block.. of that row of B as stored; 0 outside
//   c_has(row, block)                      whether C has values 4*block.. of that row
//   Before, before(row, block)             operands of store_row other than the product, loaded earlier by the same thread;
//                                          for a row outside C, the operands of the last row
//   store_row(row, block, values, before)  values 4*block.. of that row of C, which has it
//   TRANSPOSE_A, TRANSPOSE_B               whether A is stored as A', B as B': constants, or private variables if a
//                                          kernel computes more than one product
// A block is a mat4x4 whose columns are rows of the matrix, so that C = A*B reads c += b * a.
// Loads have no branch: outside they read an existing place and discard the value. A branch around each load would serialize
// the loads.

// No place: larger than any index, since buffers are smaller.
const NOWHERE = 0xffffffffu;

fn a_rows(row: u32, block: u32) -> mat4x4<f32> {
    return mat4x4<f32>(
        a_row(a_place(row), block),
        a_row(a_place(row + 1u), block),
        a_row(a_place(row + 2u), block),
        a_row(a_place(row + 3u), block),
    );
}

fn b_rows(row: u32, block: u32) -> mat4x4<f32> {
    return mat4x4<f32>(b_row(row, block), b_row(row + 1u, block), b_row(row + 2u, block), b_row(row + 3u, block));
}

// Rows 4m..4m+3 of A, each with its values 4k..4k+3.
fn a_block(m: u32, k: u32) -> mat4x4<f32> {
    if TRANSPOSE_A {
        return transpose(a_rows(4u * k, m));
    }
    return a_rows(4u * m, k);
}

// Rows 4k..4k+3 of B, each with its values 4n..4n+3.
fn b_block(k: u32, n: u32) -> mat4x4<f32> {
    if TRANSPOSE_B {
        return transpose(b_rows(4u * n, k));
    }
    return b_rows(4u * k, n);
}

// All loads of a block come before its stores.
fn store_block(m: u32, n: u32, c: mat4x4<f32>) {
    let row = 4u * m;
    if c_has(row, n) {
        let before0 = before(row, n);
        let before1 = before(row + 1u, n);
        let before2 = before(row + 2u, n);
        let before3 = before(row + 3u, n);
        store_row(row, n, c[0], before0);
        if c_has(row + 1u, n) {
            store_row(row + 1u, n, c[1], before1);
        }
        if c_has(row + 2u, n) {
            store_row(row + 2u, n, c[2], before2);
        }
        if c_has(row + 3u, n) {
            store_row(row + 3u, n, c[3], before3);
        }
    }
}
