// Products of 4x4 blocks, whose columns are rows of the matrices, by ordered fma: 64 operations; `c + b * a` takes 80.

// c + b*a, in the order of the inner dimension: a row of C.
fn added(c: vec4<f32>, b: mat4x4<f32>, a: vec4<f32>) -> vec4<f32> {
    return fma(b[3], a.wwww, fma(b[2], a.zzzz, fma(b[1], a.yyyy, fma(b[0], a.xxxx, c))));
}

// The same for four rows.
fn added_block(c: mat4x4<f32>, b: mat4x4<f32>, a: mat4x4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(added(c[0], b, a[0]), added(c[1], b, a[1]), added(c[2], b, a[2]), added(c[3], b, a[3]));
}
