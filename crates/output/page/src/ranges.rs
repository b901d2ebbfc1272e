//! Tables and flame graphs of any range. The tables have the columns of the corresponding commands (`onoff cpu`,
//! `disk`, `files`, `hardfaults`, `interrupts`, `services`, `devices`).

use onoff_blame::waits::{CriticalPath, PathShare, StepKind};
use onoff_evidence::Interval;
use onoff_evidence::Scope;
use onoff_lists::cpu::{self, CpuGroup};
use onoff_lists::flame;
use onoff_lists::interrupts::{self, InterruptGroup};
use onoff_lists::{devices, processes, services};
use onoff_sections::table::{Column, Kind, TableReport, Value};
use onoff_trace::{TableName, TableSet, Trace};
use onoff_usage::cpu::{CpuSource, source};
use onoff_usage::functions::FunctionNames;
use onoff_usage::storage::{Key, disk, files, hard_faults};
use serde::Serialize;

use crate::events::{self, EventReader};
use crate::interval_tables::IntervalTable;
use crate::sent_requests as requests;
use crate::table::{PageColumn, PageTable, number};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 20_000;
/// Maximum number of nodes of a flame graph and of groups of path steps.
pub const MAX_NODES: usize = 4_000;
/// Nodes below 1/2000 of the total are not drawn: they are narrower than a pixel on a wide screen.
const MIN_NODE_DIVISOR: i64 = 2_000;

/// Tables that range queries require.
pub const TABLES: TableSet = disk::TABLES
    .union(files::TABLES)
    .union(hard_faults::TABLES)
    .union(interrupts::TABLES)
    .union(processes::TABLES)
    .union(services::TABLES)
    .union(devices::TABLES)
    .union(TableSet::from_names(&[
        TableName::Processes,
        TableName::Threads,
        TableName::ContextSwitches,
        TableName::ReadyThreads,
        TableName::Samples,
        TableName::Images,
        TableName::Stacks,
        TableName::Methods,
        TableName::PowerRequests,
        TableName::Notifications,
    ]));

/// Subjects of tables with their groupings; the first grouping is the default.
pub const SUBJECTS: [Subject; 14] = [
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
    Subject { name: "power", title: "Power requests", groups: &[] },
    Subject { name: "notifications", title: "Notifications", groups: &[] },
    Subject { name: "transfers", title: "File transfers", groups: &[] },
    Subject { name: "dhcp", title: "DHCP exchanges", groups: &[] },
    Subject { name: "firmware", title: "Firmware measurements", groups: &[] },
    Subject { name: "events", title: "Events", groups: &["each", "provider", "event", "process"] },
];

/// Returns the names of the subjects that the recording has data for. Events are read from the recording on demand.
#[must_use]
pub fn recorded_subjects(trace: &Trace, paths: &[CriticalPath]) -> Vec<&'static str> {
    let has_data = |subject: &Subject| match subject.name {
        "processor" => source(trace) != CpuSource::None,
        "disk" => !trace.disk_ios.is_empty(),
        "files" => !trace.file_ios.is_empty(),
        "hard_faults" => !trace.hard_faults.is_empty(),
        "interrupts" => !trace.interrupts.is_empty(),
        "waits" => !paths.is_empty(),
        "services" => !trace.service_transitions.is_empty(),
        "devices" => !trace.device_operations.is_empty(),
        "power" => !trace.power_requests.is_empty(),
        "notifications" => !trace.notifications.is_empty(),
        "transfers" | "dhcp" | "firmware" => false,
        _ => trace.duration_ns > 0,
    };
    SUBJECTS.iter().filter(|subject| has_data(subject)).map(|subject| subject.name).collect()
}

/// Subject of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    pub name: &'static str,
    pub title: &'static str,
    /// Available groupings, default first.
    pub groups: &'static [&'static str],
}

/// Returns the table about `subject` in a range, grouped by `groups`; `None` if the subject or a group is unknown.
/// Events can also be grouped by any of their fields, filtered, and listed after a number of skipped ones.
#[must_use]
pub fn table(
    (trace, paths, interval_tables): (&Trace, &[CriticalPath], &[IntervalTable]),
    (events, filter, skipped): (Option<&EventReader>, &str, usize),
    subject: &str,
    groups: &[&str],
    range: (i64, i64),
) -> Option<PageTable> {
    let known_subject = SUBJECTS.iter().find(|entry| entry.name == subject)?;
    let is_field = |group: &&str| subject == "events" && group.starts_with(events::FIELD_PREFIX);
    if groups.iter().any(|group| !known_subject.groups.contains(group) && !is_field(group)) {
        return None;
    }
    if subject == "events" {
        return Some(events::table(events, groups, filter, skipped, range));
    }
    if let Some(table) = interval_tables.iter().find(|table| table.subject == subject) {
        return Some(table.within(range));
    }
    let Some(scope) = Scope::between(trace, range.0, range.1) else {
        return Some(PageTable { nothing: "The range is outside the recording.".to_owned(), ..PageTable::default() });
    };
    let groupings: Vec<&str> =
        if groups.is_empty() { known_subject.groups.iter().take(1).copied().collect() } else { groups.to_vec() };
    let keys = || -> Vec<Key> { Key::ALL.into_iter().filter(|key| groupings.contains(&key.as_str())).collect() };
    Some(match subject {
        "processor" => {
            let groups = [
                ("process", CpuGroup::Process),
                ("thread", CpuGroup::Thread),
                ("priority", CpuGroup::Priority),
                ("module", CpuGroup::Module),
                ("processor", CpuGroup::Processor),
            ];
            page_table(trace, &cpu::list(trace, &scope, &selected_groups(&groups, &groupings)))
        }
        "disk" => page_table(trace, &disk::analyze(trace, &scope, &keys())),
        "files" => page_table(trace, &files::analyze(trace, &scope, &keys())),
        "hard_faults" => page_table(trace, &hard_faults::analyze(trace, &scope, &keys())),
        "interrupts" => {
            let groups = [
                ("module", InterruptGroup::Module),
                ("routine", InterruptGroup::Routine),
                ("processor", InterruptGroup::Processor),
            ];
            page_table(trace, &interrupts::list(trace, &scope, &selected_groups(&groups, &groupings)))
        }
        "services" => page_table(trace, &services::list(trace, &scope)),
        "devices" => page_table(trace, &devices::list(trace, &scope)),
        "power" => requests::power(trace, scope.range),
        "notifications" => requests::notifications(trace, scope.range),
        _ => waits(paths, scope.range, &groupings),
    })
}

fn selected_groups<G: Copy>(groups: &[(&str, G)], selected: &[&str]) -> Vec<G> {
    groups.iter().filter(|(name, _)| selected.contains(name)).map(|(_, group)| *group).collect()
}

/// Converts a list, keeping the columns that have a title and at least one value.
fn page_table<T: TableReport>(trace: &Trace, report: &T) -> PageTable {
    let rows = report.rows();
    let listed = &rows[..rows.len().min(MAX_ROWS)];
    let is_blank = |value: &Value<'_>| matches!(value, Value::Nothing) || value.is_zero();
    let has_values = |column: &Column<T::Row>| listed.iter().any(|row| !is_blank(&(column.value)(row)));
    let columns: Vec<Column<T::Row>> =
        report.columns().into_iter().filter(|column| !column.title.is_empty() && has_values(column)).collect();
    let nothing = match rows {
        [] => match report.empty_message_on_linux().filter(|_| trace.system.kind == onoff_trace::SystemKind::Linux) {
            Some(message) => message.to_owned(),
            None => report.empty_message(),
        },
        _ => String::new(),
    };
    PageTable {
        columns: columns
            .iter()
            .map(|column| PageColumn {
                name: column.name.into(),
                title: column.title.into(),
                number: column.kind != Kind::Name,
            })
            .collect(),
        rows: listed
            .iter()
            .map(|row| {
                columns
                    .iter()
                    .map(|column| match (column.value)(row) {
                        value if column.sparse && value.is_zero() => String::new(),
                        value => value.display_text().into_owned(),
                    })
                    .collect()
            })
            .collect(),
        numbers: listed.iter().map(|row| columns.iter().map(|column| number(&(column.value)(row))).collect()).collect(),
        of: rows.len(),
        nothing,
        ..PageTable::default()
    }
}

/// Returns the time on the critical path in the range, by kind and name of the steps.
fn waits(paths: &[CriticalPath], range: Interval, groups: &[&str]) -> PageTable {
    let (by_kind, by_name) = (groups.contains(&"kind"), groups.contains(&"name"));
    let mut shares: Vec<(PathShare, (i64, i64))> = Vec::new();
    let mut total_ns = 0_i64;
    for path in paths {
        let clipped = path.start_ns.max(range.start_ns)..path.end_ns.min(range.end_ns);
        total_ns = total_ns.saturating_add(clipped.end.saturating_sub(clipped.start).max(0));
        for step in &path.steps {
            let ns = step.end_ns.min(range.end_ns).saturating_sub(step.start_ns.max(range.start_ns));
            if ns <= 0 {
                continue;
            }
            let is_process_state = matches!(step.kind, StepKind::Cpu | StepKind::Ready | StepKind::Timer);
            let (name, pid) = if is_process_state && !step.thread.process.is_empty() {
                (step.thread.process.as_str(), step.thread.pid)
            } else {
                (step.service.as_ref().map_or(step.detail.as_str(), |service| service.name.as_str()), None)
            };
            let (name, pid) = if by_name { (name, pid) } else { ("", None) };
            let is_same_group =
                |share: &PathShare| (!by_kind || share.kind == step.kind) && share.name == name && share.pid == pid;
            match shares.iter().position(|(share, _)| is_same_group(share)) {
                Some(index) => {
                    let (share, longest) = &mut shares[index];
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
        let message = "No critical path in this range: it is not part of a phase with a critical path, \
                       or context switches and ready-thread events were not recorded.";
        return PageTable { nothing: message.to_owned(), ..PageTable::default() };
    }
    shares.sort_by_key(|(share, _)| std::cmp::Reverse(share.ns));
    let share_count = shares.len();
    shares.truncate(MAX_ROWS);
    let listed_ns = shares.iter().fold(0_i64, |sum, (share, _)| sum.saturating_add(share.ns));
    let column =
        |name: &'static str, title: &'static str, number| PageColumn { name: name.into(), title: title.into(), number };
    let mut columns = Vec::new();
    if by_kind {
        columns.push(column("kind", "kind", false));
    }
    if by_name {
        columns.push(column("name", "subject", false));
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
        let percent = if total_ns > 0 { ns as f64 * 100.0 / total_ns as f64 } else { 0.0 };
        cells.extend([
            Value::Duration(ns).display_text().into_owned(),
            Value::Percent(percent).display_text().into_owned(),
        ]);
        let mut numbers = vec![None; cells.len().saturating_sub(2)];
        numbers.extend([Some(ns as f64), Some(percent)]);
        (cells, numbers)
    };
    let mut rows: Vec<(Vec<String>, Vec<Option<f64>>)> = shares
        .iter()
        .map(|(share, _)| {
            let name = match (share.name.as_str(), share.pid) {
                ("", _) => "unknown".to_owned(),
                (name, Some(pid)) => format!("{name} ({pid})"),
                (name, None) => name.to_owned(),
            };
            row(kind_title(share.kind), name, share.ns)
        })
        .collect();
    let hidden_ns = total_ns.saturating_sub(listed_ns);
    if hidden_ns > 0 {
        rows.push(row("steps too short to list", String::new(), hidden_ns));
    }
    let (rows, numbers) = rows.into_iter().unzip();
    PageTable {
        columns,
        rows,
        numbers,
        spans: shares.into_iter().map(|(_, span)| span).collect(),
        of: share_count,
        ..PageTable::default()
    }
}

const fn kind_title(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Cpu => "running",
        StepKind::Ready => "ready, but no CPU was free",
        StepKind::Disk => "disk",
        StepKind::Timer => "timer",
        StepKind::Device => "device",
        StepKind::ServiceDependency => "service",
        StepKind::Other => "unknown",
    }
}

/// A laid-out flame graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFlame {
    /// Total time, ns.
    pub total_ns: i64,
    /// Nodes by depth, then from left to right.
    pub nodes: Vec<PageFlameNode>,
    /// Number of nodes too narrow to draw.
    pub omitted: usize,
    /// Message if there are no nodes; empty otherwise.
    pub nothing: String,
}

/// A node of a flame graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageFlameNode {
    pub name: String,
    /// Depth from 0.
    pub depth: usize,
    /// Offset from the left edge, ns.
    pub start_ns: i64,
    /// Width, ns.
    pub ns: i64,
}

/// Returns the flame graph of `samples`, or of `waits` on the critical path, with at most `max_nodes` nodes; `None` for
/// other kinds.
#[must_use]
pub fn flame_graph(
    trace: &Trace,
    paths: &[CriticalPath],
    kind: &str,
    range: (i64, i64),
    max_nodes: usize,
) -> Option<PageFlame> {
    let interval = Interval::new(range.0.max(0), range.1.min(trace.duration_ns));
    let (flame, empty_message) = match kind {
        "samples" => (
            flame::sample_flame(trace, interval, &FunctionNames::default()),
            "No CPU samples in this range. Record the kernel flag PROFILE to sample the CPU.",
        ),
        "waits" => (flame::path_flame(paths, interval), "No critical path in this range."),
        _ => return None,
    };
    let nodes = flame.layout(flame.total_ns / MIN_NODE_DIVISOR);
    let drawn = nodes.len().min(max_nodes);
    Some(PageFlame {
        total_ns: flame.total_ns,
        omitted: flame.nodes.len().saturating_sub(drawn),
        nothing: if drawn == 0 { empty_message.to_owned() } else { String::new() },
        nodes: nodes
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
