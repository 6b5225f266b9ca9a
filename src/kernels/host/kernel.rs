//! A kernel with its shapes, and how it becomes a dispatch.

use crate::error::{Error, Result};
use crate::gpu::{Access, Carrier, Context, Pipelines, Prepared, Program};
use crate::kernels::{Cost, Latency, Piece, StepRecord, Tensor, Tuning, check_extents, compose};

use super::sealed::Sealed;

/// The most storage buffers that a kernel binds. GL ES guarantees only four; other interfaces have eight and more.
pub const MOST_BUFFERS: usize = 6;

/// The most steps of one dispatch: as many records as every device has room for in a uniform (`shaders/common/record_list.wgsl`).
pub const MOST_RECORDS: usize = 256;

/// A shader file and what its bindings are. Only this crate makes one: nothing else is trusted to keep its bounds.
#[derive(Debug)]
#[non_exhaustive]
pub struct Shader {
    /// File stem in `shaders/`, and entry point.
    pub name: &'static str,
    /// The file's text, with its `//#include` lines.
    pub source: &'static str,
    /// Storage buffers at bindings 1, 2, ... of group 0.
    pub bindings: &'static [Access],
    /// How many [`StepRecord`]s it reads: none, that of its step, or those of up to [`MOST_RECORDS`] steps, one after the
    /// other.
    pub records: usize,
}

/// The piece that brings a kernel its record, or records.
pub fn record_piece(kernel: &dyn Kernel, carrier: Carrier) -> &'static str {
    match carrier {
        _ if kernel.records() > 1 => "record_list",
        Carrier::Immediates => "record_immediates",
        Carrier::Offsets => "record_offsets",
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
    /// Workgroups that own rows of a batch, so many rows, and go through all layers with them.
    BatchRows(usize),
    /// Workgroups that train a network each.
    Networks {
        /// Rows of their batches.
        rows: usize,
        /// How many networks.
        count: usize,
    },
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
    /// The same in one line with the smaller teams of the sort, whose threads hold many counters each.
    Sort {
        /// Positions.
        length: usize,
        /// Positions that a thread owns.
        each: usize,
    },
}

/// One kernel with its shapes: what the host must know to dispatch it. Only this crate has kernels: they are dispatched
/// without run-time checks, which what they say of themselves makes sound.
pub trait Kernel: Sealed + Send + Sync {
    /// The shader.
    fn shader(&self) -> &'static Shader;

    /// The uniform at binding 0 of group 0, a multiple of 16 bytes.
    fn params(&self) -> Vec<u8>;

    /// How its threads are laid out; of several networks, those of each.
    fn layout(&self) -> ThreadLayout;

    /// How many networks of one shape it computes for, each a z of the grid.
    fn members(&self) -> usize {
        1
    }

    /// How many [`StepRecord`]s it reads: those of its shader, or one for each of several networks.
    fn records(&self) -> usize {
        self.shader().records
    }

    /// What in its uniform may differ between networks of one shape: two numbers, which [`Members`](crate::kernels::Members)
    /// has for each.
    fn numbers(&self) -> [u32; 2] {
        [0; 2]
    }

    /// Override constants of its own: which variant of the shader this is.
    fn flags(&self) -> Vec<(&'static str, bool)> {
        Vec::new()
    }

    /// The same of those that are numbers.
    fn choices(&self) -> Vec<(&'static str, u32)> {
        Vec::new()
    }

    /// Which file stands for a name that the shader includes, where the kernel chooses.
    fn pieces(&self) -> Vec<(&'static str, Piece)> {
        Vec::new()
    }

    /// What is fused into it, in words for people.
    fn fused(&self) -> Vec<String> {
        self.flags().into_iter().filter(|(_, set)| *set).map(|(flag, _)| flag.to_lowercase()).collect()
    }

    /// The kernel's name for people, with what is fused into it: `weight_gradient +sgd`.
    fn label(&self) -> String {
        self.fused().iter().fold(self.shader().name.to_owned(), |label, fused| label + " +" + fused)
    }

    /// Most rows of a batch, of kernels that read [`StepRecord`].
    fn most_rows(&self) -> Option<usize> {
        // The layout of a kernel whose sizes `extents` refuses may not exist.
        if self.shader().records == 0 {
            return None;
        }
        match self.layout() {
            ThreadLayout::Rows(rows)
            | ThreadLayout::BatchRows(rows)
            | ThreadLayout::Networks { rows, .. } => Some(rows),
            _ => None,
        }
    }

    /// For every storage binding, how many bytes from its start the shader may read or write under `tuning` in the step of
    /// `record`. This is what makes a dispatch without run-time checks sound: see the safety comment in `gpu/trusted.rs`.
    ///
    /// # Errors
    /// [`Error::Shape`] for sizes with which the shader would not stay within any bounds.
    fn extents(&self, tuning: &Tuning, record: &StepRecord) -> Result<Vec<u64>>;

    /// The shapes in words, for people.
    fn shape(&self) -> String;

    /// What a dispatch costs under `tuning`, all rows live; of several steps, one, and of several networks, all.
    fn cost(&self, tuning: &Tuning) -> Cost;

    /// What its slowest thread does one after the other under `tuning`, all rows live; of several steps, in one. As it
    /// stands here it is for kernels whose threads do all the same.
    fn latency(&self, tuning: &Tuning) -> Latency {
        let layout = self.layout();
        let groups: usize = tuning.grid(layout).into_iter().product();
        Latency::even(&self.cost(tuning), groups, tuning.threads(layout))
    }
}

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
            Grid::Line => ThreadLayout::Elements(rows * columns),
            Grid::Plane => ThreadLayout::Plane { rows, columns },
        }
    }

    pub(crate) fn piece(self) -> Piece {
        Piece::Named(match self {
            Grid::Line => "grid_line",
            Grid::Plane => "grid_plane",
        })
    }
}

/// Everything that shapes the machine code of `kernel`.
pub fn program(kernel: &dyn Kernel, tuning: &Tuning, carrier: Carrier) -> Program {
    let (shader, layout) = (kernel.shader(), kernel.layout());
    let (batch, records) = (record_piece(kernel, carrier), kernel.records());
    // Many have no room among the commands.
    let carrier = if records > 1 { Carrier::Offsets } else { carrier };
    let pieces =
        [kernel.pieces(), tuning.pieces(layout), vec![("record_carrier", Piece::Named(batch))]].concat();
    let flags = kernel.flags().into_iter().map(|(name, flag)| (name, f64::from(u8::from(flag))));
    let choices = kernel.choices().into_iter().map(|(name, choice)| (name, f64::from(choice)));
    let sizes = tuning.constants(layout).into_iter().map(|(name, size)| (name, size as f64));
    Program {
        entry: shader.name,
        source: compose(shader.source, &pieces),
        trusted: true,
        constants: flags.chain(choices).chain(sizes).map(|(name, value)| (name, value.to_bits())).collect(),
        bindings: shader.bindings.to_vec(),
        params_bytes: kernel.params().len() as u64,
        step_bytes: (records * size_of::<StepRecord>()) as u64,
        carrier,
    }
}

/// Compiles `kernel` if need be and binds `buffers` to it, in the order of its bindings, for steps whose records reach no
/// further than `most`: whoever records the dispatch answers for that.
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
    let grid = grid(kernel, tuning);
    let program = program(kernel, tuning, context.carrier);
    pipelines.bind(context, &program, &kernel.params(), buffers, grid)
}

/// The grid of workgroups as dispatched.
pub fn grid(kernel: &dyn Kernel, tuning: &Tuning) -> [u32; 3] {
    // What does not fit u32 exceeds every device's limit; `Pipelines::prepare` then says so.
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let [x, y, z] = tuning.grid(kernel.layout());
    [x, y, z * kernel.members()].map(count)
}

/// Which piece says what reductions and scans of u32, or else f32, add up.
pub(crate) fn item_piece(integers: bool) -> (&'static str, Piece) {
    ("item", Piece::Named(if integers { "item_u32" } else { "item_f32" }))
}

/// The uniform of the kernels that work on rows of logits (`shaders/common/logits.wgsl`).
pub(crate) fn logits_params(classes: usize) -> Vec<u8> {
    uniform(&[word(classes), 1, 0, 0])
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
