//! Time without context switches, divided by the work that was recorded: requests of drivers, changes of services, scripts.
//!
//! Where just one such piece of work was under way, the time is held to be its. Where several were, nothing says for whom
//! others waited, and the time is not known.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, StringId, SystemKind, Trace};

use super::actors::{Actors, is_of_service};
use super::ledger::{Ledger, Part, Subject, SubjectId, Who};
use crate::waits::driver_name;
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{AccountSubjectKind, Did, NotKnown};
use onoff_transitions::linux;
use onoff_transitions::shutdown::ends_waited_for;
use onoff_usage::devices;
use onoff_usage::owners::file_name;
use onoff_usage::person::is_answered_by_a_person;

/// Work that was under way from one time to another.
#[derive(Clone, Copy, Debug)]
struct Work {
    start_ns: i64,
    end_ns: i64,
    /// What is within other work has a higher rank: a driver's request within a service's start.
    rank: u8,
    id: SubjectId,
}

const EXIT: u8 = 0;
const POLICY: u8 = 1;
const SERVICE: u8 = 2;
const PROGRAM: u8 = 3;
const DRIVER: u8 = 4;
const PERSON: u8 = 5;

/// Recorded work, by start.
#[derive(Debug, Default)]
pub(super) struct RecordedWork {
    rows: Vec<Work>,
}

impl RecordedWork {
    pub(super) fn of(trace: &Trace, actors: &mut Actors<'_>) -> Self {
        let open = |end: Option<i64>| end.unwrap_or(trace.duration_ns);
        let mut rows: Vec<Work> = Vec::new();
        let mut add = |start_ns: i64, end_ns: i64, rank: u8, id: SubjectId| {
            if start_ns < end_ns {
                rows.push(Work { start_ns, end_ns, rank, id });
            }
        };
        let units = UnitsOnTheWay::of(trace);
        for row in trace.device_operations.iter() {
            let id = actors.request_id(devices::owner(&row), row.device);
            // Until it is pended a request keeps others waiting.
            let end_ns = open(row.pend_ns.or(row.end_ns));
            for (start_ns, end_ns) in units.waited_for((row.start_ns, end_ns), row.tid) {
                add(start_ns, end_ns, DRIVER, id);
            }
        }
        for row in trace.power_requests.iter() {
            let id = actors.request_id(row.driver, row.device);
            add(row.start_ns, open(row.end_ns), DRIVER, id);
        }
        if trace.system.kind == SystemKind::Linux {
            for unit in &units.rows {
                add(unit.start_ns, unit.end_ns, SERVICE, actors.service_id(trace.text(unit.service).to_owned(), None));
            }
        } else {
            for row in trace.service_transitions.iter() {
                let id = actors.service_id(trace.text(row.service).to_owned(), row.container_pid);
                add(row.start_ns, open(row.end_ns), SERVICE, id);
            }
        }
        for row in trace.notifications.iter() {
            let name = trace.text(row.name);
            let id = match row.pid.filter(|_| name.is_empty()) {
                None if is_of_service(row.kind) && !name.is_empty() => Some(actors.service_id(name.to_owned(), None)),
                Some(pid) => actors.process(pid, row.start_ns),
                None if name.is_empty() => None,
                None => Some(actors.subjects.id(Subject::new(AccountSubjectKind::Process, driver_name(name)))),
            };
            if let Some(id) = id {
                add(row.start_ns, open(row.end_ns), PROGRAM, id);
            }
        }
        for row in trace.activities.iter() {
            let (kind, rank) = match row.kind {
                ActivityKind::GroupPolicyScript => (AccountSubjectKind::Script, PROGRAM),
                ActivityKind::GroupPolicyExtension => (AccountSubjectKind::Policy, SERVICE),
                ActivityKind::GroupPolicy => (AccountSubjectKind::Policy, POLICY),
                ActivityKind::NotificationSubscriber => (AccountSubjectKind::Subscriber, SERVICE),
                ActivityKind::SessionProgram => (AccountSubjectKind::Process, PROGRAM),
                ActivityKind::CredentialRequest if is_answered_by_a_person(row.start_ns, row.end_ns) => {
                    (AccountSubjectKind::Person, PERSON)
                }
                _ => continue,
            };
            let name = match kind {
                AccountSubjectKind::Person => "credentials",
                AccountSubjectKind::Process => file_name(trace.text(row.name)),
                _ => trace.text(row.name),
            };
            if !name.is_empty() {
                let id = actors.subjects.id(Subject::new(kind, name));
                add(row.start_ns, open(row.end_ns), rank, id);
            }
        }
        for (start_ns, end_ns, pid) in ends_waited_for(trace) {
            if let Some(id) = actors.process(pid, end_ns) {
                add(start_ns, end_ns, EXIT, id);
            }
        }
        rows.sort_by_key(|row| row.start_ns);
        Self { rows }
    }

    /// Divides the time from `start_ns` to `end_ns`.
    pub(super) fn divide(&self, (start_ns, end_ns): (i64, i64), ledger: &mut Ledger) {
        let mut edges: Vec<(i64, bool, u8, SubjectId)> = Vec::new();
        for row in self.rows.iter().take_while(|row| row.start_ns < end_ns).filter(|row| row.end_ns > start_ns) {
            edges.push((row.start_ns.max(start_ns), true, row.rank, row.id));
            edges.push((row.end_ns.min(end_ns), false, row.rank, row.id));
        }
        edges.sort_unstable();
        let mut open: BTreeMap<(u8, SubjectId), u32> = BTreeMap::new();
        let mut from = start_ns;
        for (time, begins, rank, id) in edges {
            add(&open, (from, time), ledger);
            from = from.max(time);
            let count = open.entry((rank, id)).or_default();
            if begins {
                *count += 1;
            } else {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    open.remove(&(rank, id));
                }
            }
        }
        add(&open, (from, end_ns), ledger);
    }
}

/// The units of Linux on the way to the end, which alone are waited for; none for a recording of Windows.
#[derive(Debug, Default)]
struct UnitsOnTheWay {
    rows: Vec<UnitOnTheWay>,
    first_ns: i64,
}

#[derive(Debug)]
struct UnitOnTheWay {
    service: StringId,
    start_ns: i64,
    end_ns: i64,
    /// Processes of its commands; empty when not recorded.
    pids: Vec<u32>,
}

impl UnitsOnTheWay {
    fn of(trace: &Trace) -> Self {
        if trace.system.kind != SystemKind::Linux {
            return Self { rows: Vec::new(), first_ns: i64::MAX };
        }
        let mut commands: HashMap<StringId, Vec<u32>> = HashMap::new();
        for row in trace.service_processes.iter() {
            commands.entry(row.service).or_default().push(row.pid);
        }
        let ways = linux::boot::way(trace).into_iter().chain(linux::shutdown::way(trace));
        let rows: Vec<UnitOnTheWay> = ways
            .map(|(service, start_ns, end_ns, pid)| {
                let mut pids = commands.get(&service).cloned().unwrap_or_default();
                pids.extend(pid);
                UnitOnTheWay { service, start_ns, end_ns, pids }
            })
            .collect();
        // Where the way is not known, units are started all the same.
        let of_any = || trace.service_transitions.iter().map(|row| row.start_ns).min();
        let first_ns = rows.iter().map(|row| row.start_ns).min().or_else(of_any).unwrap_or(i64::MAX);
        Self { rows, first_ns }
    }

    /// The parts of a driver's work, by thread `tid`, that anybody on the way waited for. Once systemd starts units, drivers that others
    /// load hold nobody up: only what a process of the unit on the way does is waited for.
    fn waited_for(&self, (start_ns, end_ns): (i64, i64), tid: Option<u32>) -> Vec<(i64, i64)> {
        let mut parts = vec![(start_ns, end_ns.min(self.first_ns))];
        // Where nothing says whose thread or process it was, the time stays with the unit that was waited for.
        let does_it = |unit: &&UnitOnTheWay| tid.is_some_and(|tid| unit.pids.contains(&tid));
        let under_way = self.rows.iter().filter(|unit| unit.start_ns < end_ns && unit.end_ns > start_ns);
        parts.extend(under_way.filter(does_it).map(|unit| (unit.start_ns.max(start_ns), unit.end_ns.min(end_ns))));
        parts.retain(|(start_ns, end_ns)| start_ns < end_ns);
        parts
    }
}

/// The part from one time to another, in which `open` is under way.
fn add(open: &BTreeMap<(u8, SubjectId), u32>, (start_ns, end_ns): (i64, i64), ledger: &mut Ledger) {
    let mut innermost = open.keys().rev();
    let first = innermost.next().copied();
    let second = innermost.next().copied();
    let (who, did, certainty) = match (first, second) {
        (Some((rank, _)), Some((other, _))) if rank == other => {
            (Who::Nobody(NotKnown::SideBySide), Did::Nothing, Certainty::Missing)
        }
        (Some((_, id)), _) => (Who::Subject(id), Did::HeldRequest, Certainty::Inferred),
        (None, _) => (Who::Nobody(NotKnown::NoSwitches), Did::Nothing, Certainty::Missing),
    };
    ledger.add(Part { start_ns, end_ns, who, did, certainty });
}
