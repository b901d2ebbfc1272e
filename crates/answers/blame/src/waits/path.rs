//! The critical path of an interval: its steps, and its time by kind and subject.

use onoff_trace::ServiceChange;
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_evidence::rule::Rule;

/// One call stack frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StackFrame {
    /// File name of the module; empty if no known module contains the address.
    pub module: String,
    /// Function name from symbols or the .NET runtime; empty if unknown.
    pub function: String,
    /// Offset in the module, or in the JIT-compiled method; the full address if both are unknown. Hexadecimal.
    pub offset: String,
    /// Row of the module in the image table.
    #[serde(skip)]
    pub image: Option<usize>,
    #[serde(skip)]
    pub relative_address: u64,
}

impl StackFrame {
    /// Formats the frame as `module!function`, `module+0x12` or the address.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.module.is_empty(), self.function.is_empty()) {
            (true, true) => self.offset.clone(),
            (true, false) => self.function.clone(),
            (false, true) => format!("{}+{}", self.module, self.offset),
            (false, false) => format!("{}!{}", self.module, self.function),
        }
    }
}

/// What a step of the path spent its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A thread ran.
    Cpu,
    /// A thread was ready but had no processor.
    Ready,
    /// A thread waited for a disk request.
    Disk,
    /// A thread slept, or a wait timed out.
    Timer,
    /// A thread waited for an interrupt or DPC of a driver.
    Device,
    /// The path waited for a service's state change that no thread event explains further; inferred at best.
    ServiceDependency,
    /// Unknown; the reason is given.
    Other,
}

impl StepKind {
    /// All kinds, in display order.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::Ready, Self::Disk, Self::Timer, Self::Device, Self::ServiceDependency, Self::Other];

    /// The JSON name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Ready => "ready",
            Self::Disk => "disk",
            Self::Timer => "timer",
            Self::Device => "device",
            Self::ServiceDependency => "service_dependency",
            Self::Other => "other",
        }
    }
}

/// A thread and its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathThread {
    /// Thread id.
    pub tid: u32,
    /// Thread name; empty if none was recorded.
    pub name: String,
    /// Process id; `None` if unknown.
    pub pid: Option<u32>,
    /// Image file name of the process; empty if unknown.
    pub process: String,
    /// Windows services hosted by the process: the first few, if recorded.
    pub services: Vec<String>,
}

/// A service that the path waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitedService {
    /// Name.
    pub name: String,
    /// Whether the service was starting or stopping.
    pub change: ServiceChange,
    /// Time of the request, ns.
    pub start_ns: i64,
    /// Time of completion, ns; `None` if still in progress when the recording ended.
    pub ready_ns: Option<i64>,
}

/// A service that the path waited for, and how long.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceWait {
    /// The service.
    pub service: WaitedService,
    /// Time that the path waited for it, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// One step of a path. Steps are contiguous.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathStep {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Duration, ns.
    pub duration_ns: i64,
    /// The thread of the step.
    pub thread: PathThread,
    /// What the thread spent its time on.
    pub kind: StepKind,
    /// File of a disk request, driver of a timer or interrupt, or why the cause is unknown; for `cpu` what ran if it
    /// was not a thread; otherwise empty.
    pub detail: String,
    /// The service that the path waited for in this step (the thread is in its process if known); `None` where thread
    /// events explain the path.
    pub service: Option<WaitedService>,
    /// How certain the attribution is.
    pub certainty: Certainty,
    /// Wait reason recorded by the system, e.g. `WrQueue`; empty if the thread did not wait or none was recorded.
    pub wait_reason: String,
    /// Thread that this one readied at the end of the step; `None` if the next step belongs to the same thread.
    pub readies_tid: Option<u32>,
    /// Threads waiting for this one, innermost first.
    pub waiters: Vec<u32>,
    /// Device whose request the thread, or a thread waiting for it, was carrying out; empty if none was recorded.
    pub device: String,
    /// Call stack, innermost frame first: for a wait, the stack on resuming; for CPU time, the stack that readied the
    /// next thread. Empty if none was recorded.
    pub stack: Vec<StackFrame>,
    /// Time of the event the stack belongs to, ns.
    #[serde(skip)]
    pub stack_ns: Option<i64>,
}

/// Similar steps of one thread: all its CPU time, or all its waits for one file, timer, driver or service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepGroup {
    /// What the steps spent their time on.
    pub kind: StepKind,
    /// The thread of the steps.
    pub thread: PathThread,
    /// As in a step.
    pub detail: String,
    /// Service that was waited for; empty if none.
    pub service: String,
    /// Device whose requests the thread waited in; empty if none was recorded, and for CPU time.
    pub device: String,
    /// Number of steps.
    pub count: u64,
    /// Total time, ns.
    pub ns: i64,
    /// Longest step, ns.
    pub longest_ns: i64,
    /// Start of the first step, ns.
    pub start_ns: i64,
    /// End of the last step, ns.
    pub end_ns: i64,
}

/// Time of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindShare {
    /// What the time was spent on.
    pub kind: StepKind,
    /// Time, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// Time of one kind attributed to one process, driver, service or reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathShare {
    /// What the time was spent on.
    pub kind: StepKind,
    /// Process for `cpu`, `ready`, `timer` and `disk`; driver for `device`; service for `service_dependency`; reason
    /// for `other`; empty if unnamed.
    pub name: String,
    /// Process id, if the name is a process.
    pub pid: Option<u32>,
    /// Time, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// Kind of subject that a path passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A process, named by its image.
    Process,
    /// A service that is starting or stopping.
    Service,
    /// A device that is handling a request.
    Device,
    Driver,
    /// A file being read or written.
    File,
}

impl SubjectKind {
    /// The JSON name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Service => "service",
            Self::Device => "device",
            Self::Driver => "driver",
            Self::File => "file",
        }
    }
}

/// Time that a path spent in a subject, or in something the subject waited for. Subjects overlap, so the times do not
/// sum to the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubjectOnPath {
    /// Kind of the subject.
    pub kind: SubjectKind,
    /// Name.
    pub name: String,
    /// Process id, for processes.
    pub pid: Option<u32>,
    /// Time, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// The chain of steps that makes up an interval, found by walking back from its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPath {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Duration, ns: the sum of `kinds`, and of `shares`.
    pub duration_ns: i64,
    /// The thread at the end of the interval, where the walk started.
    pub end_thread: PathThread,
    /// The rule that identified the end thread.
    pub end_rule: Rule,
    /// How certain it is that this thread ended the interval.
    pub end_certainty: Certainty,
    /// Time by kind, largest first; sums exactly to `duration_ns`.
    pub kinds: Vec<KindShare>,
    /// Time by kind and name, largest first; sums exactly to `duration_ns`.
    pub shares: Vec<PathShare>,
    /// Time attributed from the events that define it, ns.
    pub measured_ns: i64,
    /// Time attributed from substitute evidence, ns.
    pub inferred_ns: i64,
    /// Unexplained time, ns.
    pub missing_ns: i64,
    /// Subjects that the path passes through, longest first.
    pub on_path: Vec<SubjectOnPath>,
    /// Services that the path waited for, in order of time.
    pub services: Vec<ServiceWait>,
    /// Steps in order of time, without short ones.
    pub steps: Vec<PathStep>,
    /// Groups of two or more similar steps, longest total time first, limited in number. Their steps may also be in
    /// `steps`.
    pub groups: Vec<StepGroup>,
    /// Number of omitted steps.
    pub omitted_steps: u64,
    /// Total time of the omitted steps, ns.
    pub omitted_ns: i64,
    /// Records that were not recorded but would explain more time.
    pub missing_evidence: Vec<MissingRecords>,
    /// Names of the losses that affect this path.
    pub affecting_losses: Vec<String>,
}

/// A subject to look up on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// Processes with this image name, ignoring case.
    Process(&'a str),
    /// Processes that had this id.
    ProcessId(u32),
    Service(&'a str),
    Device(&'a str),
    /// A driver, by file name or service name.
    Driver(&'a str),
    File(&'a str),
}

impl CriticalPath {
    /// Time that the path spent in `subject` or in something it waited for, ns; 0 if never. An upper bound on the time
    /// saved by removing the subject.
    #[must_use]
    pub fn on_path_ns(&self, subject: Subject<'_>) -> i64 {
        self.on_path
            .iter()
            .filter(|row| row.matches(subject))
            .fold(0_i64, |sum, row| sum.saturating_add(row.ns))
            .min(self.duration_ns)
    }

    #[must_use]
    pub fn kind_ns(&self, kind: StepKind) -> i64 {
        self.kinds.iter().find(|share| share.kind == kind).map_or(0, |share| share.ns)
    }
}

impl SubjectOnPath {
    fn matches(&self, subject: Subject<'_>) -> bool {
        let (kind, name) = match subject {
            Subject::ProcessId(pid) => {
                return self.kind == SubjectKind::Process && self.pid == Some(pid);
            }
            Subject::Process(name) => (SubjectKind::Process, name),
            Subject::Service(name) => (SubjectKind::Service, name),
            Subject::Device(name) => (SubjectKind::Device, name),
            Subject::Driver(name) => (SubjectKind::Driver, driver_name(name)),
            Subject::File(name) => (SubjectKind::File, name),
        };
        self.kind == kind && self.name.eq_ignore_ascii_case(name)
    }
}

/// Short name of a driver: `\Driver\usbhub`, `usbhub` and `\SystemRoot\system32\drivers\usbhub.sys` all give `usbhub`.
#[must_use]
pub fn driver_name(name: &str) -> &str {
    let name = onoff_usage::owners::file_name(name);
    match name.len().checked_sub(4) {
        Some(stem_len) if name.get(stem_len..).is_some_and(|end| end.eq_ignore_ascii_case(".sys")) => {
            name.get(..stem_len).unwrap_or(name)
        }
        _ => name,
    }
}
