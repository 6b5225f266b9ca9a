//! `tinytrain completions`.

use std::io::{self, Write};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::output::Unwritable;

/// Print what a shell needs to complete commands and options.
///
/// The script goes to standard output; where it belongs depends on the shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tinytrain completions bash > ~/.local/share/bash-completion/completions/tinytrain\n  \
                        tinytrain completions zsh > \"${fpath[1]}/_tinytrain\"\n  \
                        tinytrain completions fish > ~/.config/fish/completions/tinytrain.fish\n  \
                        tinytrain completions powershell >> $PROFILE"
)]
pub struct Options {
    /// The shell.
    #[arg(value_name = "SHELL", value_parser = shell())]
    shell: Shell,
}

/// Those that are documented; `clap_complete` knows more.
fn shell() -> impl TypedValueParser<Value = Shell> {
    let parser = PossibleValuesParser::new(["bash", "zsh", "fish", "powershell"]);
    parser.try_map(|name| name.parse::<Shell>())
}

/// Prints the script for the program with this command line.
///
/// # Errors
/// Those of standard output.
pub fn run(options: &Options, mut program: Command) -> anyhow::Result<()> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    generate(options.shell, &mut program, name, &mut script);
    Ok(io::stdout().lock().write_all(&script).map_err(Unwritable)?)
}
