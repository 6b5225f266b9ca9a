//! Tile shapes: which are chosen depends on the kind of adapter.

use crate::gpu::{Context, DeviceKind};

use crate::kernels::{Cost, Piece, ThreadLayout, blocks};

/// How the matmul body divides C into workgroups. Counts are in 4x4 blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatmulTile {
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
    /// `shaders/common/matmul_broadcast_tall.wgsl`: the same with 16 x 1 blocks per lane, in products of more than 32 rows.
    BroadcastTall,
}

/// All sizes that the host may choose. They change the order of sums, so results repeat bit for bit only under the
/// same tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Of every kernel that is a matrix product.
    pub product: MatmulTile,
    /// Of the workgroups that take rows of a batch through all layers.
    pub row: MatmulTile,
    /// Of those that own tiles of weights.
    pub column: MatmulTile,
    /// How many of those should share the first layer: its inputs are split into parts until there are so many.
    pub owners: usize,
    /// Threads that share a row in reductions; a power of two.
    pub lanes: usize,
    /// Rows a workgroup takes at a time in reductions; a power of two.
    pub rows: usize,
    /// Threads of a workgroup of the elementwise kernels.
    pub workgroup: usize,
    /// The same where they are laid out in two dimensions: across (vec4s of a row), down (rows).
    pub plane: [usize; 2],
    /// Threads of a workgroup that work together through workgroup memory: reductions, windows, convolution, scan.
    pub team: usize,
    /// The same of the sort, where each has 16 counters there; a power of two.
    pub sorters: usize,
}

impl Tuning {
    /// For real GPUs: many small workgroups, 32 x 32 tiles.
    pub const GPU: Tuning = Tuning {
        product: MatmulTile::Tiled { across: 8, down: 8, inner: 4 },
        row: MatmulTile::Tiled { across: 32, down: 1, inner: 4 },
        column: MatmulTile::Tiled { across: 8, down: 8, inner: 4 },
        owners: 120,
        lanes: 16,
        rows: 4,
        workgroup: 64,
        plane: [8, 8],
        team: 256,
        sorters: 64,
    };

    /// For software adapters, where a barrier is dear and a workgroup runs on one processor.
    pub const SOFTWARE: Tuning = Tuning {
        product: MatmulTile::Direct { across: 8, down: 1 },
        row: MatmulTile::Direct { across: 8, down: 1 },
        column: MatmulTile::Direct { across: 8, down: 1 },
        owners: 16,
        lanes: 8,
        rows: 2,
        workgroup: 64,
        plane: [8, 8],
        team: 256,
        sorters: 64,
    };

    /// The same for those with subgroups of 8.
    pub const SOFTWARE_SUBGROUPS: Tuning = Tuning {
        product: MatmulTile::BroadcastTall,
        row: MatmulTile::Broadcast,
        column: MatmulTile::Broadcast,
        ..Tuning::SOFTWARE
    };

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
        let Self { owners, lanes, rows, workgroup, plane, team, sorters, .. } = *self;
        let sizes = [owners, lanes, rows, workgroup, plane[0], plane[1], team, sorters];
        sizes.iter().all(|size| *size > 0)
            && [self.product, self.row, self.column].into_iter().all(|product| product.fits(context))
    }

    /// Workgroups in x, y and z.
    pub(crate) fn grid(&self, layout: ThreadLayout) -> [usize; 3] {
        let fold = |groups: usize| {
            // More workgroups than a dimension may have are folded into y.
            const MOST: usize = 65_535;
            let folds = groups.div_ceil(MOST).max(1);
            [groups.div_ceil(folds), folds, 1]
        };
        match layout {
            ThreadLayout::Product { rows, columns, matrices } => {
                let [down, across] = self.product_for(rows).tile();
                [blocks(columns).div_ceil(across), blocks(rows).div_ceil(down), matrices]
            }
            ThreadLayout::BatchRows(rows) => fold(self.batch_groups(rows)),
            ThreadLayout::WeightTiles(groups) => fold(groups),
            ThreadLayout::Elements(elements) => fold(elements.div_ceil(self.workgroup)),
            ThreadLayout::Plane { rows, columns } => {
                fold(columns.div_ceil(self.plane[0]) * rows.div_ceil(self.plane[1]))
            }
            ThreadLayout::Rows(rows) => [self.row_groups(rows), 1, 1],
            ThreadLayout::Segments { count, length, down } => {
                fold(count.div_ceil(self.segment_shape(length, down).abreast))
            }
            ThreadLayout::Teams { lines, length, each } => fold(lines * length.div_ceil(self.team * each)),
            ThreadLayout::Sort { length, each } => fold(length.div_ceil(self.sorters * each)),
        }
    }

    /// How a workgroup of the team's size divides into segments of `length` elements (`shaders/common/segments.wgsl`).
    /// `down` says that neighbouring segments, not neighbouring elements of one, stand side by side in memory: then
    /// sixteen segments and more stand abreast, so that loads coalesce.
    pub fn segment_shape(&self, length: usize, down: bool) -> SegmentShape {
        let most = if down { (self.team / 16).max(1) } else { self.team };
        let lanes = length.max(1).next_power_of_two().min(most);
        SegmentShape { lanes, abreast: (self.team / lanes).max(1) }
    }

    /// Workgroups of a reduction over the rows of a matrix. They stride over the rows, so that the metrics of a step
    /// have few slots however large the batch is.
    pub fn row_groups(&self, rows: usize) -> usize {
        const MOST: usize = 64;
        rows.div_ceil(self.rows).clamp(1, MOST)
    }

    /// Workgroups of a kernel whose workgroups own rows of a batch.
    pub fn batch_groups(&self, rows: usize) -> usize {
        let [down, _] = self.row.tile();
        rows.div_ceil(4 * down)
    }

    /// The shape that [`Tuning::product`] takes where C has so many rows: no taller one than they fill.
    pub(crate) fn product_for(&self, rows: usize) -> MatmulTile {
        let [down, _] = MatmulTile::Broadcast.tile();
        match self.product {
            MatmulTile::BroadcastTall if blocks(rows) <= down => MatmulTile::Broadcast,
            product => product,
        }
    }

    /// The tiles of a layout that is made of matrix products.
    fn product_of(&self, layout: ThreadLayout) -> Option<MatmulTile> {
        match layout {
            ThreadLayout::Product { rows, .. } => Some(self.product_for(rows)),
            ThreadLayout::BatchRows(_) => Some(self.row),
            ThreadLayout::WeightTiles(_) => Some(self.column),
            _ => None,
        }
    }

    /// The cost with `trees` reductions over each of `rows` rows.
    pub(crate) fn row_trees(&self, cost: Cost, rows: usize, trees: usize) -> Cost {
        // Rows of a workgroup that are not there take part.
        cost.trees(trees * rows.div_ceil(self.rows) * self.rows, self.rows, self.lanes, 1)
    }

    /// The cost with the two reductions over whole workgroups that make the metrics.
    pub(crate) fn metrics_trees(&self, cost: Cost, rows: usize) -> Cost {
        cost.trees(2 * self.row_groups(rows), 1, self.lanes * self.rows, 1)
    }

    /// Which file stands for a name that a shader of this layout includes.
    pub(crate) fn pieces(&self, layout: ThreadLayout) -> Vec<(&'static str, Piece)> {
        let body = self.product_of(layout).map(|product| match product {
            MatmulTile::Tiled { .. } => "matmul_tiled",
            MatmulTile::Direct { .. } => "matmul_direct",
            MatmulTile::Broadcast => "matmul_broadcast",
            MatmulTile::BroadcastTall => "matmul_broadcast_tall",
        });
        body.map(|body| ("matmul_body", Piece::Named(body))).into_iter().collect()
    }

    /// The override constants of the layout's piece.
    pub(crate) fn constants(&self, layout: ThreadLayout) -> Vec<(&'static str, usize)> {
        if let Some(product) = self.product_of(layout) {
            return product.constants();
        }
        match layout {
            ThreadLayout::Product { .. } | ThreadLayout::BatchRows(_) | ThreadLayout::WeightTiles(_) => {
                Vec::new()
            }
            ThreadLayout::Elements(_) => vec![("WORKGROUP", self.workgroup)],
            ThreadLayout::Plane { .. } => {
                vec![("WORKGROUP", self.plane[0]), ("WORKGROUP_Y", self.plane[1])]
            }
            ThreadLayout::Rows(_) => vec![("LANES", self.lanes), ("ROWS", self.rows)],
            ThreadLayout::Segments { length, down, .. } => {
                let shape = self.segment_shape(length, down);
                let [x, y] = if down { [shape.abreast, shape.lanes] } else { [shape.lanes, shape.abreast] };
                vec![("LANES", shape.lanes), ("ROWS", shape.abreast), ("THREADS_X", x), ("THREADS_Y", y)]
            }
            ThreadLayout::Teams { .. } => vec![("TEAM", self.team)],
            ThreadLayout::Sort { .. } => vec![("TEAM", self.sorters)],
        }
    }
}

/// How a workgroup divides into segments that are reduced side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentShape {
    /// Threads that share a segment.
    pub lanes: usize,
    /// Segments of a workgroup.
    pub abreast: usize,
}

impl MatmulTile {
    /// Blocks of C that a workgroup owns: down, across.
    pub(crate) fn tile(self) -> [usize; 2] {
        match self {
            MatmulTile::Tiled { across, down, .. } => [down, across],
            MatmulTile::Direct { across, down } => [2 * down, 2 * across],
            MatmulTile::Broadcast => [8, 8],
            MatmulTile::BroadcastTall => [16, 8],
        }
    }

    /// The override constants of its body.
    fn constants(self) -> Vec<(&'static str, usize)> {
        match self {
            MatmulTile::Tiled { across, down, inner } => {
                vec![("THREADS_X", across), ("THREADS_Y", down), ("TILE_K", inner)]
            }
            MatmulTile::Direct { across, down } => vec![("THREADS_X", across), ("THREADS_Y", down)],
            MatmulTile::Broadcast | MatmulTile::BroadcastTall => vec![("THREADS_X", 8), ("THREADS_Y", 1)],
        }
    }

    /// Threads of a workgroup.
    pub(crate) fn threads(self) -> usize {
        match self {
            MatmulTile::Tiled { across, down, .. } | MatmulTile::Direct { across, down } => across * down,
            MatmulTile::Broadcast | MatmulTile::BroadcastTall => 8,
        }
    }

    /// What a product C [rows, columns] over an inner dimension of `inner` costs without the stores, where `a` and `b`
    /// elements are stored of the operands.
    pub(crate) fn cost(self, [rows, columns, inner]: [usize; 3], a: usize, b: usize) -> Cost {
        let [down, across] = self.tile();
        let groups = [blocks(rows).div_ceil(down), blocks(columns).div_ceil(across)];
        // How often an element of A, of B is loaded.
        let [loads_a, loads_b] = match self {
            MatmulTile::Direct { across, down } => [groups[1] * across, groups[0] * down],
            MatmulTile::Tiled { .. } | MatmulTile::Broadcast | MatmulTile::BroadcastTall => {
                [groups[1], groups[0]]
            }
        };
        let cost = Cost::dispatch(loads_a * a + loads_b * b, 0, 2 * rows * columns * inner);
        let MatmulTile::Tiled { across, down, inner: step } = self else {
            return cost;
        };
        // Every step a workgroup stores a tile of A and of B, and a thread reads two 4x4 blocks for each block of it.
        let steps = groups[0] * groups[1] * blocks(inner).div_ceil(step);
        cost.sharing(32 * across * down * step * steps, 16 * (across + down) * step * steps, 2 * steps)
    }

    /// How often such a product asks where a row of A begins that is there (`a_place`): A as stored has `rows` of them,
    /// or, where it is stored transposed, `inner`.
    pub(crate) fn places(self, [rows, columns, inner]: [usize; 3], transposed: bool) -> usize {
        let [down, across] = self.tile();
        let groups = [blocks(rows).div_ceil(down), blocks(columns).div_ceil(across)];
        // For every block of A that a thread loads, also of those outside.
        let walked = match self {
            MatmulTile::Tiled { inner: step, .. } => blocks(inner).div_ceil(step) * step,
            MatmulTile::Direct { .. } => blocks(inner),
            // A row per lane, once per workgroup; transposed, all rows in each lane.
            MatmulTile::Broadcast | MatmulTile::BroadcastTall if transposed => {
                return self.threads() * groups[0] * groups[1] * inner;
            }
            MatmulTile::Broadcast | MatmulTile::BroadcastTall => return groups[1] * rows,
        };
        let threads =
            if let MatmulTile::Direct { across, .. } = self { groups[1] * across } else { groups[1] };
        threads * if transposed { groups[0] * down * inner } else { walked * rows }
    }
}
