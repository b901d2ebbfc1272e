//! Time by function or call stack: of CPU samples, waits, disk requests or hard faults.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{Losses, SystemKind, TableName, TableSet, Trace};
use serde::Serialize;

use crate::flame::{Flame, MAX_FRAMES};
use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_evidence::scope::Scope;
use onoff_usage::cpu::charge_from_samples;
use onoff_usage::functions::{Code, CodeFrame, CodeLocation, FunctionNames, JoinedStack, StackFinder};
use onoff_usage::owners::{IDLE, Owners, file_name};

/// Kind of measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeKind {
    /// CPU samples, each representing the time to the next: an estimate.
    Samples,
    /// Waits, from switch-out to switch-in, clipped to the interval, with the stack on resuming.
    Waits,
    /// Disk requests from issue to completion, with the stack that issued them.
    DiskRequests,
    /// Hard faults, with the stack that caused them.
    HardFaults,
}

/// Grouping keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CodeGroup {
    /// Process.
    Process,
    /// Module.
    Module,
    /// Function; for modules without symbols, the module.
    Function,
    /// Entire call stack.
    Stack,
}

/// Returns the tables that the list needs.
#[must_use]
pub fn tables(kind: TimeKind) -> TableSet {
    let events = match kind {
        TimeKind::Samples => TableName::Samples,
        TimeKind::Waits => TableName::ContextSwitches,
        TimeKind::DiskRequests => TableName::DiskIos,
        TimeKind::HardFaults => TableName::HardFaults,
    };
    TableSet::from_names(&[
        events,
        TableName::Stacks,
        TableName::Images,
        TableName::Methods,
        TableName::Processes,
        TableName::Threads,
    ])
}

/// A function or a call stack, as grouped; other keys are empty or `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionRow {
    /// Image file name of the process; empty if unknown.
    pub image: String,
    /// Process id.
    pub pid: Option<u32>,
    /// File name of the module; empty if unknown.
    pub module: String,
    /// Function name; empty if unknown.
    pub function: String,
    /// Call stack, outermost frame first.
    pub stack: Vec<CodeFrame>,
    /// Time in the function itself, or with this stack, ns.
    pub own_ns: i64,
    /// Percentage of the total time.
    pub percent: f64,
    /// Time in the function including its callees, ns; `None` for stacks, and if no stack was recorded.
    pub inclusive_ns: Option<i64>,
    /// Number of samples, waits, requests or faults in the own time.
    pub count: u64,
}

/// Time of samples, waits, requests or faults by code.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionList {
    /// The listed interval.
    pub range: Interval,
    /// Kind of the time.
    pub kind: TimeKind,
    /// Grouping keys.
    pub by: Vec<CodeGroup>,
    /// Total time of the selected processes, ns.
    pub total_ns: i64,
    /// Number of samples, waits, requests or faults.
    pub count: u64,
    /// Number of these with a call stack.
    pub with_stack: u64,
    /// Rows, most own time first.
    pub rows: Vec<FunctionRow>,
    /// Missing symbols, each with the reason.
    pub missing_symbols: Vec<String>,
    /// Records that were not recorded but would add detail.
    pub missing_evidence: Vec<MissingRecords>,
    /// Names of the losses that affect this list.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// An event with a duration and a stack.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Time of the stack.
    time_ns: i64,
    tid: u32,
    owner: u32,
    ns: i64,
    /// Sampled address.
    address: Option<u64>,
}

/// Image and id of a process.
type Owner<'a> = (&'a str, Option<u32>);

/// Number of events per batch of stack lookups, to bound memory. Small in tests, so that all of them span batches.
const BATCH_LEN: usize = if cfg!(test) { 2 } else { 1 << 18 };

/// Interned frames of call stacks.
#[derive(Debug, Default)]
struct Frames {
    list: Vec<CodeFrame>,
    numbers: HashMap<CodeFrame, u32>,
}

impl Frames {
    fn number(&mut self, frame: CodeFrame) -> u32 {
        let Self { list, numbers } = self;
        // There are at most as many numbers as distinct frame texts.
        let next_number = u32::try_from(list.len()).unwrap_or(u32::MAX);
        *numbers.entry(frame).or_insert_with_key(|frame| {
            list.push(frame.clone());
            next_number
        })
    }

    fn is_nameless(&self, number: u32) -> bool {
        self.list.get(number as usize).is_some_and(|frame| frame.function.is_empty())
    }
}

/// Resolves addresses to the numbers of frames. Without names, all addresses in a module have one frame, so that memory
/// does not grow with the number of addresses.
struct FrameResolver<'c> {
    code: &'c Code<'c>,
    names: &'c FunctionNames,
    /// Frames have no functions.
    only_modules: bool,
    frames: Frames,
    /// Frame number by row in the table of images, for modules whose functions have no names.
    by_image: HashMap<usize, u32>,
    by_location: HashMap<CodeLocation, u32>,
    /// Frame number by process, epoch and address, where methods can have names.
    by_address: HashMap<(u32, usize, u64), u32>,
}

impl<'c> FrameResolver<'c> {
    fn new(code: &'c Code<'c>, names: &'c FunctionNames, only_modules: bool) -> Self {
        Self {
            code,
            names,
            only_modules,
            frames: Frames::default(),
            by_image: HashMap::new(),
            by_location: HashMap::new(),
            by_address: HashMap::new(),
        }
    }

    fn number(&mut self, pid: u32, epoch: usize, address: u64, time_ns: i64) -> u32 {
        let Self { code, names, only_modules, frames, by_image, by_location, by_address } = self;
        let mut resolve = || {
            let mut frame = code.frame((pid, address, time_ns), names);
            if *only_modules {
                frame.function.clear();
            }
            frames.number(frame)
        };
        if code.has_methods() {
            return *by_address.entry((pid, epoch, address)).or_insert_with(resolve);
        }
        if *only_modules || names.is_empty() {
            return match code.image_row(pid, address, time_ns) {
                Some(row) => *by_image.entry(row).or_insert_with(resolve),
                None => frames.number(CodeFrame::default()),
            };
        }
        match code.location(pid, address, time_ns) {
            Some(location) => *by_location.entry(location).or_insert_with(resolve),
            None => resolve(),
        }
    }
}

/// Sums of a row.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    own_ns: i64,
    inclusive_ns: Option<i64>,
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StackKey {
    owner: u32,
    stack: JoinedStack,
    /// See [`Code::epoch`].
    epoch: usize,
    /// The sampled address, if the stack does not start there: samples are taken before their stacks.
    address: Option<u64>,
}

/// Events of a batch with one stack.
#[derive(Clone, Copy, Debug)]
struct StackTime {
    key: StackKey,
    ns: i64,
    count: u64,
    /// Time of the first event.
    first_ns: i64,
}

/// Number of events, and of events with a stack.
#[derive(Clone, Copy, Debug, Default)]
struct EventCounts {
    events: u64,
    with_stack: u64,
}

/// Time by call stack, without names. Each question reads the events again, because keeping all stacks takes more
/// memory.
pub struct CodeTimes<'a> {
    trace: &'a Trace,
    scope: Scope,
    kind: TimeKind,
    code: Code<'a>,
}

impl std::fmt::Debug for CodeTimes<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CodeTimes").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<'a> CodeTimes<'a> {
    /// Selects the time of the processes in `scope`.
    #[must_use]
    pub fn new(trace: &'a Trace, scope: &Scope, kind: TimeKind) -> Self {
        Self { trace, scope: scope.clone(), kind, code: Code::new(trace) }
    }

    /// Visits each call stack with its process and time, in batches: a stack can occur in several of them.
    fn for_each_time(&self, mut visit: impl FnMut(Owner<'a>, StackTime)) -> EventCounts {
        let trace = self.trace;
        let mut owners = Owners::from_trace(trace);
        let processes: Vec<Owner<'_>> =
            owners.list().iter().map(|owner| (file_name(trace.text(owner.image)), owner.pid)).collect();
        let selected: Vec<bool> = processes.iter().map(|(image, pid)| self.scope.has_process(*pid, image)).collect();
        let finder = StackFinder::new(trace);
        let mut counts = EventCounts::default();
        let mut visit_batch = |events: &mut Vec<Event>| {
            counts.events += events.len() as u64;
            for time in stack_times(trace, &finder, &self.code, &processes, events, &mut counts.with_stack) {
                visit(processes.get(time.key.owner as usize).copied().unwrap_or_default(), time);
            }
            events.clear();
        };
        let mut events: Vec<Event> = Vec::new();
        let keep = |event: Event| {
            let is_selected =
                event.owner != IDLE && event.tid != 0 && selected.get(event.owner as usize) == Some(&true);
            if is_selected && event.ns >= 0 {
                events.push(event);
            }
            if events.len() >= BATCH_LEN {
                visit_batch(&mut events);
            }
        };
        for_each_event(trace, &mut owners, self.scope.range, self.kind, keep);
        visit_batch(&mut events);
        counts
    }

    /// Fills `addresses` with the addresses of a stack, outermost first.
    fn read_addresses(&self, key: &StackKey, addresses: &mut Vec<u64>) {
        // For deep stacks, keep the innermost frames.
        let stack = key.stack.addresses(&self.trace.stack_pool);
        addresses.clear();
        addresses.extend(key.address.into_iter().chain(stack).take(MAX_FRAMES));
        addresses.reverse();
    }

    /// Returns the code locations to resolve to names.
    #[must_use]
    pub fn locations(&self) -> Vec<CodeLocation> {
        let mut locations = HashSet::new();
        let mut addresses = Vec::new();
        self.for_each_time(|(_, pid), time| {
            self.read_addresses(&time.key, &mut addresses);
            let location = |&address: &u64| self.code.location(pid.unwrap_or(0), address, time.first_ns);
            locations.extend(addresses.iter().filter_map(location));
        });
        let mut locations: Vec<CodeLocation> = locations.into_iter().collect();
        locations.sort();
        locations
    }

    /// Visits each call stack with its process, frames (outermost first), time, and number of events, in batches. With
    /// `only_modules`, frames have no functions.
    fn for_each_stack(
        &self,
        names: &FunctionNames,
        only_modules: bool,
        mut visit: impl FnMut(Owner<'a>, &[u32], &mut Frames, (i64, u64)),
    ) -> EventCounts {
        let mut resolver = FrameResolver::new(&self.code, names, only_modules);
        let (mut addresses, mut stack) = (Vec::new(), Vec::new());
        self.for_each_time(|owner, StackTime { key, ns, count, first_ns }| {
            self.read_addresses(&key, &mut addresses);
            let pid = owner.1.unwrap_or(0);
            stack.clear();
            stack.extend(addresses.iter().map(|&address| resolver.number(pid, key.epoch, address, first_ns)));
            visit(owner, &stack, &mut resolver.frames, (ns, count));
        })
    }

    /// Builds a flame graph of processes and the functions of their call stacks; `None` if [`Self::list`] has no rows.
    #[must_use]
    pub fn flame(&self, names: &FunctionNames) -> Option<Flame> {
        let mut flame = Flame::default();
        let mut labels: Vec<String> = Vec::new();
        let counts = self.for_each_stack(names, false, |(image, pid), stack, frames, (ns, _)| {
            let process = match (image, pid) {
                ("", None) => "not known".to_owned(),
                ("", Some(pid)) => format!("process {pid}"),
                (image, Some(pid)) => format!("{image} ({pid})"),
                (image, None) => image.to_owned(),
            };
            labels.extend(frames.list.iter().skip(labels.len()).map(CodeFrame::label));
            let stack_labels = stack.iter().filter_map(|&number| labels.get(number as usize));
            flame.add(std::iter::once(process.as_str()).chain(stack_labels.map(String::as_str)), ns);
        });
        (counts.events > 0 && !self.lacks_locations(counts)).then_some(flame)
    }

    /// Lists the time grouped by `groups`, or by function if `groups` is empty.
    #[must_use]
    pub fn list(&self, groups: &[CodeGroup], names: &FunctionNames) -> FunctionList {
        let groups = if groups.is_empty() { vec![CodeGroup::Function] } else { groups.to_vec() };
        let group_by_process = groups.contains(&CodeGroup::Process);
        let group_by_stack = groups.contains(&CodeGroup::Stack);
        let group_by_module = groups.contains(&CodeGroup::Module);
        let mut stacks = Stacks::default();
        let mut sums: HashMap<(Option<Owner<'_>>, u32), Sum> = HashMap::new();
        let mut all_frames = Vec::new();
        let mut total_ns = 0_i64;
        let mut stack = Vec::new();
        let counts = self.for_each_stack(names, group_by_module, |owner, frame_numbers, frames, (ns, events)| {
            total_ns = total_ns.saturating_add(ns);
            let process = group_by_process.then_some(owner);
            stack.clear();
            stack.extend_from_slice(frame_numbers);
            if stack.is_empty() {
                stack.push(frames.number(CodeFrame::default()));
            }
            if group_by_stack {
                // Merge adjacent frames of a module without names.
                stack.dedup_by(|number, previous| number == previous && frames.is_nameless(*number));
            }
            let own_frames =
                if group_by_stack { &stack[..] } else { stack.last_chunk::<1>().map_or(&[][..], |last| last) };
            let sum = sums.entry((process, stacks.number(own_frames))).or_default();
            sum.own_ns = sum.own_ns.saturating_add(ns);
            sum.count += events;
            if !group_by_stack {
                // Count recursive functions once.
                stack.sort_unstable();
                stack.dedup();
                for &number in &stack {
                    let sum = sums.entry((process, stacks.number(&[number]))).or_default();
                    sum.inclusive_ns = Some(sum.inclusive_ns.unwrap_or(0).saturating_add(ns));
                }
            }
            all_frames.extend(frames.list.iter().skip(all_frames.len()).cloned());
        });
        if self.lacks_locations(counts) {
            sums.clear();
        }
        let resolve_frames = |stack: u32| -> Vec<CodeFrame> {
            stacks.get(stack).iter().filter_map(|&number| all_frames.get(number as usize).cloned()).collect()
        };
        let mut sums: Vec<(Option<Owner<'_>>, Vec<CodeFrame>, Sum)> =
            sums.into_iter().map(|((process, stack), sum)| (process, resolve_frames(stack), sum)).collect();
        sums.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        let mut rows: Vec<FunctionRow> = sums
            .into_iter()
            .map(|(process, frames, sum)| {
                let (image, pid) = process.unwrap_or_default();
                let innermost = frames.last().cloned().unwrap_or_default();
                FunctionRow {
                    image: image.to_owned(),
                    pid,
                    module: innermost.module,
                    function: innermost.function,
                    stack: if group_by_stack { frames } else { Vec::new() },
                    own_ns: sum.own_ns,
                    percent: percent_of_total(sum.own_ns, total_ns),
                    inclusive_ns: sum.inclusive_ns.filter(|_| counts.with_stack > 0),
                    count: sum.count,
                }
            })
            .collect();
        rows.sort_by(|a, b| {
            let time = |row: &FunctionRow| (row.own_ns, row.inclusive_ns);
            time(b).cmp(&time(a)).then_with(|| (&a.module, &a.function, a.pid).cmp(&(&b.module, &b.function, b.pid)))
        });
        FunctionList {
            range: self.scope.range,
            kind: self.kind,
            by: groups,
            total_ns,
            count: counts.events,
            with_stack: counts.with_stack,
            rows,
            missing_symbols: names.missing.clone(),
            missing_evidence: self.missing_records(counts),
            affecting_losses: affecting_losses(self.trace, &[event_table(self.kind), TableName::Stacks]),
            losses: self.trace.losses.clone(),
        }
    }

    /// Returns whether no event has a location: without any stack only samples have one.
    fn lacks_locations(&self, counts: EventCounts) -> bool {
        counts.with_stack == 0 && self.kind != TimeKind::Samples
    }

    fn missing_records(&self, counts: EventCounts) -> Vec<MissingRecords> {
        let mut missing = Vec::new();
        let is_table_empty = self.trace.table(event_table(self.kind)).is_empty();
        if is_table_empty {
            missing.push(match self.kind {
                TimeKind::Samples => MissingRecords::ProfileSamples,
                TimeKind::Waits => MissingRecords::ContextSwitches,
                TimeKind::DiskRequests => MissingRecords::DiskRequests,
                TimeKind::HardFaults => MissingRecords::HardFaults,
            });
        } else if counts.with_stack == 0 {
            missing.push(MissingRecords::CallStacks);
        }
        // On Linux the recorder lists code; if it could not, that is reported as a loss.
        if self.trace.images.is_empty() && self.trace.system.kind != SystemKind::Linux {
            missing.push(MissingRecords::ModuleLoads);
        }
        missing
    }
}

/// Interned lists of frame numbers.
#[derive(Debug, Default)]
struct Stacks {
    numbers: HashMap<Vec<u32>, u32>,
    list: Vec<Vec<u32>>,
}

impl Stacks {
    fn number(&mut self, stack: &[u32]) -> u32 {
        if let Some(&number) = self.numbers.get(stack) {
            return number;
        }
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(stack.to_vec(), number);
        self.list.push(stack.to_vec());
        number
    }

    fn get(&self, number: u32) -> &[u32] {
        self.list.get(number as usize).map_or(&[], Vec::as_slice)
    }
}

/// Adds up the times of events by call stack, and counts the events with a stack.
fn stack_times(
    trace: &Trace,
    finder: &StackFinder<'_>,
    code: &Code<'_>,
    owners: &[Owner<'_>],
    events: &[Event],
    with_stack: &mut u64,
) -> Vec<StackTime> {
    let keys: HashSet<(i64, u32)> = events.iter().map(|event| (event.time_ns, event.tid)).collect();
    let extend = |(first, last): (i64, i64), event: &Event| (first.min(event.time_ns), last.max(event.time_ns));
    let time_range = events.iter().fold((i64::MAX, i64::MIN), extend);
    let stacks = finder.stacks_in(time_range, |key| keys.contains(key));
    let single_time = |event: &Event| {
        let stack = stacks.get(&(event.time_ns, event.tid)).copied().unwrap_or_default();
        let starts_at_sample = |&address: &u64| stack.addresses(&trace.stack_pool).next() == Some(address);
        let address = event.address.filter(|address| !starts_at_sample(address));
        let pid = owners.get(event.owner as usize).and_then(|(_, pid)| *pid).unwrap_or(0);
        let key = StackKey { owner: event.owner, epoch: code.epoch(pid, event.time_ns), stack, address };
        StackTime { key, ns: event.ns, count: 1, first_ns: event.time_ns }
    };
    let mut times: Vec<StackTime> = events.iter().map(single_time).collect();
    *with_stack += times.iter().filter(|time| !time.key.stack.is_empty()).count() as u64;
    times.sort_unstable_by_key(|time| (time.key, time.first_ns));
    times.dedup_by(|later, first| {
        let is_same = later.key == first.key;
        if is_same {
            first.ns = first.ns.saturating_add(later.ns);
            first.count += later.count;
        }
        is_same
    });
    times
}

const fn event_table(kind: TimeKind) -> TableName {
    match kind {
        TimeKind::Samples => TableName::Samples,
        TimeKind::Waits => TableName::ContextSwitches,
        TimeKind::DiskRequests => TableName::DiskIos,
        TimeKind::HardFaults => TableName::HardFaults,
    }
}

#[allow(clippy::cast_precision_loss, reason = "a share needs no more digits")]
fn percent_of_total(ns: i64, total_ns: i64) -> f64 {
    if total_ns > 0 { ns as f64 / total_ns as f64 * 100.0 } else { 0.0 }
}

fn for_each_event(trace: &Trace, owners: &mut Owners, range: Interval, kind: TimeKind, mut visit: impl FnMut(Event)) {
    match kind {
        TimeKind::Samples => {
            charge_from_samples(trace, owners, &[range.start_ns, range.end_ns], |sample| {
                visit(Event {
                    time_ns: sample.start_ns,
                    tid: sample.tid,
                    owner: sample.owner,
                    ns: sample.ns,
                    address: Some(sample.address),
                });
            });
        }
        TimeKind::Waits => {
            let mut switched_out: HashMap<u32, i64> = HashMap::new();
            for chunk in trace.context_switches.chunks() {
                let rows = chunk.time_ns.iter().zip(&chunk.new_tid).zip(&chunk.old_tid);
                for ((&time_ns, &new_tid), &old_tid) in rows {
                    // A wait that ends after the interval counts partially: its stack is only known once it ends.
                    if let Some(out_ns) = switched_out.remove(&new_tid)
                        && let ns @ 1.. = range.overlap_ns(out_ns, time_ns)
                    {
                        let (owner, _) = owners.owner_at(new_tid, time_ns);
                        visit(Event { time_ns, tid: new_tid, owner, ns, address: None });
                    }
                    switched_out.insert(old_tid, time_ns);
                }
            }
        }
        TimeKind::DiskRequests => {
            let requests = trace.disk_ios.iter().filter(|request| range.contains(request.complete_ns));
            let issued_requests = requests.filter_map(|request| {
                let (issue_ns, tid) = (request.issue_ns?, request.tid?);
                Some((issue_ns, tid, request.complete_ns.saturating_sub(issue_ns)))
            });
            visit_in_time_order(issued_requests.collect(), owners, visit);
        }
        TimeKind::HardFaults => {
            let faults = trace.hard_faults.iter().filter(|fault| range.contains(fault.end_ns));
            let ended_faults =
                faults.map(|fault| (fault.end_ns, fault.tid, fault.end_ns.saturating_sub(fault.start_ns).max(0)));
            visit_in_time_order(ended_faults.collect(), owners, visit);
        }
    }
}

/// Visits events given as (time, thread, duration): thread owners can only be looked up in time order.
fn visit_in_time_order(mut events: Vec<(i64, u32, i64)>, owners: &mut Owners, mut visit: impl FnMut(Event)) {
    events.sort();
    for (time_ns, tid, ns) in events {
        let (owner, _) = owners.owner_at(tid, time_ns);
        visit(Event { time_ns, tid, owner, ns, address: None });
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::{HardFault, HardFaults, Method, Methods, Sample, Samples, Stack, Stacks, StringId};

    use super::*;
    use onoff_testkit::synthetic;

    const MS: i64 = 1_000_000;
    const KERNEL: u64 = 0xFFFF_F800_0000_0000;

    /// A process with two modules, a second one with the first of them, and the kernel.
    fn computer() -> Trace {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        for (pid, tid, image) in [(7, 70, "\\Windows\\work.exe"), (8, 80, "\\Windows\\other.exe")] {
            synthetic::process(&mut trace, pid, image, None, None);
            synthetic::thread(&mut trace, tid, pid, None, None);
            synthetic::image(&mut trace, pid, (0x1000, 0x1000), None, "\\Windows\\outer.dll");
        }
        synthetic::image(&mut trace, 7, (0x9000, 0x1000), None, "\\Windows\\inner.dll");
        synthetic::image(&mut trace, 0, (KERNEL, 0x1000), None, "\\Windows\\kernel.exe");
        trace
    }

    fn stacks(trace: &mut Trace, rows: &[(i64, u32, &[u64])]) {
        let rows: Vec<Stack> = rows
            .iter()
            .map(|&(ms, tid, frames)| Stack {
                time_ns: ms * MS,
                pid: tid / 10,
                tid,
                stack: trace.stack_pool.intern(frames),
            })
            .collect();
        trace.stacks.push(Stacks::from_iter(rows));
    }

    fn samples(trace: &mut Trace, rows: &[(i64, u32, u64)]) {
        trace.samples.push(Samples::from_iter(rows.iter().map(|&(ms, tid, address)| Sample {
            time_ns: ms * MS,
            cpu: 0,
            tid,
            address,
            count: 1,
            source: 0,
        })));
    }

    fn function_list(trace: &Trace, kind: TimeKind, by: &[CodeGroup], names: &FunctionNames) -> FunctionList {
        let list = CodeTimes::new(trace, &Scope::whole_recording(trace), kind).list(by, names);
        let own_ns: i64 = list.rows.iter().map(|row| row.own_ns).sum();
        assert!(list.rows.is_empty() || own_ns == list.total_ns, "{list:?}");
        list
    }

    /// Label, own time and inclusive time of each row, ms.
    fn rows(list: &FunctionList) -> Vec<(String, i64, Option<i64>)> {
        let label = |row: &FunctionRow| {
            let frame = CodeFrame { module: row.module.clone(), function: row.function.clone() };
            let stack: Vec<String> = row.stack.iter().map(CodeFrame::label).collect();
            if stack.is_empty() { frame.label() } else { stack.join(" > ") }
        };
        list.rows.iter().map(|row| (label(row), row.own_ns / MS, row.inclusive_ns.map(|ns| ns / MS))).collect()
    }

    fn expected_rows(expected: &[(&str, i64, Option<i64>)]) -> Vec<(String, i64, Option<i64>)> {
        expected.iter().map(|&(label, own_ms, inclusive_ms)| (label.to_owned(), own_ms, inclusive_ms)).collect()
    }

    /// outer.dll calls itself and inner.dll; the last of four samples has no stack.
    fn sampled() -> Trace {
        let mut trace = computer();
        samples(&mut trace, &[(5, 70, 0x9010), (6, 70, 0x1020), (7, 70, 0x9010), (8, 70, 0x9F00)]);
        let deep: &[u64] = &[0x9010, 0x1020, 0x1030, 0x1020];
        stacks(&mut trace, &[(5, 70, deep), (6, 70, &[0x1020]), (7, 70, deep)]);
        trace
    }

    #[test]
    fn computes_own_and_inclusive_time() {
        let trace = sampled();
        let list = function_list(&trace, TimeKind::Samples, &[], &FunctionNames::default());
        assert_eq!(
            rows(&list),
            expected_rows(&[("inner.dll", 3, Some(3)), ("outer.dll", 1, Some(3))]),
            "modules without names"
        );
        assert_eq!((list.count, list.with_stack, list.missing_evidence.len()), (4, 3, 0));

        // Image rows: outer.dll of each process, inner.dll, the kernel.
        let mut names = FunctionNames::default();
        for (image, offset, function) in [(0, 0x20, "walk"), (0, 0x30, "step"), (2, 0x10, "copy"), (1, 0x20, "wrong")] {
            names.insert(CodeLocation { image, offset }, function.to_owned());
        }
        let list = function_list(&trace, TimeKind::Samples, &[CodeGroup::Function], &names);
        let expected = [
            ("inner.dll!copy", 2, Some(2)),
            ("outer.dll!walk", 1, Some(3)),
            ("inner.dll", 1, Some(1)),
            ("outer.dll!step", 0, Some(2)),
        ];
        assert_eq!(rows(&list), expected_rows(&expected));
        let list = function_list(&trace, TimeKind::Samples, &[CodeGroup::Stack], &names);
        let deep = "outer.dll!walk > outer.dll!step > outer.dll!walk > inner.dll!copy";
        assert_eq!(rows(&list), expected_rows(&[(deep, 2, None), ("inner.dll", 1, None), ("outer.dll!walk", 1, None)]));
        let list = function_list(&trace, TimeKind::Samples, &[CodeGroup::Module], &names);
        assert_eq!(rows(&list), expected_rows(&[("inner.dll", 3, Some(3)), ("outer.dll", 1, Some(3))]));
    }

    #[test]
    fn sampled_address_completes_partial_stack() {
        let mut trace = computer();
        samples(&mut trace, &[(5, 70, KERNEL + 0x10), (6, 70, KERNEL + 0x10), (7, 70, KERNEL + 0x10)]);
        // The first sample has only the user part, the second both parts, the third the stack of another thread.
        let user: &[u64] = &[0x9010, 0x1020];
        let rows_of_stacks: [(i64, u32, &[u64]); 4] =
            [(5, 70, user), (6, 70, &[KERNEL + 0x10]), (6, 70, user), (7, 80, &[0x1020])];
        stacks(&mut trace, &rows_of_stacks);
        let list = function_list(&trace, TimeKind::Samples, &[], &FunctionNames::default());
        let expected = [("kernel.exe", 3, Some(3)), ("inner.dll", 0, Some(2)), ("outer.dll", 0, Some(2))];
        assert_eq!(rows(&list), expected_rows(&expected));
        assert_eq!(list.with_stack, 2);
    }

    #[test]
    fn attributes_waits_requests_and_faults_to_threads() {
        let mut trace = computer();
        // Thread 70 waits from 10 to 40 ms, thread 80 until 30 ms.
        let switches =
            [(10, 0, 70, (5, 0), 80), (20, 0, 80, (5, 0), 0), (30, 0, 0, (2, 0), 80), (40, 0, 80, (5, 0), 70)];
        synthetic::switches_in_ms(&mut trace, &switches);
        synthetic::request(&mut trace, 0, 50 * MS, 55 * MS);
        synthetic::request(&mut trace, 0, 51 * MS, 53 * MS);
        let threads = [Some(70), Some(80)];
        trace.disk_ios =
            trace.disk_ios.iter().zip(threads).map(|(row, tid)| onoff_trace::DiskIo { tid, ..row }).collect();
        trace.hard_faults = HardFaults::from_iter([HardFault {
            start_ns: 60 * MS,
            end_ns: 64 * MS,
            pid: Some(7),
            tid: 70,
            file: StringId::EMPTY,
            file_object: 0,
            offset: 0,
            size: 4096,
            address: 0,
        }]);
        let (wait, disk, fault): (&[u64], &[u64], &[u64]) = (&[0x9010, 0x1020], &[0x1030], &[0x9020]);
        // The last is at the time of thread 70's resume but of another thread.
        stacks(&mut trace, &[(40, 70, wait), (30, 80, disk), (50, 70, disk), (64, 70, fault), (40, 80, fault)]);
        let nameless = FunctionNames::default();
        let rows_of = |kind, groups: &[CodeGroup]| rows(&function_list(&trace, kind, groups, &nameless));
        assert_eq!(
            rows_of(TimeKind::Waits, &[CodeGroup::Stack]),
            expected_rows(&[("outer.dll > inner.dll", 30, None), ("outer.dll", 10, None)])
        );
        // No stack was recorded for the request of 80.
        assert_eq!(
            rows_of(TimeKind::DiskRequests, &[CodeGroup::Stack]),
            expected_rows(&[("outer.dll", 5, None), ("unknown module", 2, None)])
        );
        assert_eq!(rows_of(TimeKind::HardFaults, &[]), expected_rows(&[("inner.dll", 4, Some(4))]));

        // The part of a wait in an interval, whenever it ends.
        let range = Interval::new(12 * MS, 25 * MS);
        let part = CodeTimes::new(&trace, &Scope { range, ..Scope::default() }, TimeKind::Waits);
        let part = part.list(&[CodeGroup::Stack], &nameless);
        assert_eq!(rows(&part), expected_rows(&[("outer.dll > inner.dll", 13, None), ("outer.dll", 5, None)]));

        let whole = Scope::whole_recording(&trace);
        let other_scope = whole.with_processes(vec![onoff_trace::Pattern::new("other.exe")]);
        let list = CodeTimes::new(&trace, &other_scope, TimeKind::Waits)
            .list(&[CodeGroup::Process, CodeGroup::Function], &nameless);
        assert_eq!(rows(&list), expected_rows(&[("outer.dll", 10, Some(10))]));
        assert_eq!((list.rows[0].image.as_str(), list.rows[0].pid), ("other.exe", Some(8)));
    }

    #[test]
    fn names_jit_compiled_methods() {
        let mut trace = computer();
        let mut method = |pid, address, times: (Option<i64>, Option<i64>), name: &str| Method {
            pid,
            address,
            size: 0x100,
            start_ns: times.0,
            end_ns: times.1,
            name: trace.strings.intern(name),
            signature: StringId::EMPTY,
            module: trace.strings.intern("C:\\app\\mine.dll"),
        };
        trace.methods = Methods::from_iter([
            method(7, 0x5000, (None, Some(6 * MS)), "A.Old"),
            method(7, 0x5000, (Some(6 * MS), None), "A.New"),
            // The same address in the other process, and code in a native image, which is mapped as a module.
            method(8, 0x5000, (None, None), "B.Decoy"),
            method(7, 0x9000, (None, None), "A.Native"),
        ]);
        let found = [(5, 70, 0x5010), (7, 70, 0x5010), (8, 70, 0x5100), (9, 70, 0x9010), (10, 70, 0x9500)];
        samples(&mut trace, &found);
        let nameless = FunctionNames::default();
        let expected = [
            ("inner.dll", 1, None),
            ("mine.dll!A.Native", 1, None),
            ("mine.dll!A.New", 1, None),
            ("mine.dll!A.Old", 1, None),
            ("unknown module", 1, None),
        ];
        let mut found = rows(&function_list(&trace, TimeKind::Samples, &[], &nameless));
        found.sort();
        assert_eq!(found, expected_rows(&expected));
        // Names from a PDB take precedence over the runtime's.
        let mut names = FunctionNames::default();
        names.insert(CodeLocation { image: 2, offset: 0x10 }, "helper".to_owned());
        let found = rows(&function_list(&trace, TimeKind::Samples, &[], &names));
        assert!(found.contains(&("inner.dll!helper".to_owned(), 1, None)), "{found:?}");
    }

    #[test]
    fn without_stacks_only_samples_have_rows() {
        let mut trace = computer();
        synthetic::switches_in_ms(&mut trace, &[(10, 0, 70, (5, 0), 80), (40, 0, 80, (5, 0), 70)]);
        samples(&mut trace, &[(5, 70, 0x9010)]);
        let nameless = FunctionNames::default();
        let waits = function_list(&trace, TimeKind::Waits, &[], &nameless);
        assert_eq!(
            (waits.rows.len(), waits.count, &waits.missing_evidence[..]),
            (0, 1, &[MissingRecords::CallStacks][..])
        );
        let found = function_list(&trace, TimeKind::Samples, &[], &nameless);
        assert_eq!(rows(&found), expected_rows(&[("inner.dll", 1, None)]));
        assert_eq!(found.missing_evidence, [MissingRecords::CallStacks]);
        assert_eq!(
            function_list(&trace, TimeKind::HardFaults, &[], &nameless).missing_evidence,
            [MissingRecords::HardFaults]
        );
    }

    #[test]
    fn keeps_innermost_frames_of_deep_stack() {
        let mut trace = computer();
        samples(&mut trace, &[(5, 70, 0x9010)]);
        let deep: Vec<u64> = std::iter::once(0x9010).chain(std::iter::repeat_n(0x1020, 10_000)).collect();
        stacks(&mut trace, &[(5, 70, &deep)]);
        let names = FunctionNames::default();
        CodeTimes::new(&trace, &Scope::whole_recording(&trace), TimeKind::Samples).for_each_stack(
            &names,
            false,
            |_, stack, frames, _| {
                assert_eq!(stack.len(), MAX_FRAMES);
                let innermost = stack.last().and_then(|&number| frames.list.get(number as usize));
                assert_eq!(innermost.map(CodeFrame::label), Some("inner.dll".to_owned()));
            },
        );
    }
}
