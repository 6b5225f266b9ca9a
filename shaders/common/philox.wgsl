// Philox4x32-10, as in src/random.rs: four uniform words for each counter and key.

// The 64 bits of a b: high word, low word. WGSL has no such product, so it is computed from four products of 16-bit halves.
fn wide_product(a: u32, b: u32) -> vec2<u32> {
    let a_low = a & 0xffffu;
    let a_high = a >> 16u;
    let b_low = b & 0xffffu;
    let b_high = b >> 16u;
    let low = a_low * b_low;
    let cross = a_high * b_low + (low >> 16u);
    let middle = a_low * b_high + (cross & 0xffffu);
    return vec2<u32>(a_high * b_high + (cross >> 16u) + (middle >> 16u), a * b);
}

fn philox(start: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
    var counter = start;
    var key = seed;
    for (var round = 0u; round < 10u; round += 1u) {
        let even = wide_product(0xd2511f53u, counter.x);
        let odd = wide_product(0xcd9e8d57u, counter.z);
        counter = vec4<u32>(odd.x ^ counter.y ^ key.x, odd.y, even.x ^ counter.w ^ key.y, even.y);
        key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}
