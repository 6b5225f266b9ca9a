//! The command line program. Exit codes: 0 success, 1 failure of the machine, 2 bad input or usage, 3
//! numerical fault, 130 and 143 ended by Ctrl-C and SIGTERM.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod allocator;

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let start = Instant::now();
    tinytrain::cli::process::quieten_drivers();
    tinytrain::cli::main(std::env::args_os().collect(), start).into()
}
