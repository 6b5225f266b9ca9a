//! Division of a matrix product among threads, by matmul body, and its cost.

use crate::gpu::Context;
use crate::kernels::{Cost, blocks};

/// Division of C into workgroups by the matmul body. Counts are in 4x4 blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatmulTile {
    /// `shaders/common/matmul_tiled.wgsl`: tiles in workgroup memory; a thread owns one block.
    Tiled {
        /// Blocks of a tile of C across (columns).
        across: usize,
        /// Blocks of a tile of C down (rows).
        down: usize,
        /// Blocks of the inner dimension per thread and step.
        inner: usize,
        /// Threads that share a block, each with separate inner blocks; 1, 2 or 4.
        split: usize,
    },
    /// Like `Tiled`, with two vertically adjacent blocks per thread: more arithmetic per access to workgroup
    /// memory.
    TiledTall {
        /// Blocks of a tile of C across (columns).
        across: usize,
        /// Blocks of a tile of C down (rows); even.
        down: usize,
        /// Blocks of the inner dimension per step.
        inner: usize,
    },
    /// `shaders/common/matmul_direct.wgsl`: no workgroup memory; a thread owns 2 x 2 blocks.
    Direct {
        /// Threads of a workgroup across (columns).
        across: usize,
        /// Threads of a workgroup down (rows).
        down: usize,
    },
    /// `shaders/common/matmul_broadcast.wgsl`: a workgroup is one subgroup of 8; a lane owns 8 x 1 blocks.
    Broadcast,
    /// `shaders/common/matmul_broadcast_tall.wgsl`: the same with 16 x 1 blocks per lane, in products of more than 32 rows.
    BroadcastTall,
}

impl MatmulTile {
    /// Returns the blocks of C that a workgroup owns: down, across.
    pub(crate) fn tile(self) -> [usize; 2] {
        match self {
            MatmulTile::Tiled { across, down, .. } | MatmulTile::TiledTall { across, down, .. } => {
                [down, across]
            }
            MatmulTile::Direct { across, down } => [2 * down, 2 * across],
            MatmulTile::Broadcast => [8, 8],
            MatmulTile::BroadcastTall => [16, 8],
        }
    }

    /// Returns the threads of a workgroup: across, down, and sharing the inner dimension.
    pub(crate) fn threads(self) -> [usize; 3] {
        match self {
            MatmulTile::Tiled { across, down, split, .. } => [across, down, split],
            MatmulTile::TiledTall { across, down, .. } => [across, down / 2, 1],
            MatmulTile::Direct { across, down } => [across, down, 1],
            MatmulTile::Broadcast | MatmulTile::BroadcastTall => [8, 1, 1],
        }
    }

    /// Returns the override constants of the body.
    pub(crate) fn constants(self) -> Vec<(&'static str, usize)> {
        let [x, y, split] = self.threads();
        let mut constants = vec![("THREADS_X", x), ("THREADS_Y", y), ("SPLIT", split)];
        if let Some(tiles) = self.shared() {
            constants.extend([("TILE_K", tiles.step), ("DOWN", self.tile()[0]), ("TILES", tiles.vec4s())]);
        }
        constants
    }

    /// Returns the tiles in workgroup memory, if the body uses them.
    fn shared(self) -> Option<SharedTiles> {
        let ([down, across], [x, y, split]) = (self.tile(), self.threads());
        let step = match self {
            MatmulTile::Tiled { inner, .. } | MatmulTile::TiledTall { inner, .. } => inner,
            _ => return None,
        };
        Some(SharedTiles { across, down, step, split, threads: x * y * split })
    }

    /// Returns whether a workgroup of this shape is within the limits of the device and the body.
    pub fn fits(self, context: &Context) -> bool {
        let limits = &context.limits;
        let within = |size: usize, limit: u32| size <= limit as usize;
        let [x, y, split] = self.threads();
        if let Some(tiles) = self.shared() {
            let whole = x * y * tiles.step > 0
                && [1, 2, 4].contains(&split)
                && tiles.loads().iter().all(|loads| *loads <= 4);
            let tall = !matches!(self, MatmulTile::TiledTall { down, .. } if down % 2 > 0);
            if !(whole && tall && within(16 * tiles.vec4s(), limits.max_compute_workgroup_storage_size)) {
                return false;
            }
        }
        x * y * split > 0
            && within(x * y * split, limits.max_compute_invocations_per_workgroup)
            && within(x, limits.max_compute_workgroup_size_x)
            && within(y, limits.max_compute_workgroup_size_y)
            && within(split, limits.max_compute_workgroup_size_z)
            && (!self.is_broadcast() || context.subgroup_size == Some(8))
    }

    pub(crate) fn is_broadcast(self) -> bool {
        matches!(self, MatmulTile::Broadcast | MatmulTile::BroadcastTall)
    }

    /// Returns the workgroups of a product C [rows, columns]: down, across.
    pub(crate) fn groups(self, rows: usize, columns: usize) -> [usize; 2] {
        let [down, across] = self.tile();
        [blocks(rows).div_ceil(down), blocks(columns).div_ceil(across)]
    }

    /// Returns the cost of a product C [rows, columns] over an inner dimension of `inner`, without its stores
    /// and their additional loads. Four values of A are loaded as `words` elements, four of B as four. Loads
    /// have no guard, so they also read outside the matrices.
    pub(crate) fn cost(self, [rows, columns, inner]: [usize; 3], words: usize) -> Cost {
        let groups: usize = self.groups(rows, columns).iter().product();
        let [x, y, _] = self.threads();
        let flop = 2 * rows * columns * inner;
        let Some(tiles) = self.shared() else {
            // vec4s of A and of B that a thread loads for each block of the inner dimension.
            let [of_a, of_b] = match self {
                MatmulTile::Broadcast => [4, 4],
                MatmulTile::BroadcastTall => [8, 4],
                _ => [8, 8],
            };
            let loads = groups * x * y * blocks(inner);
            return Cost::dispatch(loads * (of_a * words + of_b * 4), 0, flop);
        };
        let steps = groups * blocks(inner).div_ceil(tiles.depth());
        let [of_a, of_b] = tiles.loads();
        let loads = steps * tiles.threads;
        let cost = Cost::dispatch(loads * (of_a * words + of_b * 4), 0, flop);
        // In every step a workgroup stores a tile of A and of B, and a thread reads a block of B and one of A
        // for each of its blocks.
        let blocks_read = tiles.step * (1 + tiles.down / y);
        let cost = cost.sharing(
            16 * blocks_read * loads,
            16 * tiles.depth() * (tiles.down + tiles.across) * steps,
            2 * steps,
        );
        match tiles.split {
            1 => cost,
            // Each thread stores its sums; the sums that belong to C are read once per sharing thread.
            split => {
                cost.sharing(4 * split * rows * blocks(columns), 16 * split * x * y * groups, 2 * groups)
            }
        }
    }

    /// Returns the number of calls of `a_place`, for the start of a row of A, in such a product.
    /// `transposed`: A is stored transposed.
    pub(crate) fn places(self, [rows, columns, inner]: [usize; 3], transposed: bool) -> usize {
        let groups: usize = self.groups(rows, columns).iter().product();
        let [x, y, split] = self.threads();
        let threads = groups * x * y * split;
        let asked = match (self.shared(), self) {
            // Calls for the first step, and in each step for the step after the next.
            (Some(tiles), _) if transposed => tiles.loads()[0] * (1 + blocks(inner).div_ceil(tiles.depth())),
            (Some(tiles), _) => tiles.loads()[0],
            // Four rows per block, two blocks per step.
            (None, MatmulTile::Direct { .. }) => 8 * blocks(inner),
            // One row per lane; transposed, four rows per step.
            (None, _) if transposed => 4 * blocks(inner),
            (None, MatmulTile::BroadcastTall) => 8,
            (None, _) => 4,
        };
        threads * asked
    }

    /// Returns the rows of vec4s that are loaded in addition to the product for storing a C of `rows` rows:
    /// bodies that load a whole block load the last row again for missing rows.
    pub(crate) fn rows_before(self, rows: usize) -> usize {
        match self {
            MatmulTile::Tiled { split: 2.., .. } | MatmulTile::Broadcast | MatmulTile::BroadcastTall => rows,
            _ => 4 * blocks(rows),
        }
    }
}

/// Two tiles in workgroup memory. Counts are in blocks.
struct SharedTiles {
    across: usize,
    down: usize,
    /// Blocks of the inner dimension, for each of the threads that share a block of C.
    step: usize,
    split: usize,
    threads: usize,
}

impl SharedTiles {
    /// Returns the blocks of the inner dimension per step.
    fn depth(&self) -> usize {
        self.step * self.split
    }

    /// Returns the vec4s of the tiles, whose rows are padded by one, or of the sums that reuse their memory.
    fn vec4s(&self) -> usize {
        let tiles = 4 * self.depth() * (self.down + 1 + self.across + 1);
        if self.split > 1 { tiles.max(4 * self.threads) } else { tiles }
    }

    /// Returns the vec4s of A and of B that a thread loads per step: 1, 2 or 4.
    fn loads(&self) -> [usize; 2] {
        let of = |across: usize| (4 * across * self.depth()).div_ceil(self.threads).next_power_of_two();
        [of(self.down), of(self.across)]
    }
}
