//! A table of numbers of several lengths, categories and missing cells, with a header.

use std::io::{Result, Write};

/// Columns of fractions, which have one to five decimals.
const FRACTIONS: u64 = 20;

/// These and the columns of whole numbers.
const NUMBERS: u64 = 25;

/// All columns but the class.
const INPUTS: u64 = 30;

/// Writes so many rows. One cell in a hundred is missing.
pub(super) fn write(rows: usize, file: &mut impl Write) -> Result<()> {
    for column in 0..NUMBERS {
        write!(file, "x{column},")?;
    }
    writeln!(file, "a,b,c,d,e,class")?;
    for row in 0..rows as u64 {
        for cell in 0..INPUTS {
            let spread = (row * 31 + cell).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            match (spread % 100, cell) {
                (0, _) => {}
                (_, 0..FRACTIONS) => {
                    let decimals = cell as usize % 5 + 1;
                    write!(file, "{:.decimals$}", spread as f64 / 1e5 - 80.0)?;
                }
                (_, FRACTIONS..NUMBERS) => write!(file, "{}", spread % 10_000)?,
                _ => write!(file, "cat{}", spread % (2 + (cell - NUMBERS) * 9))?,
            }
            write!(file, ",")?;
        }
        writeln!(file, "{}", row % 2)?;
    }
    Ok(())
}
