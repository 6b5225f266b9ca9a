//! A kernel with its shapes, and its conversion to a dispatch.

use crate::error::{Error, Result};
use crate::gpu::{Access, Context, Pipelines, Prepared, Program, RecordTransport};
use crate::kernels::{Cost, Piece, StepRecord, Tensor, Tuning, blocks, check_extents, compose, shader_text};

/// Most storage buffers of a kernel. GL ES guarantees only four; other interfaces have eight and more.
pub const MOST_BUFFERS: usize = 6;

/// Most records of one dispatch, for which every device has room in a uniform
/// (`shaders/common/record_list.wgsl`).
pub const MOST_RECORDS: usize = 256;

/// A shader file and its bindings. Only this crate can create one, since its memory safety depends on the
/// bounds of shaders.
#[derive(Debug)]
#[non_exhaustive]
pub struct Shader {
    /// File stem in `shaders/`, and entry point.
    pub name: &'static str,
    /// Storage buffers at bindings 1, 2, ... of group 0.
    pub bindings: &'static [Access],
    /// Number of [`StepRecord`]s that it reads: none, or the record of its step.
    pub records: usize,
}

impl Shader {
    /// Creates a shader that reads no record.
    pub(crate) const fn new(name: &'static str, bindings: &'static [Access]) -> Self {
        Self { name, bindings, records: 0 }
    }

    /// Creates a shader that reads the record of its step.
    pub(crate) const fn of_step(name: &'static str, bindings: &'static [Access]) -> Self {
        Self { name, bindings, records: 1 }
    }

    /// Returns the file's text, with its `//#include` lines.
    pub fn source(&self) -> &'static str {
        shader_text(self.name)
    }
}

/// Returns the piece that provides a kernel's record or records.
pub fn record_piece(records: usize, transport: RecordTransport) -> &'static str {
    match transport {
        _ if records > 1 => "record_list",
        RecordTransport::Immediates => "record_immediates",
        RecordTransport::Offsets => "record_offsets",
    }
}

/// Layout of a kernel's threads; [`Tuning`] has the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadLayout {
    /// C [rows, columns] of a matrix product, by the matmul body (`shaders/common/matmul_*.wgsl`).
    Product {
        /// Rows of C.
        rows: usize,
        /// Columns of C.
        columns: usize,
        /// Number of such products, concatenated.
        matrices: usize,
    },
    /// Workgroups that own rows of a batch, `rows` in total, and process all layers for them.
    BatchRows(usize),
    /// This number of workgroups, which own tiles of weights.
    WeightTiles(usize),
    /// One thread for each of this number of elements (`shaders/common/elementwise.wgsl`).
    Elements(usize),
    /// One thread per element, in workgroups of two dimensions (`shaders/common/grid_plane.wgsl`).
    Plane {
        /// Rows of threads.
        rows: usize,
        /// Threads of a row.
        columns: usize,
    },
    /// Some threads for each of this number of rows, in few workgroups that stride over them
    /// (`shaders/common/rows.wgsl`).
    Rows(usize),
    /// Some threads and one output per segment (`shaders/common/segments.wgsl`).
    Segments {
        /// Number of segments.
        count: usize,
        /// Elements of a segment.
        length: usize,
        /// Whether the elements of a segment are a column of a matrix instead of contiguous.
        down: bool,
    },
    /// Workgroups of one team each, whose threads work together (`shaders/common/team.wgsl`).
    Teams {
        /// Lines (rows of a matrix); no workgroup spans two of them.
        lines: usize,
        /// Positions of a line.
        length: usize,
        /// Positions that a thread owns.
        each: usize,
    },
}

/// Information that the host needs to dispatch a kernel with its shapes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Description {
    /// The shader.
    pub shader: &'static Shader,
    /// The uniform at binding 0 of group 0, a multiple of 16 bytes.
    pub params: Vec<u8>,
    /// Layout of the threads; for several networks, of each network.
    pub layout: ThreadLayout,
    /// Readable description of the shapes.
    pub shape: String,
    /// The kernel's override constants, which select the variant of the shader.
    pub flags: Vec<(&'static str, bool)>,
    /// Override constants that are numbers.
    pub choices: Vec<(&'static str, u32)>,
    /// Files for names that the shader includes, if the kernel chooses them.
    pub pieces: Vec<(&'static str, Piece)>,
    /// Readable names of the fused operations, if they differ from the names of the flags.
    pub(crate) fuses: Option<Vec<String>>,
    /// Number of networks of one shape that it computes, each a z of the grid.
    pub members: usize,
    /// Number of [`StepRecord`]s that it reads: the shader's number, or one for each of several networks.
    pub records: usize,
    /// Values in the uniform that may differ between networks of one shape: two numbers, which
    /// [`Members`](crate::kernels::Members) has for each.
    pub numbers: [u32; 2],
}

impl Description {
    /// Creates the description of a kernel for one network, with these words in its uniform, without
    /// constants and pieces.
    pub(crate) fn new(shader: &'static Shader, words: &[u32], layout: ThreadLayout, shape: String) -> Self {
        Self {
            shader,
            params: uniform(words),
            layout,
            shape,
            flags: Vec::new(),
            choices: Vec::new(),
            pieces: Vec::new(),
            fuses: None,
            members: 1,
            records: shader.records,
            numbers: [0; 2],
        }
    }

    /// Returns readable names of the fused operations.
    pub fn fused(&self) -> Vec<String> {
        let flags = || self.flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag.to_lowercase());
        self.fuses.clone().unwrap_or_else(|| flags().collect())
    }
}

/// One kernel with its shapes. Only this crate has kernels: they are dispatched without run-time checks, and
/// their descriptions make this sound.
pub trait Kernel: Send + Sync {
    /// Returns the kernel's description, for all sizes that [`Kernel::extents`] accepts; buffers may not be
    /// large enough for them. Call [`Kernel::description`] instead.
    #[doc(hidden)]
    fn describe(&self, _: Seal) -> Description;

    /// Returns for every storage binding the number of bytes from its start that the shader may read or write
    /// under `tuning` in the step of `record`. This makes a dispatch without run-time checks sound: see the
    /// safety comment in `gpu/unchecked_shaders.rs`.
    ///
    /// # Errors
    /// [`Error::Shape`] for sizes with which the shader would not stay within any bounds, and for a record
    /// with more rows than the kernel has room for.
    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>>;

    /// Returns the cost of a dispatch under `tuning`, with all rows live; for several steps, of one step, and
    /// for several networks, of all.
    fn cost(&self, tuning: &Tuning) -> Cost;

    /// Returns the kernel's description.
    fn description(&self) -> Description {
        self.describe(Seal(()))
    }

    /// Returns the shader. As all methods below, valid for sizes that [`Kernel::extents`] accepts.
    fn shader(&self) -> &'static Shader {
        self.description().shader
    }

    /// Returns the kernel's readable name, with its fused operations: `weight_gradient +sgd`.
    fn label(&self) -> String {
        let it = self.description();
        it.fused().iter().fold(it.shader.name.to_owned(), |label, fused| label + " +" + fused)
    }
}

mod seal {
    /// A type that only this crate can name, so that only it can implement kernels.
    #[derive(Debug)]
    pub struct Seal(pub(super) ());
}

pub(crate) use seal::Seal;

/// Arrangement of the threads of a kernel with one thread for each element of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Numbered row after row (`shaders/common/grid_line.wgsl`).
    Line,
    /// In tiles of two dimensions (`shaders/common/grid_plane.wgsl`).
    Plane,
}

impl Grid {
    pub(crate) fn layout(self, rows: usize, columns: usize) -> ThreadLayout {
        match self {
            Grid::Line => ThreadLayout::Elements(rows.saturating_mul(columns)),
            Grid::Plane => ThreadLayout::Plane { rows, columns },
        }
    }

    pub(crate) fn piece(self) -> (&'static str, Piece) {
        let piece = match self {
            Grid::Line => "grid_line",
            Grid::Plane => "grid_plane",
        };
        ("grid", Piece::Named(piece))
    }

    /// Returns the common description of kernels with one thread for each vec4 of a matrix; `more` is another
    /// word of the uniform.
    pub(crate) fn describe(
        self,
        shader: &'static Shader,
        rows: usize,
        columns: usize,
        more: u32,
    ) -> Description {
        let (words, layout) = ([word(rows), word(columns), more, 0], self.layout(rows, blocks(columns)));
        let alone = Description::new(shader, &words, layout, format!("{rows} x {columns}"));
        Description { pieces: vec![self.piece()], ..alone }
    }
}

/// Returns everything that determines the machine code of `kernel`.
pub fn program(kernel: &dyn Kernel, tuning: &Tuning, transport: RecordTransport) -> Program {
    program_of(&kernel.description(), tuning, transport)
}

fn program_of(kernel: &Description, tuning: &Tuning, transport: RecordTransport) -> Program {
    let Description { shader, layout, records, .. } = *kernel;
    let record = vec![("record_carrier", Piece::Named(record_piece(records, transport)))];
    // Several records do not fit in immediates.
    let transport = if records > 1 { RecordTransport::Offsets } else { transport };
    let flags = kernel.flags.iter().map(|(name, flag)| (*name, f64::from(u8::from(*flag))));
    let choices = kernel.choices.iter().map(|(name, choice)| (*name, f64::from(*choice)));
    let sizes = tuning.constants(layout).into_iter().map(|(name, size)| (name, size as f64));
    Program {
        entry: shader.name,
        source: compose(shader.source(), &[kernel.pieces.clone(), tuning.pieces(layout), record].concat()),
        unchecked: true,
        constants: flags.chain(choices).chain(sizes).map(|(name, value)| (name, value.to_bits())).collect(),
        bindings: shader.bindings.to_vec(),
        params_bytes: kernel.params.len() as u64,
        step_bytes: (records * size_of::<StepRecord>()) as u64,
        transport,
    }
}

/// Compiles `kernel` if needed and binds `buffers` to it, in the order of its bindings, for steps whose
/// records do not exceed `most`: the caller that records the dispatch ensures this.
///
/// # Errors
/// [`Error::Shape`] when a buffer is smaller than the kernel's accesses, when there is not one buffer for
/// each binding, or when `most` has more rows than the kernel; [`Error::Device`] when the device cannot run
/// such tile shapes; see also [`Pipelines::prepare`].
pub(crate) fn prepare(
    context: &Context,
    pipelines: &Pipelines,
    kernel: &dyn Kernel,
    tuning: &Tuning,
    buffers: &[&wgpu::Buffer],
    most: &StepRecord,
) -> Result<Prepared> {
    check_extents(context, kernel, tuning, buffers, most)?;
    let it = kernel.description();
    let program = program_of(&it, tuning, context.transport);
    pipelines.bind(context, &program, &it.params, buffers, grid_of(&it, tuning))
}

/// Returns the dispatched grid of workgroups.
pub fn grid(kernel: &dyn Kernel, tuning: &Tuning) -> [u32; 3] {
    grid_of(&kernel.description(), tuning)
}

fn grid_of(kernel: &Description, tuning: &Tuning) -> [u32; 3] {
    // Numbers that do not fit u32 exceed every device's limit; `Pipelines::prepare` then returns an error.
    let [x, y, z] = tuning.grid(kernel.layout);
    [x, y, z * kernel.members].map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

/// Returns the piece with the merge operation of reductions and scans of u32, otherwise f32.
pub(crate) fn item_piece(integers: bool) -> (&'static str, Piece) {
    ("item", Piece::Named(if integers { "item_u32" } else { "item_f32" }))
}

/// Returns the common description of kernels that work on rows of logits (`shaders/common/logits.wgsl`).
pub(crate) fn of_logits(shader: &'static Shader, rows: usize, classes: usize) -> Description {
    let (layout, shape) = (ThreadLayout::Rows(rows), format!("{rows} x {classes}"));
    Description::new(shader, &[word(classes), 1, 0, 0], layout, shape)
}

/// Converts words to the bytes of a uniform.
pub(crate) fn uniform(words: &[u32]) -> Vec<u8> {
    bytemuck::cast_slice(words).to_vec()
}

/// Converts a count or size to the shaders' u32.
pub(crate) fn word(n: usize) -> u32 {
    // Buffers have fewer than u32::MAX words, so extents reject a size that does not fit.
    u32::try_from(n).unwrap_or(u32::MAX)
}

pub(crate) fn dimensions<T: Tensor>(tensor: &T) -> String {
    format!("{} x {}", tensor.rows(), tensor.columns())
}

/// Checks that two tensors have the same shape.
pub(crate) fn same_shape<T: Tensor>(shader: &'static Shader, a: &T, b: &T) -> Result<()> {
    if (a.rows(), a.columns()) == (b.rows(), b.columns()) {
        return Ok(());
    }
    Err(shape_error(shader, format!("two of {}", dimensions(a)), dimensions(b)))
}

/// Checks that a tensor has elements.
pub(crate) fn not_empty<T: Tensor>(shader: &'static Shader, x: &T) -> Result<()> {
    if x.rows() > 0 && x.columns() > 0 {
        return Ok(());
    }
    Err(shape_error(shader, "at least one element".to_owned(), dimensions(x)))
}

pub(crate) fn shape_error(shader: &'static Shader, expected: String, found: String) -> Error {
    Error::Shape { kernel: shader.name, expected, found }
}
