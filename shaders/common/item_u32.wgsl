// Items of u32 reductions. Sums wrap around at 2^32.
//#include operations
alias Item = u32;

fn merge(operation: u32, a: u32, b: u32) -> u32 {
    if operation == SUM {
        return a + b;
    }
    return max(a, b);
}

// Neutral element: 0 of a sum and of a maximum.
fn nothing(operation: u32) -> u32 {
    return 0u;
}
