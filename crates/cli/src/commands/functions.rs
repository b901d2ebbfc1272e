//! Names of functions for the call stacks of an answer.

use std::collections::BTreeMap;

use onoff_analysis::waits::{StackFrame, WhyReport};
use onoff_symbols::SymbolFinder;
use onoff_trace::Trace;

use crate::invocation::symbols::SymbolTask;

/// Fills in the functions of all call stacks whose PDB files the symbol path has; each file is read once.
pub fn name(trace: &Trace, symbols: SymbolTask, report: &mut WhyReport) {
    let servers_left_alone = is_offline(&symbols) && !symbols.path.servers().is_empty();
    let mut finder = finder(symbols);
    if finder.is_empty() {
        return;
    }
    let mut by_file: BTreeMap<(String, String), Vec<&mut StackFrame>> = BTreeMap::new();
    let stretches = report.stretches.iter_mut();
    let steps = stretches.flat_map(|stretch| &mut stretch.path.steps);
    for frame in steps.flat_map(|step| &mut step.stack) {
        let Some(image) = frame.image.and_then(|row| trace.images.get(row)) else {
            continue;
        };
        let (name, identity) = (trace.text(image.pdb_name), trace.text(image.pdb_id));
        if !name.is_empty() && !identity.is_empty() {
            let key = (name.to_owned(), identity.to_owned());
            by_file.entry(key).or_default().push(frame);
        }
    }
    let mut missing = Vec::new();
    for ((name, identity), frames) in by_file {
        let addresses = frames.iter().map(|frame| u32::try_from(frame.relative_address).unwrap_or(u32::MAX));
        let found = finder.find(&name, &identity).and_then(|symbols| symbols.functions(addresses));
        match found {
            Ok(functions) => {
                for (frame, function) in frames.into_iter().zip(functions) {
                    frame.function = function.unwrap_or_default();
                }
            }
            Err(refusal) => missing.push(format!("{name} {identity}: {refusal}")),
        }
    }
    // What holds for all files comes before what is said of each.
    report.symbols_missing = finder.unreachable_servers();
    if servers_left_alone && !missing.is_empty() {
        report.symbols_missing.push("the servers of the symbol path were not asked".to_owned());
    }
    report.symbols_missing.append(&mut missing);
}

const fn is_offline(symbols: &SymbolTask) -> bool {
    symbols.offline || cfg!(not(feature = "download"))
}

fn finder(symbols: SymbolTask) -> SymbolFinder {
    #[cfg(feature = "download")]
    if !symbols.offline {
        let downloads = onoff_symbols::Downloads::new(onoff_symbols::Limits::default());
        return SymbolFinder::online(symbols.path, downloads.with_listener(tell));
    }
    SymbolFinder::local(symbols.path)
}

/// Says on a terminal what is being waited for.
#[cfg(feature = "download")]
fn tell(name: &str, server: &str) {
    use std::io::{IsTerminal, Write, stderr};

    if stderr().is_terminal() {
        // An answer is not worth less because nobody could be told how it came.
        let _ = writeln!(stderr(), "asking {server} for {name}");
    }
}
