//! `onoff xperf`.

use std::ffi::OsString;
use std::path::PathBuf;

use onoff_usage::functions::NameFunctions;
use onoff_xperf::{CommandLine, help};

use super::functions;
use super::symbols::SymbolTask;
use crate::arguments::symbols::SymbolArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Destination;
use crate::progress::ProgressLine;

/// xperf's arguments name the input and output files.
pub fn resolve(words: Vec<OsString>) -> Result<Invocation, Failure> {
    let line = onoff_xperf::parse(words)?;
    let (reads, writes): (Vec<PathBuf>, Vec<PathBuf>) = match &line {
        CommandLine::Process(line) => {
            let of_calls = line.calls.iter().flat_map(|call| [&call.output, &call.errors]);
            (line.inputs.clone(), of_calls.chain([&line.output]).flatten().cloned().collect())
        }
        CommandLine::Merge(merging) => (merging.inputs.clone(), vec![merging.output.clone()]),
        CommandLine::Help(_) | CommandLine::Providers => (Vec::new(), Vec::new()),
    };
    let invocation = Invocation::without_recording(Destination::default(), |destination| run(line, destination));
    Ok(invocation.reading(reads).writing(writes))
}

fn run(line: CommandLine, destination: &Destination) -> Result<(), Failure> {
    match line {
        CommandLine::Help(topic) => destination.write(|out| Ok(help::write(topic.as_deref(), out)?)),
        CommandLine::Providers => destination.write(|out| Ok(help::write_providers(out)?)),
        CommandLine::Merge(merging) => Ok(onoff_xperf::merge(&merging)?),
        CommandLine::Process(line) => {
            let symbols = SymbolTask::resolve(SymbolArguments { symbols: None, offline: false });
            let has_place = !symbols.path.places().is_empty() || !symbols.path.servers().is_empty();
            let mut names = functions::names(symbols);
            let functions = has_place.then_some(&mut names as NameFunctions<'_>);
            Ok(onoff_xperf::run(line, &|| Box::new(ProgressLine::reading()), functions)?)
        }
    }
}
