//! What the kernel tests share: every adapter of the machine, buffers with traps in them, and the comparator.

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

/// Whether all is tested, as `scripts/test --all` does: on every adapter, checked too, under every tuning, and races.
pub fn tests_all() -> bool {
    std::env::var_os("TINYTRAIN_TEST_LONG").is_some()
}

/// The adapters of this machine, opened once for all tests, trusted and with immediates where there are any. Where all is tested,
/// those of GL too, and the others again checked and with offsets; wgpu's checks change next to nothing on GL.
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

/// The first of them as a device of its own, for a test that compiles much: Mesa's software driver compiles what a device is
/// to run on one thread. GL has one context for all.
pub fn apart() -> &'static Lab {
    let first = &labs()[0];
    if first.context.backend == Backend::Gl {
        return first;
    }
    let adapter = &adapters(None)[0];
    Box::leak(Box::new(Lab::open(adapter, DeviceOptions::default())))
}

/// Runs `test` on every adapter under its tunings: that of real GPUs, whose kernels use workgroup memory most, alone where it is
/// checked, and its own; where all is tested, every shipped one that it can run.
pub fn everywhere(test: impl Fn(&Lab, &Tuning)) {
    for lab in labs() {
        for tuning in Tuning::ALL.iter().filter(|tuning| lab.has(tuning)) {
            let turn = lab.turn();
            test(lab, tuning);
            drop(turn);
        }
    }
}

/// Behind every output stand this many words that no kernel may touch.
const TRAP_WORDS: usize = 64;
const TRAP: u32 = 0xABCD_1234;

/// An output of so many words: NaN before the kernel runs, and behind it the trap.
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

    /// Whether it is tested under a tuning.
    pub fn has(&self, tuning: &Tuning) -> bool {
        let is_own = *tuning == Tuning::for_device(&self.context) || tests_all();
        let is_asked = *tuning == Tuning::GPU || is_own && !self.context.device_options.checked;
        is_asked && tuning.runs_on(&self.context)
    }

    /// Tunings under which its kernels are run with code in them that watches, each of which is compiled for that alone: that of real
    /// GPUs, whose kernels use workgroup memory most; where all is tested, each that it has.
    pub fn watched_tunings(&self) -> impl Iterator<Item = Tuning> {
        let is_watched = |tuning: &&Tuning| self.has(tuning) && (tests_all() || **tuning == Tuning::GPU);
        Tuning::ALL.iter().filter(is_watched).map(shallow)
    }

    /// Held while a test uses the adapter: wgpu panics where a thread waits some seconds for GL's only context.
    pub fn turn(&self) -> Option<impl Drop + use<'_>> {
        // A test that failed while it held it says so itself.
        (self.context.backend == Backend::Gl)
            .then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A buffer with these words.
    pub fn upload<T: bytemuck::Pod>(&self, values: &[T]) -> wgpu::Buffer {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let buffer = self.context.storage("test", bytes.len() as u64).expect("test buffers are small");
        if !bytes.is_empty() {
            self.context.queue.write_buffer(&buffer, 0, bytes);
        }
        buffer
    }

    /// A matrix as the kernels hold it.
    pub fn matrix(&self, matrix: &Array2<f32>) -> wgpu::Buffer {
        let values: Vec<f32> = matrix.iter().copied().collect();
        self.upload(&pad_rows(&values, matrix.ncols()))
    }

    /// A data set as a device stores it, and its values as kernels see them.
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

    /// An output of `words` words.
    pub fn output(&self, words: usize) -> Output {
        let mut contents = vec![f32::NAN.to_bits(); words];
        contents.extend([TRAP; TRAP_WORDS]);
        Output { buffer: self.upload(&contents), words }
    }

    /// An output matrix.
    pub fn output_matrix(&self, rows: usize, columns: usize) -> Output {
        self.output(rows * 4 * blocks(columns))
    }

    /// The adapter for the kernels' own functions: outputs are full of NaN before, with traps behind them.
    pub fn compute(&self, tuning: &Tuning) -> Compute {
        self.compute.with_tuning(*tuning)
    }

    /// Runs a kernel once.
    pub fn run(&self, kernel: &dyn Kernel, tuning: &Tuning, buffers: &[&wgpu::Buffer], batch: StepRecord) {
        self.compute(tuning).run(kernel, buffers, batch).expect("the kernel is accepted and runs");
    }

    /// Runs a program that is no kernel of the crate any more, in the step of `record`.
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

    /// The words of an output; the trap behind it must be as it was.
    pub fn words(&self, output: &Output) -> Vec<u32> {
        let bytes = 4 * (output.words + TRAP_WORDS) as u64;
        let contents = read_buffer(&self.context, &output.buffer, bytes).expect("the output can be read");
        let mut words: Vec<u32> = bytemuck::pod_collect_to_vec(&contents);
        let trap = words.split_off(output.words);
        assert!(trap.iter().all(|word| *word == TRAP), "the kernel wrote behind its output");
        words
    }

    /// An output as f32.
    pub fn floats(&self, output: &Output) -> Vec<f32> {
        self.words(output).into_iter().map(f32::from_bits).collect()
    }

    /// An output matrix, without its padding, which must be 0.
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

/// Normal numbers; `stream` keeps matrices of one test apart.
pub fn random(rows: usize, columns: usize, stream: u32) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| {
        normal(u64::from(stream), Purpose::Weights, [i as u32, j as u32]) as f32
    })
}

/// Labels below `classes`.
pub fn labels(rows: usize, classes: usize) -> Vec<u32> {
    (0..rows).map(|row| ((row * 7 + row / 3) % classes) as u32).collect()
}

/// All rows of a data set in some order.
pub fn shuffled(samples: usize) -> Vec<u32> {
    (0..samples).map(|i| ((i * 7919 + 13) % samples) as u32).collect()
}

/// The same as indices of the reference.
pub fn indices(labels: &[u32]) -> Vec<usize> {
    labels.iter().map(|label| *label as usize).collect()
}

/// The same numbers in f64.
pub fn wide(matrix: &Array2<f32>) -> Array2<f64> {
    matrix.mapv(f64::from)
}

/// A batch of so many rows at the start of everything, in a step whose dropout is not that of the first.
pub fn batch(rows: usize) -> StepRecord {
    StepRecord { rows: rows as u32, step: 7, seed: [3, 0x9876_5432], ..StepRecord::default() }
}

/// Says where `got` differs from `want` by more than `bound`, if it does.
pub fn difference(got: &Array2<f32>, want: &Array2<f64>, bound: &Array2<f64>) -> Option<String> {
    assert_eq!(got.dim(), want.dim(), "shapes");
    assert_eq!(bound.dim(), want.dim(), "shape of the bound");
    for (at, value) in got.indexed_iter() {
        let error = (f64::from(*value) - want[at]).abs();
        // NaN is no difference, but a failure too.
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

/// Fails with the first element that differs by more than its bound.
pub fn assert_close(what: &str, lab: &Lab, got: &Array2<f32>, want: &Array2<f64>, bound: &Array2<f64>) {
    if let Some(text) = difference(got, want, bound) {
        panic!("{what} on {} ({}): {text}", lab.context.name, lab.context.backend);
    }
}

/// Sizes that are no multiple of any tile.
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

/// What a dispatch of a kernel takes: this record, or one like it for each of its networks.
pub fn records(kernel: &dyn Kernel, record: StepRecord) -> Vec<StepRecord> {
    match kernel.description().members {
        1 => vec![record],
        count => (0..count as u32).map(|member| StepRecord { next_rows: member, ..record }).collect(),
    }
}
