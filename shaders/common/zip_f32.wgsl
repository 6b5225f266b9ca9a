// Operations of zip on two vec4s of f32. A maximum over NaN is NaN.
//#include nan
alias Four = vec4<f32>;

fn apply(operation: u32, a: Four, b: Four) -> Four {
    switch operation {
        case 0u: { return a + b; }
        case 1u: { return a - b; }
        case 2u: { return a * b; }
        case 3u: { return a / b; }
        default: {
            return Four(maximum(a.x, b.x), maximum(a.y, b.y), maximum(a.z, b.z), maximum(a.w, b.w));
        }
    }
}
