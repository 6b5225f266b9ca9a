//! A kernel with its shapes, and how it becomes a dispatch.

use crate::error::{Error, Result};
use crate::gpu::{Access, Context, Pipelines, Prepared, Program, RecordTransport};
use crate::kernels::{Cost, Piece, StepRecord, Tensor, Tuning, blocks, check_extents, compose, shader_text};

/// The most storage buffers that a kernel binds. GL ES guarantees only four; other interfaces have eight and more.
pub const MOST_BUFFERS: usize = 6;

/// The most records of one dispatch, which every device has room for in a uniform (`shaders/common/record_list.wgsl`).
pub const MOST_RECORDS: usize = 256;

/// A shader file and what its bindings are. Only this crate makes one: nothing else is trusted to keep its bounds.
#[derive(Debug)]
#[non_exhaustive]
pub struct Shader {
    /// File stem in `shaders/`, and entry point.
    pub name: &'static str,
    /// Storage buffers at bindings 1, 2, ... of group 0.
    pub bindings: &'static [Access],
    /// How many [`StepRecord`]s it reads: none, or that of its step.
    pub records: usize,
}

impl Shader {
    /// A shader that reads no record.
    pub(crate) const fn new(name: &'static str, bindings: &'static [Access]) -> Self {
        Self { name, bindings, records: 0 }
    }

    /// A shader that reads the record of its step.
    pub(crate) const fn of_step(name: &'static str, bindings: &'static [Access]) -> Self {
        Self { name, bindings, records: 1 }
    }

    /// The file's text, with its `//#include` lines.
    pub fn source(&self) -> &'static str {
        shader_text(self.name)
    }
}

/// The piece that brings a kernel its record, or records.
pub fn record_piece(records: usize, transport: RecordTransport) -> &'static str {
    match transport {
        _ if records > 1 => "record_list",
        RecordTransport::Immediates => "record_immediates",
        RecordTransport::Offsets => "record_offsets",
    }
}

/// The ways in which the threads of a kernel are laid out; [`Tuning`] says how many of them share what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadLayout {
    /// C [rows, columns] of a matrix product, by the matmul body (`shaders/common/matmul_*.wgsl`).
    Product {
        /// Rows of C.
        rows: usize,
        /// Columns of C.
        columns: usize,
        /// How many such products, one behind the other.
        matrices: usize,
    },
    /// Workgroups that own rows of a batch, `rows` in all, and go through all layers with them.
    BatchRows(usize),
    /// So many workgroups that own tiles of weights.
    WeightTiles(usize),
    /// One thread per element, so many of them (`shaders/common/elementwise.wgsl`).
    Elements(usize),
    /// One thread per element, workgroups of two dimensions (`shaders/common/grid_plane.wgsl`).
    Plane {
        /// Rows of threads.
        rows: usize,
        /// Threads of a row.
        columns: usize,
    },
    /// Some threads per row, so many rows; few workgroups that stride over them (`shaders/common/rows.wgsl`).
    Rows(usize),
    /// Some threads a segment, one output a segment (`shaders/common/segments.wgsl`).
    Segments {
        /// Number of segments.
        count: usize,
        /// Elements of a segment.
        length: usize,
        /// The elements of a segment stand one below the other in a matrix, not side by side.
        down: bool,
    },
    /// Workgroups of one team each, whose threads work together (`shaders/common/team.wgsl`).
    Teams {
        /// Lines (rows of a matrix); no workgroup reaches into two of them.
        lines: usize,
        /// Positions of a line.
        length: usize,
        /// Positions that a thread owns.
        each: usize,
    },
}

/// What the host must know to dispatch a kernel with its shapes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Description {
    /// The shader.
    pub shader: &'static Shader,
    /// The uniform at binding 0 of group 0, a multiple of 16 bytes.
    pub params: Vec<u8>,
    /// How its threads are laid out; of several networks, those of each.
    pub layout: ThreadLayout,
    /// The shapes in words, for people.
    pub shape: String,
    /// The kernel's override constants, which select the variant of the shader.
    pub flags: Vec<(&'static str, bool)>,
    /// Override constants that are numbers.
    pub choices: Vec<(&'static str, u32)>,
    /// The files for names that the shader includes, where the kernel chooses.
    pub pieces: Vec<(&'static str, Piece)>,
    /// What is fused into it, in words for people, where that is not what its flags are called.
    pub(crate) fuses: Option<Vec<String>>,
    /// How many networks of one shape it computes for, each a z of the grid.
    pub members: usize,
    /// How many [`StepRecord`]s it reads: those of its shader, or one for each of several networks.
    pub records: usize,
    /// What in its uniform may differ between networks of one shape: two numbers, which [`Members`](crate::kernels::Members)
    /// has for each.
    pub numbers: [u32; 2],
}

impl Description {
    /// The description of a kernel for one network, with these words in its uniform, without constants and pieces.
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

    /// What is fused into it, in words for people.
    pub fn fused(&self) -> Vec<String> {
        let flags = || self.flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag.to_lowercase());
        self.fuses.clone().unwrap_or_else(|| flags().collect())
    }
}

/// One kernel with its shapes. Only this crate has kernels: they are dispatched without run-time checks, which what they say of
/// themselves makes sound.
pub trait Kernel: Send + Sync {
    /// What it says of itself, for all sizes that [`Kernel::extents`] does not refuse: no buffer may be large enough for them.
    /// Call [`Kernel::description`].
    #[doc(hidden)]
    fn describe(&self, _: Seal) -> Description;

    /// For every storage binding, how many bytes from its start the shader may read or write under `tuning` in the step of
    /// `record`. This is what makes a dispatch without run-time checks sound: see the safety comment in `gpu/unchecked.rs`.
    ///
    /// # Errors
    /// [`Error::Shape`] for sizes with which the shader would not stay within any bounds, and for a record with more rows than
    /// the kernel has room for.
    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>>;

    /// What a dispatch costs under `tuning`, all rows live; of several steps, one, and of several networks, all.
    fn cost(&self, tuning: &Tuning) -> Cost;

    /// What it says of itself.
    fn description(&self) -> Description {
        self.describe(Seal(()))
    }

    /// The shader. As all below it is for sizes that [`Kernel::extents`] takes.
    fn shader(&self) -> &'static Shader {
        self.description().shader
    }

    /// The kernel's name for people, with what is fused into it: `weight_gradient +sgd`.
    fn label(&self) -> String {
        let it = self.description();
        it.fused().iter().fold(it.shader.name.to_owned(), |label, fused| label + " +" + fused)
    }
}

mod seal {
    /// Whoever can name this can write a kernel: this crate.
    #[derive(Debug)]
    pub struct Seal(pub(super) ());
}

pub(crate) use seal::Seal;

/// How the threads of a kernel stand that has one for each element of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Counted through, row after row (`shaders/common/grid_line.wgsl`).
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

    /// What the kernels with a thread for each vec4 of a matrix have in common; `more` is another word of the uniform.
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

/// Everything that shapes the machine code of `kernel`.
pub fn program(kernel: &dyn Kernel, tuning: &Tuning, transport: RecordTransport) -> Program {
    program_of(&kernel.description(), tuning, transport)
}

fn program_of(kernel: &Description, tuning: &Tuning, transport: RecordTransport) -> Program {
    let Description { shader, layout, records, .. } = *kernel;
    let record = vec![("record_carrier", Piece::Named(record_piece(records, transport)))];
    // Many have no room among the commands.
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

/// Compiles `kernel` if need be and binds `buffers` to it, in the order of its bindings, for steps whose records reach no
/// further than `most`: the caller that records the dispatch ensures that.
///
/// # Errors
/// [`Error::Shape`] when a buffer is smaller than the kernel reaches, when there is not one buffer for each binding, or when
/// `most` has more rows than the kernel; [`Error::Device`] when the device cannot run such tile shapes; as
/// [`Pipelines::prepare`].
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

/// The grid of workgroups as dispatched.
pub fn grid(kernel: &dyn Kernel, tuning: &Tuning) -> [u32; 3] {
    grid_of(&kernel.description(), tuning)
}

fn grid_of(kernel: &Description, tuning: &Tuning) -> [u32; 3] {
    // What does not fit u32 exceeds every device's limit; `Pipelines::prepare` then says so.
    let [x, y, z] = tuning.grid(kernel.layout);
    [x, y, z * kernel.members].map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

/// Which piece says what reductions and scans of u32, or else f32, add up.
pub(crate) fn item_piece(integers: bool) -> (&'static str, Piece) {
    ("item", Piece::Named(if integers { "item_u32" } else { "item_f32" }))
}

/// What the kernels that work on rows of logits have in common (`shaders/common/logits.wgsl`).
pub(crate) fn of_logits(shader: &'static Shader, rows: usize, classes: usize) -> Description {
    let (layout, shape) = (ThreadLayout::Rows(rows), format!("{rows} x {classes}"));
    Description::new(shader, &[word(classes), 1, 0, 0], layout, shape)
}

/// Words as a uniform.
pub(crate) fn uniform(words: &[u32]) -> Vec<u8> {
    bytemuck::cast_slice(words).to_vec()
}

/// A count or size as the shaders hold it.
pub(crate) fn word(n: usize) -> u32 {
    // Buffers hold fewer than u32::MAX words, so extents refuse a size that does not fit.
    u32::try_from(n).unwrap_or(u32::MAX)
}

pub(crate) fn dimensions<T: Tensor>(tensor: &T) -> String {
    format!("{} x {}", tensor.rows(), tensor.columns())
}

/// Demands that two tensors have the same shape.
pub(crate) fn same_shape<T: Tensor>(shader: &'static Shader, a: &T, b: &T) -> Result<()> {
    if (a.rows(), a.columns()) == (b.rows(), b.columns()) {
        return Ok(());
    }
    Err(shape_error(shader, format!("two of {}", dimensions(a)), dimensions(b)))
}

/// Demands that a tensor has elements.
pub(crate) fn not_empty<T: Tensor>(shader: &'static Shader, x: &T) -> Result<()> {
    if x.rows() > 0 && x.columns() > 0 {
        return Ok(());
    }
    Err(shape_error(shader, "at least one element".to_owned(), dimensions(x)))
}

pub(crate) fn shape_error(shader: &'static Shader, expected: String, found: String) -> Error {
    Error::Shape { kernel: shader.name, expected, found }
}
