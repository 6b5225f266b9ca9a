//! Where the text of the shaders comes from: what is compiled in, or a folder like `shaders/`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tinytrain::gpu::{Program, RecordTransport};
use tinytrain::kernels::{Kernel, Piece, Tuning, compose, record_piece};

/// The text of the shaders.
pub enum Shaders {
    /// As it is compiled in.
    BuiltIn,
    /// Files of a folder like `shaders/`, so that a change needs no compiler.
    Folder(PathBuf),
}

impl Shaders {
    /// The whole text of a kernel.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn source(&self, kernel: &dyn Kernel, tuning: &Tuning, program: &Program) -> Result<String> {
        let Self::Folder(folder) = self else { return Ok(program.source().to_owned()) };
        let read = |path: PathBuf| fs::read_to_string(&path).with_context(|| path.display().to_string());
        let mut choices = [kernel.description().pieces, tuning.pieces(kernel.description().layout)].concat();
        choices.push((
            "record_carrier",
            Piece::Named(record_piece(kernel.description().records, RecordTransport::Immediates)),
        ));
        let named = |name: &str| read(folder.join("common").join(format!("{name}.wgsl")));
        for (_, piece) in &mut choices {
            if let Piece::Named(name) = piece {
                *piece = Piece::Text(named(name)?);
            }
        }
        // Pieces that are included by their own names.
        for file in fs::read_dir(folder.join("common")).with_context(|| folder.display().to_string())? {
            let path = file?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !choices.iter().any(|(known, _)| *known == name) {
                // A few names for as long as the program runs.
                choices.push((name.leak(), Piece::Text(read(path)?)));
            }
        }
        Ok(compose(&read(folder.join(format!("{}.wgsl", program.entry())))?, &choices))
    }
}
