// update: the optimizer applied to parameters P and gradients G, which may be clipped first
// P followed by its optimizer state, G [length] vec4s; f32
// A thread owns one vec4 of some layers; threads beyond the end do nothing.
//#include record
//#include elementwise
//#include member
struct Layer {
    end: u32,         // end of its parameters, in vec4s
    bias: u32,        // start of its bias
    weight_rate: f32, // factor of the learning rate
    bias_rate: f32,
}
struct Params {
    first: u32,       // start of the first layer's parameters, in vec4s
    length: u32,      // of all these layers, in vec4s
    layers: u32,
    groups: u32,      // numbers in `squares`
    state: u32,       // distance from a parameter to its optimizer state, in vec4s
    region: u32,      // distance from the first to the second number of state
    bias_decay: f32,  // factor of the weight decay
    unused: u32,
    table: array<Layer, 64>,
//#include member_fields
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradients: array<vec4<f32>>;
//#include clip
@group(0) @binding(RESULT) var<storage, read_write> result: array<vec4<f32>>;
//#include parameter

@compute @workgroup_size(WORKGROUP)
fn update(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    begin_member(group);
    let i = element(group, groups, thread);
    if i < params.length {
        let index = params.first + i;
        var layer = params.table[0];
        for (var l = 1u; l < params.layers; l += 1u) {
            if index >= layer.end {
                layer = params.table[l];
            }
        }
        let is_bias = index >= layer.bias;
        let gradient = clipped(gradients[member_start(1u) + index]);
        let rate = record.rate * select(layer.weight_rate, layer.bias_rate, is_bias);
        let decay = record.decay * select(1.0, params.bias_decay, is_bias);
        let place = member_start(u32(RESULT)) + index;
        store_parameter(place, updated(load_parameter(place), gradient, rate, decay));
    }
}
