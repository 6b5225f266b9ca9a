// map: Y = f(X) element by element; f by OPERATION, some with a scalar s: X + s, s*X, X^2, sqrt X, 1/X, exp X, log X
// X, Y [rows, columns]; f32, rows of vec4s; a vector is one row
// A thread owns one vec4: threads in a line, or in a plane of tiles. Threads outside do nothing.
// The padding of Y is written as 0.
//#include blocks
//#include grid
struct Params {
    rows: u32,
    columns: u32,
    scalar: f32,
    unused: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

override OPERATION: u32 = 0u;

fn apply(x: vec4<f32>) -> vec4<f32> {
    switch OPERATION {
        case 0u: { return x + params.scalar; }
        case 1u: { return x * params.scalar; }
        case 2u: { return x * x; }
        case 3u: { return sqrt(x); }
        case 4u: { return 1.0 / x; }
        case 5u: { return exp(x); }
        default: { return log(x); }
    }
}

@compute @workgroup_size(WORKGROUP, WORKGROUP_Y)
fn map(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
) {
    let width = blocks(params.columns);
    let at = place(group, groups, thread, width);
    if at.x < params.rows && at.y < width {
        let i = at.x * width + at.y;
        y[i] = inside(apply(x[i]), at.y, params.columns);
    }
}
