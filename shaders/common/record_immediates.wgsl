// The record of this step as immediates, part of the commands.
var<immediate> record: StepRecord;
