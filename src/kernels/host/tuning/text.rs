//! Tile shapes as one line of text, as model files and the file of measurements keep them.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result, excerpt};
use crate::kernels::{MatmulTile, Tuning};

impl fmt::Display for MatmulTile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatmulTile::Tiled { across, down, inner, split } => {
                write!(f, "tiled {across}x{down}x{inner}x{split}")
            }
            MatmulTile::TiledTall { across, down, inner } => write!(f, "tall {across}x{down}x{inner}"),
            MatmulTile::Direct { across, down } => write!(f, "direct {across}x{down}"),
            MatmulTile::Broadcast => f.write_str("broadcast"),
            MatmulTile::BroadcastTall => f.write_str("broadcast tall"),
        }
    }
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { product, wide, row, column, owners, lanes, rows, workgroup, plane: [x, y], team, sorters } =
            self;
        write!(
            f,
            "product={product}; wide={wide}; row={row}; column={column}; owners={owners}; lanes={lanes}; rows={rows}; "
        )?;
        write!(f, "workgroup={workgroup}; plane={x}x{y}; team={team}; sorters={sorters}")
    }
}

impl FromStr for Tuning {
    type Err = Error;

    /// Reads what [`Tuning`] is displayed as, and nothing else.
    fn from_str(text: &str) -> Result<Self> {
        // What reads back as something else was written by somebody else.
        parse(text).filter(|tuning| tuning.to_string() == text).ok_or_else(|| {
            Error::Config(format!(
                "tile shapes: expected such as {:?}, found {:?}",
                Tuning::GPU.to_string(),
                excerpt(text)
            ))
        })
    }
}

fn parse(text: &str) -> Option<Tuning> {
    let mut entries = text.split("; ");
    let mut value = |name: &str| entries.next()?.strip_prefix(name)?.strip_prefix('=');
    let size = |text| sizes(text).map(|[size]| size);
    // What halves at each level of a tree of sums, or is a mask.
    let power = |text| size(text).filter(|size| size.is_power_of_two());
    Some(Tuning {
        product: product(value("product")?)?,
        wide: product(value("wide")?)?,
        row: size(value("row")?)?,
        column: product(value("column")?)?,
        owners: size(value("owners")?)?,
        lanes: power(value("lanes")?)?,
        rows: power(value("rows")?)?,
        workgroup: size(value("workgroup")?)?,
        plane: sizes(value("plane")?)?,
        team: size(value("team")?)?,
        sorters: power(value("sorters")?)?,
    })
}

fn product(text: &str) -> Option<MatmulTile> {
    if text == "broadcast" {
        return Some(MatmulTile::Broadcast);
    }
    match text.split_once(' ')? {
        ("broadcast", "tall") => Some(MatmulTile::BroadcastTall),
        ("tiled", text) => {
            sizes(text).map(|[across, down, inner, split]| MatmulTile::Tiled { across, down, inner, split })
        }
        ("tall", text) => {
            sizes(text).map(|[across, down, inner]| MatmulTile::TiledTall { across, down, inner })
        }
        ("direct", text) => sizes(text).map(|[across, down]| MatmulTile::Direct { across, down }),
        _ => None,
    }
}

/// More than any limit of a device: products of four sizes are far from overflowing.
const MOST_SIZE: usize = 65_535;

/// So many numbers above 0 with an x between them.
fn sizes<const N: usize>(text: &str) -> Option<[usize; N]> {
    let sizes: Vec<usize> = text.split('x').map(|size| size.parse().ok()).collect::<Option<_>>()?;
    let sizes: [usize; N] = sizes.try_into().ok()?;
    sizes.iter().all(|size| (1..=MOST_SIZE).contains(size)).then_some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        assert_eq!(
            Tuning::GPU.to_string(),
            "product=tiled 4x8x4x4; wide=tiled 8x8x4x2; row=256; column=tiled 4x16x4x2; owners=240; lanes=16; rows=4; \
             workgroup=64; plane=8x8; team=256; sorters=64"
        );
        for tuning in Tuning::ALL {
            assert_eq!(tuning.to_string().parse::<Tuning>().unwrap(), tuning);
        }
    }

    #[test]
    fn what_nobody_writes_is_refused() {
        let text = Tuning::SOFTWARE_SUBGROUPS.to_string();
        for (from, to) in [
            ("wide=broadcast tall", "wide=broadcast 8x1"),
            ("wide=broadcast tall", "wide=tiled 8x8x4"),
            ("wide=broadcast tall", "wide=direct 8x0"),
            ("row=64", "row=direct 8x1"),
            ("product=broadcast", "row=broadcast"),
            ("owners=16", "owners=+16"),
            ("owners=16", "owners=16x16"),
            ("plane=8x8", "plane=8"),
            ("plane=8x8", "plane=8x65536"),
            ("lanes=8", "lanes=7"),
            ("; rows=2", "; rows=3"),
            ("sorters=64", "sorters=96"),
            ("wide=broadcast tall", "wide=direct 18446744073709551615x18446744073709551615"),
            ("; sorters=64", ""),
            ("sorters=64", "sorters=64; more=1"),
            ("; ", ";"),
        ] {
            assert!(text.contains(from));
            let error = text.replacen(from, to, 1).parse::<Tuning>().unwrap_err();
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        assert!("".parse::<Tuning>().is_err());
    }
}
