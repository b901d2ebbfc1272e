//! `onoff xperf`.

use std::ffi::OsString;
use std::path::PathBuf;

use onoff_usage::functions::FunctionResolver;
use onoff_xperf::{CommandLine, help};

use super::functions;
use super::symbols::SymbolTask;
use crate::arguments::symbols::SymbolArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Destination;
use crate::progress::ProgressLine;

/// Parses xperf's arguments, which name the input and output files.
pub fn resolve(words: Vec<OsString>) -> Result<Invocation, Failure> {
    let command_line = onoff_xperf::parse(words)?;
    let (inputs, outputs): (Vec<PathBuf>, Vec<PathBuf>) = match &command_line {
        CommandLine::Process(command) => {
            let call_outputs = command.calls.iter().flat_map(|call| [&call.output, &call.errors]);
            (command.inputs.clone(), call_outputs.chain([&command.output]).flatten().cloned().collect())
        }
        CommandLine::Merge(merge) => (merge.inputs.clone(), vec![merge.output.clone()]),
        CommandLine::Help(_) | CommandLine::Providers => (Vec::new(), Vec::new()),
    };
    let invocation =
        Invocation::without_recording(Destination::default(), |destination| run(command_line, destination));
    Ok(invocation.with_inputs(inputs).with_outputs(outputs))
}

fn run(command_line: CommandLine, destination: &Destination) -> Result<(), Failure> {
    match command_line {
        CommandLine::Help(topic) => destination.write(|out| Ok(help::write(topic.as_deref(), out)?)),
        CommandLine::Providers => destination.write(|out| Ok(help::write_providers(out)?)),
        CommandLine::Merge(merge) => Ok(onoff_xperf::merge(&merge)?),
        CommandLine::Process(command) => {
            let symbols = SymbolTask::resolve(SymbolArguments { symbols: None, offline: false });
            let has_symbol_source = functions::has_source(&symbols);
            let mut resolve_names = functions::name_resolver(symbols);
            let functions = has_symbol_source.then_some(&mut resolve_names as FunctionResolver<'_>);
            Ok(onoff_xperf::run(command, &|| Box::new(ProgressLine::reading()), functions)?)
        }
    }
}
