//! Tile shapes, chosen by the kind of adapter.

use crate::gpu::{Context, DeviceKind};

use crate::kernels::{Cost, MatmulTile, Piece, ThreadLayout, blocks};

/// All sizes that the host may choose. They change the order of sums, so results are bit-identical only with
/// the same tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Tile of every matrix product kernel.
    pub product: MatmulTile,
    /// Larger tile, used if C has enough of them.
    pub wide: MatmulTile,
    /// Threads of the workgroups that take rows of a batch through all layers.
    pub row: usize,
    /// Tile of kernels that own tiles of weights.
    pub column: MatmulTile,
    /// Least number of such tiles for the first layer: its inputs are split into parts until there are this
    /// many.
    pub owners: usize,
    /// Threads that share a row in reductions; a power of two.
    pub lanes: usize,
    /// Rows per workgroup at a time in reductions; a power of two.
    pub rows: usize,
    /// Threads of a workgroup of the elementwise kernels.
    pub workgroup: usize,
    /// Threads of a workgroup in two dimensions: across (vec4s of a row), down (rows).
    pub plane: [usize; 2],
    /// Threads of a workgroup that work together through workgroup memory: reductions, windows, convolution, scan.
    pub team: usize,
}

impl Tuning {
    /// Tuning for real GPUs: many workgroups of small tiles whose threads share the inner dimension, and 32 x
    /// 32 tiles if there are enough of them. Chosen by machine code of several GPUs and measured on an H100.
    pub const GPU: Tuning = Tuning {
        product: MatmulTile::Tiled { across: 4, down: 8, inner: 4, split: 4 },
        wide: MatmulTile::Tiled { across: 8, down: 8, inner: 4, split: 2 },
        row: 256,
        column: MatmulTile::Tiled { across: 4, down: 16, inner: 4, split: 2 },
        owners: 240,
        lanes: 16,
        rows: 4,
        workgroup: 64,
        plane: [8, 8],
        team: 256,
    };

    /// Tuning for software adapters, where a barrier is expensive and a workgroup runs on one processor.
    pub const SOFTWARE: Tuning = Tuning {
        product: MatmulTile::Direct { across: 8, down: 1 },
        wide: MatmulTile::Direct { across: 8, down: 1 },
        row: 64,
        column: MatmulTile::Direct { across: 8, down: 1 },
        owners: 16,
        lanes: 8,
        rows: 2,
        workgroup: 64,
        plane: [8, 8],
        team: 256,
    };

    /// Tuning for software drivers with subgroups of 8.
    pub const SOFTWARE_SUBGROUPS: Tuning = Tuning {
        product: MatmulTile::Broadcast,
        wide: MatmulTile::BroadcastTall,
        column: MatmulTile::Broadcast,
        ..Tuning::SOFTWARE
    };

    /// All shipped tunings; all are tested.
    pub const ALL: [Tuning; 3] = [Tuning::GPU, Tuning::SOFTWARE, Tuning::SOFTWARE_SUBGROUPS];

    /// Returns the tuning for this device.
    pub fn for_device(context: &Context) -> Self {
        match context.kind {
            DeviceKind::Software if Tuning::SOFTWARE_SUBGROUPS.runs_on(context) => Tuning::SOFTWARE_SUBGROUPS,
            DeviceKind::Software => Tuning::SOFTWARE,
            _ => Tuning::GPU,
        }
    }

    /// Returns whether the device supports this tuning.
    pub fn runs_on(&self, context: &Context) -> bool {
        let Self { row, owners, lanes, rows, workgroup, plane, team, .. } = *self;
        let sizes = [owners, lanes, rows, workgroup, plane[0], plane[1], team];
        sizes.iter().all(|size| *size > 0)
            && [self.product, self.wide, self.column].into_iter().all(|product| product.fits(context))
            && row_fits(row, context)
    }

    /// Returns the workgroups in x, y and z.
    pub(crate) fn grid(&self, layout: ThreadLayout) -> [usize; 3] {
        self.threads_of(layout).grid
    }

    /// Returns the total number of workgroups.
    pub(crate) fn groups(&self, layout: ThreadLayout) -> usize {
        self.grid(layout).into_iter().product()
    }

    /// Returns the threads of a workgroup.
    pub fn threads(&self, layout: ThreadLayout) -> usize {
        self.threads_of(layout).count
    }

    /// Returns the override constants of the layout's piece.
    pub(crate) fn constants(&self, layout: ThreadLayout) -> Vec<(&'static str, usize)> {
        self.threads_of(layout).constants
    }

    fn threads_of(&self, layout: ThreadLayout) -> Threads {
        let fold = |groups: usize| {
            // Workgroups beyond the limit of a dimension are folded into y.
            const MOST: usize = 65_535;
            let folds = groups.div_ceil(MOST).max(1);
            [groups.div_ceil(folds), folds, 1]
        };
        let tiled = |tile: MatmulTile, grid| Threads {
            grid,
            count: tile.threads().into_iter().product(),
            constants: tile.constants(),
        };
        let (groups, count, constants) = match layout {
            ThreadLayout::Product { rows, columns, matrices } => {
                let tile = self.product_for(rows, columns);
                let [down, across] = tile.groups(rows, columns);
                return tiled(tile, [across, down, matrices]);
            }
            ThreadLayout::WeightTiles(groups) => return tiled(self.column, fold(groups)),
            ThreadLayout::BatchRows(rows) => {
                let together = self.rows_together(rows);
                (self.batch_groups(rows), self.row, vec![("THREADS", self.row), ("ROWS", together)])
            }
            ThreadLayout::Elements(elements) => {
                let constants = vec![("WORKGROUP", self.workgroup)];
                (elements.div_ceil(self.workgroup), self.workgroup, constants)
            }
            ThreadLayout::Plane { rows, columns } => {
                let [x, y] = self.plane;
                let constants = vec![("WORKGROUP", x), ("WORKGROUP_Y", y)];
                (columns.div_ceil(x) * rows.div_ceil(y), x * y, constants)
            }
            ThreadLayout::Rows(rows) => {
                let constants = vec![("LANES", self.lanes), ("ROWS", self.rows)];
                (self.row_groups(rows), self.lanes * self.rows, constants)
            }
            ThreadLayout::Segments { count, length, down } => {
                let SegmentShape { lanes, abreast } = self.segment_shape(length, down);
                let [x, y] = if down { [abreast, lanes] } else { [lanes, abreast] };
                let constants = [("LANES", lanes), ("ROWS", abreast), ("THREADS_X", x), ("THREADS_Y", y)];
                (count.div_ceil(abreast), self.team, constants.to_vec())
            }
            ThreadLayout::Teams { lines, length, each } => {
                (lines * length.div_ceil(self.team * each), self.team, vec![("TEAM", self.team)])
            }
        };
        Threads { grid: fold(groups), count, constants }
    }

    /// Returns the division of a workgroup of the team's size into segments of `length` elements
    /// (`shaders/common/segments.wgsl`). If `down`, adjacent segments instead of adjacent elements of one are
    /// contiguous in memory: then sixteen or more segments are processed together, so that loads coalesce.
    pub fn segment_shape(&self, length: usize, down: bool) -> SegmentShape {
        let most = if down { (self.team / 16).max(1) } else { self.team };
        let lanes = length.max(1).next_power_of_two().min(most);
        SegmentShape { lanes, abreast: (self.team / lanes).max(1) }
    }

    /// Returns the workgroups of a reduction over the rows of a matrix. They stride over the rows, so that
    /// the metrics of a step have few slots for any batch size.
    pub fn row_groups(&self, rows: usize) -> usize {
        const MOST: usize = 64;
        rows.div_ceil(self.rows).clamp(1, MOST)
    }

    /// Returns the rows of a batch of `rows` that a workgroup processes together: one if it has many threads
    /// and a large GPU has room for all workgroups at once; else two, which halves the loads of weights.
    pub(crate) fn rows_together(&self, rows: usize) -> usize {
        const THREADS: usize = 256;
        const ROOM: usize = 128;
        if self.row >= THREADS && rows <= ROOM { 1 } else { 2 }
    }

    /// Returns the workgroups of a kernel whose workgroups own rows of a batch.
    pub fn batch_groups(&self, rows: usize) -> usize {
        rows.div_ceil(self.rows_together(rows))
    }

    /// Returns the tile of a product C [rows, columns]: [`Tuning::wide`] if C has enough of these tiles to
    /// occupy a large device, and a still larger one if it has enough of that.
    pub(crate) fn product_for(&self, rows: usize, columns: usize) -> MatmulTile {
        const ENOUGH: usize = 240;
        // Two workgroups for each unit of such a device: a tile has half the threads of two of the others. It
        // takes less memory than one of them, so it fits if they do.
        const ENOUGH_OF_WIDEST: usize = 264;
        const WIDEST: MatmulTile = MatmulTile::TiledTall { across: 16, down: 16, inner: 4 };
        let tiles = |shape: MatmulTile| {
            let [down, across] = shape.tile();
            (blocks(rows) / down) * (blocks(columns) / across)
        };
        if self.wide == Tuning::GPU.wide && tiles(WIDEST) >= ENOUGH_OF_WIDEST {
            return WIDEST;
        }
        let fills = match self.wide {
            // A processor has few cores, so no thread should be idle.
            MatmulTile::BroadcastTall => blocks(rows) > self.wide.tile()[0] / 2,
            wide => tiles(wide) >= ENOUGH,
        };
        if fills { self.wide } else { self.product }
    }

    /// Returns the tiles of a layout that consists of matrix products.
    pub fn tile_of(&self, layout: ThreadLayout) -> Option<MatmulTile> {
        match layout {
            ThreadLayout::Product { rows, columns, .. } => Some(self.product_for(rows, columns)),
            ThreadLayout::WeightTiles(_) => Some(self.column),
            _ => None,
        }
    }

    /// Adds the cost of `trees` reductions over each of `rows` rows.
    pub(crate) fn row_trees(&self, cost: Cost, rows: usize, trees: usize) -> Cost {
        // Missing rows of a workgroup take part.
        cost.trees(trees * rows.div_ceil(self.rows) * self.rows, self.rows, self.lanes, 1)
    }

    /// Adds the cost of the two reductions over whole workgroups for the metrics.
    pub(crate) fn metrics_trees(&self, cost: Cost, rows: usize) -> Cost {
        cost.trees(2 * self.row_groups(rows), 1, self.lanes * self.rows, 1)
    }

    /// Returns the files for names that a shader of this layout includes.
    pub fn pieces(&self, layout: ThreadLayout) -> Vec<(&'static str, Piece)> {
        let body = self.tile_of(layout).map(|product| match product {
            MatmulTile::Tiled { .. } | MatmulTile::TiledTall { .. } => "matmul_tiled",
            MatmulTile::Direct { .. } => "matmul_direct",
            MatmulTile::Broadcast => "matmul_broadcast",
            MatmulTile::BroadcastTall => "matmul_broadcast_tall",
        });
        body.map(|body| ("matmul_body", Piece::Named(body))).into_iter().collect()
    }
}

/// The threads of a dispatch: workgroups, threads of each, and the override constants with these numbers.
struct Threads {
    grid: [usize; 3],
    count: usize,
    constants: Vec<(&'static str, usize)>,
}

/// Division of a workgroup into segments that are reduced in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentShape {
    /// Threads that share a segment.
    pub lanes: usize,
    /// Segments of a workgroup.
    pub abreast: usize,
}

/// Returns whether a workgroup of [`Tuning::row`] threads is within the device's limits.
fn row_fits(threads: usize, context: &Context) -> bool {
    let limits = &context.limits;
    let within = |size: usize, limit: u32| size <= limit as usize;
    // A chunk has room for at least one block, and there are threads for the rows' losses.
    threads >= 4
        && threads.is_multiple_of(2)
        && within(threads, limits.max_compute_invocations_per_workgroup)
        && within(threads, limits.max_compute_workgroup_size_x)
        && within(64 * threads, limits.max_compute_workgroup_storage_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_takes_the_largest_tiles_of_which_it_fills_enough() {
        let Tuning { product, wide, .. } = Tuning::GPU;
        let widest = MatmulTile::TiledTall { across: 16, down: 16, inner: 4 };
        // 239 and 240 tiles of 32 x 32; 263 and 264 of 64 x 64, in a line and as 12 by 22.
        for (rows, columns, shape) in [
            (64, 300, product),
            (32, 239 * 32, product),
            (32, 240 * 32, wide),
            (64, 263 * 64, wide),
            (64, 264 * 64, widest),
            (12 * 64, 22 * 64, widest),
            (12 * 64 - 4, 22 * 64, wide),
        ] {
            assert_eq!(Tuning::GPU.product_for(rows, columns), shape, "{rows} x {columns}");
        }
        let software = Tuning::SOFTWARE_SUBGROUPS;
        assert_eq!([32, 33].map(|rows| software.product_for(rows, 3)), [software.product, software.wide]);
    }

    #[test]
    fn a_workgroup_takes_one_row_where_there_is_room_for_all() {
        let groups = |tuning: Tuning| [1, 128, 129].map(|rows| tuning.batch_groups(rows));
        assert_eq!(groups(Tuning::GPU), [1, 128, 65]);
        assert_eq!(groups(Tuning { row: 128, ..Tuning::GPU }), [1, 64, 65]);
    }
}
