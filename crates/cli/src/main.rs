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

use clap::FromArgMatches;

use arguments::{Arguments, Command};
use failure::Failure;
use invocation::Invocation;

/// Exit code for arguments that make no sense (`EX_USAGE` of sysexits.h): none of the codes that answer a question.
const WRONG_USAGE: u8 = 64;

fn main() -> ExitCode {
    let parsed = arguments::command().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            // Where neither stdout nor stderr takes it, the code alone must do.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(WRONG_USAGE) } else { ExitCode::SUCCESS };
        }
    };
    // xperf's scripts expect xperf's codes.
    let is_xperf = matches!(arguments.command, Some(Command::Xperf(_)));
    let resolved = Invocation::resolve(arguments);
    let result = if is_xperf { resolved } else { resolved.map_err(Failure::of_usage) }.and_then(commands::run);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
