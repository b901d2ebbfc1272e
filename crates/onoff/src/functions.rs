//! Names of functions for the call stacks of an answer.

use std::collections::BTreeMap;

use onoff_analysis::functions::{CodePlace, FunctionNames};
use onoff_analysis::waits::StackFrame;
use onoff_analysis::why::WhyReport;
use onoff_symbols::SymbolFinder;
use onoff_trace::Trace;

use crate::error::Error;
use crate::session::Session;

/// The functions at places in code, by the PDB files that `finder` has; each file is read once. What is missing is named;
/// `servers_left_alone` says that the symbol path has servers which `finder` does not ask.
#[must_use]
pub fn function_names(
    trace: &Trace,
    places: &[CodePlace],
    finder: &mut SymbolFinder,
    servers_left_alone: bool,
) -> FunctionNames {
    let mut names = FunctionNames::default();
    if finder.is_empty() {
        return names;
    }
    let mut by_file: BTreeMap<(&str, &str), Vec<CodePlace>> = BTreeMap::new();
    for &place in places {
        let Some(image) = trace.images.get(place.image as usize) else { continue };
        let (name, identity) = (trace.text(image.pdb_name), trace.text(image.pdb_id));
        if !name.is_empty() && !identity.is_empty() {
            by_file.entry((name, identity)).or_default().push(place);
        }
    }
    let mut missing = Vec::new();
    for ((name, identity), places) in by_file {
        let offsets = places.iter().map(|place| place.offset);
        let found = finder.find(name, identity).and_then(|symbols| symbols.functions(offsets));
        match found {
            Ok(functions) => {
                let named = places.into_iter().zip(functions);
                named.filter_map(|(place, function)| Some((place, function?))).for_each(|(place, function)| {
                    names.insert(place, function);
                });
            }
            Err(refusal) => missing.push(format!("{name} {identity}: {refusal}")),
        }
    }
    // What holds for all files comes before what is said of each.
    names.missing = finder.unreachable_servers();
    if servers_left_alone && !missing.is_empty() {
        names.missing.push("the servers of the symbol path were not asked".to_owned());
    }
    names.missing.append(&mut missing);
    names
}

impl Session {
    /// Fills in the functions of all call stacks of `report`, an answer of this session; see [`function_names`].
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn name_functions(
        &self,
        report: &mut WhyReport,
        mut finder: SymbolFinder,
        servers_left_alone: bool,
    ) -> Result<(), Error> {
        if finder.is_empty() {
            return Ok(());
        }
        let place = |frame: &StackFrame| {
            let offset = u32::try_from(frame.relative_address).unwrap_or(u32::MAX);
            Some(CodePlace { image: u32::try_from(frame.image?).ok()?, offset })
        };
        let trace = self.system_tables(Self::TABLES_OF_WAITS)?;
        let steps = report.stretches.iter_mut().flat_map(|stretch| &mut stretch.path.steps);
        let mut frames: Vec<&mut StackFrame> = steps.flat_map(|step| &mut step.stack).collect();
        let mut places: Vec<CodePlace> = frames.iter().filter_map(|frame| place(frame)).collect();
        places.sort_unstable();
        places.dedup();
        let names = function_names(&trace, &places, &mut finder, servers_left_alone);
        for frame in &mut frames {
            if let Some(function) = place(frame).and_then(|place| names.at(place)) {
                function.clone_into(&mut frame.function);
            }
        }
        report.symbols_missing = names.missing;
        Ok(())
    }
}
