// Items of f32 reductions. A maximum over NaN is NaN.
//#include operations
//#include nan
alias Item = f32;

fn merge(operation: u32, a: f32, b: f32) -> f32 {
    if operation == SUM {
        return a + b;
    }
    return maximum(a, b);
}

// Neutral element: 0 of a sum, -infinity of a maximum.
fn nothing(operation: u32) -> f32 {
    return select(0.0, lowest(), operation == MAXIMUM);
}
