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
    Address(u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    exclusive: u64,
    unique_inclusive: u64,
    multi_inclusive: u64,
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
    let images = Images::new(trace);
    // Most stacks occur many times. Module addresses can change, but the first occurrence determines the names.
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
    let mut named_functions = functions.map(|resolve_names| {
        let frames = distinct.iter().flat_map(|(&(pid, stack), &(time_ns, _))| {
            trace.stack_pool.get(stack).iter().map(move |&address| (pid, address, time_ns))
        });
        let places: BTreeSet<CodeLocation> =
            frames.filter_map(|(pid, address, time_ns)| code.location(pid, address, time_ns)).collect();
        Functions::new(resolve_names(trace, &places.into_iter().collect::<Vec<_>>()))
    });
    let modules = Modules::from_trace(trace);
    let mut stacks = 0_u64;
    let mut hits: HashMap<Place, Hits> = HashMap::new();
    let mut calls: HashMap<(Place, Place), u64> = HashMap::new();
    let mut places: Vec<Place> = Vec::new();
    let mut seen: HashSet<Place> = HashSet::new();
    for (&(pid, stack), &(time_ns, count)) in &distinct {
        places.clear();
        places.extend(trace.stack_pool.get(stack).iter().map(|&address| {
            let function =
                named_functions.as_mut().and_then(|functions| functions.index_of(&code, (pid, address, time_ns)));
            let module = || modules.path_at(pid, address, time_ns).map_or(Place::Address(address), Place::Module);
            function.map_or_else(module, Place::Function)
        }));
        let functions = named_functions.as_ref().map_or(&[][..], |functions| &functions.labels);
        if let Some(module) = filter.module
            && !places.iter().any(|&place| module(&name(trace, functions, place)))
        {
            continue;
        }
        stacks += count;
        seen.clear();
        for (depth, &place) in places.iter().enumerate() {
            let hits = hits.entry(place).or_default();
            hits.multi_inclusive += count;
            if depth == 0 {
                hits.exclusive += count;
            }
            if seen.insert(place) {
                hits.unique_inclusive += count;
            }
        }
        for pair in places.windows(2) {
            // Stacks are innermost first, so the caller comes after the callee.
            *calls.entry((pair[1], pair[0])).or_default() += count;
        }
    }
    let functions = named_functions.as_ref().map_or(&[][..], |functions| &functions.labels);
    CallStacks { stacks, modules: module_list(trace, functions, &hits, &calls) }
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
fn module_list(
    trace: &Trace,
    functions: &[String],
    hits: &HashMap<Place, Hits>,
    calls: &HashMap<(Place, Place), u64>,
) -> Vec<ModuleHits> {
    // Modules with the same name in different folders are counted together.
    let mut modules: BTreeMap<String, NamedHits> = BTreeMap::new();
    for (&place, hits) in hits {
        let sum = &mut modules.entry(name(trace, functions, place)).or_default().hits;
        sum.exclusive += hits.exclusive;
        sum.unique_inclusive += hits.unique_inclusive;
        sum.multi_inclusive += hits.multi_inclusive;
    }
    for (&(caller, callee), &count) in calls {
        let (caller, callee) = (name(trace, functions, caller), name(trace, functions, callee));
        if let Some(module) = modules.get_mut(&callee) {
            *module.callers.entry(caller.clone()).or_default() += count;
        }
        if let Some(module) = modules.get_mut(&caller) {
            *module.callees.entry(callee).or_default() += count;
        }
    }
    let mut modules: Vec<ModuleHits> = modules
        .into_iter()
        .map(|(name, module)| ModuleHits {
            name,
            exclusive: module.hits.exclusive,
            unique_inclusive: module.hits.unique_inclusive,
            multi_inclusive: module.hits.multi_inclusive,
            callers: by_hits(module.callers),
            callees: by_hits(module.callees),
        })
        .collect();
    modules.sort_by_key(|module| std::cmp::Reverse(module.multi_inclusive));
    modules
}

fn by_hits(neighbors: BTreeMap<String, u64>) -> Vec<Neighbor> {
    let mut list: Vec<Neighbor> = neighbors.into_iter().map(|(name, hits)| Neighbor { name, hits }).collect();
    list.sort_by_key(|neighbor| std::cmp::Reverse(neighbor.hits));
    list
}

fn name(trace: &Trace, functions: &[String], place: Place) -> String {
    match place {
        Place::Function(index) => functions.get(index).cloned().unwrap_or_default(),
        Place::Module(path) => file_name(trace.text(path)).to_owned(),
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
