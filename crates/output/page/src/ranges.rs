//! What happened in any range, as tables that can be grouped anew and as flame graphs. The lists are those of the program's own
//! verbs (`onoff cpu`, `disk`, `files`, `hardfaults`, `interrupts`, `processes`), with the same columns.

use onoff_blame::waits::{CriticalPath, PathShare, StepKind};
use onoff_evidence::Interval;
use onoff_evidence::Scope;
use onoff_lists::cpu::{self, CpuGroup};
use onoff_lists::flame;
use onoff_lists::interrupts::{self, InterruptGroup};
use onoff_lists::{devices, processes, services};
use onoff_sections::table::{Column, Kind, TableReport, Value};
use onoff_trace::{TableName, Tables, Trace};
use onoff_usage::functions::FunctionNames;
use onoff_usage::storage::{Key, disk, files, hard_faults};
use serde::Serialize;

use crate::events::{self, EventReader};
use crate::table::{PageColumn, PageTable};

/// Rows of a table of the page, at most; how many there are is said.
const MAX_ROWS: usize = 400;
/// Nodes of a flame graph, and shares of a path, at most.
pub const MAX_NODES: usize = 4_000;
/// A node of a flame graph is worth drawing from this part of the whole on: a pixel of a wide screen.
const MIN_SHARE: i64 = 2_000;

/// The tables that ranges are made of.
pub const TABLES: Tables = disk::TABLES
    .union(files::TABLES)
    .union(hard_faults::TABLES)
    .union(interrupts::TABLES)
    .union(processes::TABLES)
    .union(services::TABLES)
    .union(devices::TABLES)
    .union(Tables::of(&[
        TableName::Processes,
        TableName::Threads,
        TableName::ContextSwitches,
        TableName::ReadyThreads,
        TableName::Samples,
        TableName::Images,
        TableName::Stacks,
        TableName::Methods,
    ]));

/// What a table can be about, and what it can be grouped by: the first is what it is grouped by unless the page says more.
pub const SUBJECTS: [Subject; 9] = [
    Subject { name: "processor", title: "CPU", groups: &["process", "thread", "module", "priority", "processor"] },
    Subject {
        name: "disk",
        title: "Disks",
        groups: &["path", "process", "file", "extension", "disk", "priority", "operation"],
    },
    Subject { name: "files", title: "File operations", groups: &["path", "process", "file", "extension", "operation"] },
    Subject { name: "hard_faults", title: "Hard faults", groups: &["path", "process", "file", "extension"] },
    Subject { name: "interrupts", title: "Interrupts", groups: &["module", "routine", "processor"] },
    Subject { name: "waits", title: "Waits on the critical path", groups: &["kind", "name"] },
    Subject { name: "services", title: "Services", groups: &[] },
    Subject { name: "devices", title: "Devices", groups: &[] },
    Subject { name: "events", title: "Events", groups: &["each", "provider", "event", "process"] },
];

/// What a table can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    pub name: &'static str,
    pub title: &'static str,
    /// What it can be grouped by.
    pub groups: &'static [&'static str],
}

/// A table about `subject` in a range, grouped by `by`; `None` of a subject or a group that there is not.
#[must_use]
pub fn table(
    (trace, paths): (&Trace, &[CriticalPath]),
    events: Option<&EventReader>,
    subject: &str,
    by: &[&str],
    range: (i64, i64),
) -> Option<PageTable> {
    let known = SUBJECTS.iter().find(|known| known.name == subject)?;
    if by.iter().any(|group| !known.groups.contains(group)) {
        return None;
    }
    if subject == "events" {
        return Some(events::table(events, by, range));
    }
    let Some(scope) = Scope::between(trace, range.0, range.1) else {
        return Some(PageTable {
            nothing: "The range holds none of the recording.".to_owned(),
            ..PageTable::default()
        });
    };
    let first: Vec<&str> = if by.is_empty() { known.groups.iter().take(1).copied().collect() } else { by.to_vec() };
    let keys = || -> Vec<Key> { Key::ALL.into_iter().filter(|key| first.contains(&key.as_str())).collect() };
    Some(match subject {
        "processor" => {
            let groups = [
                ("process", CpuGroup::Process),
                ("thread", CpuGroup::Thread),
                ("priority", CpuGroup::Priority),
                ("module", CpuGroup::Module),
                ("processor", CpuGroup::Processor),
            ];
            shown(trace, &cpu::list(trace, &scope, &chosen(&groups, &first)))
        }
        "disk" => shown(trace, &disk::analyze(trace, &scope, &keys())),
        "files" => shown(trace, &files::analyze(trace, &scope, &keys())),
        "hard_faults" => shown(trace, &hard_faults::analyze(trace, &scope, &keys())),
        "interrupts" => {
            let groups = [
                ("module", InterruptGroup::Module),
                ("routine", InterruptGroup::Routine),
                ("processor", InterruptGroup::Processor),
            ];
            shown(trace, &interrupts::list(trace, &scope, &chosen(&groups, &first)))
        }
        "services" => shown(trace, &services::list(trace, &scope)),
        "devices" => shown(trace, &devices::list(trace, &scope)),
        _ => waits(paths, scope.range, &first),
    })
}

fn chosen<G: Copy>(groups: &[(&str, G)], by: &[&str]) -> Vec<G> {
    groups.iter().filter(|(name, _)| by.contains(name)).map(|(_, group)| *group).collect()
}

/// A list as its verb shows it: the columns with a title, without those that nothing stands in.
fn shown<T: TableReport>(trace: &Trace, report: &T) -> PageTable {
    let rows = report.rows();
    let listed = &rows[..rows.len().min(MAX_ROWS)];
    let is_blank = |value: &Value<'_>| matches!(value, Value::Nothing) || value.is_zero();
    let says = |column: &Column<T::Row>| listed.iter().any(|row| !is_blank(&(column.value)(row)));
    let columns: Vec<Column<T::Row>> =
        report.columns().into_iter().filter(|column| !column.title.is_empty() && says(column)).collect();
    let nothing = match rows {
        [] => match report.nothing_on_linux().filter(|_| trace.system.kind == onoff_trace::SystemKind::Linux) {
            Some(nothing) => nothing.to_owned(),
            None => report.nothing(),
        },
        _ => String::new(),
    };
    PageTable {
        columns: columns
            .iter()
            .map(|column| PageColumn { name: column.name, title: column.title, number: column.kind != Kind::Name })
            .collect(),
        rows: listed
            .iter()
            .map(|row| {
                columns
                    .iter()
                    .map(|column| match (column.value)(row) {
                        value if column.sparse && value.is_zero() => String::new(),
                        value => value.shown().into_owned(),
                    })
                    .collect()
            })
            .collect(),
        numbers: listed.iter().map(|row| columns.iter().map(|column| number(&(column.value)(row))).collect()).collect(),
        spans: Vec::new(),
        of: rows.len(),
        left_out: String::new(),
        nothing,
    }
}

fn number(value: &Value<'_>) -> Option<f64> {
    match *value {
        Value::Nothing | Value::Unknown | Value::AtLeast(_) | Value::Text(_) | Value::Flag(_) => None,
        Value::Since { ns, origin_ns } => Some(ns.saturating_sub(origin_ns) as f64),
        Value::Real { value, .. } => Some(value),
        Value::Id(number) | Value::Time(number) | Value::Duration(number) | Value::AtMost(number) => {
            Some(number as f64)
        }
        Value::Count(number) | Value::Bytes(number) => Some(number as f64),
        Value::Percent(share) => Some(share),
    }
}

/// What the time of the critical path was in the range.
fn waits(paths: &[CriticalPath], range: Interval, by: &[&str]) -> PageTable {
    let (by_kind, by_name) = (by.contains(&"kind"), by.contains(&"name"));
    let mut shares: Vec<(PathShare, (i64, i64))> = Vec::new();
    let mut whole_ns = 0_i64;
    for path in paths {
        let cut = path.start_ns.max(range.start_ns)..path.end_ns.min(range.end_ns);
        whole_ns = whole_ns.saturating_add(cut.end.saturating_sub(cut.start).max(0));
        for step in &path.steps {
            let ns = step.end_ns.min(range.end_ns).saturating_sub(step.start_ns.max(range.start_ns));
            if ns <= 0 {
                continue;
            }
            let is_of_process = matches!(step.kind, StepKind::Cpu | StepKind::Ready | StepKind::Timer);
            let (name, pid) = if is_of_process && !step.thread.process.is_empty() {
                (step.thread.process.as_str(), step.thread.pid)
            } else {
                (step.service.as_ref().map_or(step.detail.as_str(), |service| service.name.as_str()), None)
            };
            let (name, pid) = if by_name { (name, pid) } else { ("", None) };
            let same =
                |share: &PathShare| (!by_kind || share.kind == step.kind) && share.name == name && share.pid == pid;
            match shares.iter().position(|(share, _)| same(share)) {
                Some(at) => {
                    let (share, longest) = &mut shares[at];
                    share.ns = share.ns.saturating_add(ns);
                    if ns > longest.1.saturating_sub(longest.0) {
                        *longest = (step.start_ns, step.end_ns);
                    }
                }
                None if shares.len() < MAX_NODES => {
                    let share = PathShare { kind: step.kind, name: name.to_owned(), pid, ns, percent: 0.0 };
                    shares.push((share, (step.start_ns, step.end_ns)));
                }
                None => {}
            }
        }
    }
    if shares.is_empty() {
        let nothing = "No critical path goes through this range: it lies in no phase with an end that somebody was waited for, \
                       or context switches and ready-thread events were not recorded.";
        return PageTable { nothing: nothing.to_owned(), ..PageTable::default() };
    }
    shares.sort_by_key(|(share, _)| std::cmp::Reverse(share.ns));
    let of = shares.len();
    shares.truncate(MAX_ROWS);
    let listed_ns = shares.iter().fold(0_i64, |sum, (share, _)| sum.saturating_add(share.ns));
    let column = |name, title, number| PageColumn { name, title, number };
    let mut columns = Vec::new();
    if by_kind {
        columns.push(column("kind", "what it was", false));
    }
    if by_name {
        columns.push(column("name", "who or what", false));
    }
    columns.extend([column("ns", "time", true), column("percent", "share", true)]);
    let row = |kind: &str, name: String, ns: i64| {
        let mut cells = Vec::new();
        if by_kind {
            cells.push(kind.to_owned());
        }
        if by_name {
            cells.push(name);
        }
        let percent = if whole_ns > 0 { ns as f64 * 100.0 / whole_ns as f64 } else { 0.0 };
        cells.extend([Value::Duration(ns).shown().into_owned(), Value::Percent(percent).shown().into_owned()]);
        let mut numbers = vec![None; cells.len().saturating_sub(2)];
        numbers.extend([Some(ns as f64), Some(percent)]);
        (cells, numbers)
    };
    let mut rows: Vec<(Vec<String>, Vec<Option<f64>>)> = shares
        .iter()
        .map(|(share, _)| {
            let name = match (share.name.as_str(), share.pid) {
                ("", _) => "not named".to_owned(),
                (name, Some(pid)) => format!("{name} ({pid})"),
                (name, None) => name.to_owned(),
            };
            row(what(share.kind), name, share.ns)
        })
        .collect();
    let left_ns = whole_ns.saturating_sub(listed_ns);
    if left_ns > 0 {
        rows.push(row("steps too short to list", String::new(), left_ns));
    }
    let (rows, numbers) = rows.into_iter().unzip();
    PageTable {
        columns,
        rows,
        numbers,
        spans: shares.into_iter().map(|(_, span)| span).collect(),
        of,
        left_out: String::new(),
        nothing: String::new(),
    }
}

const fn what(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Cpu => "ran",
        StepKind::Ready => "ready, no processor free",
        StepKind::Disk => "disk",
        StepKind::Timer => "timer",
        StepKind::Device => "device",
        StepKind::ServiceDependency => "service",
        StepKind::Other => "not known",
    }
}

/// A flame graph, ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFlame {
    /// Time of all of it, ns.
    pub total_ns: i64,
    /// Nodes by depth, then from left to right.
    pub nodes: Vec<PageFlameNode>,
    /// Nodes too thin to be drawn.
    pub left_out: usize,
    /// Why there is none; empty when there are.
    pub nothing: String,
}

/// A node of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFlameNode {
    /// Name.
    pub name: String,
    /// Depth from 0.
    pub depth: usize,
    /// Where it starts on the axis of the sum, ns.
    pub start_ns: i64,
    /// Its length, ns.
    pub ns: i64,
}

/// The flame graph of `samples`, or of the `waits` of the critical path, with at most `most` nodes.
#[must_use]
pub fn flame_graph(
    trace: &Trace,
    paths: &[CriticalPath],
    of: &str,
    range: (i64, i64),
    most: usize,
) -> Option<PageFlame> {
    let interval = Interval::new(range.0.max(0), range.1.min(trace.duration_ns));
    let (flame, nothing) = match of {
        "samples" => (
            flame::of_samples(trace, interval, &FunctionNames::default()),
            "No sample of a thread in this range. Profile samples (kernel flag PROFILE) show where processors were.",
        ),
        "waits" => (flame::of_paths(paths, interval), "No critical path goes through this range."),
        _ => return None,
    };
    let arranged = flame.arranged(flame.total_ns / MIN_SHARE);
    let drawn = arranged.len().min(most);
    Some(PageFlame {
        total_ns: flame.total_ns,
        left_out: flame.nodes.len().saturating_sub(drawn),
        nothing: if drawn == 0 { nothing.to_owned() } else { String::new() },
        nodes: arranged
            .into_iter()
            .take(drawn)
            .map(|(start_ns, node)| PageFlameNode {
                name: node.name.clone(),
                depth: node.depth,
                start_ns,
                ns: node.total_ns,
            })
            .collect(),
    })
}
