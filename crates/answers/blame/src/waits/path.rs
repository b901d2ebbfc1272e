//! The critical path of a range: its steps, and what its time was.

use onoff_trace::ServiceChange;
use serde::Serialize;

use onoff_evidence::Certainty;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_evidence::rule::Rule;

/// A frame of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StackFrame {
    /// File name of the module; empty when no known module holds the address.
    pub module: String,
    /// Function, where symbols were given or a .NET runtime said so; else empty.
    pub function: String,
    /// Address within the module, or within the method that a runtime compiled; the whole address where neither is known. In
    /// hexadecimal.
    pub offset: String,
    /// The module's row in the table of images.
    #[serde(skip)]
    pub image: Option<usize>,
    /// Address within the module.
    #[serde(skip)]
    pub relative_address: u64,
}

impl StackFrame {
    /// As text: `module!function`, `module+0x12` or the address.
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

/// What time of a path was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A thread ran.
    Cpu,
    /// A thread could run but had no processor.
    Ready,
    /// A thread waited for a disk request.
    Disk,
    /// A thread waited for a timer: it slept, or a wait reached its time limit.
    Timer,
    /// A thread waited for an interrupt or a deferred procedure call of a driver.
    Device,
    /// Others waited for a service on its way to another state, and nothing explains more; never more than inferred.
    ServiceDependency,
    /// Not known; the reason is given.
    Other,
}

impl StepKind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Self; 7] =
        [Self::Cpu, Self::Ready, Self::Disk, Self::Timer, Self::Device, Self::ServiceDependency, Self::Other];

    /// The name, as in JSON.
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
    /// Name given to the thread; empty when none was recorded.
    pub name: String,
    /// Process id; `None` when not known.
    pub pid: Option<u32>,
    /// Image file name of the process; empty when not known.
    pub process: String,
    /// The services of Windows that the process hosts, where they were recorded: a few of many.
    pub services: Vec<String>,
}

/// A service that was waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitedService {
    /// Its name.
    pub name: String,
    /// Whether it started or stopped.
    pub change: ServiceChange,
    /// Asked for, ns.
    pub start_ns: i64,
    /// Done, ns; `None` when it was not over when the recording ended.
    pub ready_ns: Option<i64>,
}

/// A service that was waited for, and how long.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceWait {
    /// The service.
    pub service: WaitedService,
    /// Time of the path in which it was waited for, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// One step of a path. Steps follow one another without a gap.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathStep {
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// Whose step it is.
    pub thread: PathThread,
    /// What the thread did.
    pub kind: StepKind,
    /// The file of a disk request, the driver of a timer or an interrupt, the reason why more is not known; for `cpu` what ran
    /// where that was no thread; else empty.
    pub detail: String,
    /// The service that was waited for with this step, of whose process the thread is where one is known; `None` where the
    /// events of threads explain the path.
    pub service: Option<WaitedService>,
    /// How certain it is.
    pub certainty: Certainty,
    /// Why the system says the thread waited, e.g. `WrQueue`; empty when it did not wait or nothing was said.
    pub wait_reason: String,
    /// Thread that this one made ready at the step's end; `None` when the next step is its own.
    pub readies_tid: Option<u32>,
    /// Threads that wait for this one, innermost first.
    pub waiters: Vec<u32>,
    /// Device whose request the thread, or one that waits for it, was carrying out; empty when none was recorded.
    pub device: String,
    /// Call stack, innermost first: of a wait, that of the thread when it came back from it; of work, that with which it
    /// made the next thread ready. Empty when none was recorded.
    pub stack: Vec<StackFrame>,
    /// Time of the event whose stack that is, ns.
    #[serde(skip)]
    pub stack_ns: Option<i64>,
}

/// Steps of one thread that are alike: all that ran, or waited for one file, one timer, one driver or one service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepGroup {
    /// What the steps were.
    pub kind: StepKind,
    /// Whose they are.
    pub thread: PathThread,
    /// As a step's.
    pub detail: String,
    /// Name of the service that was waited for with them; empty for none.
    pub service: String,
    /// Device at whose requests a thread waited; empty when none was recorded, and for what ran.
    pub device: String,
    /// How many.
    pub count: u64,
    /// Their time, ns.
    pub ns: i64,
    /// The longest of them, ns.
    pub longest_ns: i64,
    /// Begin of the first, ns.
    pub start_ns: i64,
    /// End of the last, ns.
    pub end_ns: i64,
}

/// Time of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindShare {
    /// What the time was.
    pub kind: StepKind,
    /// Time, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// Time of one kind that one process, driver, service or reason accounts for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathShare {
    /// What the time was.
    pub kind: StepKind,
    /// Process for `cpu`, `ready`, `timer` and `disk`, driver for `device`, service for
    /// `service_dependency`, reason for `other`; empty when it
    /// has no name.
    pub name: String,
    /// Process id, where the name is that of a process.
    pub pid: Option<u32>,
    /// Time, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// What a path goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A process; the name is its image.
    Process,
    /// A service, while it started or stopped.
    Service,
    /// A device, while a request to it was carried out.
    Device,
    /// A driver.
    Driver,
    /// A file that was read or written.
    File,
}

impl SubjectKind {
    /// The name, as in JSON.
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

/// How long a path was in a subject, or in something that the subject waited for. Subjects overlap: their times do not
/// sum to the path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnPath {
    /// What it is.
    pub kind: SubjectKind,
    /// Its name.
    pub name: String,
    /// Process id, for processes.
    pub pid: Option<u32>,
    /// Time, ns.
    pub ns: i64,
    /// Percentage of the path.
    pub percent: f64,
}

/// The chain of steps that a stretch of time consists of, from its end back to its begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPath {
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns: the sum of `kinds`, and of `shares`.
    pub duration_ns: i64,
    /// The thread at the end, where the walk began.
    pub end_thread: PathThread,
    /// By what rule it was chosen.
    pub end_rule: Rule,
    /// How certain it is that this thread ended the stretch.
    pub end_certainty: Certainty,
    /// Time by kind, most first; the times sum exactly to `duration_ns`.
    pub kinds: Vec<KindShare>,
    /// Time by kind and name, most first; the times sum exactly to `duration_ns`.
    pub shares: Vec<PathShare>,
    /// Time that rests on events that define it, ns.
    pub measured_ns: i64,
    /// Time that rests on others that stand in, ns.
    pub inferred_ns: i64,
    /// Time that nothing explains, ns.
    pub missing_ns: i64,
    /// What the path goes through, most first.
    pub on_path: Vec<OnPath>,
    /// Services that were waited for, in order of time.
    pub services: Vec<ServiceWait>,
    /// Steps in order of time; short ones may be left out.
    pub steps: Vec<PathStep>,
    /// Steps that are alike, two or more of each, what took longest first: the longest such groups. Their steps may also be among
    /// `steps`.
    pub groups: Vec<StepGroup>,
    /// How many steps were left out.
    pub steps_left_out: u64,
    /// Their time, ns.
    pub left_out_ns: i64,
    /// Records that are lacking and would say more.
    pub missing: Vec<MissingRecords>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}

/// Something that a path may go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// Processes of this image, compared without case.
    Process(&'a str),
    /// The processes that had this id.
    ProcessId(u32),
    /// A service.
    Service(&'a str),
    /// A device instance.
    Device(&'a str),
    /// A driver, by file name or by service name.
    Driver(&'a str),
    /// A file.
    File(&'a str),
}

impl CriticalPath {
    /// How long the path was in `subject` or in something that it waited for, ns; 0 when it never was. This is about what
    /// the stretch would be shorter by without it, and never more.
    #[must_use]
    pub fn on_path_ns(&self, subject: Subject<'_>) -> i64 {
        self.on_path
            .iter()
            .filter(|row| row.is(subject))
            .fold(0_i64, |sum, row| sum.saturating_add(row.ns))
            .min(self.duration_ns)
    }

    /// Time of one kind, ns.
    #[must_use]
    pub fn kind_ns(&self, kind: StepKind) -> i64 {
        self.kinds.iter().find(|share| share.kind == kind).map_or(0, |share| share.ns)
    }
}

impl OnPath {
    fn is(&self, subject: Subject<'_>) -> bool {
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

/// A driver's short name: of `\Driver\usbhub`, `usbhub` and `\SystemRoot\system32\drivers\usbhub.sys` the same.
pub(crate) fn driver_name(name: &str) -> &str {
    let name = onoff_usage::owners::file_name(name);
    match name.len().checked_sub(4) {
        Some(at) if name.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(".sys")) => {
            name.get(..at).unwrap_or(name)
        }
        _ => name,
    }
}
