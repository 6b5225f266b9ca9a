//! `tinytrain man`.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use tinytrain::output::Destination;
use tinytrain::{Error, Result};

/// Write the pages of the manual.
///
/// One page for the program and one for each command, `tinytrain.1`, `tinytrain-train.1` and so on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain man ~/.local/share/man/man1")]
pub struct Options {
    /// The folder that they go into; it is made if need be.
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

/// Writes the pages of the program with this command line.
///
/// # Errors
/// Those of the files.
pub fn run(options: &Options, program: Command) -> anyhow::Result<()> {
    let program = program.disable_help_subcommand(true);
    let name = program.get_name().to_owned();
    let source = format!("{name} {}", env!("CARGO_PKG_VERSION"));
    // Names of commands stand where a page names itself.
    let of_command = |command: &Command| {
        let name = format!("{name}-{}", command.get_name());
        command.clone().display_name(&name).bin_name(name.replacen('-', " ", 1))
    };
    let commands: Vec<Command> =
        program.get_subcommands().filter(|it| !it.is_hide_set()).map(of_command).collect();
    let pages = [program].into_iter().chain(commands).map(|command| {
        let man = Man::new(command).source(&source);
        let path = options.folder.join(man.get_filename());
        Ok((Destination::check(&path)?, page(&man).map_err(|source| Error::Write { path, source })?))
    });
    // All are found writable before one is written.
    let pages = pages.collect::<Result<Vec<_>>>()?;
    for (destination, page) in pages {
        destination.write(&page)?;
    }
    Ok(())
}

fn page(man: &Man) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(page)
}
