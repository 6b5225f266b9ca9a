// The record of this step as one of many in a uniform buffer, bound at its offset.
@group(1) @binding(0) var<uniform> record: StepRecord;
