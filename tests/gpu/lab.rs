//! Shared parts of the kernel tests: every adapter of the machine, buffers with traps, and comparisons.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ndarray::Array2;
use tinytrain::gpu::{Adapter, Backend, Context, DeviceOptions, Program, StepRecords, adapters, read_buffer};
use tinytrain::kernels::{Compute, FeatureFormat, Kernel, StepRecord, Tuning, blocks, pad_rows, unpad_rows};
use tinytrain::random::{Purpose, normal};

use crate::rewriting::shallow;

/// One opened adapter.
pub struct Lab {
    pub context: Arc<Context>,
    compute: Compute,
    turn: Mutex<()>,
}

/// Returns whether all is tested, as by `scripts/test --all`: on every adapter, also checked, under every
/// tuning, and races.
pub fn tests_all() -> bool {
    std::env::var_os("TINYTRAIN_TEST_LONG").is_some()
}

/// Returns the adapters of this machine, opened once for all tests, trusted and with immediates if supported.
/// If all is tested, also GL adapters, and the others again checked and with offsets; wgpu's checks have
/// little effect on GL.
pub fn labs() -> &'static [Lab] {
    static LABS: OnceLock<Vec<Lab>> = OnceLock::new();
    let labs = LABS.get_or_init(|| {
        let mut found = adapters(None);
        if !tests_all() && found.iter().any(|adapter| adapter.backend != Backend::Gl) {
            found.retain(|adapter| adapter.backend != Backend::Gl);
        }
        found
            .iter()
            .flat_map(|adapter| {
                [false, true].map(|checked| {
                    (adapter, DeviceOptions { checked, offsets: checked, ..DeviceOptions::default() })
                })
            })
            .filter(|(adapter, device_options)| {
                !device_options.checked || adapter.backend != Backend::Gl && tests_all()
            })
            .map(|(adapter, device_options)| Lab::open(adapter, device_options))
            .collect()
    });
    assert!(
        !labs.is_empty(),
        "no GPU adapter on this machine: install a Vulkan driver (Debian: apt-get install mesa-vulkan-drivers)"
    );
    labs
}

/// Returns the first adapter as a separate device, for a test that compiles many kernels: Mesa's software
/// driver compiles a device's kernels on one thread. GL has one context for all.
pub fn apart() -> &'static Lab {
    let first = &labs()[0];
    if first.context.backend == Backend::Gl {
        return first;
    }
    let adapter = &adapters(None)[0];
    Box::leak(Box::new(Lab::open(adapter, DeviceOptions::default())))
}

/// Runs `test` on every adapter under its tunings: the tuning of real GPUs, whose kernels use workgroup
/// memory most, or only it if checked, and its default; if all is tested, every shipped tuning that it can
/// run.
pub fn everywhere(test: impl Fn(&Lab, &Tuning)) {
    for lab in labs() {
        for tuning in Tuning::ALL.iter().filter(|tuning| lab.has(tuning)) {
            let turn = lab.turn();
            test(lab, tuning);
            drop(turn);
        }
    }
}

/// Number of words after every output that no kernel may access.
const TRAP_WORDS: usize = 64;
const TRAP: u32 = 0xABCD_1234;

/// An output of `words` words: NaN before the kernel runs, followed by the trap.
pub struct Output {
    pub buffer: wgpu::Buffer,
    words: usize,
}

impl Lab {
    fn open(adapter: &Adapter, device_options: DeviceOptions) -> Self {
        let adapter = adapter.clone().with_options(device_options);
        let compute = Compute::open(&adapter).expect("every adapter of the machine opens").guarded();
        Self { context: Arc::clone(&compute.context), compute, turn: Mutex::new(()) }
    }

    /// Returns whether the adapter is tested under a tuning.
    pub fn has(&self, tuning: &Tuning) -> bool {
        let is_own = *tuning == Tuning::for_device(&self.context) || tests_all();
        let is_asked = *tuning == Tuning::GPU || is_own && !self.context.device_options.checked;
        is_asked && tuning.runs_on(&self.context)
    }

    /// Returns tunings for instrumented kernels, each of which is compiled only for its test: the tuning of
    /// real GPUs, whose kernels use workgroup memory most; if all is tested, every tuning of the adapter.
    pub fn watched_tunings(&self) -> impl Iterator<Item = Tuning> {
        let is_watched = |tuning: &&Tuning| self.has(tuning) && (tests_all() || **tuning == Tuning::GPU);
        Tuning::ALL.iter().filter(is_watched).map(shallow)
    }

    /// Held while a test uses the adapter: wgpu panics if a thread waits some seconds for GL's only context.
    pub fn turn(&self) -> Option<impl Drop + use<'_>> {
        // A test that failed while holding it reports its failure itself.
        (self.context.backend == Backend::Gl)
            .then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a buffer with these words.
    pub fn upload<T: bytemuck::Pod>(&self, values: &[T]) -> wgpu::Buffer {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let buffer = self.context.storage("test", bytes.len() as u64).expect("test buffers are small");
        if !bytes.is_empty() {
            self.context.queue.write_buffer(&buffer, 0, bytes);
        }
        buffer
    }

    /// Returns a matrix in the kernels' format.
    pub fn matrix(&self, matrix: &Array2<f32>) -> wgpu::Buffer {
        let values: Vec<f32> = matrix.iter().copied().collect();
        self.upload(&pad_rows(&values, matrix.ncols()))
    }

    /// Returns a data set in a device's storage format, and its values as seen by kernels.
    pub fn features(
        &self,
        stored: FeatureFormat,
        samples: usize,
        inputs: usize,
    ) -> (wgpu::Buffer, Array2<f64>) {
        match stored {
            FeatureFormat::Bytes => {
                let bytes =
                    Array2::from_shape_fn((samples, inputs), |(i, j)| ((i * 31 + j * 17) % 256) as u8);
                let padded = pad_rows(&bytes.iter().copied().collect::<Vec<_>>(), inputs);
                (self.upload(&padded), bytes.mapv(|value| f64::from(value) / 255.0))
            }
            FeatureFormat::Floats => {
                let floats = random(samples, inputs, 1);
                (self.matrix(&floats), wide(&floats))
            }
        }
    }

    /// Returns an output of `words` words.
    pub fn output(&self, words: usize) -> Output {
        let mut contents = vec![f32::NAN.to_bits(); words];
        contents.extend([TRAP; TRAP_WORDS]);
        Output { buffer: self.upload(&contents), words }
    }

    /// Returns an output matrix.
    pub fn output_matrix(&self, rows: usize, columns: usize) -> Output {
        self.output(rows * 4 * blocks(columns))
    }

    /// Returns the adapter for the kernels' functions: outputs are filled with NaN before, and followed by
    /// traps.
    pub fn compute(&self, tuning: &Tuning) -> Compute {
        self.compute.with_tuning(*tuning)
    }

    /// Runs a kernel once.
    pub fn run(&self, kernel: &dyn Kernel, tuning: &Tuning, buffers: &[&wgpu::Buffer], batch: StepRecord) {
        self.compute(tuning).run(kernel, buffers, batch).expect("the kernel is accepted and runs");
    }

    /// Runs a rewritten program, in the step of `record`.
    pub fn run_rewritten(
        &self,
        program: &Program,
        params: &[u8],
        buffers: &[&wgpu::Buffer],
        groups: [u32; 3],
        steps_of_dispatch: &[StepRecord],
    ) {
        let context = &self.context;
        let prepared = self.compute.pipelines.prepare(context, program, params, buffers, groups);
        let prepared = prepared.expect("the program is accepted");
        let record_bytes = size_of::<StepRecord>();
        let records = (program.step_bytes() / record_bytes).max(1);
        let together = steps_of_dispatch.len();
        let steps = StepRecords::new(context, record_bytes, 1, together, records);
        let record = bytemuck::cast_slice(steps_of_dispatch);
        steps.write(context, record, together);
        let mut encoder = context.device.create_command_encoder(&Default::default());
        prepared.record(
            &mut encoder.begin_compute_pass(&Default::default()),
            steps.each(record, together).next(),
        );
        context.queue.submit([encoder.finish()]);
    }

    /// Returns the words of an output; the trap after it must be unchanged.
    pub fn words(&self, output: &Output) -> Vec<u32> {
        let bytes = 4 * (output.words + TRAP_WORDS) as u64;
        let contents = read_buffer(&self.context, &output.buffer, bytes).expect("the output can be read");
        let mut words: Vec<u32> = bytemuck::pod_collect_to_vec(&contents);
        let trap = words.split_off(output.words);
        assert!(trap.iter().all(|word| *word == TRAP), "the kernel wrote behind its output");
        words
    }

    /// Returns an output as f32.
    pub fn floats(&self, output: &Output) -> Vec<f32> {
        self.words(output).into_iter().map(f32::from_bits).collect()
    }

    /// Returns an output matrix without its padding, which must be 0.
    pub fn read(&self, output: &Output, rows: usize, columns: usize) -> Array2<f32> {
        let padded = self.floats(output);
        let stride = 4 * blocks(columns);
        for (i, value) in padded.iter().enumerate() {
            let (row, column) = (i / stride.max(1), i % stride.max(1));
            assert!(column < columns || *value == 0.0, "padding at ({row}, {column}) is {value}, not 0");
        }
        Array2::from_shape_vec((rows, columns), unpad_rows(&padded, columns))
            .expect("the shape is the output's")
    }
}

/// Returns normal numbers; matrices of one test use different values of `stream`.
pub fn random(rows: usize, columns: usize, stream: u32) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| {
        normal(u64::from(stream), Purpose::Weights, [i as u32, j as u32]) as f32
    })
}

/// Returns labels below `classes`.
pub fn labels(rows: usize, classes: usize) -> Vec<u32> {
    (0..rows).map(|row| ((row * 7 + row / 3) % classes) as u32).collect()
}

/// Returns all rows of a data set in some order.
pub fn shuffled(samples: usize) -> Vec<u32> {
    (0..samples).map(|i| ((i * 7919 + 13) % samples) as u32).collect()
}

/// Returns labels as indices for the reference.
pub fn indices(labels: &[u32]) -> Vec<usize> {
    labels.iter().map(|label| *label as usize).collect()
}

/// Converts numbers to f64.
pub fn wide(matrix: &Array2<f32>) -> Array2<f64> {
    matrix.mapv(f64::from)
}

/// Returns a batch of this number of rows from the start, in a step whose dropout differs from the first
/// step's.
pub fn batch(rows: usize) -> StepRecord {
    StepRecord { rows: rows as u32, step: 7, seed: [3, 0x9876_5432], ..StepRecord::default() }
}

/// Describes where `got` differs from `want` by more than `bound`, if it does.
pub fn difference(got: &Array2<f32>, want: &Array2<f64>, bound: &Array2<f64>) -> Option<String> {
    assert_eq!(got.dim(), want.dim(), "shapes");
    assert_eq!(bound.dim(), want.dim(), "shape of the bound");
    for (at, value) in got.indexed_iter() {
        let error = (f64::from(*value) - want[at]).abs();
        // NaN is not greater than the bound, but also a failure.
        if error > bound[at] || error.is_nan() {
            return Some(format!(
                "at {at:?}: got {value}, want {}, {:.2} bounds off",
                want[at],
                error / bound[at]
            ));
        }
    }
    None
}

/// Fails at the first element that differs by more than its bound.
pub fn assert_close(what: &str, lab: &Lab, got: &Array2<f32>, want: &Array2<f64>, bound: &Array2<f64>) {
    if let Some(text) = difference(got, want, bound) {
        panic!("{what} on {} ({}): {text}", lab.context.name, lab.context.backend);
    }
}

/// Sizes that are not multiples of any tile.
pub const ODD: [usize; 6] = [1, 3, 17, 63, 65, 257];

#[test]
fn the_comparator_rejects_one_element_moved_by_ten_bounds() {
    let want = wide(&random(17, 3, 1));
    let bound = Array2::from_elem((17, 3), 1e-3);
    let mut got = want.mapv(|value| value as f32);
    assert_eq!(difference(&got, &want, &bound), None);
    got[[16, 1]] += 1e-2;
    assert!(difference(&got, &want, &bound).is_some_and(|text| text.contains("(16, 1)")));
    got[[16, 1]] = f32::NAN;
    assert!(difference(&got, &want, &bound).is_some());
}

/// Returns the records for a dispatch of a kernel: this record, or a similar one for each of its networks.
pub fn records(kernel: &dyn Kernel, record: StepRecord) -> Vec<StepRecord> {
    match kernel.description().members {
        1 => vec![record],
        count => (0..count as u32).map(|member| StepRecord { next_rows: member, ..record }).collect(),
    }
}
