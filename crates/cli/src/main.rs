//! The `onoff` program: arguments to calls. What a command does lives in the libraries, where other front ends find it.

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod failure;
mod invocation;
mod output;
mod progress;
mod reads_and_writes;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;
use invocation::Invocation;

fn main() -> ExitCode {
    // Usage errors leave from here: clap prints them and exits with code 2; `--help` and `--version` with 0.
    let arguments = Arguments::parse();
    let result = Invocation::resolve(arguments).and_then(commands::run);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
