//! Resolves the function names of call stacks.

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

/// Resolves code addresses with the PDB and ELF files that `finder` provides, reading each file once. The result lists
/// missing files. `servers_skipped` means that the symbol path has servers that `finder` does not contact.
#[must_use]
pub fn resolve_functions(
    trace: &Trace,
    places: &[CodePlace],
    finder: &mut SymbolFinder,
    servers_skipped: bool,
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
            // Offsets are relative to the start of the mapping, and segments keep their distances.
            CodeFile::Executable(path) => finder
                .find_executable(path)
                .map(|executable| {
                    let gap = executable.missing_names().map(|gap| format!("{path}: {gap}"));
                    (executable.functions(offsets.map(u64::from)), gap)
                })
                .map_err(|refusal| format!("{path}: {refusal}")),
        };
        match found {
            Ok((functions, gap)) => {
                let mut unnamed = 0;
                for (place, function) in places.into_iter().zip(functions) {
                    match function {
                        Some(function) => names.insert(place, function),
                        None => unnamed += 1,
                    }
                }
                missing.extend(gap.filter(|_| unnamed > 0).map(|gap| (unnamed, gap)));
            }
            Err(why) => missing.push((places.len(), why)),
        }
    }
    // General problems first, then files by number of unresolved addresses.
    missing.sort_by_key(|&(places, _)| Reverse(places));
    names.missing = finder.unreachable_servers();
    if servers_skipped && !missing.is_empty() {
        names.missing.push("symbol servers were not contacted".to_owned());
    }
    let missing = missing.into_iter();
    names
        .missing
        .extend(missing.map(|(places, reason)| format!("{reason} ({})", counted(places as u64, "unresolved address"))));
    names
}

/// The file with the symbols of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CodeFile<'t> {
    /// Name and identity.
    Pdb(&'t str, &'t str),
    /// The path of a mapped program or library on Linux.
    Executable(&'t str),
}

/// The file with the symbols of `image`, if the recording identifies it.
fn file_of<'t>(trace: &'t Trace, image: &Image) -> Option<CodeFile<'t>> {
    let (name, identity, path) = (trace.text(image.pdb_name), trace.text(image.pdb_id), trace.text(image.path));
    if !name.is_empty() && !identity.is_empty() {
        return Some(CodeFile::Pdb(name, identity));
    }
    let is_mapped = trace.system.kind == SystemKind::Linux && path.starts_with('/');
    is_mapped.then_some(CodeFile::Executable(path))
}

impl Session {
    /// Resolves the functions of all call stacks in `report`, which must come from this session; see
    /// [`resolve_functions`].
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn name_functions(
        &self,
        report: &mut WhyReport,
        mut finder: SymbolFinder,
        servers_skipped: bool,
    ) -> Result<(), Error> {
        if finder.is_empty() {
            return Ok(());
        }
        let place = |frame: &StackFrame| {
            let offset = u32::try_from(frame.relative_address).unwrap_or(u32::MAX);
            Some(CodePlace { image: u32::try_from(frame.image?).ok()?, offset })
        };
        let trace = self.system_tables(Self::WAIT_TABLES)?;
        let steps = report.intervals.iter_mut().flat_map(|interval| &mut interval.path.steps);
        let mut frames: Vec<&mut StackFrame> = steps.flat_map(|step| &mut step.stack).collect();
        let mut places: Vec<CodePlace> = frames.iter().filter_map(|frame| place(frame)).collect();
        places.sort_unstable();
        places.dedup();
        let names = resolve_functions(&trace, &places, &mut finder, servers_skipped);
        for frame in &mut frames {
            if let Some(function) = place(frame).and_then(|place| names.at(place)) {
                function.clone_into(&mut frame.function);
            }
        }
        report.missing_symbols = names.missing;
        Ok(())
    }
}
