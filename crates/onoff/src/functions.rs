//! Names of functions for the call stacks of an answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use onoff_analysis::functions::{CodePlace, FunctionNames};
use onoff_analysis::waits::StackFrame;
use onoff_analysis::why::WhyReport;
use onoff_report::text::quantity::counted;
use onoff_symbols::SymbolFinder;
use onoff_trace::{Image, StringId, SystemKind, Trace};

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
    let mapped = MappedFiles::of(trace);
    let mut by_file: BTreeMap<CodeFile<'_>, Vec<(CodePlace, u64)>> = BTreeMap::new();
    for &place in places {
        let Some(image) = trace.images.get(place.image as usize) else { continue };
        if let Some((file, offset)) = mapped.file(trace, &image, place.offset) {
            by_file.entry(file).or_default().push((place, offset));
        }
    }
    let mut missing = Vec::new();
    for (file, places) in by_file {
        let offsets = places.iter().map(|&(_, offset)| offset);
        let found = match file {
            CodeFile::Pdb(name, identity) => {
                let offsets = offsets.map(|offset| u32::try_from(offset).unwrap_or(u32::MAX));
                let found = finder.find(name, identity).and_then(|symbols| symbols.functions(offsets));
                found.map_err(|refusal| format!("{name} {identity}: {refusal}"))
            }
            CodeFile::Executable(path) => {
                let found = finder.find_executable(path).map(|executable| executable.functions(offsets));
                found.map_err(|refusal| format!("{path}: {refusal}"))
            }
        };
        match found {
            Ok(functions) => {
                let named = places.into_iter().zip(functions);
                named.filter_map(|((place, _), function)| Some((place, function?))).for_each(|(place, function)| {
                    names.insert(place, function);
                });
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

/// Where the files that processes of Linux had mapped begin.
///
/// A file is mapped in several pieces, one for each kind of access, and the recorder keeps where each is, not which part of the file it
/// holds. The loader keeps their distances, so a place counts from the first of them.
struct MappedFiles {
    /// The lowest address of each file in each process.
    starts: HashMap<(u32, StringId), u64>,
}

impl MappedFiles {
    fn of(trace: &Trace) -> Self {
        let mut starts: HashMap<(u32, StringId), u64> = HashMap::new();
        if trace.system.kind == SystemKind::Linux {
            for image in trace.images.iter().filter(|image| trace.text(image.path).starts_with('/')) {
                let start = starts.entry((image.pid, image.path)).or_insert(image.base);
                *start = image.base.min(*start);
            }
        }
        Self { starts }
    }

    /// The file that names the place `offset` in `image`, and how far the place is from the file's first mapped byte; none where the
    /// recording does not say which file that is.
    fn file<'t>(&self, trace: &'t Trace, image: &Image, offset: u32) -> Option<(CodeFile<'t>, u64)> {
        let (name, identity, path) = (trace.text(image.pdb_name), trace.text(image.pdb_id), trace.text(image.path));
        if !name.is_empty() && !identity.is_empty() {
            return Some((CodeFile::Pdb(name, identity), offset.into()));
        }
        let start = self.starts.get(&(image.pid, image.path))?;
        Some((CodeFile::Executable(path), image.base.checked_sub(*start)?.checked_add(offset.into())?))
    }
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
