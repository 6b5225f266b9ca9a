// Records of the steps of a dispatch; a record without rows ends them.
const MOST_RECORDS = 256u;
struct StepRecords {
    steps: array<StepRecord, MOST_RECORDS>,
}
@group(1) @binding(0) var<uniform> records: StepRecords;
var<private> record: StepRecord; // of this step

// Live rows of the networks of a z of the grid.
fn batch_rows(z: u32) -> u32 {
    return records.steps[z].rows;
}
