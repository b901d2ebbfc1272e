//! What a simulated thread does: steps the machine plays one after another.

use std::net::SocketAddr;

use uuid::Uuid;

use super::work::Transfer;
use onoff_testkit::assemble::Payload;
use onoff_testkit::events::Occurrence;

/// Index of the System process in every plan.
pub(super) const SYSTEM: usize = 0;

/// An event threads wait for and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Signal(pub(super) usize);

/// A fact of the truth whose time is that of the step that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    BootStart(Edge),
    SystemStart(Edge),
    AutoStart(Edge),
    Group(usize, Edge),
    ServiceStart(usize),
    ServiceCheckpoint(usize),
    ServiceLoad(usize),
    ServiceEnd(usize),
    DeviceStart(usize),
    DevicePend(usize),
    DeviceEnd(usize),
    SystemVideo(Edge),
    UserVideo(Edge),
    ComputerPolicy(Edge),
    UserPolicy(Edge),
    Script(Edge),
    StartupApplication(usize),
    /// Somebody is told of a transition, or answers.
    Notification(usize, Edge),
    /// A transition's activity.
    Activity(usize, Edge),
    /// A transition's milestone.
    Milestone(usize),
    /// A milestone whose quantity is the wall clock's time.
    WallClock(usize),
    /// A device or driver gets a power request, or completes it.
    PowerRequest(usize, Edge),
    /// Nothing is left to do but wait for a request.
    PowerRequestWaiting(usize),
    /// A running service is told to stop.
    ServiceStop(usize),
    /// It reports that it is stopping.
    ServiceStopping(usize),
    /// It reports that it has stopped.
    ServiceStopped(usize),
    /// The step ends a phase; the next begins.
    Phase,
    /// The step ends ExplorerInit.
    DesktopReady,
}

/// Begin or end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Begin,
    End,
}

/// One step of a thread.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Computes for so many ticks.
    Compute(u64),
    /// Waits for so many ticks.
    Sleep(u64),
    /// Waits until a time.
    Until(u64),
    /// Remembers the time, for [`Step::Pad`].
    Begin,
    /// Waits until so many ticks after the last [`Step::Begin`].
    Pad(u64),
    /// Records an event, and notes its time.
    Tell(Box<Occurrence>, Vec<Note>),
    /// Records an event of the kernel's own logger.
    Kernel { hook: u16, payload: Payload, notes: Vec<Note> },
    /// The computer is off for so many ticks.
    Off { ticks: u64, clock_stands_still: bool },
    /// The wall clock is set for the sleep that it did not count, as Windows 10 and 11 before 22H2 record it.
    SetAfterSleep { ticks: u64, notes: Vec<Note> },
    /// Records a mark.
    Mark(String),
    /// Sends bytes by TCP, and gets as many back.
    Send { size: u32, to: SocketAddr },
    /// The wall clock is set back by so many ticks.
    SetBack(u64),
    /// A disk request; waits for it.
    Disk { transfer: Transfer, size: u32, path: String },
    /// A flush; waits for it.
    Flush,
    /// Sets a signal.
    Set(Signal),
    /// Waits for a signal.
    Wait(Signal),
    /// Waits for a signal, but at most so many ticks.
    WaitAtMost(Signal, u64),
    /// Waits for so many ticks, until a deferred procedure call of this driver.
    Device(u64, String),
    /// Begins to open a file.
    Open(String),
    /// The file has been opened.
    Opened,
    /// The processor begins a deferred procedure call of so many ticks.
    DpcBegin(u64),
    /// The call, which is this driver's, is over.
    DpcEnd(String),
    /// Starts a process: its first record carries the note.
    Start(usize, Option<Note>),
    /// Ends a process with all its threads.
    End(usize),
    /// The last transition is over; the recording goes on for its tail.
    Finish,
    /// Loads a module into the thread's process.
    Load(String),
    /// Computes and sleeps by turns.
    Loop { burst: u64, pause: u64, until: Option<u64> },
}

impl Step {
    pub(super) fn tell(occurrence: Occurrence) -> Self {
        Self::Tell(Box::new(occurrence), Vec::new())
    }

    pub(super) fn tell_note(occurrence: Occurrence, note: Note) -> Self {
        Self::Tell(Box::new(occurrence), vec![note])
    }
}

/// A thread to be played.
#[derive(Clone, Debug)]
pub(super) struct ThreadPlan {
    pub(super) id: u32,
    pub(super) process: usize,
    pub(super) priority: u8,
    pub(super) io_priority: onoff_testkit::events::storage::IoPriority,
    pub(super) service_tag: u32,
    /// Processor it prefers first.
    pub(super) first_cpu: usize,
    pub(super) steps: Vec<Step>,
}

/// A process to be played.
#[derive(Clone, Debug)]
pub(super) struct ProcessPlan {
    pub(super) id: u32,
    pub(super) parent: u32,
    pub(super) session: u32,
    pub(super) image: String,
    /// Full NT path of the image.
    pub(super) path: String,
    pub(super) command: String,
    /// Exists before the recording begins.
    pub(super) existing: bool,
    /// Symbol identity of the image, when it is known.
    pub(super) symbols: Option<Uuid>,
    /// Call stack of its threads, as addresses within the image; empty where any will do.
    pub(super) stack: Vec<u64>,
}
