//! `tinytrain completions` and `tinytrain man`, generated from the description of the command line.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::output::Destination;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use super::output::{print, wrote};

/// Print a completion script for a shell.
///
/// The script goes to standard output.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinytrain completions bash > ~/.local/share/bash-completion/completions/tinytrain\n  \
                        tinytrain completions zsh > \"${fpath[1]}/_tinytrain\"\n  \
                        tinytrain completions fish > ~/.config/fish/completions/tinytrain.fish\n  \
                        tinytrain completions powershell >> $PROFILE"
)]
pub struct CompletionOptions {
    /// Shell.
    #[arg(value_name = "SHELL", value_parser = shell())]
    shell: Shell,
}

/// Parses a documented shell; `clap_complete` supports more.
fn shell() -> impl TypedValueParser<Value = Shell> {
    let parser = PossibleValuesParser::new(["bash", "zsh", "fish", "powershell"]);
    parser.try_map(|name| name.parse::<Shell>())
}

/// Prints the script for the program with this command line.
///
/// # Errors
/// Errors of standard output.
pub fn completions(options: &CompletionOptions, mut program: Command) -> anyhow::Result<()> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    generate(options.shell, &mut program, name, &mut script);
    Ok(print(&script)?)
}

/// Write the manual pages.
///
/// One page for the program and one for each command: `tinytrain.1`, `tinytrain-train.1` and so on.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tinytrain man ~/.local/share/man/man1")]
pub struct ManOptions {
    /// Folder for the pages; created if it does not exist.
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

/// Writes the manual pages of the program with this command line.
///
/// # Errors
/// Errors of the files.
pub fn man(options: &ManOptions, program: Command) -> anyhow::Result<()> {
    let program = program.disable_help_subcommand(true);
    let name = program.get_name().to_owned();
    let source = format!("{name} {}", env!("CARGO_PKG_VERSION"));
    // Pages use the full names of commands: `tinytrain-train` and `tinytrain train`.
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
    // Nothing is written unless all files are writable.
    let pages = pages.collect::<Result<Vec<_>>>()?;
    for (destination, page) in pages {
        destination.write(&page)?;
    }
    wrote(&options.folder);
    Ok(())
}

fn page(man: &Man) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(page)
}
