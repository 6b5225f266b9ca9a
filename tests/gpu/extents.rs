//! Kernels without run-time checks: buffers that are too small are rejected, buffers of exactly the required
//! size are accepted, and no kernel accesses more than its extents, for any contents of its buffers.

use std::collections::HashSet;

use tinytrain::Error;
use tinytrain::gpu::read_buffer;
use tinytrain::kernels::{
    Activate, Axis, Compute, Convolve, Dot, Grid, Kernel, MOST_BUFFERS, Mode, NaiveMatmul, Nonlinearity,
    Pool, Scan, ScanAdd, Segments, StepRecord, Tuning, Update, Window, Zip, ZipKernel, grid, program,
};

use crate::counting::{strides, watched};
use crate::lab::{Lab, apart, labs, records};
use crate::rewriting::shallow;
use crate::variants::variants;

/// A record in which every part has an effect.
const RECORD: StepRecord = StepRecord {
    first: 2,
    rows: 4,
    slot: 3,
    output: 5,
    next_rows: 3,
    step: 1,
    rate: 0.1,
    decay: 0.0,
    beta1: 0.9,
    beta2: 0.99,
    epsilon: 1e-8,
    correction1: 1.0,
    correction2: 1.0,
    clip: 1.0,
    seed: [1, 2],
};

/// The minimum size of wgpu's bindings.
const LEAST: u64 = 16;

/// Returns a buffer of this size, filled with this word.
fn buffer(lab: &Lab, bytes: u64, word: u32) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let descriptor =
        wgpu::BufferDescriptor { label: None, size: bytes.max(LEAST), usage, mapped_at_creation: false };
    let buffer = lab.context.device.create_buffer(&descriptor);
    lab.context.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&vec![word; bytes as usize / 4]));
    buffer
}

fn run(
    compute: &Compute,
    kernel: &dyn Kernel,
    buffers: &[wgpu::Buffer],
    record: StepRecord,
) -> Result<(), Error> {
    compute.run(kernel, &buffers.iter().collect::<Vec<_>>(), record)
}

/// Returns the name of a kernel in this test.
fn name(kernel: &dyn Kernel) -> String {
    format!("{} {} {:?}", kernel.label(), kernel.description().shape, kernel.description().flags)
}

/// Removes variants that differ only in their activation, which accesses no buffer.
pub fn different(mut kernels: Vec<Box<dyn Kernel>>, tuning: &Tuning) -> Vec<Box<dyn Kernel>> {
    let mut seen = HashSet::new();
    let of_activation = ["activate", "activate_backward", "forward", "input_gradient"];
    kernels.retain(|kernel| {
        let shader = kernel.shader().name;
        let label = if of_activation.contains(&shader) { shader.to_owned() } else { kernel.label() };
        seen.insert((
            label,
            kernel.description().flags,
            kernel.description().choices,
            kernel.extents(tuning, &RECORD).unwrap(),
        ))
    });
    kernels
}

/// Keeps one of the kernels that differ only in activation, loss or optimizer.
pub fn one_of_each(mut kernels: Vec<Box<dyn Kernel>>) -> Vec<Box<dyn Kernel>> {
    let mut seen = HashSet::new();
    kernels.retain(|kernel| {
        seen.insert((
            kernel.shader().name,
            kernel.description().flags,
            kernel.description().choices,
            kernel.description().shape,
        ))
    });
    kernels
}

#[test]
fn buffers_that_are_too_small_are_refused() {
    let lab = &labs()[0];
    let tuning = Tuning::for_device(&lab.context);
    let (compute, _turn) = (lab.compute(&tuning), lab.turn());
    for kernel in variants(&tuning) {
        let (kernel, name) = (&*kernel, name(&*kernel));
        let extents = kernel.extents(&tuning, &RECORD).unwrap();
        assert_eq!(extents.len(), kernel.shader().bindings.len(), "{name}");
        let exact: Vec<_> = extents.iter().map(|bytes| buffer(lab, *bytes, 0)).collect();
        assert!(matches!(run(&compute, kernel, &exact[1..], RECORD), Err(Error::Shape { .. })), "{name}");
        for (binding, bytes) in extents.iter().enumerate().filter(|(_, bytes)| **bytes > LEAST) {
            let mut buffers = exact.clone();
            buffers[binding] = buffer(lab, bytes - 4, 0);
            let refused = run(&compute, kernel, &buffers, RECORD);
            let Err(Error::Shape { expected, .. }) = refused else {
                panic!("{name}, binding {}: {refused:?}", binding + 1);
            };
            assert_eq!(expected, format!("at least {bytes} bytes at binding {}", binding + 1));
        }
    }
}

#[test]
fn buffers_that_are_exactly_large_enough_are_not() {
    let lab = &labs()[0];
    let tuning = Tuning::for_device(&lab.context);
    let (compute, _turn) = (lab.compute(&tuning), lab.turn());
    for kernel in different(variants(&tuning), &tuning) {
        let extents = kernel.extents(&tuning, &RECORD).unwrap();
        let exact: Vec<_> = extents.iter().map(|bytes| buffer(lab, *bytes, 0)).collect();
        run(&compute, &*kernel, &exact, RECORD).unwrap_or_else(|error| panic!("{}: {error}", name(&*kernel)));
    }
    compute.wait().unwrap();
}

/// Returns the number of accessed bytes of each of a kernel's bindings, whose buffers are larger than
/// required and filled with one word.
fn reach(lab: &Lab, tuning: &Tuning, kernel: &dyn Kernel, word: u32) -> Vec<u64> {
    let original = program(kernel, tuning, lab.context.transport);
    let extents = kernel.extents(tuning, &RECORD).unwrap();
    let mut buffers: Vec<_> = extents.iter().map(|bytes| buffer(lab, bytes + 4096, word)).collect();
    buffers.push(lab.upload(&[0u32; 2 * MOST_BUFFERS]));
    let bound: Vec<_> = buffers.iter().collect();
    lab.run_rewritten(
        &watched(&original),
        &kernel.description().params,
        &bound,
        grid(kernel, tuning),
        &records(kernel, RECORD),
    );
    let counts = read_buffer(&lab.context, bound[extents.len()], 8 * MOST_BUFFERS as u64).unwrap();
    let counts: Vec<u32> = bytemuck::pod_collect_to_vec(&counts);
    let pairs = counts.chunks(2).zip(strides(&original));
    pairs.map(|(pair, stride)| if pair[0] > 0 { (u64::from(pair[1]) + 1) * stride } else { 0 }).collect()
}

/// Data are 0, 1, or as far out of range as possible; every variant under the tuning of real GPUs, under the
/// others one of each kernel. Extents exceed the accesses only slightly: by the padding of a row, or a few
/// dead rows; more if data decide about accesses, since these data move few elements.
#[test]
fn no_kernel_accesses_more_than_its_extents() {
    let lab = apart();
    let _turn = lab.turn();
    for tuning in lab.watched_tunings() {
        let tuning = &tuning;
        let all = different(variants(tuning), tuning);
        let kernels = if *tuning == shallow(&Tuning::GPU) { all } else { one_of_each(all) };
        for kernel in kernels {
            let (kernel, name) = (&*kernel, name(&*kernel));
            let extents = kernel.extents(tuning, &RECORD).unwrap();
            let mut furthest = vec![0; extents.len()];
            for word in [0, 1, u32::MAX] {
                for (most, reached) in furthest.iter_mut().zip(reach(lab, tuning, kernel, word)) {
                    *most = reached.max(*most);
                }
            }
            for (binding, (reached, extent)) in (1..).zip(furthest.iter().zip(&extents)) {
                assert!(reached <= extent, "{name}, binding {binding}: reaches {reached}, says {extent}");
                // A block of four dead rows.
                assert!(extent - reached <= 64, "{name}, binding {binding}: {reached}, says {extent}");
            }
        }
    }
}

/// Returns the error of `kernel` when dispatched on large buffers.
fn refusal(compute: &Compute, lab: &Lab, kernel: &dyn Kernel, record: StepRecord) -> String {
    // If sizes are rejected, the number of bindings is unknown.
    let bindings = kernel.extents(&compute.tuning, &record).map_or(1, |extents| extents.len());
    let buffers: Vec<_> = (0..bindings).map(|_| buffer(lab, 1 << 16, 0)).collect();
    match run(compute, kernel, &buffers, record) {
        Err(error @ Error::Shape { .. }) => error.to_string(),
        other => panic!("{}: {other:?}", name(kernel)),
    }
}

#[test]
fn more_rows_than_a_kernel_has_room_for_are_refused() {
    let takes_rows = |kernel: &dyn Kernel| kernel.shader().records > 0 && kernel.shader().name != "update";
    for kernel in variants(&Tuning::GPU).iter().filter(|kernel| takes_rows(&***kernel)) {
        for (rows, next_rows) in [(1000, 0), (0, 1000)] {
            let refused = kernel.extents(&Tuning::GPU, &StepRecord { rows, next_rows, ..RECORD });
            let Err(Error::Shape { expected, .. }) = refused else {
                panic!("{}: {refused:?}", name(&**kernel))
            };
            assert!(expected.ends_with("rows of a batch"), "{}: {expected}", name(&**kernel));
        }
    }
}

#[test]
fn records_out_of_bounds_are_refused() {
    let lab = &labs()[0];
    let _turn = lab.turn();
    let tuning = Tuning::for_device(&lab.context);
    let compute = lab.compute(&tuning);
    let record = StepRecord::all(9);
    let says = |kernel: &dyn Kernel, record, word: &str| {
        let text = refusal(&compute, lab, kernel, record);
        assert!(text.contains(word), "{text}");
    };
    let activate = Activate { rows: 8, columns: 3, nonlinearity: Nonlinearity::RELU };
    says(&activate, record, "at most 8 rows");
    let huge = Activate { rows: 1 << 40, columns: usize::MAX, ..activate };
    says(&huge, record, "binding 1");
    says(&ZipKernel::new::<f32>(1 << 40, usize::MAX, Zip::Add, Grid::Line), record, "binding 1");
    says(&Pool { rows: 9, columns: usize::MAX, window: Window::Sum, width: 3 }, record, "binding 1");
    says(&NaiveMatmul { m: 9, n: usize::MAX, k: 3, grid: Grid::Line }, record, "binding 2");
    says(&activate, StepRecord { rows: 3, next_rows: 9, ..record }, "at most 8 rows");
    for width in [0, 7] {
        says(&Pool { rows: 1, columns: 6, window: Window::Sum, width }, record, "windows of 1 to 6");
    }
    let convolve = Convolve { axis: Axis::Rows, lines: 1, length: 9, taps: 0, mode: Mode::Same, abreast: 1 };
    says(&convolve, record, "1 to 1024 taps");
    says(&Convolve { taps: 3, abreast: 0, ..convolve }, record, "abreast");
    let segments = Segments { axis: Axis::Rows, lines: 2, length: 9, block: 9, part: 9, pitch: 12, count: 0 };
    says(&Dot { segments }, record, "1 line");
    says(&Update { layers: Vec::new(), clip: None }, record, "1 to 64 layers");
    says(&Scan { block: 4, ..Scan::new::<f32>(9, false, &tuning) }, record, "blocks of");
    says(&ScanAdd { length: 900, block: 6, integers: false }, record, "a multiple of 4");
    let none = compute.with_tuning(Tuning { workgroup: 0, ..tuning });
    let buffers = [(); 2].map(|()| buffer(lab, 1 << 16, 0));
    assert!(matches!(run(&none, &activate, &buffers, StepRecord::all(3)), Err(Error::Device(_))));
}
