//! Services that others waited for: what a wait was when no event says who ended it.
//!
//! A service manager starts a service, waits until it is ready and goes on with what comes after it. Where the events of
//! threads do not explain such a wait, the service that was on its way then does, and the walk goes on in its process.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DependencyKind, ServiceChange, StringId, SystemKind, Trace};

use super::identities::Identities;
use super::timelines::Timelines;
use onoff_evidence::Certainty;
use onoff_transitions::linux;
use onoff_usage::units::{Unit, WAIT_GAP_NS};

/// Services that are looked at: the longest.
const MAX: usize = 1024;
/// Services one after the other, at most.
const MAX_CHAIN_LEN: usize = 4096;
/// The first process of Linux.
const FIRST_PROCESS: u32 = 1;
/// The service control manager.
const SERVICE_CONTROL_MANAGER: &str = "services.exe";

/// A service on its way to another state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) service: StringId,
    pub(crate) change: ServiceChange,
    pub(crate) start_ns: i64,
    /// `None` when it was not over when the recording ended.
    pub(crate) ready_ns: Option<i64>,
    /// Its process.
    pub(crate) pid: Option<u32>,
}

impl Hold {
    fn end_ns(&self) -> i64 {
        self.ready_ns.unwrap_or(i64::MAX)
    }

    /// The thread of its process that ran last before `time_ns`, in the change.
    pub(crate) fn thread(&self, timelines: &Timelines<'_>, identities: &Identities<'_>, time_ns: i64) -> Option<u32> {
        self.thread_of(self.pid?, timelines, identities, time_ns).map(|(_, tid)| tid)
    }

    /// The thread of process `pid` that ran last before `time_ns`, in the change, and when it did.
    fn thread_of(
        &self,
        pid: u32,
        timelines: &Timelines<'_>,
        identities: &Identities<'_>,
        time_ns: i64,
    ) -> Option<(i64, u32)> {
        let ran = |tid: u32| {
            let last = timelines.last_before(tid, time_ns)?.row.time_ns;
            let is_its = identities.pid_of(tid, last) == Some(pid) && last >= self.start_ns;
            is_its.then_some((last, tid))
        };
        identities.threads_of(pid).into_iter().filter_map(ran).max()
    }
}

/// What is waited for between two times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Position of the service; `None` for the manager's own time.
    pub(crate) hold: Option<u32>,
}

/// The starts of each service, by start.
pub(crate) struct Starts<'s> {
    places: HashMap<&'s str, Vec<usize>>,
}

impl<'s> Starts<'s> {
    /// Of services by start.
    pub(crate) fn of(services: &'s [Unit]) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, service) in services.iter().enumerate() {
            if service.kind == ServiceChange::Start {
                places.entry(&service.name).or_default().push(at);
            }
        }
        Self { places }
    }

    /// The last start of a service that began before `time_ns`.
    fn before<'a>(&self, services: &'a [Unit], name: &str, time_ns: i64) -> Option<&'a Unit> {
        let places = self.places.get(name)?;
        let is_before = |&at: &usize| services.get(at).is_some_and(|row| row.start_ns < time_ns);
        let after = places.partition_point(is_before);
        services.get(*places.get(after.checked_sub(1)?)?)
    }
}

/// Services that others may have waited for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds {
    rows: Vec<Hold>,
    /// Which service is declared to need which.
    declared: HashSet<(StringId, StringId)>,
    /// The process that stops a unit of Linux, by the unit and when it was asked to stop.
    stoppers: HashMap<(StringId, i64), u32>,
    /// Processes of a service's commands, in the order of their ids.
    commands: HashMap<StringId, Vec<u32>>,
}

/// A part of a service's time and the thread to follow in it; `None` for the manager's, who runs one command after the other.
pub(crate) type CommandPart = ((i64, i64), Option<u32>);

impl Holds {
    /// Of a recording: on Linux the units on the way to the default target, and those that the end of stopping waited for;
    /// on Windows every service.
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut stoppers = HashMap::new();
        let mut rows: Vec<Hold> = if trace.system.kind == SystemKind::Linux {
            stoppers = linux::shutdown::stoppers(trace);
            let hold = |change| {
                move |(service, start_ns, end_ns, pid): (StringId, i64, i64, Option<u32>)| Hold {
                    service,
                    change,
                    start_ns,
                    ready_ns: Some(end_ns),
                    pid,
                }
            };
            let starts = linux::boot::way(trace).into_iter();
            let stops = linux::shutdown::way(trace).into_iter();
            starts
                .map(hold(ServiceChange::Start))
                .chain(stops.map(hold(ServiceChange::Stop)))
                .map(|row| Hold { pid: row.pid.or_else(|| stoppers.get(&(row.service, row.start_ns)).copied()), ..row })
                .collect()
        } else {
            let rows = trace.service_transitions.iter();
            rows.map(|row| Hold {
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
        rows.truncate(MAX);
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

    /// The time between `ends` by the commands that were run for a service, one after the other, the last first; between two of them it is
    /// the manager's. Empty where no thread of any is known.
    pub(crate) fn parts(
        &self,
        hold: &Hold,
        timelines: &Timelines<'_>,
        identities: &Identities<'_>,
        (start_ns, end_ns): (i64, i64),
    ) -> Vec<CommandPart> {
        let mut last_ns = end_ns;
        let mut parts: Vec<CommandPart> = Vec::new();
        let mut next = hold.thread(timelines, identities, end_ns);
        let mut others: Vec<u32> = self.commands.get(&hold.service).into_iter().flatten().copied().collect();
        others.retain(|&pid| Some(pid) != hold.pid);
        while let Some(tid) = next {
            let born_ns = identities.start_of(tid, last_ns).unwrap_or(start_ns).clamp(start_ns, last_ns);
            // Whoever of the others ran last before this one began was run before it.
            let before = others.iter().filter_map(|&pid| hold.thread_of(pid, timelines, identities, born_ns));
            let before = before.filter(|&(ran_ns, _)| ran_ns > start_ns && ran_ns < born_ns).max();
            let Some((ran_ns, earlier)) = before else {
                parts.push(((start_ns, last_ns), Some(tid)));
                break;
            };
            parts.push(((born_ns, last_ns), Some(tid)));
            parts.push(((ran_ns, born_ns), None));
            others.retain(|&pid| identities.pid_of(earlier, ran_ns) != Some(pid));
            last_ns = ran_ns;
            next = Some(earlier);
        }
        parts.retain(|&((from, to), _)| from < to);
        parts
    }

    /// The process that stops a unit which was asked to stop at `start_ns`.
    pub(crate) fn stopper(&self, service: StringId, start_ns: i64) -> Option<u32> {
        self.stoppers.get(&(service, start_ns)).copied()
    }

    /// Those that service `at` of `services` waited for, one after the other, with the time of each, last first.
    pub(crate) fn before(
        trace: &Trace,
        services: &[Unit],
        starts: &Starts<'_>,
        at: usize,
    ) -> (Self, Vec<Segment>, Certainty) {
        let mut rows = Vec::new();
        let mut segments = Vec::new();
        let mut certainty = Certainty::Measured;
        let mut next = services.get(at);
        while let Some(service) = next
            && let Some(wait) = &service.waited_for
            && rows.len() < MAX_CHAIN_LEN
        {
            let earlier = starts.before(services, &wait.name, service.start_ns);
            let (Some(earlier), Ok(place)) = (earlier, u32::try_from(rows.len())) else { break };
            let done_ns = service.start_ns.saturating_sub(wait.gap_ns).clamp(earlier.start_ns, service.start_ns);
            segments.push(Segment { start_ns: done_ns, end_ns: service.start_ns, hold: None });
            segments.push(Segment { start_ns: earlier.start_ns, end_ns: done_ns, hold: Some(place) });
            rows.push(Hold {
                service: trace.strings.find(&earlier.name).unwrap_or_default(),
                change: ServiceChange::Start,
                start_ns: earlier.start_ns,
                ready_ns: earlier.end_ns,
                pid: earlier.pid.filter(|&pid| pid != 0),
            });
            certainty = certainty.and(wait.certainty);
            next = Some(earlier);
        }
        // What lies outside of the recording has no chain.
        let end_ns = trace.duration_ns.max(0);
        for segment in &mut segments {
            segment.start_ns = segment.start_ns.clamp(0, end_ns);
            segment.end_ns = segment.end_ns.clamp(0, end_ns);
        }
        segments.retain(|segment| segment.start_ns < segment.end_ns);
        let holds = Self { rows, ..Self::default() };
        (holds, segments, certainty)
    }

    /// The time from `start_ns` to `end_ns` by the units of Linux that were waited for one after the other, last first; the rest is
    /// the service manager's. Empty where no unit was on the way then.
    pub(crate) fn way(&self, change: ServiceChange, (start_ns, end_ns): (i64, i64)) -> Vec<Segment> {
        let is_then = |row: &Hold| row.change == change && row.start_ns < end_ns && row.end_ns() > start_ns;
        let mut rows: Vec<(u32, &Hold)> = (0_u32..).zip(&self.rows).filter(|(_, row)| is_then(row)).collect();
        rows.sort_by_key(|(at, row)| (row.start_ns, *at));
        let mut segments = Vec::new();
        let mut from_ns = start_ns;
        for (at, row) in rows {
            let begin_ns = row.start_ns.clamp(from_ns, end_ns);
            let until_ns = row.end_ns().clamp(begin_ns, end_ns);
            if begin_ns < until_ns {
                segments.push(Segment { start_ns: from_ns, end_ns: begin_ns, hold: None });
                segments.push(Segment { start_ns: begin_ns, end_ns: until_ns, hold: Some(at) });
                from_ns = until_ns;
            }
        }
        if !segments.is_empty() {
            segments.push(Segment { start_ns: from_ns, end_ns, hold: None });
        }
        segments.retain(|segment| segment.start_ns < segment.end_ns);
        segments.reverse();
        segments
    }

    pub(crate) fn get(&self, at: u32) -> Option<&Hold> {
        self.rows.get(at as usize)
    }

    /// What a thread of process `pid` waited for from `from_ns` to `until_ns`: the service that was ready just before the
    /// wait's end, else one that was on its way at that moment, else the last that was ready in the wait.
    pub(crate) fn at(
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
        let mut own: Vec<StringId> = Vec::new();
        if !is_manager {
            if self.declared.is_empty() {
                return None;
            }
            let is_own = |row: &&Hold| row.pid == Some(pid) && row.start_ns < until_ns && row.end_ns() > from_ns;
            own.extend(self.rows.iter().filter(is_own).map(|row| row.service));
            if own.is_empty() {
                return None;
            }
        }
        let is_waited_for = |row: &Hold| {
            row.start_ns < until_ns
                && row.end_ns() > from_ns
                && row.pid != Some(pid)
                && (is_manager || own.iter().any(|&own| self.declared.contains(&(own, row.service))))
        };
        let candidates = || (0_u32..).zip(&self.rows).filter(|(_, row)| is_waited_for(row));
        let ended = |within_ns: i64| {
            candidates()
                .filter(|(_, row)| row.end_ns() <= until_ns)
                .filter(|(_, row)| until_ns.saturating_sub(row.end_ns()) <= within_ns)
                .max_by_key(|(_, row)| row.end_ns())
        };
        ended(WAIT_GAP_NS)
            .or_else(|| candidates().filter(|(_, row)| row.end_ns() > until_ns).min_by_key(|(_, row)| row.end_ns()))
            .or_else(|| ended(i64::MAX))
            .map(|(at, _)| at)
    }
}

/// Whether `pid` is the process that starts services.
fn is_manager(trace: &Trace, identities: &Identities<'_>, pid: u32, time_ns: i64) -> bool {
    match trace.system.kind {
        SystemKind::Linux => pid == FIRST_PROCESS,
        _ => identities.image(pid, time_ns).is_some_and(|image| image.eq_ignore_ascii_case(SERVICE_CONTROL_MANAGER)),
    }
}

/// The process that starts services, at a time.
pub(crate) fn manager(trace: &Trace, identities: &Identities<'_>, time_ns: i64) -> Option<u32> {
    let mut pids = trace.processes.iter().map(|process| process.pid);
    pids.find(|&pid| is_manager(trace, identities, pid, time_ns))
}
