// Rows of the batch are read from the data set, by the order.
@group(0) @binding(3) var<storage, read> order: array<u32>;
const RESULT = 4; // binding of the kernel's output

// Start of the first row in the data set.
fn samples_start() -> u32 {
    return 0u;
}

// Returns the number of a live row. A number in the order that is too large means the last row.
fn sample(row: u32) -> u32 {
    return min(order[record.first + row], params.samples - 1u);
}
