//! Tile shapes that `tinytrain tune` tries: `tests/gpu/candidates.rs` proves each, so that no other is ever measured or
//! read from a file.

use std::fmt;

use crate::gpu::{Context, DeviceKind};
use crate::kernels::{MatmulTile, Tuning};

/// A choice of [`Tuning`] that can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileParameter {
    /// [`Tuning::product`]
    Product,
    /// [`Tuning::row`]
    Row,
    /// [`Tuning::column`]
    Column,
    /// [`Tuning::owners`]
    Owners,
}

impl fmt::Display for TileParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TileParameter::Product => "product",
            TileParameter::Row => "row",
            TileParameter::Column => "column",
            TileParameter::Owners => "owners",
        })
    }
}

const fn tiled(across: usize, down: usize, inner: usize) -> MatmulTile {
    MatmulTile::Tiled { across, down, inner }
}

const fn direct(across: usize, down: usize) -> MatmulTile {
    MatmulTile::Direct { across, down }
}

impl MatmulTile {
    /// For products and tiles of weights, what should be good on most devices first.
    ///
    /// Tiled: skinny matrices make few workgroups, so tiles of 16 to 64 rows and columns; 16 threads are half a subgroup
    /// of most GPUs but four times the workgroups of 64; a deeper step has fewer barriers and takes more memory.
    /// Direct: at least 8 threads, as software adapters compute eight at once; 32 for GPUs, whose subgroups have no
    /// fewer.
    pub const CANDIDATES: [MatmulTile; 13] = [
        MatmulTile::BroadcastTall,
        MatmulTile::Broadcast,
        tiled(8, 8, 4),
        tiled(8, 4, 4),
        tiled(4, 8, 4),
        tiled(4, 4, 4),
        tiled(8, 8, 2),
        tiled(8, 8, 8),
        tiled(16, 4, 4),
        tiled(16, 8, 4),
        direct(8, 1),
        direct(4, 2),
        direct(8, 4),
    ];

    /// For workgroups that take rows through all layers. A row of blocks per workgroup makes the most of them; units are
    /// many, so threads stand side by side.
    pub const ROW_CANDIDATES: [MatmulTile; 8] = [
        MatmulTile::Broadcast,
        tiled(32, 1, 4),
        tiled(64, 1, 4),
        tiled(128, 1, 2),
        tiled(32, 1, 8),
        tiled(32, 2, 4),
        direct(8, 1),
        direct(32, 1),
    ];

    /// Whether a workgroup of this shape is within the device's limits.
    pub fn fits(self, context: &Context) -> bool {
        let limits = &context.limits;
        let within = |size: usize, limit: u32| size <= limit as usize;
        let [x, y] = match self {
            MatmulTile::Tiled { across, down, .. } | MatmulTile::Direct { across, down } => [across, down],
            MatmulTile::Broadcast | MatmulTile::BroadcastTall => [8, 1],
        };
        // Two tiles of 4x4 blocks; the row kernel keeps a pair of numbers per thread beside them.
        let memory = match self {
            MatmulTile::Tiled { across, down, inner } => 64 * inner * (across + down),
            MatmulTile::Direct { .. } | MatmulTile::Broadcast | MatmulTile::BroadcastTall => 0,
        } + 8 * x * y;
        let inner = if let MatmulTile::Tiled { inner, .. } = self { inner } else { 1 };
        x * y * inner > 0
            && within(x * y, limits.max_compute_invocations_per_workgroup)
            && within(x, limits.max_compute_workgroup_size_x)
            && within(y, limits.max_compute_workgroup_size_y)
            && within(memory, limits.max_compute_workgroup_storage_size)
            && (!self.is_broadcast() || context.subgroup_size == Some(8))
    }

    /// Whether this could be the best on such a device: barriers are dear where a processor computes (the tiled body
    /// takes nine times as long there, `docs/BENCHMARKS.md`), and few threads leave a GPU idle.
    fn is_promising(self, kind: DeviceKind) -> bool {
        match self {
            MatmulTile::Tiled { .. } => kind != DeviceKind::Software,
            MatmulTile::Direct { across, down } => kind == DeviceKind::Software || across * down >= 32,
            MatmulTile::Broadcast | MatmulTile::BroadcastTall => true,
        }
    }

    fn is_broadcast(self) -> bool {
        matches!(self, MatmulTile::Broadcast | MatmulTile::BroadcastTall)
    }
}

impl Tuning {
    /// Workgroups that may share the first layer: about as many as a processor has cores, to more than a large GPU has.
    pub const OWNERS: [usize; 7] = [120, 16, 60, 240, 32, 8, 480];

    /// This tuning with each other choice that this device can run and that is worth a trial there.
    pub fn variants(&self, of: TileParameter, context: &Context) -> Vec<Tuning> {
        let products = |list: &[MatmulTile], with: fn(&Self, MatmulTile) -> Self| -> Vec<Tuning> {
            let able = |shape: &&MatmulTile| shape.fits(context) && shape.is_promising(context.kind);
            list.iter().filter(able).map(|shape| with(self, *shape)).collect()
        };
        let all: Vec<Tuning> = match of {
            TileParameter::Product => {
                products(&MatmulTile::CANDIDATES, |it, product| Self { product, ..*it })
            }
            TileParameter::Row => products(&MatmulTile::ROW_CANDIDATES, |it, row| Self { row, ..*it }),
            TileParameter::Column => products(&MatmulTile::CANDIDATES, |it, column| Self { column, ..*it }),
            TileParameter::Owners => {
                Self::OWNERS.into_iter().map(|owners| Self { owners, ..*self }).collect()
            }
        };
        all.into_iter().filter(|variant| variant != self).collect()
    }

    /// Whether `tinytrain tune` could have come from this tuning to `other` on the device.
    pub fn leads_to(&self, other: &Tuning, context: &Context) -> bool {
        let Tuning { product, row, column, owners, .. } = *other;
        *other == Tuning { product, row, column, owners, ..*self }
            && MatmulTile::CANDIDATES.contains(&product)
            && MatmulTile::ROW_CANDIDATES.contains(&row)
            && MatmulTile::CANDIDATES.contains(&column)
            && Self::OWNERS.contains(&owners)
            && other.runs_on(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_can_be_measured_and_nothing_twice() {
        for tuning in Tuning::ALL {
            assert!(MatmulTile::CANDIDATES.contains(&tuning.product));
            assert!(MatmulTile::ROW_CANDIDATES.contains(&tuning.row));
            assert!(MatmulTile::CANDIDATES.contains(&tuning.column));
            assert!(Tuning::OWNERS.contains(&tuning.owners));
        }
        for list in [&MatmulTile::CANDIDATES[..], &MatmulTile::ROW_CANDIDATES] {
            for (index, shape) in list.iter().enumerate() {
                assert!(!list[..index].contains(shape), "{shape}");
            }
        }
    }
}
