// Rows that a kernel reads are the rows of the batch, in sequence.
const RESULT = 3; // binding of the kernel's output

// Start of the first row in the buffer of the inputs, in vec4s.
fn samples_start() -> u32 {
    return member_start(1u);
}

fn sample(row: u32) -> u32 {
    return row;
}
