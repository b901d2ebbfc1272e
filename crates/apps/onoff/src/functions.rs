//! Names of functions for the call stacks of an answer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onoff_blame::waits::StackFrame;
use onoff_blame::why::WhyReport;
use onoff_report::text::quantity::counted;
use onoff_symbols::SymbolFinder;
use onoff_trace::{Image, SystemKind, Trace};
use onoff_usage::functions::{CodePlace, FunctionNames};

use crate::error::Error;
use crate::session::Session;

/// The functions at places in code, by the PDB and ELF files that `finder` has; each file is read once. What is missing is named;
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
    let mut by_file: BTreeMap<CodeFile<'_>, Vec<CodePlace>> = BTreeMap::new();
    for &place in places {
        let Some(image) = trace.images.get(place.image as usize) else { continue };
        if let Some(file) = file_of(trace, &image) {
            by_file.entry(file).or_default().push(place);
        }
    }
    let mut missing = Vec::new();
    for (file, places) in by_file {
        let offsets = places.iter().map(|place| place.offset);
        let found = match file {
            CodeFile::Pdb(name, identity) => {
                let found = finder.find(name, identity).and_then(|symbols| symbols.functions(offsets));
                found.map(|functions| (functions, None)).map_err(|refusal| format!("{name} {identity}: {refusal}"))
            }
            // A process counts from where the file's beginning is, and its pieces keep their distances.
            CodeFile::Executable(path) => finder
                .find_executable(path)
                .map(|executable| {
                    let lacks = executable.lacks().map(|lacks| format!("{path}: {lacks}"));
                    (executable.functions(offsets.map(u64::from)), lacks)
                })
                .map_err(|refusal| format!("{path}: {refusal}")),
        };
        match found {
            Ok((functions, lacks)) => {
                let mut unnamed = 0;
                for (place, function) in places.into_iter().zip(functions) {
                    match function {
                        Some(function) => names.insert(place, function),
                        None => unnamed += 1,
                    }
                }
                missing.extend(lacks.filter(|_| unnamed > 0).map(|lacks| (unnamed, lacks)));
            }
            Err(why) => missing.push((places.len(), why)),
        }
    }
    // What holds for all files comes before what is said of each; the file that most places need comes first.
    missing.sort_by_key(|&(places, _)| Reverse(places));
    names.missing = finder.unreachable_servers();
    if servers_left_alone && !missing.is_empty() {
        names.missing.push("the servers of the symbol path were not asked".to_owned());
    }
    let missing = missing.into_iter();
    names
        .missing
        .extend(missing.map(|(places, why)| format!("{why} ({} in its code)", counted(places as u64, "place"))));
    names
}

/// The file that names the functions of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CodeFile<'t> {
    /// A PDB file: name and identity.
    Pdb(&'t str, &'t str),
    /// The program or library itself, which a process of Linux had mapped.
    Executable(&'t str),
}

/// The file that names the functions of `image`; none where the recording does not say which that is.
fn file_of<'t>(trace: &'t Trace, image: &Image) -> Option<CodeFile<'t>> {
    let (name, identity, path) = (trace.text(image.pdb_name), trace.text(image.pdb_id), trace.text(image.path));
    if !name.is_empty() && !identity.is_empty() {
        return Some(CodeFile::Pdb(name, identity));
    }
    let is_mapped = trace.system.kind == SystemKind::Linux && path.starts_with('/');
    is_mapped.then_some(CodeFile::Executable(path))
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
