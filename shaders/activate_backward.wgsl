// activate_backward: dZ = dY f'(Z), with DROPOUT if Y was kept; f' is computed from `kept`: Z or Y, depending on the activation
// kept, dY, dZ [rows, columns]; f32, rows of vec4s; the padding of dZ is written as 0
// A thread owns one vec4; threads beyond the matrix do nothing.
//#include blocks
//#include record
//#include elementwise
//#include activation
//#include dropout
struct Params {
    columns: u32,
    layer: u32,     // of dropout
    threshold: u32,
    scale: f32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> kept: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> dz: array<vec4<f32>>;

override KEEP_Z: bool = false;
override DROPOUT: bool = false;

@compute @workgroup_size(WORKGROUP)
fn activate_backward(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    let width = blocks(params.columns);
    if i < record.rows * width {
        var gradient = dy[i];
        var kept_value = kept[i];
        if DROPOUT {
            gradient = dropped(gradient, params.layer, i / width, i % width, params.threshold, params.scale);
            if !KEEP_Z {
                kept_value /= params.scale;
            }
        }
        dz[i] = inside(activation_gradient(0u, gradient, kept_value), i % width, params.columns);
    }
}
