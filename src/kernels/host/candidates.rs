//! Tile shapes that `tinytrain tune` tries: `tests/gpu/candidates.rs` proves each, so that no other is ever measured or
//! read from a file.

use crate::gpu::{Context, DeviceKind};
use crate::kernels::{MatmulTile, Tuning};

use super::tuning::row_fits;

/// A choice of [`Tuning`] that can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileParameter {
    /// [`Tuning::product`]
    Product,
    /// [`Tuning::wide`]
    Wide,
    /// [`Tuning::row`]
    Row,
    /// [`Tuning::column`]
    Column,
    /// [`Tuning::owners`]
    Owners,
}

crate::named::named!(TileParameter {
    Product = "product",
    Wide = "wide",
    Row = "row",
    Column = "column",
    Owners = "owners",
});

const fn tiled(across: usize, down: usize, inner: usize, split: usize) -> MatmulTile {
    MatmulTile::Tiled { across, down, inner, split }
}

const fn tall(across: usize, down: usize, inner: usize) -> MatmulTile {
    MatmulTile::TiledTall { across, down, inner }
}

const fn direct(across: usize, down: usize) -> MatmulTile {
    MatmulTile::Direct { across, down }
}

impl MatmulTile {
    /// For products and tiles of weights, what should be good on most devices first.
    ///
    /// Tiled: skinny matrices make few workgroups, so tiles of 16 to 64 rows and columns, and threads that share the inner
    /// dimension; a deeper step has fewer barriers and takes more memory.
    /// Direct: at least 8 threads, as software adapters compute eight at once; 32 for GPUs, whose subgroups have no
    /// fewer.
    pub const CANDIDATES: [MatmulTile; 14] = [
        MatmulTile::BroadcastTall,
        MatmulTile::Broadcast,
        tiled(4, 8, 4, 4),
        tiled(4, 16, 4, 2),
        tiled(8, 4, 4, 4),
        tiled(4, 4, 4, 4),
        tiled(8, 8, 2, 4),
        tiled(8, 8, 4, 4),
        tiled(8, 8, 4, 2),
        tiled(8, 8, 4, 1),
        tiled(16, 8, 4, 1),
        tall(16, 16, 4),
        direct(8, 1),
        direct(8, 4),
    ];

    /// For products of which a device gets enough large tiles.
    pub const WIDE_CANDIDATES: [MatmulTile; 7] = [
        MatmulTile::BroadcastTall,
        tiled(8, 8, 4, 2),
        tall(16, 16, 4),
        tall(16, 16, 2),
        tall(8, 16, 4),
        tiled(8, 8, 4, 1),
        direct(8, 1),
    ];

    /// Whether this could be the best on such a device: barriers are dear where a processor computes (the tiled body
    /// takes nine times as long there, `docs/BENCHMARKS.md`), and few threads leave a GPU idle.
    fn is_promising(self, kind: DeviceKind) -> bool {
        match self {
            MatmulTile::Tiled { .. } | MatmulTile::TiledTall { .. } => kind != DeviceKind::Software,
            MatmulTile::Direct { across, down } => kind == DeviceKind::Software || across * down >= 32,
            MatmulTile::Broadcast | MatmulTile::BroadcastTall => true,
        }
    }
}

impl Tuning {
    /// Threads that may take rows of a batch through all layers: more make longer chunks of a layer, or sum up more slices.
    pub const ROW_THREADS: [usize; 4] = [256, 128, 512, 64];

    /// Workgroups that may share the first layer: about as many as a processor has cores, to more than a large GPU has.
    pub const OWNERS: [usize; 7] = [240, 16, 120, 60, 480, 32, 8];

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
            TileParameter::Wide => products(&MatmulTile::WIDE_CANDIDATES, |it, wide| Self { wide, ..*it }),
            TileParameter::Row => {
                let able = |row: &usize| row_fits(*row, context);
                Self::ROW_THREADS.into_iter().filter(able).map(|row| Self { row, ..*self }).collect()
            }
            TileParameter::Column => products(&MatmulTile::CANDIDATES, |it, column| Self { column, ..*it }),
            TileParameter::Owners => {
                Self::OWNERS.into_iter().map(|owners| Self { owners, ..*self }).collect()
            }
        };
        all.into_iter().filter(|variant| variant != self).collect()
    }

    /// Whether `tinytrain tune` could have come from this tuning to `other` on the device.
    pub fn leads_to(&self, other: &Tuning, context: &Context) -> bool {
        let Tuning { product, wide, row, column, owners, .. } = *other;
        *other == Tuning { product, wide, row, column, owners, ..*self }
            && MatmulTile::CANDIDATES.contains(&product)
            && MatmulTile::WIDE_CANDIDATES.contains(&wide)
            && Self::ROW_THREADS.contains(&row)
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
            assert!(MatmulTile::WIDE_CANDIDATES.contains(&tuning.wide));
            assert!(Tuning::ROW_THREADS.contains(&tuning.row));
            assert!(MatmulTile::CANDIDATES.contains(&tuning.column));
            assert!(Tuning::OWNERS.contains(&tuning.owners));
        }
        for list in [&MatmulTile::CANDIDATES[..], &MatmulTile::WIDE_CANDIDATES] {
            for (index, shape) in list.iter().enumerate() {
                assert!(!list[..index].contains(shape), "{shape}");
            }
        }
    }
}
