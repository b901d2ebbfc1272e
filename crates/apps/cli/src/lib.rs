//! The `onoff` command line: parses arguments and calls the libraries, which do the work for every front end.
//!
//! This is a library so that the Python package can run the program in its own process.

#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod failure;
mod invocation;
mod io_plan;
mod output;
mod progress;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use clap::FromArgMatches;

use arguments::{Arguments, Command};
use failure::Failure;
use invocation::Invocation;

/// Removes unfinished output and cache files. Call it only before the process ends.
pub fn remove_unfinished() {
    onoff_sink::remove_unfinished();
    onoff_files::remove_unfinished();
}

/// Exit code for invalid arguments (`EX_USAGE` in sysexits.h); distinct from every code that reports a result.
const USAGE_ERROR: u8 = 64;

/// Returns the parser of the command line, with all verbs and their options.
#[must_use]
pub fn command_line() -> clap::Command {
    arguments::command()
}

/// Runs the program with `arguments`, starting with the program name, and returns the exit code. Output goes to stdout
/// or a file, errors to stderr.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let parsed = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_for_stdout = !error.use_stderr();
            let print_result = if is_for_stdout { onoff_sink::check_stdout() } else { Ok(()) };
            let print_result = print_result.and_then(|()| error.print());
            return match (error.use_stderr(), print_result) {
                // If stderr is closed, the exit code alone reports the error.
                (true, _) => USAGE_ERROR,
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

/// A failed run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// The program's exit code.
    pub code: u8,
    /// One line; empty if the error was already reported.
    pub message: String,
}

/// Returns what the program would print for `arguments`, which start with the program name.
///
/// # Errors
/// Invalid arguments, an unreadable recording, or a recording without data for the verb.
pub fn answer(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<u8>, RunError> {
    let parsed = parse(arguments).map_err(|error| {
        let text = error.to_string();
        // Drop the usage text, which only applies to the command line.
        let message = text.split("\n\n").next().unwrap_or_default().trim();
        RunError { code: USAGE_ERROR, message: message.strip_prefix("error: ").unwrap_or(message).to_owned() }
    })?;
    let buffer = Arc::new(Mutex::new(Vec::new()));
    let result = resolve(parsed).and_then(|mut invocation| {
        invocation.destination.buffer = Some(Arc::clone(&buffer));
        commands::run(invocation)
    });
    let answer = std::mem::take(&mut *buffer.lock().unwrap_or_else(PoisonError::into_inner));
    match result {
        Ok(()) => Ok(answer),
        // The output itself reports the problem, e.g. one unreadable file of many, or an exceeded limit.
        Err(Failure::Reported(_)) if !answer.is_empty() => Ok(answer),
        Err(failure) => {
            let (message, code) = failure.message_and_code();
            Err(RunError { code, message })
        }
    }
}

/// The verbs that the program runs if its file has their name, as a copy or a link.
const PROGRAM_NAMES: [&str; 2] = ["xperf", "wpaexporter"];

/// Adds the verb to the arguments of a program named like one.
fn with_verb_of_name(arguments: impl IntoIterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut arguments = arguments.into_iter();
    let program = arguments.next();
    let verb = program.as_ref().and_then(|program| {
        let stem = Path::new(program).file_stem()?.to_str()?;
        PROGRAM_NAMES.into_iter().find(|name| stem.eq_ignore_ascii_case(name))
    });
    program.into_iter().chain(verb.map(OsString::from)).chain(arguments)
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let matches = arguments::command().try_get_matches_from(with_verb_of_name(arguments));
    matches.and_then(|matches| Arguments::from_arg_matches(&matches))
}

fn resolve(arguments: Arguments) -> Result<Invocation, Failure> {
    // Scripts written for xperf expect its exit codes.
    let is_drop_in = arguments.command.as_ref().is_some_and(Command::is_drop_in);
    let resolved = commands::resolve(arguments);
    if is_drop_in { resolved } else { resolved.map_err(Failure::into_usage) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_named_like_a_verb_runs_it() {
        let words = |text: &str| {
            let words = with_verb_of_name(text.split(' ').map(OsString::from));
            words.map(|word| word.into_string().unwrap_or_default()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words("/usr/bin/wpaexporter -i a.etl"), "/usr/bin/wpaexporter wpaexporter -i a.etl");
        assert_eq!(words("XPerf.exe -help"), "XPerf.exe xperf -help");
        assert_eq!(words("onoff boot xperf"), "onoff boot xperf");
        assert_eq!(words("xperf-old boot"), "xperf-old boot");
    }
}
