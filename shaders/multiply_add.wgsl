// multiply_add: Y[i] = the sum of eight vec4s, each updated by x <- a*x + b `rounds` times; x starts at i + 0, 1, ... 7
// Y [threads] vec4s of f32
// A thread owns one vec4 and eight independent chains in registers: only multiply-adds, the ceiling of the adapter's
// arithmetic. Threads beyond Y do nothing.
//#include elementwise
struct Params {
    threads: u32,
    rounds: u32,
    a: f32,
    b: f32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;

@compute @workgroup_size(WORKGROUP)
fn multiply_add(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = element(group, groups, thread);
    if i >= params.threads {
        return;
    }
    let a = vec4<f32>(params.a);
    let b = vec4<f32>(params.b);
    var x0 = vec4<f32>(f32(i));
    var x1 = x0 + 1.0;
    var x2 = x0 + 2.0;
    var x3 = x0 + 3.0;
    var x4 = x0 + 4.0;
    var x5 = x0 + 5.0;
    var x6 = x0 + 6.0;
    var x7 = x0 + 7.0;
    for (var round = 0u; round < params.rounds; round += 1u) {
        x0 = fma(x0, a, b);
        x1 = fma(x1, a, b);
        x2 = fma(x2, a, b);
        x3 = fma(x3, a, b);
        x4 = fma(x4, a, b);
        x5 = fma(x5, a, b);
        x6 = fma(x6, a, b);
        x7 = fma(x7, a, b);
    }
    y[i] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
}
