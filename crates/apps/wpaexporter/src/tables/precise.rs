//! *CPU Usage (Precise)*: context switches.
//!
//! A row is a thread's turn on a processor, from its switch-in to the next switch. CPU time is clipped to the exported
//! range and leaves out the time asleep, as in onoff's lists. A turn that began before the first recorded switch has
//! CPU time but no count and no times, so that sums agree with the lists and counts with the recorded switches.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{TableName, TableSet, Trace, wait_reason};
use onoff_usage::asleep;
use onoff_usage::cpu::{CpuInterval, CpuSource, charge, processors};
use onoff_usage::owners::Owners;

use super::sampled::thread_names;
use super::stacks::{self, Stacks};
use super::{Column, Context, Graph, Labels, Rows, Sink, UNKNOWN, finders, percent};
use crate::cell::{Cell, Kind};

pub const GRAPH: Graph = Graph {
    guid: "c58f5fea-0319-4046-932d-e695ebe20b47",
    name: "CPU Usage (Precise)",
    rows: Rows::Tables { wanted, visit },
    column,
    column_named,
};

fn wanted() -> TableSet {
    stacks::TABLES.union(asleep::TABLES).with(TableName::ContextSwitches).with(TableName::ReadyThreads)
}

/// A context switch with what is known of the thread switched in.
#[derive(Clone, Copy, Debug, Default)]
struct Switch {
    time_ns: i64,
    next_ns: Option<i64>,
    cpu: u16,
    new_tid: u32,
    old_tid: u32,
    new_owner: u32,
    new_life: u32,
    old_owner: u32,
    in_priority: i8,
    old_priority: i8,
    /// When the new thread was switched out last, with its state, wait reason and wait mode then.
    last_out: Option<SwitchOut>,
    ready: Option<Ready>,
    cpu_ns: i64,
    /// False for a turn that began before the first switch.
    is_recorded: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct SwitchOut {
    time_ns: i64,
    state: u8,
    reason: u8,
    mode: u8,
    ideal_cpu: u8,
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    time_ns: i64,
    tid: Option<u32>,
    owner: u32,
    adjust_reason: u8,
    adjust_increment: i8,
    flags: u8,
}

impl Switch {
    /// Returns the start of the thread's time ready: when it was readied, or when it was preempted.
    fn ready_ns(&self) -> Option<i64> {
        match (self.ready, self.last_out) {
            (Some(ready), _) => Some(ready.time_ns),
            (None, Some(out)) if out.state == READY => Some(out.time_ns),
            _ => None,
        }
    }

    fn is_wait(&self) -> bool {
        self.last_out.is_some_and(|out| out.state == WAITING)
    }
}

/// States of threads (`KTHREAD_STATE`).
const READY: u8 = 1;
const WAITING: u8 = 5;

struct Row<'a, 't> {
    switch: Switch,
    labels: &'a Labels,
    stacks: &'a mut Stacks<'t>,
    pid: u32,
    readying_pid: u32,
    thread_name: &'t str,
    range: onoff_evidence::Interval,
    processors: u32,
}

impl Row<'_, '_> {
    fn recorded(&self, cell: impl Into<i64>) -> Cell {
        if self.switch.is_recorded { Cell::Number(cell.into()) } else { Cell::Empty }
    }

    fn difference(from_ns: Option<i64>, until_ns: i64) -> Cell {
        Cell::time(from_ns.map(|from_ns| until_ns.saturating_sub(from_ns).max(0)))
    }
}

type Get = for<'a, 't> fn(&mut Row<'a, 't>) -> Cell;

const NEW_STACK: usize = 24;
const READY_STACK: usize = 25;

static COLUMNS: [Column<Get>; 34] = [
    Column::new("b065487c-5e32-4f1f-a2cd-581e086ce29e", "New Process", Kind::Text, |row| {
        row.labels.process(row.switch.new_owner)
    }),
    Column::new("f64abe19-837a-4e53-8087-4547026b82b2", "New Process Name", Kind::Text, |row| {
        row.labels.name(row.switch.new_owner)
    }),
    Column::new("944ed37a-5774-421e-b2d5-84f17a4b3a05", "New Thread Id", Kind::Number, |row| {
        Cell::Number(row.switch.new_tid.into())
    }),
    Column::new("cb796d44-2927-5ac1-d231-4b71904c18f5", "Thread Name", Kind::Text, |row| Cell::text(row.thread_name)),
    Column::new("a91e1d66-1316-4baa-b95d-e69aeeef891e", "Readying Process", Kind::Text, |row| match row.switch.ready {
        Some(ready) => row.labels.process(ready.owner),
        None => Cell::text(UNKNOWN),
    }),
    Column::new("5b7c10a2-868c-415c-826e-0b8065de3872", "Readying Process Name", Kind::Text, |row| {
        match row.switch.ready {
            Some(ready) => row.labels.name(ready.owner),
            None => Cell::text(UNKNOWN),
        }
    }),
    Column::new("4ce38ba6-1665-4d3a-91cb-35b64f8c4280", "Readying Thread Id", Kind::Number, |row| {
        Cell::number(row.switch.ready.and_then(|ready| ready.tid))
    }),
    Column::new("7bb1053b-8f03-4c72-89f1-a5f8b9c45a9e", "Ready Time", Kind::Time, |row| {
        Cell::time(row.switch.ready_ns())
    }),
    Column::new("5417f63c-9b79-45aa-beb9-73e3c1959221", "Switch-In Time", Kind::Time, |row| {
        Cell::time(row.switch.is_recorded.then_some(row.switch.time_ns))
    }),
    Column::new("71d9a1a9-f32c-4b0b-8f09-09b56cbbb843", "Last Switch-Out Time", Kind::Time, |row| {
        Cell::time(row.switch.last_out.map(|out| out.time_ns))
    }),
    Column::new("b0394c3a-60ba-4305-84d6-82384bd863cb", "Next Switch-Out Time", Kind::Time, |row| {
        Cell::time(row.switch.next_ns)
    }),
    Column::new("03a1d898-7231-4cc5-9712-4bfbf53908c7", "New Switch-In Time", Kind::Time, |row| {
        match row.switch.next_ns {
            Some(next_ns) => Row::difference(row.switch.is_recorded.then_some(row.switch.time_ns), next_ns),
            None => Cell::Empty,
        }
    }),
    Column::new("17a03387-5d14-405a-a5b2-0201c934f917", "Time Since Last", Kind::Time, |row| {
        Row::difference(row.switch.last_out.map(|out| out.time_ns), row.switch.time_ns)
    }),
    Column::new("906ea81e-ab68-4dfd-9b9f-3adafab60f83", "Ready", Kind::Time, |row| {
        Row::difference(row.switch.ready_ns(), row.switch.time_ns)
    }),
    Column::new("6d598aa8-2ec4-46cd-b71a-88a239dfacf7", "Waits", Kind::Time, |row| match row.switch.last_out {
        // Without the event that readied the thread, its time ready is part of the wait.
        Some(out) if row.switch.is_wait() => {
            Row::difference(Some(out.time_ns), row.switch.ready.map_or(row.switch.time_ns, |ready| ready.time_ns))
        }
        _ => Cell::Empty,
    }),
    Column::new("1db45bc8-4cd5-49f3-a0ec-7f861d33c7a2", "Count: Waits", Kind::Number, |row| {
        row.recorded(row.switch.is_wait())
    }),
    Column::new("d227f58f-ec9b-4a52-8fe5-e082771c55c6", "Count", Kind::Number, |row| row.recorded(1)),
    Column::new("e008ed7a-15b0-40ab-854b-b5f6392f298b", "CPU Usage (in view)", Kind::Time, |row| {
        Cell::Time(row.switch.cpu_ns)
    }),
    Column::new("fc672588-da05-4f43-991f-6b644a3f5b3d", "% CPU Usage", Kind::Percent, |row| {
        percent(row.switch.cpu_ns, row.range, row.processors)
    }),
    Column::new("2575f38e-f991-4ce5-bafb-793e2ba1936a", "CPU", Kind::Number, |row| Cell::Number(row.switch.cpu.into())),
    Column::new("5664dbf4-e565-4b15-add0-3e826ee25c10", "New In Pri", Kind::Number, |row| {
        row.recorded(row.switch.in_priority)
    }),
    Column::new("11628f2a-3000-43af-9924-d99198ae9be2", "New Prev State", Kind::Text, |row| {
        match row.switch.last_out {
            Some(out) => Cell::text(STATES.get(usize::from(out.state)).copied().unwrap_or(UNKNOWN)),
            None => Cell::text(UNKNOWN),
        }
    }),
    Column::new("fe7ccd45-6275-413e-a538-3587f0eb452b", "New Prev Wait Reason", Kind::Text, |row| {
        match row.switch.last_out {
            Some(out) if out.state == WAITING => Cell::text(wait_reason::name(out.reason).unwrap_or(UNKNOWN)),
            _ => Cell::Empty,
        }
    }),
    Column::new("f9284962-f8ee-4344-817a-ca44acd3a75d", "New Prev Wait Mode", Kind::Text, |row| {
        match row.switch.last_out {
            Some(out) if out.state == WAITING => Cell::text(if out.mode == 0 { "Kernel" } else { "User" }),
            _ => Cell::Empty,
        }
    }),
    Column::new("68482a06-b6a3-4eb9-922f-9fa43537148b", "New Thread Stack", Kind::Stack, |row| {
        row.stacks.stack(row.pid, row.switch.new_tid, row.switch.time_ns)
    }),
    Column::new("74714606-d216-4cfa-a7d8-7ccb9c67de76", "Ready Thread Stack", Kind::Stack, |row| {
        match row.switch.ready {
            Some(Ready { tid: Some(tid), time_ns, .. }) => row.stacks.stack(row.readying_pid, tid, time_ns),
            _ => Cell::text("n/a"),
        }
    }),
    Column::new("e93e468d-86a2-4f3a-a750-bb3b07c14a0b", "Old Process", Kind::Text, |row| {
        match row.switch.is_recorded {
            true => row.labels.process(row.switch.old_owner),
            false => Cell::Empty,
        }
    }),
    Column::new("c10c7661-6e59-4743-894d-9fbc770a41f3", "Old Process Name", Kind::Text, |row| {
        match row.switch.is_recorded {
            true => row.labels.name(row.switch.old_owner),
            false => Cell::Empty,
        }
    }),
    Column::new("7e24b8da-fe12-4e69-b8cc-9ab0c22c9734", "Old Thread Id", Kind::Number, |row| {
        row.recorded(row.switch.old_tid)
    }),
    Column::new("3aa1863c-4219-4667-9aa8-aedc0da92bbe", "Old Out Pri", Kind::Number, |row| {
        row.recorded(row.switch.old_priority)
    }),
    Column::new("e93dcc3d-9960-446a-aa1d-fa05d47d5aa4", "Ideal Cpu", Kind::Number, |row| {
        Cell::number(row.switch.last_out.map(|out| i64::from(out.ideal_cpu)))
    }),
    Column::new("009bfba2-9a07-4a98-92a8-56b5970d365d", "Adjust Reason", Kind::Number, |row| {
        Cell::number(row.switch.ready.map(|ready| i64::from(ready.adjust_reason)))
    }),
    Column::new("c0c14208-2fc6-4077-928c-3df6f2f847fe", "Adjust Increment", Kind::Number, |row| {
        Cell::number(row.switch.ready.map(|ready| i64::from(ready.adjust_increment)))
    }),
    Column::new("cecd6383-5322-4832-9e8b-6706fe3dcaa1", "Ready Thread In DPC", Kind::Text, |row| {
        match row.switch.ready {
            Some(ready) => Cell::text(if ready.flags & 1 != 0 { "True" } else { "False" }),
            None => Cell::Empty,
        }
    }),
];

/// Names of states (`KTHREAD_STATE` in the Windows headers).
const STATES: [&str; 10] = [
    "Initialized",
    "Ready",
    "Running",
    "Standby",
    "Terminated",
    "Waiting",
    "Transition",
    "DeferredReady",
    "GateWait",
    "WaitingForProcessInSwap",
];

finders!();

fn visit(context: &mut Context<'_, '_>, wanted: &[usize], sink: Sink<'_>) -> Result<(), String> {
    let (trace, range) = (context.trace, context.range);
    if trace.context_switches.is_empty() {
        return Err("no context switches recorded; this needs the kernel's CSWITCH events".to_owned());
    }
    let wants_stack = wanted.iter().any(|column| [NEW_STACK, READY_STACK].contains(column));
    let mut stacks = Stacks::new(
        trace,
        (trace.start_ns, trace.duration_ns),
        wants_stack,
        &HashSet::new(),
        context.functions.as_mut().filter(|_| wants_stack),
    );
    let mut owners = Owners::from_trace(trace);
    let list = owners.list().to_vec();
    let pid_of = |owner: u32| list.get(owner as usize).and_then(|owner| owner.pid).unwrap_or(0);
    let labels = Labels::new(trace, &list);
    let thread_names = thread_names(trace, &mut owners);
    let processors = processors(trace);
    let cpu_times = cpu_times(trace, range);
    let mut cells = Vec::with_capacity(wanted.len());
    for_each_switch(trace, &mut owners, &cpu_times, |switch| {
        let is_in_view = switch.cpu_ns > 0 || (switch.is_recorded && range.contains(switch.time_ns));
        if !is_in_view {
            return true;
        }
        let mut row = Row {
            pid: pid_of(switch.new_owner),
            readying_pid: switch.ready.map_or(0, |ready| pid_of(ready.owner)),
            thread_name: thread_names.get(switch.new_life as usize).copied().unwrap_or_default(),
            switch,
            labels: &labels,
            stacks: &mut stacks,
            range,
            processors,
        };
        cells.clear();
        cells.extend(wanted.iter().filter_map(|&column| COLUMNS.get(column)).map(|column| (column.get)(&mut row)));
        sink(&cells)
    });
    Ok(())
}

/// CPU time of each turn: by processor, and the time of its switch-in; turns that began before the first switch are
/// under `i64::MIN`.
type CpuTimes = HashMap<u16, Vec<CpuInterval>>;

/// Returns the CPU intervals of each processor in the range, by time.
fn cpu_times(trace: &Trace, range: onoff_evidence::Interval) -> CpuTimes {
    let mut times = CpuTimes::new();
    let mut owners = Owners::from_trace(trace);
    let source = charge(trace, &mut owners, &[range.start_ns, range.end_ns], |run| {
        times.entry(run.processor).or_default().push(run);
    });
    debug_assert_eq!(source, CpuSource::ContextSwitches);
    times
}

/// Visits the turns by the time of the switch, each when its end is known.
fn for_each_switch(trace: &Trace, owners: &mut Owners, cpu_times: &CpuTimes, mut visit: impl FnMut(Switch) -> bool) {
    let mut current: HashMap<u16, Switch> = HashMap::new();
    let mut next_interval: HashMap<u16, usize> = HashMap::new();
    let mut last_out: HashMap<u32, SwitchOut> = HashMap::new();
    let mut readied: HashMap<u32, Ready> = HashMap::new();
    let mut readies = trace.ready_threads.iter().peekable();
    // Takes the CPU time that began in a turn.
    let mut take_cpu_ns = |cpu: u16, until_ns: i64| -> (i64, Option<CpuInterval>) {
        let intervals = cpu_times.get(&cpu).map_or(&[][..], Vec::as_slice);
        let next = next_interval.entry(cpu).or_default();
        let (mut ns, mut first) = (0_i64, None);
        while let Some(run) = intervals.get(*next)
            && run.start_ns < until_ns
        {
            ns = ns.saturating_add(run.ns);
            first = first.or(Some(*run));
            *next += 1;
        }
        (ns, first)
    };
    for row in trace.context_switches.iter() {
        while let Some(ready) = readies.next_if(|ready| ready.time_ns <= row.time_ns) {
            let owner =
                ready.readying_tid.map_or(onoff_usage::owners::UNKNOWN, |tid| owners.owner_at(tid, ready.time_ns).0);
            readied.entry(ready.ready_tid).or_insert(Ready {
                time_ns: ready.time_ns,
                tid: ready.readying_tid,
                owner,
                adjust_reason: ready.adjust_reason,
                adjust_increment: ready.adjust_increment,
                flags: ready.flags,
            });
        }
        let (cpu_ns, first_run) = take_cpu_ns(row.cpu, row.time_ns);
        let ended = match current.remove(&row.cpu) {
            Some(turn) => Some(Switch { next_ns: Some(row.time_ns), cpu_ns, ..turn }),
            None => first_run.map(|run| unrecorded(run, cpu_ns, Some(row.time_ns))),
        };
        if let Some(ended) = ended
            && !visit(ended)
        {
            return;
        }
        let (new_owner, new_life) = owners.owner_at(row.new_tid, row.time_ns);
        let (old_owner, _) = owners.owner_at(row.old_tid, row.time_ns);
        let is_idle = row.new_tid == 0;
        let switch = Switch {
            time_ns: row.time_ns,
            next_ns: None,
            cpu: row.cpu,
            new_tid: row.new_tid,
            old_tid: row.old_tid,
            new_owner,
            new_life,
            old_owner,
            in_priority: row.new_priority,
            old_priority: row.old_priority,
            // Each processor has its own idle thread, and all have the id 0.
            last_out: last_out.get(&row.new_tid).copied().filter(|_| !is_idle),
            ready: readied.remove(&row.new_tid).filter(|_| !is_idle),
            cpu_ns: 0,
            is_recorded: true,
        };
        current.insert(row.cpu, switch);
        if row.old_tid != 0 {
            // An event that readied the thread while it still ran is obsolete.
            readied.remove(&row.old_tid);
            let (state, reason) = (row.old_state, row.old_wait_reason);
            let (mode, ideal_cpu) = (row.old_wait_mode, row.old_ideal_processor);
            last_out.insert(row.old_tid, SwitchOut { time_ns: row.time_ns, state, reason, mode, ideal_cpu });
        }
    }
    let mut rest: Vec<Switch> = current.into_values().collect();
    rest.sort_by_key(|turn| (turn.time_ns, turn.cpu));
    for turn in rest {
        let (cpu_ns, _) = take_cpu_ns(turn.cpu, i64::MAX);
        if !visit(Switch { cpu_ns, ..turn }) {
            return;
        }
    }
}

/// Returns a turn that began before the first switch of its processor.
fn unrecorded(run: CpuInterval, cpu_ns: i64, next_ns: Option<i64>) -> Switch {
    Switch {
        time_ns: run.start_ns,
        next_ns,
        cpu: run.processor,
        new_tid: run.tid,
        new_owner: run.owner,
        new_life: run.life,
        cpu_ns,
        ..Switch::default()
    }
}
