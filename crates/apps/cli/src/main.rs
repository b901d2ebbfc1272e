//! The `onoff` program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(onoff_cli::run(std::env::args_os()))
}
