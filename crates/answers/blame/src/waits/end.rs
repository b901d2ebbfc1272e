//! Finds the thread that ended an interval, where a walk starts.
//!
//! A phase ends with a record: the start of a process, a milestone, the completion of a service change or a device
//! request. The thread that logged it is the one whose work or wait the phase ended with. If the record names only a
//! process, the thread of that process that ran at the time is used.

use hashbrown::HashMap;
use onoff_trace::cell::Nullable;
use onoff_trace::{Process, StringId, SystemKind, Trace};

use super::Waits;
use super::identities::Identities;
use super::timelines::Timelines;
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;
use onoff_usage::owners::file_name;

/// Maximum number of context switches, over all processors, searched backwards for the running threads.
const MAX_LOOK_BACK: usize = 1 << 20;
/// Maximum time from the start of a process until its first thread is made ready, ns: 1 s.
const MAX_FIRST_READY_NS: i64 = 1_000_000_000;

/// Programs whose start ends a phase of a boot.
const PHASE_ENDING_PROGRAMS: [&str; 4] = ["smss.exe", "winlogon.exe", "explorer.exe", "userinit.exe"];

/// The thread that ended an interval, and how it was identified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndThread {
    /// Thread id; `None` when no rule found one.
    pub tid: Option<u32>,
    pub rule: Rule,
    pub certainty: Certainty,
}

impl EndThread {
    /// Creates an end thread that the caller has identified.
    #[must_use]
    pub fn from_tid(tid: u32) -> Self {
        Self { tid: Some(tid), rule: Rule::SelectedThread, certainty: Certainty::Measured }
    }

    fn new(tid: u32, rule: Rule, certainty: Certainty) -> Self {
        Self { tid: Some(tid), rule, certainty }
    }
}

/// The thread or process named by a record at a phase boundary.
struct RecordAuthor {
    tid: Option<u32>,
    pid: Option<u32>,
    rule: Rule,
}

impl Waits<'_> {
    /// Returns the thread that ended an interval at `time_ns`, i.e. logged the record there. Rules, best first: the
    /// creator of a process that starts then; the thread or process named by a milestone, an activity, a device or
    /// power request, a notification or a service change at that time; any thread running then; the last thread that
    /// ran before.
    #[must_use]
    pub fn end_at(&self, time_ns: i64) -> EndThread {
        if self.trace.context_switches.is_empty() {
            return EndThread { rule: Rule::NoContextSwitches, ..EndThread::default() };
        }
        let running = RunningThreads::new(&self.timelines, &self.identities, time_ns);
        self.creator(time_ns, &running)
            .or_else(|| self.boundary_records.authors(time_ns).find_map(|author| self.author_thread(author, &running)))
            .or_else(|| {
                // On Linux, process 1 drives the boot and the shutdown.
                let is_linux = self.trace.system.kind == SystemKind::Linux;
                is_linux.then(|| running.thread_of_process(1, Rule::ThreadOfFirstProcess))?
            })
            .or_else(|| running.any_thread())
            .unwrap_or_else(|| EndThread { rule: Rule::NoThreadRanBefore, ..EndThread::default() })
    }

    /// Returns the thread of a service that ended its state change at `time_ns`, otherwise the result of
    /// [`Self::end_at`].
    pub(crate) fn end_of_service(&self, pid: Option<u32>, name: &str, time_ns: i64) -> EndThread {
        let running = RunningThreads::new(&self.timelines, &self.identities, time_ns);
        pid.and_then(|pid| running.thread_of_process(pid, Rule::ThreadOfService { service: name.to_owned() }))
            .unwrap_or_else(|| self.end_at(time_ns))
    }

    fn author_thread(&self, author: RecordAuthor, running: &RunningThreads<'_, '_>) -> Option<EndThread> {
        if let Some(tid) = author.tid {
            return Some(EndThread::new(tid, author.rule, Certainty::Measured));
        }
        running.thread_of_process(author.pid?, author.rule)
    }

    /// Returns the thread that created the process starting at `time_ns`.
    fn creator(&self, time_ns: i64, running: &RunningThreads<'_, '_>) -> Option<EndThread> {
        // With a coarse clock several processes may start at one time: those that end a phase come first.
        let process = self.boundary_records.processes_started(time_ns).min_by_key(|process| {
            let image = file_name(self.trace.text(process.image));
            !PHASE_ENDING_PROGRAMS.iter().any(|name| name.eq_ignore_ascii_case(image))
        })?;
        let image = file_name(self.trace.text(process.image));
        let rule = Rule::CreatingThread { image: image.to_owned() };
        // Thread 0 means "none" for boots traced before threads had ids.
        if let Some(tid) = process.creator_tid.filter(|&tid| self.identities.is_known(tid) && tid != 0) {
            return Some(EndThread::new(tid, rule, Certainty::Measured));
        }
        let parent_thread = process.parent_pid.and_then(|parent| running.thread_of_process(parent, rule.clone()));
        parent_thread.or_else(|| {
            let readying_tid = self
                .identities
                .threads_of(process.pid)
                .into_iter()
                .filter_map(|tid| self.timelines.first_ready(tid, time_ns))
                .filter(|ready| ready.time_ns.saturating_sub(time_ns) <= MAX_FIRST_READY_NS)
                .min_by_key(|ready| ready.time_ns)?
                .readying_tid
                .filter(|&tid| tid != 0)?;
            Some(EndThread::new(readying_tid, rule, Certainty::Inferred))
        })
    }
}

/// Tables whose records name a thread or process, best evidence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EvidenceTable {
    /// Only the start.
    Process,
    PowerRequest,
    Device,
    Notification,
    Milestone,
    Activity,
    Service,
}

/// Index of the records that start or end at each time.
#[derive(Debug)]
pub(super) struct BoundaryRecords<'t> {
    trace: &'t Trace,
    /// (time in ns, table, row), sorted.
    rows: Vec<(i64, EvidenceTable, usize)>,
}

impl<'t> BoundaryRecords<'t> {
    pub(super) fn new(trace: &'t Trace) -> Self {
        let mut rows: Vec<(i64, EvidenceTable, usize)> = Vec::new();
        let mut add = |table: EvidenceTable, starts: &[i64], ends: &Nullable<i64>| {
            rows.extend(starts.iter().enumerate().map(|(row, &start)| (start, table, row)));
            rows.extend(ends.iter().enumerate().filter_map(|(row, end)| Some((end?, table, row))));
        };
        add(EvidenceTable::Process, &[], &trace.processes.start_ns);
        add(EvidenceTable::PowerRequest, &trace.power_requests.start_ns, &trace.power_requests.end_ns);
        add(EvidenceTable::Device, &trace.device_operations.start_ns, &trace.device_operations.end_ns);
        add(EvidenceTable::Notification, &trace.notifications.start_ns, &trace.notifications.end_ns);
        add(EvidenceTable::Milestone, &trace.milestones.time_ns, &Nullable::default());
        add(EvidenceTable::Activity, &trace.activities.start_ns, &trace.activities.end_ns);
        add(EvidenceTable::Service, &trace.service_transitions.start_ns, &trace.service_transitions.end_ns);
        rows.sort();
        rows.dedup();
        Self { trace, rows }
    }

    fn rows_at(&self, time_ns: i64) -> impl Iterator<Item = (EvidenceTable, usize)> + '_ {
        let first = self.rows.partition_point(|&(time, ..)| time < time_ns);
        let later_rows = self.rows.get(first..).unwrap_or_default().iter();
        later_rows.take_while(move |&&(time, ..)| time == time_ns).map(|&(_, table, row)| (table, row))
    }

    /// Returns the processes that start at `time_ns`.
    fn processes_started(&self, time_ns: i64) -> impl Iterator<Item = Process> + '_ {
        let rows = self.rows_at(time_ns).filter(|&(table, _)| table == EvidenceTable::Process);
        rows.filter_map(|(_, row)| self.trace.processes.get(row))
    }

    /// Returns the threads and processes named by records at `time_ns`, best evidence first.
    fn authors(&self, time_ns: i64) -> impl Iterator<Item = RecordAuthor> + '_ {
        self.rows_at(time_ns).filter_map(move |(table, row)| self.author(table, row, time_ns))
    }

    fn author(&self, table: EvidenceTable, row: usize, time_ns: i64) -> Option<RecordAuthor> {
        let trace = self.trace;
        let recording_thread = |event: StringId| Rule::RecordingThread { event: trace.text(event).to_owned() };
        Some(match table {
            EvidenceTable::Process => return None,
            EvidenceTable::PowerRequest => {
                let row = trace.power_requests.get(row)?;
                let rule = Rule::RequestingThread { device: trace.text(row.device).to_owned() };
                RecordAuthor { tid: row.tid, pid: None, rule }
            }
            EvidenceTable::Device => {
                let row = trace.device_operations.get(row)?;
                let device = if row.device == StringId::EMPTY { row.driver } else { row.device };
                let rule = Rule::ThreadOfRequest { device: trace.text(device).to_owned() };
                RecordAuthor { tid: row.tid, pid: None, rule }
            }
            EvidenceTable::Notification => {
                let row = trace.notifications.get(row)?;
                let (tid, pid) = (row.sender_tid.or(row.tid), row.sender_pid.or(row.pid));
                RecordAuthor { tid, pid, rule: Rule::NotifyingThread }
            }
            EvidenceTable::Milestone => {
                let row = trace.milestones.get(row)?;
                RecordAuthor { tid: row.tid, pid: row.pid, rule: recording_thread(row.event) }
            }
            EvidenceTable::Activity => {
                let row = trace.activities.get(row)?;
                let tid = if row.end_ns == Some(time_ns) { row.end_tid } else { row.tid };
                RecordAuthor { tid, pid: row.pid, rule: recording_thread(row.event) }
            }
            EvidenceTable::Service => {
                let row = trace.service_transitions.get(row)?;
                let rule = Rule::ThreadOfService { service: trace.text(row.service).to_owned() };
                RecordAuthor { tid: None, pid: row.container_pid, rule }
            }
        })
    }
}

/// The threads that were running at a time or before it.
struct RunningThreads<'a, 't> {
    timelines: &'a Timelines<'t>,
    identities: &'a Identities<'t>,
    time_ns: i64,
    /// (since when in ns, thread) for each processor, latest first, without idle threads.
    threads: Vec<(i64, u32)>,
}

impl<'a, 't> RunningThreads<'a, 't> {
    fn new(timelines: &'a Timelines<'t>, identities: &'a Identities<'t>, time_ns: i64) -> Self {
        let processors = onoff_usage::cpu::processors(timelines.trace()) as usize;
        let mut latest_switches: HashMap<u16, (i64, u32)> = HashMap::new();
        for row in timelines.switches_back(time_ns, MAX_LOOK_BACK) {
            latest_switches.entry(row.cpu).or_insert((row.time_ns, row.new_tid));
            if latest_switches.len() >= processors {
                break;
            }
        }
        let mut threads: Vec<(i64, u32)> = latest_switches.into_values().filter(|&(_, tid)| tid != 0).collect();
        threads.sort_by(|a, b| b.cmp(a));
        Self { timelines, identities, time_ns, threads }
    }

    /// Returns the thread of a process that was running, otherwise the one that ran last.
    fn thread_of_process(&self, pid: u32, rule: Rule) -> Option<EndThread> {
        let is_of_process = |tid: u32, time_ns: i64| self.identities.pid_of(tid, time_ns) == Some(pid);
        let running: Vec<u32> =
            self.threads.iter().map(|&(_, tid)| tid).filter(|&tid| is_of_process(tid, self.time_ns)).collect();
        if let Some(&tid) = running.first() {
            let certainty = if running.len() == 1 { Certainty::Measured } else { Certainty::Inferred };
            return Some(EndThread::new(tid, rule, certainty));
        }
        let last_row = self
            .timelines
            .switches_back(self.time_ns, MAX_LOOK_BACK)
            .find(|row| row.old_tid != 0 && is_of_process(row.old_tid, row.time_ns))?;
        Some(EndThread::new(
            last_row.old_tid,
            Rule::LastThreadOfProcess { named_by: Box::new(rule) },
            Certainty::Inferred,
        ))
    }

    fn any_thread(&self) -> Option<EndThread> {
        if let Some(&(_, tid)) = self.threads.first() {
            return Some(EndThread::new(tid, Rule::ThreadThatRan, Certainty::Inferred));
        }
        let last_row = self.timelines.switches_back(self.time_ns, MAX_LOOK_BACK).find(|row| row.old_tid != 0)?;
        Some(EndThread::new(last_row.old_tid, Rule::ThreadThatRanBefore, Certainty::Inferred))
    }
}
