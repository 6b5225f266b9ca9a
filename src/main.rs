//! The command line program. Exit codes: 0 done, 1 failure of the machine, 2 bad input or usage, 3 numerical fault.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod allocator;
mod cli;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use cli::output::{Unwritable, print_error};

fn main() -> ExitCode {
    let start = Instant::now();
    cli::environment::quieten_drivers();
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
    if let Some(Unwritable(source)) = error.downcast_ref() {
        // Whoever read the output has seen enough.
        return if source.kind() == io::ErrorKind::BrokenPipe { 0 } else { 1 };
    }
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<tinytrain::Error>())
        .map_or(1, tinytrain::Error::exit_code)
}
