// NaN and infinity by their bits: drivers may assume that neither occurs in comparisons, but they do not change integer tests
// (WGSL guarantees nothing about either).

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

// The larger of two, NaN if one is NaN.
fn maximum(a: f32, b: f32) -> f32 {
    return select(select(max(a, b), b, is_nan(b)), a, is_nan(a));
}

// -infinity; through a variable, since WGSL has no such constant.
fn lowest() -> f32 {
    var bits = 0xff800000u;
    return bitcast<f32>(bits);
}

// Whether both are the same number, or both NaN.
fn same(a: f32, b: f32) -> bool {
    return a == b || (is_nan(a) && is_nan(b));
}
