//! The steps a simulated thread executes.

use std::net::SocketAddr;

use uuid::Uuid;

use super::work::Transfer;
use onoff_testkit::assemble::Payload;
use onoff_testkit::events::EventTemplate;

/// Index of the System process in every plan.
pub(super) const SYSTEM: usize = 0;

/// An event that threads wait for and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Signal(pub(super) usize);

/// A time in the truth, set when the step that carries the note is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TruthNote {
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
    /// Winlogon asks for credentials.
    Credentials(Edge),
    Authentication(Edge),
    /// A subscriber of the logon notification works.
    Subscriber(usize, Edge),
    /// The wall clock is set back by this many ticks.
    ClockSetBack(u64),
    StartupApplication(usize),
    /// A notification is sent or answered.
    Notification(usize, Edge),
    Activity(usize, Edge),
    Milestone(usize),
    /// A milestone whose value is the wall clock.
    WallClock(usize),
    /// A device or driver receives or completes a power request.
    PowerRequest(usize, Edge),
    /// The only thing left is to wait for the request.
    PowerRequestWaiting(usize),
    /// A running service is asked to stop.
    ServiceStop(usize),
    /// The service reports SERVICE_STOP_PENDING.
    ServiceStopping(usize),
    /// The service reports SERVICE_STOPPED.
    ServiceStopped(usize),
    /// Ends a phase and starts the next.
    Phase,
    /// Ends ExplorerInit.
    DesktopReady,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Begin,
    End,
}

/// A step. Times are in ticks.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Compute(u64),
    Sleep(u64),
    /// Waits until this time.
    Until(u64),
    /// Saves the time for [`Step::PadTo`].
    Begin,
    /// Waits until this long after the last [`Step::Begin`].
    PadTo(u64),
    /// Records an event and sets the times of its notes.
    Emit(Box<EventTemplate>, Vec<TruthNote>),
    /// Records an event of the kernel logger.
    Kernel {
        hook: u16,
        payload: Payload,
        notes: Vec<TruthNote>,
    },
    /// The computer is off.
    Off {
        ticks: u64,
        clock_stopped: bool,
    },
    /// Advances the wall clock by the length of the sleep, as recorded by Windows 10 and by Windows 11 before 22H2.
    SetAfterSleep {
        ticks: u64,
        notes: Vec<TruthNote>,
    },
    Mark(String),
    /// Sends bytes over TCP and receives the same number.
    Send {
        size: u32,
        destination: SocketAddr,
    },
    /// Sets the wall clock back.
    SetClockBack(u64),
    /// Issues a disk request and waits for it.
    Disk {
        transfer: Transfer,
        size: u32,
        path: String,
    },
    /// Flushes the disk and waits.
    Flush,
    Set(Signal),
    Wait(Signal),
    /// Waits for a signal, with a timeout.
    WaitAtMost(Signal, u64),
    /// Waits this long, until a DPC of the driver.
    Device(u64, String),
    /// Starts opening a file.
    Open(String),
    /// Completes opening the file.
    Opened,
    /// Starts a DPC of this length.
    DpcBegin(u64),
    /// Ends the DPC of this driver.
    DpcEnd(String),
    /// Starts a process and sets the note to the time of its first record.
    Start(usize, Option<TruthNote>),
    /// Ends a process and all its threads.
    End(usize),
    /// Ends the last transition; the recording continues for its tail.
    Finish,
    /// Loads a module into the thread's process.
    Load(String),
    /// Alternately computes and sleeps.
    Loop {
        burst: u64,
        pause: u64,
        until: Option<u64>,
    },
}

impl Step {
    pub(super) fn emit(event: EventTemplate) -> Self {
        Self::Emit(Box::new(event), Vec::new())
    }

    pub(super) fn emit_noted(event: EventTemplate, note: TruthNote) -> Self {
        Self::Emit(Box::new(event), vec![note])
    }
}

#[derive(Clone, Debug)]
pub(super) struct ThreadPlan {
    pub(super) id: u32,
    pub(super) process: usize,
    pub(super) priority: u8,
    pub(super) io_priority: onoff_testkit::events::storage::IoPriority,
    pub(super) service_tag: u32,
    /// Preferred processor.
    pub(super) first_cpu: usize,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) struct ProcessPlan {
    pub(super) id: u32,
    pub(super) parent: u32,
    pub(super) session: u32,
    pub(super) image: String,
    /// NT path of the image.
    pub(super) path: String,
    pub(super) command: String,
    /// The process exists before the recording.
    pub(super) existing: bool,
    /// GUID of the image's PDB, if recorded.
    pub(super) symbols: Option<Uuid>,
    /// Call stack of its threads as offsets in the image; empty for a random one.
    pub(super) stack: Vec<u64>,
}
