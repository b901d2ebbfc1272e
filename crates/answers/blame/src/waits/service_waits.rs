//! Service waits: explains a wait when no event shows what ended it.
//!
//! A service manager starts a service, waits until it is ready, and continues with what comes after it. Where thread
//! events do not explain such a wait, the service that was changing state does, and the walk continues in its process.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, ServiceChange, StringId, SystemKind, Trace};

use super::identities::Identities;
use super::timelines::Timelines;
use onoff_evidence::Certainty;
use onoff_transitions::linux;
use onoff_usage::units::{Unit, WAIT_GAP_NS};

/// Maximum number of services considered; those with the longest state changes are kept.
const MAX_SERVICES: usize = 1024;
/// Maximum number of services in a chain.
const MAX_CHAIN_LEN: usize = 4096;
const FIRST_PROCESS: u32 = 1;
const SERVICE_CONTROL_MANAGER: &str = "services.exe";

/// A state change of a service that others may have waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocker {
    pub(crate) service: StringId,
    pub(crate) change: ServiceChange,
    pub(crate) start_ns: i64,
    /// `None` if the change was still in progress when the recording ended.
    pub(crate) ready_ns: Option<i64>,
    pub(crate) pid: Option<u32>,
}

impl Blocker {
    fn end_ns(&self) -> i64 {
        self.ready_ns.unwrap_or(i64::MAX)
    }

    /// Returns the thread of the service's process that ran last before `time_ns`, within the state change.
    pub(crate) fn thread(&self, timelines: &Timelines<'_>, identities: &Identities<'_>, time_ns: i64) -> Option<u32> {
        self.thread_of(self.pid?, timelines, identities, time_ns).map(|(_, tid)| tid)
    }

    /// Returns the thread of process `pid` that ran last before `time_ns`, within the state change, and the time.
    fn thread_of(
        &self,
        pid: u32,
        timelines: &Timelines<'_>,
        identities: &Identities<'_>,
        time_ns: i64,
    ) -> Option<(i64, u32)> {
        let last_run = |tid: u32| {
            let last_ns = timelines.last_switch_before(tid, time_ns)?.time_ns;
            let is_of_process = identities.pid_of(tid, last_ns) == Some(pid) && last_ns >= self.start_ns;
            is_of_process.then_some((last_ns, tid))
        };
        identities.threads_of(pid).into_iter().filter_map(last_run).max()
    }
}

/// What was waited for in an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Index of the service; `None` for the service manager's work.
    pub(crate) blocker: Option<u32>,
}

/// The starts of each service, sorted by start.
pub(crate) struct ServiceStarts<'s> {
    indexes: HashMap<&'s str, Vec<usize>>,
}

impl<'s> ServiceStarts<'s> {
    /// Indexes `services`, which must be sorted by start.
    pub(crate) fn new(services: &'s [Unit]) -> Self {
        let mut indexes: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, service) in services.iter().enumerate() {
            if service.kind == ServiceChange::Start {
                indexes.entry(&service.name).or_default().push(index);
            }
        }
        Self { indexes }
    }

    /// Returns the last start of a service before `time_ns`.
    fn last_start_before<'a>(&self, services: &'a [Unit], name: &str, time_ns: i64) -> Option<&'a Unit> {
        let indexes = self.indexes.get(name)?;
        let is_before = |&index: &usize| services.get(index).is_some_and(|row| row.start_ns < time_ns);
        let end_index = indexes.partition_point(is_before);
        services.get(*indexes.get(end_index.checked_sub(1)?)?)
    }
}

/// State changes of services that others may have waited for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blockers {
    rows: Vec<Blocker>,
    /// Declared dependencies: (service, required service).
    declared: HashSet<(StringId, StringId)>,
    /// The process that stops a Linux unit, by unit and stop time.
    stoppers: HashMap<(StringId, i64), u32>,
    /// Processes of each service's commands, by id.
    commands: HashMap<StringId, Vec<u32>>,
}

/// An interval of a service's state change and the thread to follow in it; `None` for the service manager, which runs
/// the commands one after another.
pub(crate) type CommandInterval = ((i64, i64), Option<u32>);

impl Blockers {
    /// Collects the candidates: on Linux, the units on the path to the default target and those that the shutdown
    /// waited for; on Windows, every service.
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut stoppers = HashMap::new();
        let mut rows: Vec<Blocker> = if trace.system.kind == SystemKind::Linux {
            stoppers = linux::shutdown::stop_processes(trace);
            let blocker = |change| {
                move |(service, start_ns, end_ns, pid): (StringId, i64, i64, Option<u32>)| Blocker {
                    service,
                    change,
                    start_ns,
                    ready_ns: Some(end_ns),
                    pid,
                }
            };
            let starts = linux::boot::critical_units(trace).into_iter();
            let stops = linux::shutdown::critical_stops(trace).into_iter();
            starts
                .map(blocker(ServiceChange::Start))
                .chain(stops.map(blocker(ServiceChange::Stop)))
                .map(|row| Blocker {
                    pid: row.pid.or_else(|| stoppers.get(&(row.service, row.start_ns)).copied()),
                    ..row
                })
                .collect()
        } else {
            let rows = trace.service_transitions.iter();
            rows.map(|row| Blocker {
                service: row.service,
                change: row.kind,
                start_ns: row.start_ns,
                ready_ns: row.end_ns,
                pid: row.container_pid.filter(|&pid| pid != 0),
            })
            .collect()
        };
        rows.retain(|row| row.end_ns() > row.start_ns);
        rows.sort_by_key(|row| std::cmp::Reverse(row.end_ns().saturating_sub(row.start_ns)));
        rows.truncate(MAX_SERVICES);
        let declared = trace
            .service_dependencies
            .iter()
            .filter(|row| row.kind != DependencyKind::Wants)
            .map(|row| (row.service, row.on))
            .collect();
        let mut commands: HashMap<StringId, Vec<u32>> = HashMap::new();
        for row in trace.service_processes.iter() {
            commands.entry(row.service).or_default().push(row.pid);
        }
        Self { rows, declared, stoppers, commands }
    }

    /// Divides an interval among the commands that ran for a service one after another, last first; the time between
    /// two commands is the manager's. Empty if no thread of any command is known.
    pub(crate) fn parts(
        &self,
        blocker: &Blocker,
        timelines: &Timelines<'_>,
        identities: &Identities<'_>,
        (start_ns, end_ns): (i64, i64),
    ) -> Vec<CommandInterval> {
        let mut last_ns = end_ns;
        let mut parts: Vec<CommandInterval> = Vec::new();
        let mut next_tid = blocker.thread(timelines, identities, end_ns);
        let mut remaining_pids: Vec<u32> = self.commands.get(&blocker.service).into_iter().flatten().copied().collect();
        remaining_pids.retain(|&pid| Some(pid) != blocker.pid);
        while let Some(tid) = next_tid {
            let thread_start_ns = identities.start_of(tid, last_ns).unwrap_or(start_ns).clamp(start_ns, last_ns);
            // The command that ran last before this one started was run before it.
            let candidates =
                remaining_pids.iter().filter_map(|&pid| blocker.thread_of(pid, timelines, identities, thread_start_ns));
            let previous = candidates.filter(|&(ran_ns, _)| ran_ns > start_ns && ran_ns < thread_start_ns).max();
            let Some((ran_ns, previous_tid)) = previous else {
                parts.push(((start_ns, last_ns), Some(tid)));
                break;
            };
            parts.push(((thread_start_ns, last_ns), Some(tid)));
            parts.push(((ran_ns, thread_start_ns), None));
            remaining_pids.retain(|&pid| identities.pid_of(previous_tid, ran_ns) != Some(pid));
            last_ns = ran_ns;
            next_tid = Some(previous_tid);
        }
        parts.retain(|&((part_start, part_end), _)| part_start < part_end);
        parts
    }

    /// Returns the process that stops a unit whose stop began at `start_ns`.
    pub(crate) fn stopper(&self, service: StringId, start_ns: i64) -> Option<u32> {
        self.stoppers.get(&(service, start_ns)).copied()
    }

    /// Returns the services that service `index` of `services` waited for in turn, with the interval of each, last
    /// first.
    pub(crate) fn chain_before(
        trace: &Trace,
        services: &[Unit],
        starts: &ServiceStarts<'_>,
        index: usize,
    ) -> (Self, Vec<Segment>, Certainty) {
        let mut rows = Vec::new();
        let mut segments = Vec::new();
        let mut certainty = Certainty::Measured;
        let mut next_service = services.get(index);
        while let Some(service) = next_service
            && let Some(wait) = &service.waited_for
            && rows.len() < MAX_CHAIN_LEN
        {
            let earlier = starts.last_start_before(services, &wait.name, service.start_ns);
            let (Some(earlier), Ok(blocker_index)) = (earlier, u32::try_from(rows.len())) else { break };
            let done_ns = service.start_ns.saturating_sub(wait.gap_ns).clamp(earlier.start_ns, service.start_ns);
            segments.push(Segment { start_ns: done_ns, end_ns: service.start_ns, blocker: None });
            segments.push(Segment { start_ns: earlier.start_ns, end_ns: done_ns, blocker: Some(blocker_index) });
            rows.push(Blocker {
                service: trace.strings.find(&earlier.name).unwrap_or_default(),
                change: ServiceChange::Start,
                start_ns: earlier.start_ns,
                ready_ns: earlier.end_ns,
                pid: earlier.pid.filter(|&pid| pid != 0),
            });
            certainty = certainty.and(wait.certainty);
            next_service = Some(earlier);
        }
        // Clip the chain to the recording.
        let end_ns = trace.duration_ns.max(0);
        for segment in &mut segments {
            segment.start_ns = segment.start_ns.clamp(0, end_ns);
            segment.end_ns = segment.end_ns.clamp(0, end_ns);
        }
        segments.retain(|segment| segment.start_ns < segment.end_ns);
        let blockers = Self { rows, ..Self::default() };
        (blockers, segments, certainty)
    }

    /// Divides an interval among the Linux units that were waited for in turn, last first; the rest is the service
    /// manager's. Empty if no unit changed state in the interval.
    pub(crate) fn critical_units(&self, change: ServiceChange, (start_ns, end_ns): (i64, i64)) -> Vec<Segment> {
        let is_relevant = |row: &Blocker| row.change == change && row.start_ns < end_ns && row.end_ns() > start_ns;
        let mut rows: Vec<(u32, &Blocker)> = (0_u32..).zip(&self.rows).filter(|(_, row)| is_relevant(row)).collect();
        rows.sort_by_key(|(index, row)| (row.start_ns, *index));
        let mut segments = Vec::new();
        let mut done_ns = start_ns;
        for (index, row) in rows {
            let begin_ns = row.start_ns.clamp(done_ns, end_ns);
            let until_ns = row.end_ns().clamp(begin_ns, end_ns);
            if begin_ns < until_ns {
                segments.push(Segment { start_ns: done_ns, end_ns: begin_ns, blocker: None });
                segments.push(Segment { start_ns: begin_ns, end_ns: until_ns, blocker: Some(index) });
                done_ns = until_ns;
            }
        }
        if !segments.is_empty() {
            segments.push(Segment { start_ns: done_ns, end_ns, blocker: None });
        }
        segments.retain(|segment| segment.start_ns < segment.end_ns);
        segments.reverse();
        segments
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Blocker> {
        self.rows.get(index as usize)
    }

    /// Returns the service that a thread of process `pid` waited for between two times: the one that became ready just
    /// before the wait ended, otherwise one that was changing state at that moment, otherwise the last one that became
    /// ready during the wait.
    pub(crate) fn blocker_of_wait(
        &self,
        trace: &Trace,
        identities: &Identities<'_>,
        pid: u32,
        (from_ns, until_ns): (i64, i64),
    ) -> Option<u32> {
        if self.rows.is_empty() {
            return None;
        }
        let is_manager = is_manager(trace, identities, pid, until_ns);
        let mut own_services: Vec<StringId> = Vec::new();
        if !is_manager {
            if self.declared.is_empty() {
                return None;
            }
            let is_own = |row: &&Blocker| row.pid == Some(pid) && row.start_ns < until_ns && row.end_ns() > from_ns;
            own_services.extend(self.rows.iter().filter(is_own).map(|row| row.service));
            if own_services.is_empty() {
                return None;
            }
        }
        let is_waited_for = |row: &Blocker| {
            row.start_ns < until_ns
                && row.end_ns() > from_ns
                && row.pid != Some(pid)
                && (is_manager || own_services.iter().any(|&service| self.declared.contains(&(service, row.service))))
        };
        let candidates = || (0_u32..).zip(&self.rows).filter(|(_, row)| is_waited_for(row));
        let last_ended = |within_ns: i64| {
            candidates()
                .filter(|(_, row)| row.end_ns() <= until_ns)
                .filter(|(_, row)| until_ns.saturating_sub(row.end_ns()) <= within_ns)
                .max_by_key(|(_, row)| row.end_ns())
        };
        last_ended(WAIT_GAP_NS)
            .or_else(|| candidates().filter(|(_, row)| row.end_ns() > until_ns).min_by_key(|(_, row)| row.end_ns()))
            .or_else(|| last_ended(i64::MAX))
            .map(|(index, _)| index)
    }
}

/// True if `pid` is the service manager.
fn is_manager(trace: &Trace, identities: &Identities<'_>, pid: u32, time_ns: i64) -> bool {
    match trace.system.kind {
        SystemKind::Linux => pid == FIRST_PROCESS,
        _ => identities.image(pid, time_ns).is_some_and(|image| image.eq_ignore_ascii_case(SERVICE_CONTROL_MANAGER)),
    }
}

/// Returns the service manager's process at a time.
pub(crate) fn manager(trace: &Trace, identities: &Identities<'_>, time_ns: i64) -> Option<u32> {
    let mut pids = trace.processes.iter().map(|process| process.pid);
    pids.find(|&pid| is_manager(trace, identities, pid, time_ns))
}
