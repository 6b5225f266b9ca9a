//! WGSL pieces compared with the reference on every adapter of the machine.

use ndarray::Array2;
use wgpu::util::DeviceExt as _;

use super::activation::grid;
use crate::gpu::{Context, adapters, read_buffer};
use crate::kernels::{Piece, compose};
use crate::reference::{ReferenceTargets, ops};
use crate::step::{Activation, Loss, Optimizer, OptimizerKind, StepRecord};

const EPS: f64 = f32::EPSILON as f64;

/// Runs `body` for each vec4 of `a`, with a piece and the declarations that it needs: buffers a, b and result
/// of equal length (result followed by two states), and a record. Returns result.
fn run(context: &Context, piece: &str, body: &str, [a, b]: [&[f32]; 2], result: &[f32]) -> Vec<f32> {
    let record = include_str!("../../../shaders/common/record.wgsl");
    let record = record.replace("//#include record_carrier", "var<private> record: StepRecord;");
    let shader = format!(
        "{record}
@group(0) @binding(0) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> result: array<vec4<f32>>;
{piece}
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) thread: vec3<u32>) {{
    let i = thread.x;
    if i < arrayLength(&a) {{
        {body}
    }}
}}
"
    );
    let source = wgpu::ShaderSource::Wgsl(compose(&shader, &[]).into());
    let device = &context.device;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let buffers = [a, b, result].map(|values| {
        let contents = bytemuck::cast_slice(values);
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    });
    let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
        .zip(&buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let layout = pipeline.get_bind_group_layout(0);
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &layout,
        entries: &entries,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups((a.len() as u32 / 4).div_ceil(64), 1, 1);
    drop(pass);
    context.queue.submit([encoder.finish()]);
    let bytes = read_buffer(context, &buffers[2], 4 * result.len() as u64).unwrap();
    bytemuck::pod_collect_to_vec(&bytes)
}

/// Computes f(a, b), where `expression` uses a[i] and b[i].
fn map(context: &Context, piece: &str, expression: &str, a: &[f32], b: &[f32]) -> Vec<f32> {
    // Automatic layouts contain only the used bindings.
    run(context, piece, &format!("result[i] = {expression} + 0.0 * b[i];"), [a, b], &vec![0.0; a.len()])
}

/// Returns every adapter of the machine; tests that require one are in `tests/gpu`.
fn contexts() -> impl Iterator<Item = Context> {
    adapters(None).into_iter().map(|adapter| Context::open(&adapter).unwrap())
}

fn slope_of(f: Activation) -> String {
    let name = f.prefix();
    let kept = if f.keeps_z() { "a[i]".to_owned() } else { format!("{name}_value(a[i])") };
    format!("{name}_gradient(vec4<f32>(1.0), {kept})")
}

/// WGSL guarantees exp(x) within 3 + 2 |x| units in the last place, and the largest |z| exp(-|z|) (3 + 2 |z|)
/// is below 3: 12 eps (1 + |value|), and relative to values near 0 if these are not differences.
#[test]
fn activations_agree_with_the_reference() {
    let mut z: Vec<f32> = grid().filter(|z| *z == 0.0 || z.abs() >= f32::MIN_POSITIVE).collect();
    z.resize(z.len().next_multiple_of(4), 0.0);
    let zeros = vec![0.0; z.len()];
    for context in contexts() {
        for f in Activation::ALL.iter().copied() {
            let values = map(&context, f.shader(), &format!("{}_value(a[i])", f.prefix()), &z, &zeros);
            let slopes = map(&context, f.shader(), &slope_of(f), &z, &zeros);
            for ((z, value), slope) in z.iter().zip(values).zip(slopes) {
                let wide = f64::from(*z);
                let (got, want) = (f64::from(value), ops::activation(f, wide));
                let relative = wide.abs() < 0.3 && f != Activation::Sigmoid;
                let bound = 12.0 * EPS * if relative { want.abs() } else { 1.0 + want.abs() };
                let overflows = got.is_infinite() && want > f64::from(f32::MAX);
                let near = (got - want).abs() <= bound + f64::from(f32::MIN_POSITIVE) || overflows;
                assert!(near, "{f} of {z} on {}: {got}, not {want}", context.name);
                let (got, want) = (f64::from(slope), ops::activation_slope(f, wide));
                assert!(
                    (got - want).abs() <= 12.0 * EPS * (1.0 + want.abs()),
                    "{f}' at {z}: {got}, not {want}"
                );
            }
        }
    }
}

#[test]
fn activations_keep_nan_and_have_their_limits() {
    let z = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    for context in contexts() {
        for f in Activation::ALL.iter().copied() {
            let got = map(&context, f.shader(), &format!("{}_value(a[i])", f.prefix()), &z, &[0.0; 4]);
            assert!(got[0].is_nan() && got[1].is_nan(), "{f} on {}: {got:?}", context.name);
            let mut want = z;
            f.value(&mut want);
            for (got, want) in got[2..].iter().zip(&want[2..]) {
                assert!(
                    got == want || (got - want).abs() < 1e-37,
                    "{f} on {}: {got}, not {want}",
                    context.name
                );
            }
        }
    }
}

#[test]
fn losses_agree_with_the_reference() {
    let z: Vec<f32> = (0..400).map(|i| (i as f32 - 200.0) / 32.0).collect();
    let t: Vec<f32> = (0..400).map(|i| ((i * 7) % 97) as f32 / 32.0).collect();
    let each = |function: &str, rest: &str| {
        let call = |lane: &str| format!("{function}(a[i].{lane}, b[i].{lane}, {rest})");
        format!("vec4<f32>({}, {}, {}, {})", call("x"), call("y"), call("z"), call("w"))
    };
    for context in contexts() {
        for loss in Loss::ALL.iter().copied() {
            // For cross-entropy, a row whose largest logit is 6.5 and whose sum of exponentials is 2.25.
            let terms = map(&context, &loss.shader(), &each("loss_term", "6.5, 2.25, 0u"), &z, &t);
            let slopes = map(&context, &loss.shader(), &each("loss_slope", "6.5, 2.25, 0u"), &z, &t);
            for i in 0..z.len() {
                let (z, t) = (f64::from(z[i]), f64::from(t[i]));
                let target = Array2::from_elem((1, 1), t);
                let (target, row) = (ReferenceTargets::values(target.view()), Array2::from_elem((1, 1), z));
                let (term, slope) = match loss {
                    Loss::CrossEntropy => (t * (6.5 + 2.25f64.ln() - z), (z - 6.5).exp() / 2.25 - t),
                    _ => (
                        ops::row_losses(loss, row.view(), &target)[0],
                        ops::loss_gradient(loss, row.view(), &target)[[0, 0]],
                    ),
                };
                for (got, want) in [(terms[i], term), (slopes[i], slope)] {
                    // exp and log are within a few units; the other operations are single roundings.
                    let error = (f64::from(got) - want).abs();
                    assert!(error <= 8.0 * EPS * (1.0 + want.abs()), "{loss} of {z}, {t}: {got}, not {want}");
                }
            }
            let nan =
                map(&context, &loss.shader(), &each("loss_term", "6.5, 2.25, 0u"), &[f32::NAN; 4], &[0.5; 4]);
            assert!(nan.iter().all(|loss| loss.is_nan()), "{loss} on {}: {nan:?}", context.name);
        }
    }
}

/// Three steps of 8 parameters, the last of which are padding. Division and square root are within 2.5 units
/// or within the error that WGSL derives; the other operations are single roundings.
#[test]
fn optimizers_agree_with_the_reference() {
    let gradients = [0.5f32, -1.5, 1e-3, 0.25, -2.0, 1.0, 0.0, 0.0];
    for context in contexts() {
        for kind in OptimizerKind::ALL.iter().copied() {
            let optimizer = Optimizer { weight_decay: 0.1, ..kind.defaults() };
            let piece = compose(
                "struct Params { state: u32, region: u32 }\nvar<private> params: Params;\n//#include parameter\n",
                &[("optimizer", Piece::Text(kind.shader().to_owned()))],
            );
            let mut got = vec![1.0f32, -0.5, 0.25, 2.0, 0.125, -1.0, 0.0, 0.0];
            got.resize(24, 0.0);
            let mut want: Vec<f64> = got.iter().copied().map(f64::from).collect();
            for step in 0..3 {
                let mut record = StepRecord::default();
                optimizer.fill(&mut record, step);
                let StepRecord { beta1, beta2, epsilon, correction1, correction2, .. } = record;
                let body = format!(
                    "record.beta1 = {beta1:?}; record.beta2 = {beta2:?}; record.epsilon = {epsilon:?};
                    record.correction1 = {correction1:?}; record.correction2 = {correction2:?};
                    params = Params(arrayLength(&a), arrayLength(&a));
                    store_parameter(i, updated(load_parameter(i), a[i] + 0.0 * b[i], 0.01, 0.1));"
                );
                got = run(&context, &piece, &body, [&gradients, &[0.0; 8]], &got);
                for (i, g) in gradients.iter().enumerate() {
                    let settings = [f64::from(0.01f32), f64::from(0.1f32)];
                    let state = [want[8 + i], want[16 + i]];
                    let now = ops::optimize(&optimizer, (want[i], f64::from(*g)), state, settings, step + 1);
                    (want[i], [want[8 + i], want[16 + i]]) = now;
                }
            }
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let error = (f64::from(*got) - want).abs();
                assert!(
                    error <= 12.0 * EPS * want.abs(),
                    "{kind} {i} on {}: {got}, not {want}",
                    context.name
                );
            }
        }
    }
}
