//! `onoff why`.

use std::collections::BTreeMap;

use onoff_analysis::transition::{boot, shutdown, suspend};
use onoff_analysis::waits::{StackFrame, WhyReport};
use onoff_analysis::waits::{WHY_TABLES, why};
use onoff_report::{folded, json, text};
use onoff_symbols::{SymbolPath, Symbols};
use onoff_trace::Trace;

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::why::{WhyFormat, WhyTask};
use crate::output::Destination;

pub fn run(
    recording: Recording,
    mut task: WhyTask,
    destination: &Destination,
) -> Result<(), Failure> {
    let tables = WHY_TABLES
        .union(boot::TABLES)
        .union(shutdown::TABLES)
        .union(suspend::TABLES);
    let trace = super::open(recording, tables)?;
    if let Some(at) = task.at {
        let resolved = at.resolve_on(&trace.clock).ok_or_else(|| {
            Failure::NothingToAnswer(
                "--at: the recording does not know real time, or the time lies outside of what it can hold".to_owned(),
            )
        })?;
        task.question.at_ns = Some(resolved);
    }
    let mut report = why(&trace, &task.question)
        .map_err(|answer| Failure::NothingToAnswer(answer.to_string()))?;
    name_functions(&trace, &task.symbols, &mut report);
    destination.write(|out| {
        match task.format {
            WhyFormat::Text(options) => text::why::write(&report, &options, out)?,
            WhyFormat::Json => json::document::write(&report, out)?,
            WhyFormat::Folded => folded::write(&report, out)?,
        }
        Ok(())
    })
}

/// Fills in the functions of all call stacks whose PDB files the symbol path holds; each file is read once.
fn name_functions(trace: &Trace, path: &SymbolPath, report: &mut WhyReport) {
    if path.places().is_empty() {
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
    for ((name, identity), frames) in by_file {
        let addresses = frames
            .iter()
            .map(|frame| u32::try_from(frame.relative_address).unwrap_or(u32::MAX));
        let found =
            Symbols::find(path, &name, &identity).and_then(|symbols| symbols.functions(addresses));
        match found {
            Ok(functions) => {
                for (frame, function) in frames.into_iter().zip(functions) {
                    frame.function = function.unwrap_or_default();
                }
            }
            Err(refusal) => report
                .symbols_missing
                .push(format!("{name} {identity}: {refusal}")),
        }
    }
}
