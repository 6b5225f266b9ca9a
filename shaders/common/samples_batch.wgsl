// The rows that a kernel reads are those of the batch, one behind the other.
const RESULT = 3; // binding of what the kernel writes

fn sample(row: u32) -> u32 {
    return row;
}
