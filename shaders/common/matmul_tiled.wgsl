// The matmul body for real GPUs: C = A*B in 4x4 blocks, tiles of A and B shared through workgroup memory. A workgroup owns DOWN
// x THREADS_X blocks of C, a thread one of them; with DOWN = 2 THREADS_Y, two, THREADS_Y apart. The inner dimension is
// processed in steps of DEPTH = SPLIT TILE_K blocks; of each step a layer of threads (thread.z) takes TILE_K, and their sums
// are finally added in order.
// While a step is multiplied, the tiles of the next are loaded into registers, so that all loads of a step are waited for at
// once. Starts of rows of A (which may be loads, too) are requested one step earlier.
// In workgroup memory each vec4 is next to the corresponding one of the next block, so that adjacent threads read adjacent
// vec4s, and rows are one vec4 longer than the tile, so that adjacent vec4s are also stored in different banks.
//#include matmul_operands
//#include multiply_block
override THREADS_X: u32 = 8u;
override THREADS_Y: u32 = 8u;
override SPLIT: u32 = 1u;
override TILE_K: u32 = 4u;
override DOWN: u32 = 8u;
override TILES: u32 = 576u; // vec4s of the tiles, or of the sums if these are larger

// Tiles of A, [4][DEPTH][DOWN + 1], followed by tiles of B, [4][DEPTH][THREADS_X + 1]; or sums, [SPLIT][4][a block per thread].
var<workgroup> tiles: array<vec4<f32>, TILES>;

fn depth() -> u32 {
    return SPLIT * TILE_K;
}

fn threads() -> u32 {
    return THREADS_X * THREADS_Y * SPLIT;
}

// Number of vec4s of a tile `across` blocks wide that a thread loads: at most four.
fn loads(across: u32) -> u32 {
    return (4u * across * depth() + threads() - 1u) / threads();
}

// Row and block of vec4 `element` in a tile as stored, `across` blocks of C wide; `along`: its rows are along the inner
// dimension.
fn stored_at(element: u32, across: u32, along: bool) -> vec2<u32> {
    let width = select(across, depth(), along);
    return vec2<u32>(element / width, element % width);
}

fn a_element(local: u32, i: u32) -> vec2<u32> {
    return stored_at(local + i * threads(), DOWN, !TRANSPOSE_A);
}

fn b_element(local: u32, i: u32) -> vec2<u32> {
    return stored_at(local + i * threads(), THREADS_X, TRANSPOSE_B);
}

// Starts of the rows of A that the thread loads of the tile at blocks m, k.
fn a_places(m: u32, k: u32, local: u32) -> vec4<u32> {
    let row = 4u * select(m, k, TRANSPOSE_A);
    var places = vec4<u32>(NOWHERE);
    places.x = a_place(row + a_element(local, 0u).x);
    if loads(DOWN) > 1u {
        places.y = a_place(row + a_element(local, 1u).x);
    }
    if loads(DOWN) > 2u {
        places.z = a_place(row + a_element(local, 2u).x);
        places.w = a_place(row + a_element(local, 3u).x);
    }
    return places;
}

fn a_fetched(places: vec4<u32>, m: u32, k: u32, local: u32) -> mat4x4<f32> {
    let block = select(k, m, TRANSPOSE_A);
    var values = mat4x4<f32>();
    values[0] = a_row(places.x, block + a_element(local, 0u).y);
    if loads(DOWN) > 1u {
        values[1] = a_row(places.y, block + a_element(local, 1u).y);
    }
    if loads(DOWN) > 2u {
        values[2] = a_row(places.z, block + a_element(local, 2u).y);
        values[3] = a_row(places.w, block + a_element(local, 3u).y);
    }
    return values;
}

fn b_fetched_one(k: u32, n: u32, element: vec2<u32>) -> vec4<f32> {
    return b_row(4u * select(k, n, TRANSPOSE_B) + element.x, select(n, k, TRANSPOSE_B) + element.y);
}

fn b_fetched(k: u32, n: u32, local: u32) -> mat4x4<f32> {
    var values = mat4x4<f32>();
    values[0] = b_fetched_one(k, n, b_element(local, 0u));
    if loads(THREADS_X) > 1u {
        values[1] = b_fetched_one(k, n, b_element(local, 1u));
    }
    if loads(THREADS_X) > 2u {
        values[2] = b_fetched_one(k, n, b_element(local, 2u));
        values[3] = b_fetched_one(k, n, b_element(local, 3u));
    }
    return values;
}

// Stores the values that a thread has loaded as its number i of a tile that begins at `start`.
fn share(start: u32, across: u32, along: bool, i: u32, local: u32, values: vec4<f32>) {
    let element = local + i * threads();
    let at = stored_at(element, across, along);
    // A row along the inner dimension is one of four of a block of C; one along C is one of four of an inner block.
    let row = at.x % 4u * depth();
    let place = select((row + at.x / 4u) * (across + 1u) + at.y, (row + at.y) * (across + 1u) + at.x / 4u, along);
    if element < 4u * across * depth() {
        tiles[start + place] = values;
    }
}

fn share_all(start: u32, across: u32, along: bool, local: u32, values: mat4x4<f32>) {
    share(start, across, along, 0u, local, values[0]);
    if loads(across) > 1u {
        share(start, across, along, 1u, local, values[1]);
    }
    if loads(across) > 2u {
        share(start, across, along, 2u, local, values[2]);
        share(start, across, along, 3u, local, values[3]);
    }
}

// Returns a block of a tile: its four vec4s are `pitch` apart.
fn shared_block(at: u32, pitch: u32, transposed: bool) -> mat4x4<f32> {
    let block = mat4x4<f32>(tiles[at], tiles[at + pitch], tiles[at + 2u * pitch], tiles[at + 3u * pitch]);
    if transposed {
        return transpose(block);
    }
    return block;
}

// `inner` is the inner dimension in blocks; it must be the same for the whole workgroup.
fn multiply(group: vec3<u32>, thread: vec3<u32>, inner: u32) {
    let m0 = group.y * DOWN;
    let n0 = group.x * THREADS_X;
    let owner = thread.y * THREADS_X + thread.x;
    let local = thread.z * (THREADS_X * THREADS_Y) + owner;
    let a_pitch = depth() * (DOWN + 1u);
    let b_pitch = depth() * (THREADS_X + 1u);
    let b_start = 4u * a_pitch;
    var places = vec4<u32>();
    var a = mat4x4<f32>();
    var b = mat4x4<f32>();
    if inner > 0u {
        places = a_places(m0, 0u, local);
        a = a_fetched(places, m0, 0u, local);
        b = b_fetched(0u, n0, local);
        if TRANSPOSE_A {
            places = a_places(m0, depth(), local);
        }
    }
    // Operands of the rows that this thread stores, including rows for a split inner dimension.
    let row = 4u * (m0 + thread.y) + thread.z;
    let n = n0 + thread.x;
    var before0 = Before();
    var before1 = Before();
    if SPLIT > 1u {
        if c_has(row, n) {
            before0 = before(row, n);
        }
        if SPLIT == 2u && c_has(row + 2u, n) {
            before1 = before(row + 2u, n);
        }
    }
    var c = mat4x4<f32>();
    var lower = mat4x4<f32>();
    for (var k0 = 0u; k0 < inner; k0 += depth()) {
        workgroupBarrier();
        share_all(0u, DOWN, !TRANSPOSE_A, local, a);
        share_all(b_start, THREADS_X, TRANSPOSE_B, local, b);
        workgroupBarrier();
        let next = k0 + depth();
        if next < inner {
            a = a_fetched(places, m0, next, local);
            b = b_fetched(next, n0, local);
            if TRANSPOSE_A {
                places = a_places(m0, next + depth(), local);
            }
        }
        for (var i = 0u; i < TILE_K; i += 1u) {
            let k = thread.z * TILE_K + i;
            let b_tile = shared_block(b_start + k * (THREADS_X + 1u) + thread.x, b_pitch, TRANSPOSE_B);
            let a_at = k * (DOWN + 1u) + thread.y;
            c = added_block(c, b_tile, shared_block(a_at, a_pitch, TRANSPOSE_A));
            if DOWN > THREADS_Y {
                lower = added_block(lower, b_tile, shared_block(a_at + THREADS_Y, a_pitch, TRANSPOSE_A));
            }
        }
    }
    if SPLIT > 1u {
        store_sums(m0 + thread.y, n, owner, thread.z, c, before0, before1);
    } else {
        store_block(m0 + thread.y, n, c);
        if DOWN > THREADS_Y {
            store_block(m0 + THREADS_Y + thread.y, n, lower);
        }
    }
}

// Adds up the sums of the layers of threads for block m, n, and stores them: layer z the rows z, z + SPLIT, ...
fn store_sums(m: u32, n: u32, owner: u32, z: u32, c: mat4x4<f32>, before0: Before, before1: Before) {
    let pitch = THREADS_X * THREADS_Y;
    let own = 4u * z * pitch + owner;
    workgroupBarrier();
    tiles[own] = c[0];
    tiles[own + pitch] = c[1];
    tiles[own + 2u * pitch] = c[2];
    tiles[own + 3u * pitch] = c[3];
    workgroupBarrier();
    for (var i = z; i < 4u; i += SPLIT) {
        let row = 4u * m + i;
        if c_has(row, n) {
            var sum = tiles[i * pitch + owner];
            for (var layer_of_threads = 1u; layer_of_threads < SPLIT; layer_of_threads += 1u) {
                sum += tiles[(4u * layer_of_threads + i) * pitch + owner];
            }
            if i == z {
                store_row(row, n, sum, before0);
            } else {
                store_row(row, n, sum, before1);
            }
        }
    }
}
