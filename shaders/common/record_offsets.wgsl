// The record of this step as one of many in a uniform buffer, bound at its offset.
@group(1) @binding(0) var<uniform> record: StepRecord;

// Live rows of the networks of a z of the grid.
fn batch_rows(z: u32) -> u32 {
    return record.rows;
}
