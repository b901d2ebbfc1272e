//! Names of functions for the call stacks of an answer.

use std::collections::BTreeMap;

use onoff_analysis::waits::{StackFrame, WhyReport};
use onoff_symbols::SymbolFinder;

use crate::error::Error;
use crate::session::Session;

impl Session {
    /// Fills in the functions of all call stacks of `report`, an answer of this session, whose PDB files `finder` has; each file is
    /// read once. What is missing is named in the report; `servers_left_alone` says that the symbol path has servers which `finder`
    /// does not ask.
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
        let trace = self.system_tables(Self::TABLES_OF_WAITS)?;
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
        Ok(())
    }
}
