// The records of the steps of a dispatch; one without rows ends them.
const MOST_RECORDS = 256u;
struct StepRecords {
    steps: array<StepRecord, MOST_RECORDS>,
}
@group(1) @binding(0) var<uniform> records: StepRecords;
var<private> record: StepRecord; // of this step

// Rows that are live, of the networks that belong to a z of the grid.
fn batch_rows(z: u32) -> u32 {
    return records.steps[z].rows;
}
