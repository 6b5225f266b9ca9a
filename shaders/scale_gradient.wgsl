// scale_gradient: ds[j] = sum over the rows of E[r, j] dX[r, j]; stored, or applied at once to s by the optimizer
// E (after X) and dX [rows, inputs], f32 in rows of vec4s; s [inputs] among the parameters
// A thread owns one vec4 of s and processes the batch in order; the padding of ds is written as 0.
//#include blocks
//#include record
//#include elementwise
//#include member
struct Params {
    inputs: u32,
    kept: u32,        // distance from X to E, in vec4s
    offset: u32,      // of ds, or s, in `result`, in vec4s
    state: u32,       // distance from a parameter to its optimizer state, in vec4s
    region: u32,      // distance from the first to the second number of state
    rate: f32,        // factor of the learning rate
    bias_decay: f32,  // factor of the weight decay
    unused: u32,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> dx: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<f32>>;
//#include parameter

@compute @workgroup_size(WORKGROUP)
fn scale_gradient(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    begin_member(group);
    let i = element(group, groups, thread);
    let width = blocks(params.inputs);
    if i < width {
        let place = member_start(3u) + params.offset + i;
        let old = load_parameter(place);
        var sum = vec4<f32>();
        for (var row = 0u; row < record.rows; row += 1u) {
            sum += x[member_start(1u) + params.kept + row * width + i] * dx[member_start(2u) + row * width + i];
        }
        let decay = record.decay * params.bias_decay;
        let gradient = inside(sum, i, params.inputs);
        store_parameter(place, updated(old, gradient, record.rate * params.rate, decay));
    }
}
