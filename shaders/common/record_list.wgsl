// The records of the steps of a dispatch; one without rows ends them.
const MOST_RECORDS = 256u;
struct StepRecords {
    steps: array<StepRecord, MOST_RECORDS>,
}
@group(1) @binding(0) var<uniform> records: StepRecords;
var<private> record: StepRecord; // of this step
