//! Tile shapes: which are chosen depends on the kind of adapter.

use crate::gpu::{Context, DeviceKind};

use super::{Layout, blocks};

/// How the matmul body divides C into workgroups. Counts are in 4x4 blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// `shaders/common/matmul_tiled.wgsl`: tiles in workgroup memory, a thread owns one block.
    Tiled {
        /// Blocks of a tile of C across (columns).
        across: usize,
        /// Blocks of a tile of C down (rows).
        down: usize,
        /// Blocks of the inner dimension a step.
        inner: usize,
    },
    /// `shaders/common/matmul_direct.wgsl`: no workgroup memory, a thread owns 2 x 2 blocks.
    Direct {
        /// Threads of a workgroup across (columns).
        across: usize,
        /// Threads of a workgroup down (rows).
        down: usize,
    },
    /// `shaders/common/matmul_broadcast.wgsl`: a workgroup is one subgroup of 8, a lane owns 8 x 1 blocks.
    Broadcast,
}

/// All sizes that the host may choose. They change the order of sums, so results repeat bit for bit only under the
/// same tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Of every kernel that is a matrix product.
    pub product: Product,
    /// Threads that share a row in reductions; a power of two.
    pub lanes: usize,
    /// Rows a workgroup takes at a time in reductions; a power of two.
    pub rows: usize,
    /// Threads of a workgroup of the elementwise kernels.
    pub workgroup: usize,
}

impl Tuning {
    /// For real GPUs: many small workgroups, 32 x 32 tiles.
    pub const GPU: Tuning = Tuning {
        product: Product::Tiled { across: 8, down: 8, inner: 4 },
        lanes: 16,
        rows: 4,
        workgroup: 64,
    };

    /// For software adapters, where a barrier is dear and a workgroup runs on one processor.
    pub const SOFTWARE: Tuning =
        Tuning { product: Product::Direct { across: 8, down: 1 }, lanes: 8, rows: 2, workgroup: 64 };

    /// The same for those with subgroups of 8.
    pub const SOFTWARE_SUBGROUPS: Tuning = Tuning { product: Product::Broadcast, ..Tuning::SOFTWARE };

    /// Every tuning that is shipped: all are tested.
    pub const ALL: [Tuning; 3] = [Tuning::GPU, Tuning::SOFTWARE, Tuning::SOFTWARE_SUBGROUPS];

    /// The tuning for this device.
    pub fn of(context: &Context) -> Self {
        match context.kind {
            DeviceKind::Software if Tuning::SOFTWARE_SUBGROUPS.runs_on(context) => Tuning::SOFTWARE_SUBGROUPS,
            DeviceKind::Software => Tuning::SOFTWARE,
            _ => Tuning::GPU,
        }
    }

    /// Whether the device has what this tuning needs.
    pub fn runs_on(&self, context: &Context) -> bool {
        match self.product {
            Product::Broadcast => context.subgroup_size == Some(8),
            Product::Tiled { .. } | Product::Direct { .. } => true,
        }
    }

    /// Workgroups in x and y.
    pub(super) fn grid(&self, layout: Layout) -> [usize; 2] {
        match (layout, self.product) {
            (Layout::Product { rows, columns }, Product::Tiled { across, down, .. }) => {
                [blocks(columns).div_ceil(across), blocks(rows).div_ceil(down)]
            }
            (Layout::Product { rows, columns }, Product::Direct { across, down }) => {
                [blocks(columns).div_ceil(2 * across), blocks(rows).div_ceil(2 * down)]
            }
            (Layout::Product { rows, columns }, Product::Broadcast) => {
                [blocks(columns).div_ceil(8), blocks(rows).div_ceil(8)]
            }
            (Layout::Elements(elements), _) => {
                // More workgroups than a dimension may have are folded into y.
                const MOST: usize = 65_535;
                let groups = elements.div_ceil(self.workgroup);
                let folds = groups.div_ceil(MOST).max(1);
                [groups.div_ceil(folds), folds]
            }
            (Layout::Rows(rows), _) => [self.row_groups(rows), 1],
        }
    }

    /// Workgroups of a reduction over the rows of a matrix. They stride over the rows, so that the metrics of a step
    /// have few slots however large the batch is.
    pub fn row_groups(&self, rows: usize) -> usize {
        const MOST: usize = 64;
        rows.div_ceil(self.rows).clamp(1, MOST)
    }

    /// Which file stands for a name that a shader of this layout includes.
    pub(super) fn pieces(&self, layout: Layout) -> Vec<(&'static str, &'static str)> {
        let body = match self.product {
            Product::Tiled { .. } => "matmul_tiled",
            Product::Direct { .. } => "matmul_direct",
            Product::Broadcast => "matmul_broadcast",
        };
        match layout {
            Layout::Product { .. } => vec![("matmul_body", body)],
            Layout::Elements(_) | Layout::Rows(_) => Vec::new(),
        }
    }

    /// The override constants of the layout's piece.
    pub(super) fn constants(&self, layout: Layout) -> Vec<(&'static str, usize)> {
        match (layout, self.product) {
            (Layout::Product { .. }, Product::Tiled { across, down, inner }) => {
                vec![("THREADS_X", across), ("THREADS_Y", down), ("TILE_K", inner)]
            }
            (Layout::Product { .. }, Product::Direct { across, down }) => {
                vec![("THREADS_X", across), ("THREADS_Y", down)]
            }
            (Layout::Product { .. }, Product::Broadcast) => vec![("THREADS_X", 8), ("THREADS_Y", 1)],
            (Layout::Elements(_), _) => vec![("WORKGROUP", self.workgroup)],
            (Layout::Rows(_), _) => vec![("LANES", self.lanes), ("ROWS", self.rows)],
        }
    }
}
