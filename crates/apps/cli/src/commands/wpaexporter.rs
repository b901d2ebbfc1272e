//! `onoff wpaexporter`.

use std::ffi::OsString;

use onoff_usage::functions::FunctionResolver;
use onoff_wpaexporter::{CommandLine, Export, HELP};

use super::functions;
use super::symbols::SymbolTask;
use crate::arguments::symbols::SymbolArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Destination;
use crate::progress::ProgressLine;

/// Parses wpaexporter's arguments, which name the input files and the folder of the output.
pub fn resolve(words: Vec<OsString>) -> Result<Invocation, Failure> {
    let command_line = onoff_wpaexporter::parse(words)?;
    Ok(Invocation::without_recording(Destination::default(), |destination| match command_line {
        CommandLine::Help => destination.write(|out| Ok(out.write_all(HELP.as_bytes())?)),
        CommandLine::Export(export) => run(&export),
    }))
}

fn run(export: &Export) -> Result<(), Failure> {
    let symbols = SymbolTask::resolve(SymbolArguments { symbols: None, offline: false });
    let has_symbol_source = functions::has_source(&symbols);
    let mut resolve_names = functions::name_resolver(symbols);
    let functions = has_symbol_source.then_some(&mut resolve_names as FunctionResolver<'_>);
    Ok(onoff_wpaexporter::run(export, &|| Box::new(ProgressLine::reading()), functions)?)
}
