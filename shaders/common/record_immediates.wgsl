// The record of this step as immediates, part of the commands.
var<immediate> record: StepRecord;

// Live rows of the networks of a z of the grid.
fn batch_rows(z: u32) -> u32 {
    return record.rows;
}
