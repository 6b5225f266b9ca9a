// The record of this step as one of many in a uniform buffer, bound at its offset.
@group(1) @binding(0) var<uniform> record: StepRecord;

// Rows that are live, of the networks that belong to a z of the grid.
fn batch_rows(z: u32) -> u32 {
    return record.rows;
}
