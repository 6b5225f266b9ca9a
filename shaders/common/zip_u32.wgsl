// Operations of zip on two vec4s of u32. Sums and products wrap around at 2^32; a / 0 is a; comparisons give 1 or 0.
alias Four = vec4<u32>;

fn apply(operation: u32, a: Four, b: Four) -> Four {
    switch operation {
        case 0u: { return a + b; }
        case 1u: { return a - b; }
        case 2u: { return a * b; }
        case 3u: { return a / max(b, Four(1u)); }
        case 4u: { return max(a, b); }
        case 5u: { return select(Four(), Four(1u), a == b); }
        default: { return select(Four(), Four(1u), a != b); }
    }
}
