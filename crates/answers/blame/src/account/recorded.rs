//! Divides time without context switches by recorded work: driver requests, service changes, scripts.
//!
//! If exactly one item of work was in progress, the time is attributed to it. If several were, it is unknown which of
//! them others waited for, and the time is unattributed.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, StringId, SystemKind, Trace};

use super::ledger::{Attribution, Ledger, Part, Subject, SubjectId};
use super::subject_resolver::{SubjectResolver, is_service_notification};
use crate::waits::driver_name;
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{AccountAction, AccountSubjectKind, UnknownReason};
use onoff_transitions::linux;
use onoff_transitions::shutdown::exit_waits;
use onoff_usage::devices;
use onoff_usage::owners::file_name;
use onoff_usage::user_input::{CredentialRequest, credential_requests, waited_for_user};

/// A recorded interval of work.
#[derive(Clone, Copy, Debug)]
struct WorkInterval {
    start_ns: i64,
    end_ns: i64,
    /// Nested work has a higher rank: a driver request during a service start.
    rank: u8,
    id: SubjectId,
}

const EXIT: u8 = 0;
const POLICY: u8 = 1;
const SERVICE: u8 = 2;
const PROGRAM: u8 = 3;
const DRIVER: u8 = 4;
const PERSON: u8 = 5;

/// Recorded work, sorted by start.
#[derive(Debug, Default)]
pub(super) struct RecordedWork {
    rows: Vec<WorkInterval>,
}

impl RecordedWork {
    pub(super) fn new(trace: &Trace, resolver: &mut SubjectResolver<'_>) -> Self {
        let effective_end = |end: Option<i64>| end.unwrap_or(trace.duration_ns);
        let mut rows: Vec<WorkInterval> = Vec::new();
        let mut add = |start_ns: i64, end_ns: i64, rank: u8, id: SubjectId| {
            if start_ns < end_ns {
                rows.push(WorkInterval { start_ns, end_ns, rank, id });
            }
        };
        let units = CriticalUnits::new(trace);
        for row in trace.device_operations.iter() {
            let id = resolver.request_id(devices::owner(&row), row.device);
            // A request blocks others until it is pended.
            let end_ns = effective_end(row.pend_ns.or(row.end_ns));
            for (start_ns, end_ns) in units.waited_for((row.start_ns, end_ns), row.tid) {
                add(start_ns, end_ns, DRIVER, id);
            }
        }
        for row in trace.power_requests.iter() {
            let id = resolver.request_id(row.driver, row.device);
            add(row.start_ns, effective_end(row.end_ns), DRIVER, id);
        }
        if trace.system.kind == SystemKind::Linux {
            for unit in &units.rows {
                add(
                    unit.start_ns,
                    unit.end_ns,
                    SERVICE,
                    resolver.service_id(trace.text(unit.service).to_owned(), None),
                );
            }
        } else {
            for row in trace.service_transitions.iter() {
                let id = resolver.service_id(trace.text(row.service).to_owned(), row.container_pid);
                add(row.start_ns, effective_end(row.end_ns), SERVICE, id);
            }
        }
        for row in trace.notifications.iter() {
            let name = trace.text(row.name);
            let id = match row.pid.filter(|_| name.is_empty()) {
                None if is_service_notification(row.kind) && !name.is_empty() => {
                    Some(resolver.service_id(name.to_owned(), None))
                }
                Some(pid) => resolver.process(pid, row.start_ns),
                None if name.is_empty() => None,
                None => Some(resolver.subjects.id(Subject::new(AccountSubjectKind::Process, driver_name(name)))),
            };
            if let Some(id) = id {
                add(row.start_ns, effective_end(row.end_ns), PROGRAM, id);
            }
        }
        for row in trace.activities.iter() {
            let (kind, rank) = match row.kind {
                ActivityKind::GroupPolicyScript => (AccountSubjectKind::Script, PROGRAM),
                ActivityKind::GroupPolicyExtension => (AccountSubjectKind::Policy, SERVICE),
                ActivityKind::GroupPolicy => (AccountSubjectKind::Policy, POLICY),
                ActivityKind::NotificationSubscriber => (AccountSubjectKind::Subscriber, SERVICE),
                ActivityKind::SessionProgram => (AccountSubjectKind::Process, PROGRAM),
                ActivityKind::CredentialRequest if waited_for_user(row.start_ns, row.end_ns) => {
                    (AccountSubjectKind::UserInput, PERSON)
                }
                _ => continue,
            };
            let name = match kind {
                AccountSubjectKind::UserInput => "credentials",
                AccountSubjectKind::Process => file_name(trace.text(row.name)),
                _ => trace.text(row.name),
            };
            if !name.is_empty() {
                let id = resolver.subjects.id(Subject::new(kind, name));
                let interval = (row.start_ns, effective_end(row.end_ns));
                for (start_ns, end_ns) in awaited_parts(trace, row.name, interval, kind) {
                    add(start_ns, end_ns, rank, id);
                }
            }
        }
        for (start_ns, end_ns, pid) in exit_waits(trace) {
            if let Some(id) = resolver.process(pid, end_ns) {
                add(start_ns, end_ns, EXIT, id);
            }
        }
        rows.sort_by_key(|row| row.start_ns);
        Self { rows }
    }

    pub(super) fn divide(&self, (start_ns, end_ns): (i64, i64), ledger: &mut Ledger) {
        let mut edges: Vec<(i64, bool, u8, SubjectId)> = Vec::new();
        for row in self.rows.iter().take_while(|row| row.start_ns < end_ns).filter(|row| row.end_ns > start_ns) {
            edges.push((row.start_ns.max(start_ns), true, row.rank, row.id));
            edges.push((row.end_ns.min(end_ns), false, row.rank, row.id));
        }
        edges.sort_unstable();
        let mut in_progress: BTreeMap<(u8, SubjectId), u32> = BTreeMap::new();
        let mut done_ns = start_ns;
        for (time_ns, is_start, rank, id) in edges {
            add_part(&in_progress, (done_ns, time_ns), ledger);
            done_ns = done_ns.max(time_ns);
            let count = in_progress.entry((rank, id)).or_default();
            if is_start {
                *count += 1;
            } else {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    in_progress.remove(&(rank, id));
                }
            }
        }
        add_part(&in_progress, (done_ns, end_ns), ledger);
    }
}

/// Linux units on the path to the target, the only ones waited for. Empty for Windows.
#[derive(Debug, Default)]
struct CriticalUnits {
    rows: Vec<CriticalUnit>,
    first_ns: i64,
}

#[derive(Debug)]
struct CriticalUnit {
    service: StringId,
    start_ns: i64,
    end_ns: i64,
    /// Processes of its commands; empty if not recorded.
    pids: Vec<u32>,
}

impl CriticalUnits {
    fn new(trace: &Trace) -> Self {
        if trace.system.kind != SystemKind::Linux {
            return Self { rows: Vec::new(), first_ns: i64::MAX };
        }
        let mut commands: HashMap<StringId, Vec<u32>> = HashMap::new();
        for row in trace.service_processes.iter() {
            commands.entry(row.service).or_default().push(row.pid);
        }
        let units = linux::boot::critical_units(trace).into_iter().chain(linux::shutdown::critical_stops(trace));
        let rows: Vec<CriticalUnit> = units
            .map(|(service, start_ns, end_ns, pid)| {
                let mut pids = commands.get(&service).cloned().unwrap_or_default();
                pids.extend(pid);
                CriticalUnit { service, start_ns, end_ns, pids }
            })
            .collect();
        // Units are started even if the path is unknown.
        let first_start = || trace.service_transitions.iter().map(|row| row.start_ns).min();
        let first_ns = rows.iter().map(|row| row.start_ns).min().or_else(first_start).unwrap_or(i64::MAX);
        Self { rows, first_ns }
    }

    /// Returns the intervals of a driver's work on thread `tid` that the boot waited for. Once systemd starts units,
    /// drivers loaded by other processes block nothing: only work in a process of a unit on the path counts.
    fn waited_for(&self, (start_ns, end_ns): (i64, i64), tid: Option<u32>) -> Vec<(i64, i64)> {
        let mut parts = vec![(start_ns, end_ns.min(self.first_ns))];
        // If the thread or process is unknown, the time stays with the unit.
        let runs_thread = |unit: &&CriticalUnit| tid.is_some_and(|tid| unit.pids.contains(&tid));
        let in_progress = self.rows.iter().filter(|unit| unit.start_ns < end_ns && unit.end_ns > start_ns);
        parts
            .extend(in_progress.filter(runs_thread).map(|unit| (unit.start_ns.max(start_ns), unit.end_ns.min(end_ns))));
        parts.retain(|(start_ns, end_ns)| start_ns < end_ns);
        parts
    }
}

/// Returns the parts of an activity that were waited for. A Linux boot waits for a password only through the unit that
/// unlocks the volume.
fn awaited_parts(trace: &Trace, name: StringId, interval: (i64, i64), kind: AccountSubjectKind) -> Vec<(i64, i64)> {
    match kind {
        AccountSubjectKind::UserInput if trace.system.kind == SystemKind::Linux => prompt_parts(trace, name, interval),
        _ => vec![interval],
    }
}

/// Returns the parts of a prompt during which the boot waited for `unit`.
fn prompt_parts(trace: &Trace, unit: StringId, (start_ns, end_ns): (i64, i64)) -> Vec<(i64, i64)> {
    let units = linux::boot::critical_units(trace).into_iter().filter(|&(service, ..)| service == unit);
    units
        .map(|(_, unit_start_ns, unit_end_ns, _)| (start_ns.max(unit_start_ns), end_ns.min(unit_end_ns)))
        .filter(|(start_ns, end_ns)| start_ns < end_ns)
        .collect()
}

/// Returns the requests to a person that a transition may have waited for, ordered by start.
pub(super) fn awaited_requests(trace: &Trace) -> Vec<CredentialRequest> {
    if trace.system.kind != SystemKind::Linux {
        return credential_requests(trace);
    }
    let prompts = trace.activities.iter().filter(|row| row.kind == ActivityKind::CredentialRequest);
    let mut requests: Vec<CredentialRequest> = prompts
        .filter(|row| waited_for_user(row.start_ns, row.end_ns))
        .flat_map(|row| prompt_parts(trace, row.name, (row.start_ns, row.end_ns.unwrap_or(trace.duration_ns))))
        .map(|(start_ns, end_ns)| (start_ns, end_ns, None))
        .collect();
    requests.sort_unstable();
    requests
}

/// Adds the part between two times during which the work in `in_progress` was going on.
fn add_part(in_progress: &BTreeMap<(u8, SubjectId), u32>, (start_ns, end_ns): (i64, i64), ledger: &mut Ledger) {
    let mut innermost = in_progress.keys().rev();
    let first = innermost.next().copied();
    let second = innermost.next().copied();
    let (attribution, action, certainty) = match (first, second) {
        (Some((rank, _)), Some((second_rank, _))) if rank == second_rank => {
            (Attribution::Unattributed(UnknownReason::ParallelWork), AccountAction::Nothing, Certainty::Missing)
        }
        (Some((_, id)), _) => (Attribution::Subject(id), AccountAction::ProcessedRequest, Certainty::Inferred),
        (None, _) => {
            (Attribution::Unattributed(UnknownReason::NoContextSwitches), AccountAction::Nothing, Certainty::Missing)
        }
    };
    ledger.add(Part { start_ns, end_ns, attribution, action, certainty });
}
