//! Tile shapes that `tinytrain tune` tries: `tests/gpu/candidates.rs` proves each, so that no other is ever measured or
//! read from a file.

use crate::gpu::{Context, DeviceKind};
use crate::kernels::{MatmulTile, Tuning};

use super::row_fits;

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

impl Tuning {
    /// Threads that may take rows of a batch through all layers: more make longer chunks of a layer, or sum up more slices.
    pub const ROW_THREADS: [usize; 4] = [256, 128, 512, 64];

    /// Workgroups that may share the first layer: about as many as a processor has cores, to more than a large GPU has.
    pub const OWNERS: [usize; 7] = [240, 16, 120, 60, 480, 32, 8];

    /// This tuning with each other choice that this device can run and that is worth a trial there.
    pub fn variants(&self, of: TileParameter, context: &Context) -> Vec<Tuning> {
        let products = |list: &[MatmulTile], with: fn(&Self, MatmulTile) -> Self| -> Vec<Tuning> {
            let able = |shape: &&MatmulTile| shape.fits(context) && is_promising(**shape, context.kind);
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

/// Whether this could be the best on such a device: barriers are dear where a processor computes (the tiled body
/// takes nine times as long there, `docs/BENCHMARKS.md`), and few threads leave a GPU idle.
fn is_promising(tile: MatmulTile, kind: DeviceKind) -> bool {
    match tile {
        MatmulTile::Tiled { .. } | MatmulTile::TiledTall { .. } => kind != DeviceKind::Software,
        MatmulTile::Direct { across, down } => kind == DeviceKind::Software || across * down >= 32,
        MatmulTile::Broadcast | MatmulTile::BroadcastTall => true,
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
