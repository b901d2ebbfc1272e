//! Counts hits, callers and callees of modules or functions in call stacks. Functions without a name count for their
//! module.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};
use onoff_trace::{StackId, StringId, TableName, TableSet, Trace};
use serde::Serialize;

use crate::functions::{Code, CodeLocation, FunctionNames, FunctionResolver};
use crate::modules::Modules;
use crate::owners::file_name;
use crate::processes::Images;
use onoff_evidence::interval::Interval;

/// Returns the tables needed. With `events`, includes the tables needed to find the events of stacks.
#[must_use]
pub fn tables(events: bool) -> TableSet {
    let tables =
        TableSet::from_names(&[TableName::Stacks, TableName::Images, TableName::Methods, TableName::Processes]);
    if events {
        tables.union(TableSet::from_names(&[TableName::ContextSwitches, TableName::ReadyThreads, TableName::Samples]))
    } else {
        tables
    }
}

/// A predicate on a name.
pub type NamePredicate<'a> = &'a dyn Fn(&str) -> bool;

/// Selects stacks; `None` and empty select all.
#[derive(Default)]
pub struct StackFilter<'a> {
    /// Process ids.
    pub pids: Vec<u32>,
    /// Thread ids.
    pub tids: Vec<u32>,
    /// Matches the image file name of the process.
    pub process: Option<NamePredicate<'a>>,
    /// Matches a module on the stack.
    pub module: Option<NamePredicate<'a>>,
    /// Matches the event of the stack: `SampledProfile`, `CSwitch`, `ReadyThread`; empty for others.
    pub event: Option<NamePredicate<'a>>,
}

/// A caller or callee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighbor {
    /// Module name, `module!function` if functions are resolved, or address.
    pub name: String,
    /// Number of calls.
    pub hits: u64,
}

/// Hits of a module or function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModuleHits {
    /// File name of the module, or `module!function` if functions are resolved; the hexadecimal address if no known
    /// module contains it.
    pub name: String,
    /// Number of stacks with the innermost frame in the module or function.
    pub exclusive: u64,
    /// Number of stacks with at least one frame in the module or function.
    pub unique_inclusive: u64,
    /// Number of frames in the module or function.
    pub multi_inclusive: u64,
    /// Callers, most calls first.
    pub callers: Vec<Neighbor>,
    /// Callees, most calls first.
    pub callees: Vec<Neighbor>,
}

/// Hit counts of the stacks in a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallStacks {
    /// Number of stacks.
    pub stacks: u64,
    /// Modules or functions, most frames first.
    pub modules: Vec<ModuleHits>,
}

/// A resolved frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Index in the list of functions.
    Function(usize),
    Module(StringId),
    /// A function without a name: a module, and the offset of the address from the module's first one.
    Offset(StringId, u32),
    Address(u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    exclusive: u64,
    unique_inclusive: u64,
    multi_inclusive: u64,
}

/// Stacks of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessHits {
    /// File name of the image; empty if it is not known.
    pub name: String,
    pub pid: u32,
    /// Number of stacks.
    pub stacks: u64,
    /// Outermost functions, most stacks first.
    pub roots: Vec<Neighbor>,
}

/// Hits of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageHits {
    /// File name, or [`UNKNOWN`].
    pub name: String,
    /// Number of stacks with the innermost frame in the module.
    pub exclusive: u64,
    /// Number of stacks with at least one frame in the module.
    pub unique_inclusive: u64,
    /// First address and the address after the last one, if all processes loaded it at the same place.
    pub range: Option<(u64, u64)>,
}

/// Hits of a function, or of a sampled address whose function has no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionHits {
    /// The hits, callers and callees. The name is `module!function`; each part is [`UNKNOWN`] if it is not known.
    pub hits: ModuleHits,
    /// Offset of the address from its module's first one, or the address in no module; `None` if the name is known.
    pub offset: Option<u64>,
}

/// The name of a module or function that is not known, as in xperf.
pub const UNKNOWN: &str = "***unknown***";

/// The stacks in a range, by process, module and function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Butterfly {
    /// Number of stacks.
    pub stacks: u64,
    /// Most stacks first.
    pub processes: Vec<ProcessHits>,
    /// In alphabetic order.
    pub modules: Vec<ImageHits>,
    /// Most frames first.
    pub functions: Vec<FunctionHits>,
}

/// The hits and neighbors of all modules with the same name.
#[derive(Debug, Default)]
struct NamedHits {
    hits: Hits,
    callers: BTreeMap<String, u64>,
    callees: BTreeMap<String, u64>,
}

/// The named functions, without duplicates.
struct Functions {
    names: FunctionNames,
    labels: Vec<String>,
    index_by_label: HashMap<String, usize>,
    /// By process, unload epoch and address.
    cache: HashMap<(u32, usize, u64), Option<usize>>,
}

impl Functions {
    fn new(names: FunctionNames) -> Self {
        Self { names, labels: Vec::new(), index_by_label: HashMap::new(), cache: HashMap::new() }
    }

    /// Returns the index of the function at a location (process id, address, time).
    fn index_of(&mut self, code: &Code<'_>, location: (u32, u64, i64)) -> Option<usize> {
        let (pid, address, time_ns) = location;
        let Self { names, labels, index_by_label, cache } = self;
        *cache.entry((pid, code.epoch(pid, time_ns), address)).or_insert_with(|| {
            let frame = code.frame(location, names);
            let label = (!frame.function.is_empty()).then(|| frame.label())?;
            Some(*index_by_label.entry(label).or_insert_with_key(|label| {
                labels.push(label.clone());
                labels.len() - 1
            }))
        })
    }
}

/// Counts the stacks in `range` that match the filter, by module or, with `functions`, by named function.
#[must_use]
pub fn count(
    trace: &Trace,
    range: Interval,
    filter: &StackFilter<'_>,
    functions: Option<FunctionResolver<'_>>,
) -> CallStacks {
    let mut places = Places::new(trace, range, filter, functions);
    let mut tally = Tally::default();
    places.for_each(filter, false, |_, _, stack, count| tally.add(stack, count));
    CallStacks { stacks: tally.stacks, modules: module_list(&places, &tally) }
}

/// Counts the stacks in `range` that match the filter by process, module and function. Functions have names from
/// `functions`, and from the recording; other addresses are counted one by one.
#[must_use]
pub fn butterfly(
    trace: &Trace,
    range: Interval,
    filter: &StackFilter<'_>,
    functions: Option<FunctionResolver<'_>>,
) -> Butterfly {
    let mut names = no_names;
    let functions: FunctionResolver<'_> = match functions {
        Some(functions) => functions,
        None => &mut names,
    };
    let mut places = Places::new(trace, range, filter, Some(functions));
    let mut by_function = Tally::default();
    let mut by_module = ModuleTally::default();
    // First time, number of stacks, and stacks by outermost place.
    let mut roots: BTreeMap<u32, (i64, u64, HashMap<Place, u64>)> = BTreeMap::new();
    places.for_each(filter, true, |(pid, time_ns), labels, stack, count| {
        by_function.add(stack, count);
        by_module.add(stack, count, |place| module_of(&function_name(trace, labels, place)).to_owned());
        let (_, stacks, roots) = roots.entry(pid).or_insert_with(|| (time_ns, 0, HashMap::new()));
        *stacks += count;
        if let Some(&root) = stack.last() {
            *roots.entry(root).or_default() += count;
        }
    });
    let labels = places.labels();
    let mut processes: Vec<ProcessHits> = roots
        .into_iter()
        .map(|(pid, (time_ns, stacks, roots))| {
            let mut names: BTreeMap<String, u64> = BTreeMap::new();
            for (place, count) in roots {
                *names.entry(function_name(trace, labels, place)).or_default() += count;
            }
            let name = places.images.image_at(pid, time_ns).unwrap_or_default().to_owned();
            ProcessHits { name, pid, stacks, roots: by_hits(names) }
        })
        .collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.stacks));
    let functions = function_list(&places, &by_function);
    Butterfly { stacks: by_function.stacks, processes, modules: by_module.into_list(trace), functions }
}

/// Names of no function, so that only the recording's own names are used.
fn no_names(_: &Trace, _: &[CodeLocation]) -> FunctionNames {
    FunctionNames::default()
}

/// Hits and calls by place.
#[derive(Debug, Default)]
struct Tally {
    stacks: u64,
    hits: HashMap<Place, Hits>,
    calls: HashMap<(Place, Place), u64>,
    seen: HashSet<Place>,
}

impl Tally {
    /// Counts a stack, innermost place first, `count` times.
    fn add(&mut self, stack: &[Place], count: u64) {
        self.stacks += count;
        self.seen.clear();
        for (depth, &place) in stack.iter().enumerate() {
            let hits = self.hits.entry(place).or_default();
            hits.multi_inclusive += count;
            if depth == 0 {
                hits.exclusive += count;
            }
            if self.seen.insert(place) {
                hits.unique_inclusive += count;
            }
        }
        for pair in stack.windows(2) {
            // Stacks are innermost first, so the caller comes after the callee.
            *self.calls.entry((pair[1], pair[0])).or_default() += count;
        }
    }
}

/// The stacks that match a filter, and the places of their frames.
struct Places<'a> {
    trace: &'a Trace,
    images: Images<'a>,
    /// First time and number of occurrences by process and stack: most stacks occur many times. Module addresses can
    /// change, but the first occurrence determines the names.
    distinct: HashMap<(u32, StackId), (i64, u64)>,
    code: Code<'a>,
    modules: Modules,
    functions: Option<Functions>,
}

impl<'a> Places<'a> {
    fn new(
        trace: &'a Trace,
        range: Interval,
        filter: &StackFilter<'_>,
        functions: Option<FunctionResolver<'_>>,
    ) -> Self {
        let images = Images::new(trace);
        let mut distinct: HashMap<(u32, StackId), (i64, u64)> = HashMap::new();
        for chunk in trace.stacks.chunks() {
            for row in chunk.iter().filter(|row| range.contains(row.time_ns)) {
                let is_listed = |list: &[u32], id| list.is_empty() || list.contains(&id);
                if !is_listed(&filter.pids, row.pid) || !is_listed(&filter.tids, row.tid) {
                    continue;
                }
                if let Some(process) = filter.process
                    && !process(images.image_at(row.pid, row.time_ns).unwrap_or_default())
                {
                    continue;
                }
                if let Some(event) = filter.event
                    && !event(event_at(trace, row.time_ns, row.tid))
                {
                    continue;
                }
                distinct.entry((row.pid, row.stack)).or_insert((row.time_ns, 0)).1 += 1;
            }
        }
        let code = Code::new(trace);
        let functions = functions.map(|resolve_names| {
            let frames = distinct.iter().flat_map(|(&(pid, stack), &(time_ns, _))| {
                trace.stack_pool.get(stack).iter().map(move |&address| (pid, address, time_ns))
            });
            let places: BTreeSet<CodeLocation> =
                frames.filter_map(|(pid, address, time_ns)| code.location(pid, address, time_ns)).collect();
            Functions::new(resolve_names(trace, &places.into_iter().collect::<Vec<_>>()))
        });
        Self { trace, images, distinct, code, modules: Modules::from_trace(trace), functions }
    }

    /// Calls `visit` with the process and a time, the names of functions, and the places and number of each stack that
    /// matches the filter.
    fn for_each(
        &mut self,
        filter: &StackFilter<'_>,
        with_offsets: bool,
        mut visit: impl FnMut((u32, i64), &[String], &[Place], u64),
    ) {
        let Self { trace, distinct, code, modules, functions, .. } = self;
        let mut places: Vec<Place> = Vec::new();
        for (&(pid, stack), &(time_ns, count)) in &*distinct {
            places.clear();
            places.extend(trace.stack_pool.get(stack).iter().map(|&address| {
                let location = (pid, address, time_ns);
                if let Some(function) = functions.as_mut().and_then(|functions| functions.index_of(code, location)) {
                    return Place::Function(function);
                }
                match (modules.path_at(pid, address, time_ns), code.location(pid, address, time_ns)) {
                    (Some(path), Some(place)) if with_offsets => Place::Offset(path, place.offset),
                    (Some(path), _) => Place::Module(path),
                    (None, _) => Place::Address(address),
                }
            }));
            let labels = functions.as_ref().map_or(&[][..], |functions| &functions.labels);
            if let Some(module) = filter.module
                && !places.iter().any(|&place| module(&name(trace, labels, place)))
            {
                continue;
            }
            visit((pid, time_ns), labels, &places, count);
        }
    }

    fn labels(&self) -> &[String] {
        self.functions.as_ref().map_or(&[][..], |functions| &functions.labels)
    }
}

/// Hits by the name of a module.
#[derive(Debug, Default)]
struct ModuleTally {
    /// Index of the module by place.
    places: HashMap<Place, usize>,
    indices: HashMap<String, usize>,
    /// Exclusive and unique inclusive hits, and the number of the last stack that was counted.
    hits: Vec<(u64, u64, u64)>,
    stacks: u64,
}

impl ModuleTally {
    fn add(&mut self, stack: &[Place], count: u64, name: impl Fn(Place) -> String) {
        self.stacks += 1;
        for (depth, &place) in stack.iter().enumerate() {
            let Self { places, indices, hits, .. } = self;
            let index = *places.entry(place).or_insert_with(|| {
                *indices.entry(name(place)).or_insert_with(|| {
                    hits.push((0, 0, 0));
                    hits.len() - 1
                })
            });
            let Some((exclusive, inclusive, last)) = hits.get_mut(index) else { continue };
            if depth == 0 {
                *exclusive += count;
            }
            if std::mem::replace(last, self.stacks) != self.stacks {
                *inclusive += count;
            }
        }
    }

    fn into_list(self, trace: &Trace) -> Vec<ImageHits> {
        let mut ranges: HashMap<&str, Option<(u64, u64)>> = HashMap::new();
        for image in trace.images.iter() {
            let range = (image.base, image.base.saturating_add(image.size));
            let known = ranges.entry(file_name(trace.text(image.path))).or_insert(Some(range));
            *known = known.filter(|&known| known == range);
        }
        let row = |(name, index): (String, usize)| {
            let &(exclusive, unique_inclusive, _) = self.hits.get(index)?;
            let range = ranges.get(name.as_str()).copied().flatten();
            Some(ImageHits { name, exclusive, unique_inclusive, range })
        };
        let mut modules: Vec<ImageHits> = self.indices.into_iter().filter_map(row).collect();
        modules.sort_by(|a, b| a.name.cmp(&b.name));
        modules
    }
}

/// Returns `module!function`.
fn function_name(trace: &Trace, labels: &[String], place: Place) -> String {
    let name = name(trace, labels, place);
    match place {
        Place::Function(_) if name.contains('!') => name,
        Place::Function(_) => format!("{UNKNOWN}!{name}"),
        Place::Module(_) | Place::Offset(..) => format!("{name}!{UNKNOWN}"),
        Place::Address(_) => format!("{UNKNOWN}!{UNKNOWN}"),
    }
}

fn module_of(function: &str) -> &str {
    function.split_once('!').map_or(UNKNOWN, |(module, _)| module)
}

/// Returns the number of stacks per event name, for events in the tables: samples, context switches, ready threads.
#[must_use]
pub fn stacks_by_event(trace: &Trace) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for row in trace.stacks.chunks().iter().flat_map(|chunk| chunk.iter()) {
        let event = event_at(trace, row.time_ns, row.tid);
        if !event.is_empty() {
            *counts.entry(event).or_default() += 1;
        }
    }
    counts
}

/// Returns the modules or functions, most frames first.
fn module_list(places: &Places<'_>, tally: &Tally) -> Vec<ModuleHits> {
    let name = |place| name(places.trace, places.labels(), place);
    named_hits(tally, |place| (name(place), None), name).into_iter().map(|row| row.hits).collect()
}

/// Returns the functions, and the addresses of functions without a name, most frames first.
fn function_list(places: &Places<'_>, tally: &Tally) -> Vec<FunctionHits> {
    let name = |place| function_name(places.trace, places.labels(), place);
    let offset = |place| match place {
        Place::Offset(_, offset) => Some(u64::from(offset)),
        Place::Address(address) => Some(address),
        Place::Function(_) | Place::Module(_) => None,
    };
    named_hits(tally, |place| (name(place), offset(place)), name)
}

/// Returns the hits by key, most frames first. Neighbors are counted by name.
fn named_hits(
    tally: &Tally,
    key: impl Fn(Place) -> (String, Option<u64>),
    name: impl Fn(Place) -> String,
) -> Vec<FunctionHits> {
    // Modules with the same name in different folders are counted together.
    let mut rows: BTreeMap<(String, Option<u64>), NamedHits> = BTreeMap::new();
    for (&place, hits) in &tally.hits {
        let sum = &mut rows.entry(key(place)).or_default().hits;
        sum.exclusive += hits.exclusive;
        sum.unique_inclusive += hits.unique_inclusive;
        sum.multi_inclusive += hits.multi_inclusive;
    }
    for (&(caller, callee), &count) in &tally.calls {
        if let Some(row) = rows.get_mut(&key(callee)) {
            *row.callers.entry(name(caller)).or_default() += count;
        }
        if let Some(row) = rows.get_mut(&key(caller)) {
            *row.callees.entry(name(callee)).or_default() += count;
        }
    }
    let mut rows: Vec<FunctionHits> = rows
        .into_iter()
        .map(|((name, offset), row)| FunctionHits {
            hits: ModuleHits {
                name,
                exclusive: row.hits.exclusive,
                unique_inclusive: row.hits.unique_inclusive,
                multi_inclusive: row.hits.multi_inclusive,
                callers: by_hits(row.callers),
                callees: by_hits(row.callees),
            },
            offset,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.hits.multi_inclusive));
    rows
}

fn by_hits(neighbors: BTreeMap<String, u64>) -> Vec<Neighbor> {
    let mut list: Vec<Neighbor> = neighbors.into_iter().map(|(name, hits)| Neighbor { name, hits }).collect();
    list.sort_by_key(|neighbor| std::cmp::Reverse(neighbor.hits));
    list
}

fn name(trace: &Trace, functions: &[String], place: Place) -> String {
    match place {
        Place::Function(index) => functions.get(index).cloned().unwrap_or_default(),
        Place::Module(path) | Place::Offset(path, _) => file_name(trace.text(path)).to_owned(),
        Place::Address(address) => format!("{address:#x}"),
    }
}

/// Returns the event of `tid` at `time_ns` if it is in one of the tables, otherwise an empty string.
fn event_at(trace: &Trace, time_ns: i64, tid: u32) -> &'static str {
    let samples = trace.samples.chunks();
    if has_row(samples, |row| (&row.time_ns[..], Some(&row.tid[..])), time_ns, tid) {
        return "SampledProfile";
    }
    let switches = trace.context_switches.chunks();
    if has_row(switches, |row| (&row.time_ns[..], Some(&row.new_tid[..])), time_ns, tid) {
        return "CSwitch";
    }
    // The stack belongs to the readying thread.
    if has_row(trace.ready_threads.chunks(), |row| (&row.time_ns[..], None), time_ns, tid) {
        return "ReadyThread";
    }
    ""
}

/// Returns whether a row at `time_ns` is about `tid`; rows without thread ids match any thread. Chunks and their rows
/// must be sorted by time.
fn has_row<T>(
    chunks: &[T],
    columns: impl for<'a> Fn(&'a T) -> (&'a [i64], Option<&'a [u32]>),
    time_ns: i64,
    tid: u32,
) -> bool {
    let first_chunk = chunks.partition_point(|chunk| {
        let (times, _) = columns(chunk);
        times.last().is_none_or(|&last| last < time_ns)
    });
    chunks
        .iter()
        .skip(first_chunk)
        .map(&columns)
        .take_while(|(times, _)| times.first().is_none_or(|&first| first <= time_ns))
        .any(|(times, tids)| {
            let first_row = times.partition_point(|&time| time < time_ns);
            let rows = times.iter().enumerate().skip(first_row);
            rows.take_while(|&(_, &time)| time == time_ns)
                .any(|(row, _)| tids.is_none_or(|tids| tids.get(row) == Some(&tid)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{image, process};
    use onoff_trace::{Sample, Samples, Stack, Stacks};

    fn recording() -> Trace {
        let mut trace = Trace { duration_ns: 100, ..Trace::default() };
        process(&mut trace, 100, "a.exe", None, None);
        process(&mut trace, 200, "b.exe", None, None);
        for pid in [100, 200] {
            image(&mut trace, pid, (0x1000, 0x100), None, r"\x\a.exe");
            image(&mut trace, pid, (0x2000, 0x100), None, r"\x\lib.dll");
        }
        let inner = trace.stack_pool.intern(&[0x2001, 0x2002, 0x1001]);
        let outer = trace.stack_pool.intern(&[0x1002, 0x77]);
        let stack = |time_ns, pid, stack| Stack { time_ns, pid, tid: pid + 4, stack };
        trace.stacks.push(Stacks::from_iter([stack(10, 100, inner), stack(20, 100, inner), stack(30, 200, outer)]));
        trace.samples.push(Samples::from_iter([Sample {
            time_ns: 20,
            cpu: 0,
            tid: 104,
            address: 0x2001,
            count: 1,
            source: 0,
        }]));
        trace
    }

    fn module<'a>(stacks: &'a CallStacks, name: &str) -> &'a ModuleHits {
        stacks.modules.iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn hits_callers_and_callees_are_counted() {
        let call_stacks = count(&recording(), Interval::new(0, 100), &StackFilter::default(), None);
        assert_eq!(call_stacks.stacks, 3);
        let lib = module(&call_stacks, "lib.dll");
        assert_eq!((lib.exclusive, lib.unique_inclusive, lib.multi_inclusive), (2, 2, 4));
        let neighbor = |name: &str, hits| Neighbor { name: name.to_owned(), hits };
        assert_eq!(lib.callers, [neighbor("a.exe", 2), neighbor("lib.dll", 2)]);
        assert_eq!(lib.callees, [neighbor("lib.dll", 2)]);
        let a = module(&call_stacks, "a.exe");
        assert_eq!((a.exclusive, a.unique_inclusive), (1, 3));
        assert_eq!(a.callers, [neighbor("0x77", 1)]);
        let exclusive: u64 = call_stacks.modules.iter().map(|row| row.exclusive).sum();
        assert_eq!(exclusive, call_stacks.stacks);
    }

    #[test]
    fn butterfly_counts_addresses_modules_and_roots() {
        let butterfly = butterfly(&recording(), Interval::new(0, 100), &StackFilter::default(), None);
        assert_eq!(butterfly.stacks, 3);
        let rows: Vec<_> = butterfly.functions.iter().map(|row| (row.hits.name.as_str(), row.offset)).collect();
        let unknown = "***unknown***!***unknown***";
        let (a, lib) = ("a.exe!***unknown***", "lib.dll!***unknown***");
        assert_eq!(rows, [(a, Some(1)), (lib, Some(1)), (lib, Some(2)), (unknown, Some(0x77)), (a, Some(2))]);
        let modules: Vec<_> =
            butterfly.modules.iter().map(|row| (row.name.as_str(), row.exclusive, row.unique_inclusive)).collect();
        assert_eq!(modules, [("***unknown***", 0, 1), ("a.exe", 1, 3), ("lib.dll", 2, 2)]);
        assert_eq!(butterfly.modules[2].range, Some((0x2000, 0x2100)));
        assert_eq!(butterfly.processes[0].roots, [Neighbor { name: a.to_owned(), hits: 2 }]);
        assert_eq!((butterfly.processes[1].name.as_str(), butterfly.processes[1].stacks), ("b.exe", 1));
    }

    #[test]
    fn stacks_are_filtered_by_process_thread_module_event_and_time() {
        let trace = recording();
        let stacks = |filter: &StackFilter<'_>| count(&trace, Interval::new(0, 100), filter, None).stacks;
        let is_b = |name: &str| name == "b.exe";
        let is_lib = |name: &str| name == "lib.dll";
        let is_sample = |name: &str| name == "SampledProfile";
        assert_eq!(count(&trace, Interval::new(10, 20), &StackFilter::default(), None).stacks, 1);
        assert_eq!(stacks(&StackFilter { process: Some(&is_b), ..StackFilter::default() }), 1);
        assert_eq!(stacks(&StackFilter { module: Some(&is_lib), ..StackFilter::default() }), 2);
        assert_eq!(stacks(&StackFilter { event: Some(&is_sample), ..StackFilter::default() }), 1);
        assert_eq!(stacks(&StackFilter { pids: vec![100], tids: vec![204], ..StackFilter::default() }), 0);
        // The events of the other stacks are not in any table.
        assert_eq!(stacks_by_event(&trace), [("SampledProfile", 1)].into());
    }
}
