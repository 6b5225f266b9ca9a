// update: P = P - rate*G (stochastic gradient descent)
// P (parameters) and G (gradients) [length] vec4s; f32
// A thread owns one vec4; threads beyond the end do nothing.
//#include elementwise
struct Params {
    length: u32, // in vec4s
    rate: f32,   // learning rate
    unused0: u32,
    unused1: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> parameters: array<vec4<f32>>;

@compute @workgroup_size(WORKGROUP)
fn update(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    if i < params.length {
        parameters[i] -= params.rate * gradients[i];
    }
}
