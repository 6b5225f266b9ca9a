// The batch of this step as immediates, part of the commands.
var<immediate> batch: Batch;
