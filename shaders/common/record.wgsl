//#include record_carrier
// Numbers that change from step to step: the rows, and the optimizer's numbers (src/step/record.rs). The last batch of an epoch
// may have fewer rows than the others.
struct StepRecord {
    first: u32,       // position of the first row in the epoch's order
    rows: u32,        // live rows; kernels neither read nor write beyond them
    slot: u32,        // slot of the step's metrics
    output: u32,      // position of the first prediction
    next_rows: u32,   // rows of the batch after this one in the order, if it comes next in the same submission; else 0;
                      // for several networks, the number of the record's network
    step: u32,        // number of the step, from 0
    rate: f32,        // learning rate
    decay: f32,       // weight decay
    beta1: f32,       // momentum, or the decay of the mean of gradients
    beta2: f32,       // decay of the mean of squared gradients
    epsilon: f32,     // addend that keeps a denominator above 0
    correction1: f32, // 1 / (1 - beta1^t)
    correction2: f32, // 1 / sqrt(1 - beta2^t)
    clip: f32,        // largest norm of all gradients together; 0 for no limit
    seed: vec2<u32>,  // of dropout
}
