//! Resolves the function names of call stacks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onoff_blame::waits::StackFrame;
use onoff_blame::why::WhyReport;
use onoff_report::text::quantity::counted;
use onoff_symbols::SymbolFinder;
use onoff_trace::{Image, SystemKind, Trace};
use onoff_usage::functions::{CodeLocation, FunctionNames};

use crate::error::Error;
use crate::session::Session;

/// Resolves code addresses with the PDB and ELF files that `finder` provides, reading each file once. The result lists
/// missing files. `servers_skipped` means that the symbol path has servers that `finder` does not contact.
#[must_use]
pub fn resolve_functions(
    trace: &Trace,
    places: &[CodeLocation],
    finder: &mut SymbolFinder,
    servers_skipped: bool,
) -> FunctionNames {
    let mut names = FunctionNames::default();
    if finder.is_empty() {
        return names;
    }
    let mut places_by_file: BTreeMap<CodeFile<'_>, Vec<CodeLocation>> = BTreeMap::new();
    for &place in places {
        let Some(image) = trace.images.get(place.image as usize) else { continue };
        if let Some(file) = symbol_file(trace, &image) {
            places_by_file.entry(file).or_default().push(place);
        }
    }
    let mut missing = Vec::new();
    for (file, places) in places_by_file {
        let offsets = places.iter().map(|place| place.offset);
        let result = match file {
            CodeFile::Pdb(name, identity) => {
                let functions = finder.find(name, identity).and_then(|symbols| symbols.functions(offsets));
                functions.map(|functions| (functions, None)).map_err(|error| format!("{name} {identity}: {error}"))
            }
            // Offsets are relative to the start of the mapping, which preserves the distances between segments.
            CodeFile::Executable(path) => finder
                .find_executable(path)
                .map(|executable| {
                    let missing_names = executable.missing_names().map(|reason| format!("{path}: {reason}"));
                    (executable.functions(offsets.map(u64::from)), missing_names)
                })
                .map_err(|error| format!("{path}: {error}")),
        };
        match result {
            Ok((functions, missing_names)) => {
                let mut unresolved = 0;
                for (place, function) in places.into_iter().zip(functions) {
                    match function {
                        Some(function) => names.insert(place, function),
                        None => unresolved += 1,
                    }
                }
                missing.extend(missing_names.filter(|_| unresolved > 0).map(|reason| (unresolved, reason)));
            }
            Err(reason) => missing.push((places.len(), reason)),
        }
    }
    // General problems first, then files by number of unresolved addresses.
    missing.sort_by_key(|&(unresolved, _)| Reverse(unresolved));
    names.missing = finder.unreachable_servers();
    if servers_skipped && !missing.is_empty() {
        names.missing.push("symbol servers were not contacted".to_owned());
    }
    let missing = missing.into_iter();
    names.missing.extend(
        missing.map(|(unresolved, reason)| format!("{reason} ({})", counted(unresolved as u64, "unresolved address"))),
    );
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

/// Returns the file with the symbols of `image`, if the recording identifies it.
fn symbol_file<'t>(trace: &'t Trace, image: &Image) -> Option<CodeFile<'t>> {
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
        let code_place = |frame: &StackFrame| {
            let offset = u32::try_from(frame.relative_address).unwrap_or(u32::MAX);
            Some(CodeLocation { image: u32::try_from(frame.image?).ok()?, offset })
        };
        let trace = self.system_tables(Self::WAIT_TABLES)?;
        let steps = report.intervals.iter_mut().flat_map(|interval| &mut interval.path.steps);
        let mut frames: Vec<&mut StackFrame> = steps.flat_map(|step| &mut step.stack).collect();
        let mut places: Vec<CodeLocation> = frames.iter().filter_map(|frame| code_place(frame)).collect();
        places.sort_unstable();
        places.dedup();
        let names = resolve_functions(&trace, &places, &mut finder, servers_skipped);
        for frame in &mut frames {
            if let Some(function) = code_place(frame).and_then(|place| names.get(place)) {
                function.clone_into(&mut frame.function);
            }
        }
        report.missing_symbols = names.missing;
        Ok(())
    }
}
