// activate: Y = f(Z), with DROPOUT followed by dropout
// Z, Y [rows, columns]; f32, rows of vec4s; the padding of Y is written as 0
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
@group(0) @binding(1) var<storage, read> z: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

override DROPOUT: bool = false;

@compute @workgroup_size(WORKGROUP)
fn activate(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    let width = blocks(params.columns);
    if i < record.rows * width {
        var values = activation_value(0u, z[i]);
        if DROPOUT {
            values = dropped(values, params.layer, i / width, i % width, params.threshold, params.scale);
        }
        y[i] = inside(values, i % width, params.columns);
    }
}
