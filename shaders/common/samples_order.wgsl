// The rows of the batch are rows of the data set, by way of the order.
@group(0) @binding(3) var<storage, read> order: array<u32>;
const RESULT = 4; // binding of what the kernel writes

// Where the first row stands in the data set.
fn samples_start() -> u32 {
    return 0u;
}

// Of a row that is live. An order that names a row which is not there gives the last.
fn sample(row: u32) -> u32 {
    return min(order[record.first + row], params.samples - 1u);
}
