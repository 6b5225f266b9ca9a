//! The command line program. Exit codes: 0 done, 1 failure of the machine, 2 bad input or usage, 3 numerical fault,
//! 130 and 143 ended by Ctrl-C and SIGTERM.
#![deny(unsafe_code)]
#![warn(missing_docs)]
#![allow(
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    reason = "the docs of options are the text of --help"
)]

mod allocator;
mod cli;

use std::process::ExitCode;
use std::time::Instant;

use cli::output::print_error;
use cli::process::Interrupted;

fn main() -> ExitCode {
    let start = Instant::now();
    cli::process::quieten_drivers();
    match cli::run(start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::from(exit_code(&error))
        }
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        return if usage.use_stderr() { 2 } else { 0 };
    }
    if let Some(Interrupted { code, .. }) = error.downcast_ref() {
        return *code;
    }
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<tinytrain::Error>())
        .map_or(1, tinytrain::Error::exit_code)
}
