// The rows that a kernel reads are those of the batch, one behind the other.
const RESULT = 3; // binding of what the kernel writes

// Where the first row stands in the buffer of the inputs, in vec4s.
fn samples_start() -> u32 {
    return member_start(1u);
}

fn sample(row: u32) -> u32 {
    return row;
}
