//! The `onoff` program: arguments to calls. What a command does lives in the libraries, where other front ends find it.
//!
//! A library only so that Python's package starts the program in its own process, and gets the verbs' answers there.

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod failure;
mod invocation;
mod output;
mod progress;
mod reads_and_writes;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};

use clap::FromArgMatches;

use arguments::{Arguments, Command};
use failure::Failure;
use invocation::Invocation;

/// Exit code for arguments that make no sense (`EX_USAGE` of sysexits.h): none of the codes that answer a question.
const WRONG_USAGE: u8 = 64;

/// Runs the program with `arguments`, its name first. The answer goes to stdout or a file, what went wrong to stderr; returns the exit
/// code.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let parsed = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let printed = error.print();
            return match (error.use_stderr(), printed) {
                // Where stderr does not take it, the code alone must do.
                (true, _) => WRONG_USAGE,
                (false, Err(error)) if error.kind() != ErrorKind::BrokenPipe => Failure::from(error).report(),
                (false, _) => 0,
            };
        }
    };
    match resolve(parsed).and_then(commands::run) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// Why a verb did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAnswer {
    /// The program's exit code.
    pub code: u8,
    /// What went wrong, in a line; empty where the answer itself says so.
    pub message: String,
}

/// What the program would print for `arguments`, its name first, and the exit code where something went wrong all the same.
///
/// # Errors
/// Arguments that make no sense, a recording that cannot be read, one that holds nothing of the kind.
pub fn answer(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<u8>, NoAnswer> {
    let parsed = parse(arguments).map_err(|error| {
        let text = error.to_string();
        // Without the usage, which is that of the command line.
        let said = text.split("\n\n").next().unwrap_or_default().trim();
        NoAnswer { code: WRONG_USAGE, message: said.strip_prefix("error: ").unwrap_or(said).to_owned() }
    })?;
    let kept = Arc::new(Mutex::new(Vec::new()));
    let done = resolve(parsed).and_then(|mut invocation| {
        invocation.destination.kept = Some(Arc::clone(&kept));
        commands::run(invocation)
    });
    let answer = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
    match done {
        Ok(()) => Ok(answer),
        // The answer says what went wrong: single files that could not be read, a gate that is closed.
        Err(Failure::Told(_)) if !answer.is_empty() => Ok(answer),
        Err(failure) => {
            let (message, code) = failure.message_and_code();
            Err(NoAnswer { code, message })
        }
    }
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let matches = arguments::command().try_get_matches_from(arguments);
    matches.and_then(|matches| Arguments::from_arg_matches(&matches))
}

fn resolve(arguments: Arguments) -> Result<Invocation, Failure> {
    // xperf's scripts expect xperf's codes.
    let is_xperf = matches!(arguments.command, Some(Command::Xperf(_)));
    let resolved = commands::resolve(arguments);
    if is_xperf { resolved } else { resolved.map_err(Failure::of_usage) }
}
