//! The thread that ended a stretch of time: where a walk begins.
//!
//! A phase ends with a record: the start of a process, a milestone, a service's or a device's completion. The thread that
//! wrote it is the one whose wait or work the phase ended with. Where the record names only a process, it is the thread of
//! that process that ran then.

use hashbrown::HashMap;
use onoff_trace::cell::Nullable;
use onoff_trace::{Process, StringId, SystemKind, Trace};

use super::Waits;
use super::identities::Identities;
use super::timelines::Timelines;
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;
use onoff_usage::owners::file_name;

/// Switches looked back over to find who ran, of all processors.
const LOOK_BACK: usize = 1 << 20;
/// The first thread of a process is made ready within this time of the process's start, ns: 1 s.
const FIRST_THREAD_NS: i64 = 1_000_000_000;

/// Programs whose start ends a phase of a boot.
const ENDS_A_PHASE: [&str; 4] = ["smss.exe", "winlogon.exe", "explorer.exe", "userinit.exe"];

/// The thread with which a stretch of time ends, and why it is held to be that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndThread {
    /// Thread id; `None` when no rule found one.
    pub tid: Option<u32>,
    /// The rule that found it.
    pub rule: Rule,
    /// How certain it is.
    pub certainty: Certainty,
}

impl EndThread {
    /// A thread that the caller knows.
    #[must_use]
    pub fn known(tid: u32) -> Self {
        Self { tid: Some(tid), rule: Rule::ThreadAskedAbout, certainty: Certainty::Measured }
    }

    fn new(tid: u32, rule: Rule, certainty: Certainty) -> Self {
        Self { tid: Some(tid), rule, certainty }
    }
}

/// Who a record at a boundary names.
struct Names {
    tid: Option<u32>,
    pid: Option<u32>,
    rule: Rule,
}

impl Waits<'_> {
    /// The thread that ended a stretch at `time_ns`: the one that wrote the record there. Rules, best first: the creator of
    /// a process that starts then; the thread or process that a milestone, an activity, a device's or power request, a
    /// notification or a service's change then names; any thread that ran then; the last thread that ran before.
    #[must_use]
    pub fn end_at(&self, time_ns: i64) -> EndThread {
        if self.trace.context_switches.is_empty() {
            return EndThread { rule: Rule::NoContextSwitches, ..EndThread::default() };
        }
        let running = Running::at(&self.timelines, &self.identities, time_ns);
        self.creator(time_ns, &running)
            .or_else(|| self.naming.named(time_ns).find_map(|names| self.thread_of(names, &running)))
            .or_else(|| {
                // A Linux boot and its end are the work of the first process.
                let first = self.trace.system.kind == SystemKind::Linux;
                first.then(|| running.of_process(1, Rule::ThreadOfFirstProcess))?
            })
            .or_else(|| running.anyone())
            .unwrap_or_else(|| EndThread { rule: Rule::NobodyRanBefore, ..EndThread::default() })
    }

    /// The thread of a service that ended its change of state at `time_ns`, else any that did.
    pub(crate) fn end_of_service(&self, pid: Option<u32>, name: &str, time_ns: i64) -> EndThread {
        let running = Running::at(&self.timelines, &self.identities, time_ns);
        pid.and_then(|pid| running.of_process(pid, Rule::ThreadOfService { service: name.to_owned() }))
            .unwrap_or_else(|| self.end_at(time_ns))
    }

    fn thread_of(&self, names: Names, running: &Running<'_, '_>) -> Option<EndThread> {
        if let Some(tid) = names.tid {
            return Some(EndThread::new(tid, names.rule, Certainty::Measured));
        }
        running.of_process(names.pid?, names.rule)
    }

    /// The thread that created the process that starts at `time_ns`.
    fn creator(&self, time_ns: i64, running: &Running<'_, '_>) -> Option<EndThread> {
        // Where the clock goes on in steps several may start at one time: those that end a phase come first.
        let process = self.naming.started(time_ns).min_by_key(|process| {
            let image = file_name(self.trace.text(process.image));
            !ENDS_A_PHASE.iter().any(|name| name.eq_ignore_ascii_case(image))
        })?;
        let image = file_name(self.trace.text(process.image));
        let rule = Rule::CreatingThread { image: image.to_owned() };
        // The start record's own thread; 0 stands in for none where a boot was traced before threads had ids.
        if let Some(tid) = process.creator_tid.filter(|&tid| self.identities.is_known(tid) && tid != 0) {
            return Some(EndThread::new(tid, rule, Certainty::Measured));
        }
        let by_parent = process.parent_pid.and_then(|parent| running.of_process(parent, rule.clone()));
        by_parent.or_else(|| {
            let by = self
                .identities
                .threads_of(process.pid)
                .into_iter()
                .filter_map(|tid| self.timelines.first_ready(tid, time_ns))
                .filter(|ready| ready.time_ns.saturating_sub(time_ns) <= FIRST_THREAD_NS)
                .min_by_key(|ready| ready.time_ns)?
                .readying_tid
                .filter(|&tid| tid != 0)?;
            Some(EndThread::new(by, rule, Certainty::Inferred))
        })
    }
}

/// A table whose records say who wrote them: the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Naming {
    /// By start only.
    Process,
    PowerRequest,
    Device,
    Notification,
    Milestone,
    Activity,
    Service,
}

/// The records that begin or end at each time.
#[derive(Debug)]
pub(super) struct NamingRecords<'t> {
    trace: &'t Trace,
    /// Time, ns, table and row, sorted.
    rows: Vec<(i64, Naming, usize)>,
}

impl<'t> NamingRecords<'t> {
    pub(super) fn of(trace: &'t Trace) -> Self {
        let mut rows: Vec<(i64, Naming, usize)> = Vec::new();
        let mut add = |naming: Naming, starts: &[i64], ends: &Nullable<i64>| {
            rows.extend(starts.iter().enumerate().map(|(row, &start)| (start, naming, row)));
            rows.extend(ends.iter().enumerate().filter_map(|(row, end)| Some((end?, naming, row))));
        };
        add(Naming::Process, &[], &trace.processes.start_ns);
        add(Naming::PowerRequest, &trace.power_requests.start_ns, &trace.power_requests.end_ns);
        add(Naming::Device, &trace.device_operations.start_ns, &trace.device_operations.end_ns);
        add(Naming::Notification, &trace.notifications.start_ns, &trace.notifications.end_ns);
        add(Naming::Milestone, &trace.milestones.time_ns, &Nullable::default());
        add(Naming::Activity, &trace.activities.start_ns, &trace.activities.end_ns);
        add(Naming::Service, &trace.service_transitions.start_ns, &trace.service_transitions.end_ns);
        rows.sort();
        rows.dedup();
        Self { trace, rows }
    }

    fn at(&self, time_ns: i64) -> impl Iterator<Item = (Naming, usize)> + '_ {
        let first = self.rows.partition_point(|&(time, ..)| time < time_ns);
        let rest = self.rows.get(first..).unwrap_or_default().iter();
        rest.take_while(move |&&(time, ..)| time == time_ns).map(|&(_, naming, row)| (naming, row))
    }

    /// The processes that start at `time_ns`.
    fn started(&self, time_ns: i64) -> impl Iterator<Item = Process> + '_ {
        let rows = self.at(time_ns).filter(|&(naming, _)| naming == Naming::Process);
        rows.filter_map(|(_, row)| self.trace.processes.get(row))
    }

    /// What the records at `time_ns` name, best first.
    fn named(&self, time_ns: i64) -> impl Iterator<Item = Names> + '_ {
        self.at(time_ns).filter_map(move |(naming, row)| self.names(naming, row, time_ns))
    }

    fn names(&self, naming: Naming, row: usize, time_ns: i64) -> Option<Names> {
        let trace = self.trace;
        let recorded = |event: StringId| Rule::RecordingThread { event: trace.text(event).to_owned() };
        Some(match naming {
            Naming::Process => return None,
            Naming::PowerRequest => {
                let row = trace.power_requests.get(row)?;
                let rule = Rule::RequestingThread { device: trace.text(row.device).to_owned() };
                Names { tid: row.tid, pid: None, rule }
            }
            Naming::Device => {
                let row = trace.device_operations.get(row)?;
                let device = if row.device == StringId::EMPTY { row.driver } else { row.device };
                let rule = Rule::ThreadOfRequest { device: trace.text(device).to_owned() };
                Names { tid: row.tid, pid: None, rule }
            }
            Naming::Notification => {
                let row = trace.notifications.get(row)?;
                let (tid, pid) = (row.teller_tid.or(row.tid), row.teller_pid.or(row.pid));
                Names { tid, pid, rule: Rule::NotifyingThread }
            }
            Naming::Milestone => {
                let row = trace.milestones.get(row)?;
                Names { tid: row.tid, pid: row.pid, rule: recorded(row.event) }
            }
            Naming::Activity => {
                let row = trace.activities.get(row)?;
                let tid = if row.end_ns == Some(time_ns) { row.end_tid } else { row.tid };
                Names { tid, pid: row.pid, rule: recorded(row.event) }
            }
            Naming::Service => {
                let row = trace.service_transitions.get(row)?;
                let rule = Rule::ThreadOfService { service: trace.text(row.service).to_owned() };
                Names { tid: None, pid: row.container_pid, rule }
            }
        })
    }
}

/// Who ran at a time, and before.
struct Running<'a, 't> {
    timelines: &'a Timelines<'t>,
    identities: &'a Identities<'t>,
    time_ns: i64,
    /// The thread on each processor and since when; the latest first. The idle threads are left out.
    threads: Vec<(i64, u32)>,
}

impl<'a, 't> Running<'a, 't> {
    fn at(timelines: &'a Timelines<'t>, identities: &'a Identities<'t>, time_ns: i64) -> Self {
        let processors = onoff_usage::cpu::processors(timelines.trace()) as usize;
        let mut seen: HashMap<u16, (i64, u32)> = HashMap::new();
        for row in timelines.switches_back(time_ns, LOOK_BACK) {
            seen.entry(row.cpu).or_insert((row.time_ns, row.new_tid));
            if seen.len() >= processors {
                break;
            }
        }
        let mut threads: Vec<(i64, u32)> = seen.into_values().filter(|&(_, tid)| tid != 0).collect();
        threads.sort_by(|a, b| b.cmp(a));
        Self { timelines, identities, time_ns, threads }
    }

    /// The thread of a process that ran, or else ran last.
    fn of_process(&self, pid: u32, rule: Rule) -> Option<EndThread> {
        let is_its = |tid: u32, time_ns: i64| self.identities.pid_of(tid, time_ns) == Some(pid);
        let its: Vec<u32> = self.threads.iter().map(|&(_, tid)| tid).filter(|&tid| is_its(tid, self.time_ns)).collect();
        if let Some(&tid) = its.first() {
            let certainty = if its.len() == 1 { Certainty::Measured } else { Certainty::Inferred };
            return Some(EndThread::new(tid, rule, certainty));
        }
        let last = self
            .timelines
            .switches_back(self.time_ns, LOOK_BACK)
            .find(|row| row.old_tid != 0 && is_its(row.old_tid, row.time_ns))?;
        Some(EndThread::new(last.old_tid, Rule::RanLastOfProcess { named_by: Box::new(rule) }, Certainty::Inferred))
    }

    fn anyone(&self) -> Option<EndThread> {
        if let Some(&(_, tid)) = self.threads.first() {
            return Some(EndThread::new(tid, Rule::ThreadThatRan, Certainty::Inferred));
        }
        let last = self.timelines.switches_back(self.time_ns, LOOK_BACK).find(|row| row.old_tid != 0)?;
        Some(EndThread::new(last.old_tid, Rule::ThreadThatRanBefore, Certainty::Inferred))
    }
}
