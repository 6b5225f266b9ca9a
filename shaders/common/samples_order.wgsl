// The rows of the batch are rows of the data set, by way of the order.
// In bounds: the host writes the order and makes sure that it names rows which are there (GpuEngine::train), or the
// device makes it: order_keys gives the rows themselves, and radix_sort only moves them.
@group(0) @binding(3) var<storage, read> order: array<u32>;
const RESULT = 4; // binding of what the kernel writes

// Of a row that is live.
fn sample(row: u32) -> u32 {
    return order[record.first + row];
}
