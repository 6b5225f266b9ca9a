// Matrices are stored row by row as vec4s: a row of n values takes blocks(n) vec4s, and the rest of the last one is 0.

// Number of vec4s for n values.
fn blocks(n: u32) -> u32 {
    return (n + 3u) / 4u;
}

// Returns `values` as columns 4*block .. 4*block + 3 of a matrix: values at or beyond `columns` become 0.
fn inside(values: vec4<f32>, block: u32, columns: u32) -> vec4<f32> {
    let column = vec4<u32>(4u * block) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(), values, column < vec4<u32>(columns));
}
