//! Which rule set a time, a length or a kind: a code with its arguments. Reports and findings both name rules in their sentences: the
//! words of each are in `phrase`.

mod phrase;

use onoff_trace::codes;
use serde::Serialize;

use crate::phase_name::PhaseName;

/// The rule that set an answer, or that would have set a better one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Rule {
    /// There is none to name.
    #[default]
    None,
    /// Rules were tried, and none found anything.
    NotFound,
    /// From one boundary to another.
    Between {
        /// What set the first.
        start: Box<Rule>,
        /// What set the second.
        end: Box<Rule>,
    },
    /// A process of that image starts.
    ProcessStarts {
        /// File name of its image.
        process: String,
        /// Which of them, from 1.
        ordinal: u32,
    },
    /// A phase starts.
    PhaseStarts {
        /// Which.
        phase: PhaseName,
    },
    /// A phase ends.
    PhaseEnds {
        /// Which.
        phase: PhaseName,
    },
    /// From the end of an execution of csrss.exe to the session manager's execution of the next program.
    FromSubsystemToProgram {
        /// Which execution of csrss.exe, from 1.
        ordinal: u32,
        /// File name of the next program.
        program: String,
    },
    /// From a start of csrss.exe to the start of the next program: an upper bound.
    FromSubsystemStartToProgramStart {
        /// Which start of csrss.exe, from 1.
        ordinal: u32,
        /// File name of the next program.
        program: String,
    },
    /// A unit is reached.
    UnitReached {
        /// Which.
        unit: String,
    },
    /// The kernel is to restart the computer.
    KindKernelRestarts {
        /// The record that says so.
        event: String,
    },
    /// The kernel is to turn the computer off.
    KindKernelTurnsOff {
        /// The record that says so.
        event: String,
    },
    /// A memory image is to be written.
    KindImageToBeWritten {
        /// The record that says so.
        event: String,
    },
    /// A memory image is written after the user's session.
    KindImageAfterSession {
        /// The record that says so.
        event: String,
    },
    /// Idle time has come together.
    IdleTime(IdleTime),
    /// Idle time has not come together before something ended.
    IdleTimeCutOff {
        /// How much was to come together.
        wanted: IdleTime,
        /// What ended before.
        ended: IdleCutOff,
        /// What had come together, ns.
        found_ns: i64,
    },
    /// Idle time is not known, as processor times were not recorded.
    IdleTimeNotRecorded(IdleTime),
    /// More idle time before the recording's end.
    MoreIdleTime {
        /// How much more, ns.
        idle_ns: i64,
    },
    /// The kernel that was restored saw neither the writing nor the reading of the memory image: both are within the time asleep.
    ImageWithinSleep,
    /// The service control manager's begin of automatic starts.
    AutomaticStartsBegin,
    /// The service control manager's end of automatic starts.
    AutomaticStartsEnd,
    /// The first automatic start of a service.
    FirstAutomaticStart,
    /// The end of the last automatic start.
    LastAutomaticStartEnds,
    /// The phase's start event.
    DevicePhaseStarts,
    /// The start of its first operation.
    FirstOperationStarts,
    /// The phase's own end.
    DevicePhaseEnds,
    /// The end of its last operation.
    LastOperationEnds,
    /// The kernel's record of the time before the boot manager, read as milliseconds.
    KernelRecordsFirmwareTime,
    /// The firmware performance table: processor reset to the start of the boot manager.
    FirmwareTableInRecording,
    /// The kernel's record of the boot manager's time, read as milliseconds.
    KernelRecordsBootManagerTime,
    /// The loader's own begin and end.
    LoaderBeginAndEnd,
    /// The kernel's record of the time a person took, read as milliseconds.
    KernelRecordsPersonTime,
    /// The given firmware performance table: processor reset to the start of the boot manager.
    FirmwareTableGiven,
    /// The return of ExitBootServices is the kernel's start; the time between is not measured.
    ExitBootServicesIsKernelStart,
    /// Not placed: the recording contradicts these times.
    NotPlacedContradicted,
    /// Not placed: the return of ExitBootServices or the kernel's start is not known.
    NotPlacedUnknown,
    /// Not recorded.
    NotRecorded,
    /// The kernel's record of the time a person took at the resume loader.
    KernelRecordsPersonTimeAtResumeLoader,
    /// From the first record after the memory image was read to the desktop.
    FromMemoryImageToDesktop,
    /// Counting begins when the desktop is ready, which no rule found.
    IdleCountNeedsDesktop,
    /// The recording's last event.
    LastEvent,
    /// No rule: the recording began after smss.exe had started.
    RecordingBeganTooLate,
    /// A recording that begins with the kernel.
    RecordingFromTheKernel,
    /// The recording's first event.
    FirstEvent,
    /// The session manager's first program or subsystem.
    SessionManagerFirstProgram,
    /// The session manager's execution of winlogon.exe.
    SessionManagerRunsLogonProcess,
    /// The end of the session manager's last subsystem load.
    LastSubsystemLoaded,
    /// The logon process's launch of the shell.
    LogonProcessLaunchesShell,
    /// The start of the shell's initialization.
    ShellInitializationBegins,
    /// The start of the shell's way to a ready desktop.
    DesktopReadyBegins,
    /// The shell's report of a ready desktop.
    DesktopReady,
    /// The mark ExplorerReady.
    ExplorerReadyMark,
    /// The end of the shell's initialization.
    ShellInitializationEnds,
    /// The logon process's end of the user's boot.
    UserBootEnds,
    /// The end of the logon screen's process LogonUI.exe.
    LogonScreenEnds,
    /// Counting begins when the start is finished, which no rule found.
    IdleCountNeedsFinish,
    /// All units are read.
    UnitsRead,
    /// The first generator starts.
    FirstGeneratorStarts,
    /// The last generator ends.
    LastGeneratorEnds,
    /// The first unit is read.
    FirstUnitRead,
    /// The service manager of the root file system starts.
    ServiceManagerStarts,
    /// The kernel runs the initial file system's program.
    InitialProgramRuns,
    /// The service manager of the initial file system starts.
    InitialServiceManagerStarts,
    /// Every job of the start is done.
    StartJobsDone,
    /// The service manager's word that the start is finished.
    StartFinished,
    /// The firmware starts.
    FirmwareStarts,
    /// The loader starts.
    LoaderStarts,
    /// The kernel's clock starts.
    KernelClockStarts,
    /// The kernel's last initialization function ends.
    LastInitcallEnds,
    /// Default.target is another name of it.
    DefaultTargetIsAlias,
    /// The highest of the usual targets that was reached.
    HighestUsualTarget,
    /// The kernel's last line.
    KernelLastLine,
    /// The request for the shutdown.
    ShutdownRequested,
    /// The first unit that stops in the last run of stops.
    FirstUnitStops,
    /// The last program of the service manager.
    LastProgram,
    /// The first step of the last program.
    LastProgramFirstStep,
    /// What the last program or the kernel says.
    KindByLastProgram,
    /// The last target that was reached.
    KindByLastTarget,
    /// The kind that was requested.
    KindRequested,
    /// Nothing says it.
    KindUnknown,
    /// The last program sends SIGTERM to what still runs.
    LastProgramTerminates,
    /// The last program sends SIGKILL to what still runs.
    LastProgramKills,
    /// The last program takes file systems out.
    LastProgramUnmounts,
    /// Everything is detached, programs of the folder system-shutdown run.
    ShutdownHooksRun,
    /// The last program is done and asks the kernel.
    LastProgramAsksKernel,
    /// The service manager's last program starts.
    LastProgramStarts,
    /// The last unit that is recorded to have stopped.
    LastUnitStopped,
    /// The kernel's decision to sleep.
    KernelDecidesToSleep,
    /// The machine's entry.
    MachineEnters,
    /// The machine's return.
    MachineReturns,
    /// The end of the last phase on the way down.
    LastPhaseDownEnds,
    /// The start of the first phase on the way up.
    FirstPhaseUpStarts,
    /// Processes going on.
    ProcessesGoOn,
    /// The machine's entry and return.
    MachineEntersAndReturns,
    /// The machine did not sleep, or its entry was not recorded.
    NoMachineEntry,
    /// From the machine's entry to its return: the axis goes on in a suspend to idle.
    SleptOnTheAxis,
    /// By how much CLOCK_BOOTTIME went on and CLOCK_MONOTONIC did not, from readings of both before and after.
    SleptByClocks,
    /// The kernel's own count, from its log.
    SleptByKernelLog,
    /// CLOCK_MONOTONIC stands still while the machine sleeps, and no other clock was recorded.
    SleptByNoClock,
    /// The resume has no end in the recording.
    ResumeHasNoEnd,
    /// The kernel that was restored saw neither, and no clock that went on was recorded.
    ImageUnseenAndNoClock,
    /// From the last line before to the first after; which device took it is not logged.
    LogLinesAroundDevices,
    /// Its end is not in the recording.
    EndNotRecorded,
    /// Begin and end as traced.
    Traced,
    /// The log's line at the end and the length in it.
    LogLineWithLength,
    /// The log's time for preparing and suspending, less suspending.
    LogTimeLessSuspending,
    /// From the last line before the machine sleeps to the first after.
    LogLinesAroundSleep,
    /// From the restart of tasks to the end of the sleep, as logged.
    LogRestartOfTasks,
    /// The log's lines at begin and end.
    LogLines,
    /// The request for a shutdown.
    RequestForShutdown,
    /// The logon process's request for a shutdown.
    LogonProcessRequestsShutdown,
    /// The request to log off.
    RequestToLogOff,
    /// The first step of ending a session.
    FirstSessionStep,
    /// The first session whose applications were notified.
    FirstSessionNotified,
    /// The first application notified.
    FirstApplicationNotified,
    /// The request to the kernel.
    KernelRequested,
    /// The kernel's first step.
    KernelFirstStep,
    /// The first end of a process.
    FirstProcessEnds,
    /// The start of the power transition that follows.
    PowerTransitionFollows,
    /// The first user's session whose applications were notified.
    FirstUserSessionNotified,
    /// The first application of a user notified.
    FirstUserApplicationNotified,
    /// The first end of a user's program.
    FirstUserProgramEnds,
    /// All applications of the users' sessions ended.
    UserSessionsEnded,
    /// The start of what follows the users' sessions.
    AfterUserSessions,
    /// The last application of a user answered.
    LastUserApplicationAnswered,
    /// The last end of a user's program.
    LastUserProgramEnds,
    /// Services that registered for it are notified before all others.
    PreShutdownNotified,
    /// The system's session is notified.
    SystemSessionNotified,
    /// The first service notified to stop after the users' sessions.
    FirstServiceToldToStop,
    /// The system's session is over.
    SystemSessionOver,
    /// The wait for the system's processes is over.
    SystemProcessesWaitedFor,
    /// The last end of a service's host.
    LastServiceHostEnds,
    /// The kernel's record of what it is to do.
    KernelRecordsAction,
    /// The end of the system's session.
    SystemSessionEnds,
    /// The end of the kernel's last step.
    KernelLastStepEnds,
    /// The end of the kernel's orderly shutdown.
    KernelOrderlyShutdownEnds,
    /// A logoff was requested, and nothing shows a shutdown.
    LogoffAndNoShutdown,
    /// No record says what the kernel is to do.
    KernelActionUnknown,
    /// Not part of a shutdown for a fast startup.
    NotPartOfFastStartup,
    /// Not part of a logoff.
    NotPartOfLogoff,
    /// The service control manager's notification before shutdown.
    PreShutdownNotification,
    /// The notification before shutdown.
    NotificationBeforeShutdown,
    /// The system's session.
    SystemSession,
    /// The end of the notification before shutdown.
    PreShutdownNotificationEnds,
    /// As given.
    Given,
    /// The version of the system is not recorded.
    VersionNotRecorded,
    /// Windows Vista's.
    TimeOutOfVista,
    /// Windows 7's.
    TimeOutOfWindows7,
    /// The default after Windows 7; WaitToKillServiceTimeout may say otherwise.
    TimeOutAfterWindows7,
    /// The entry into modern standby.
    ModernStandbyEntered,
    /// The exit from modern standby.
    ModernStandbyLeft,
    /// The kernel's begin of the transition.
    KernelTransitionBegins,
    /// The last record before the sleep.
    LastRecordBeforeSleep,
    /// The start of writing the memory image.
    MemoryImageWriteStarts,
    /// The way down, which is not in the recording.
    WayDownNotRecorded,
    /// The first record after the sleep.
    FirstRecordAfterSleep,
    /// The kernel's end of the transition.
    KernelTransitionEnds,
    /// The kernel's account, which it records after the resume.
    KernelAccountAfterResume,
    /// The way up, which is not in the recording.
    WayUpNotRecorded,
    /// The end of the way down.
    WayDownEnds,
    /// The start of the way up.
    WayUpStarts,
    /// A way up whose records stand after those of the way down.
    WayUpBeforeWayDown,
    /// The real times of begin and end less both halves.
    RealTimesLessHalves,
    /// What the system's clock was set forward by.
    ClockSetForward,
    /// No rule: the real times leave no time for a sleep, so the clock was set meanwhile.
    RealTimesContradict,
    /// Modern standby was entered or left.
    KindModernStandby,
    /// The system calls it a fast startup.
    KindFastStartupBySystem,
    /// The boot is recorded as a fast startup.
    KindFastStartupByBootType,
    /// A memory image was written on the way to off.
    KindImageWrittenOnWayToOff,
    /// A memory image was written after the user's session had ended.
    KindImageWrittenAfterSession,
    /// A memory image was written on the way to sleep.
    KindImageWrittenOnWayToSleep,
    /// Devices were prepared for hibernation on the way to sleep.
    KindDevicesPreparedForHibernation,
    /// It resumed from a memory image.
    KindResumedFromImage,
    /// The system calls it a resume from hibernation.
    KindHibernationBySystem,
    /// Hibernation was requested.
    KindHibernationRequested,
    /// A memory image was written and none was read.
    KindImageWrittenNotRead,
    /// A memory image was written.
    KindImageWritten,
    /// Sleep was entered and no memory image written.
    KindSleepEntered,
    /// The system calls it a resume from sleep.
    KindSleepBySystem,
    /// Devices got a request to hibernate.
    KindDevicesToldToHibernate,
    /// Devices got a request to sleep.
    KindDevicesToldToSleep,
    /// Hibernation was the requested action.
    KindHibernationAction,
    /// Sleep was the requested action.
    KindSleepAction,
    /// No record says which state was entered.
    KindNotRecorded,
    /// The end of the resume.
    ResumeEnds,
    /// Counting begins at the end of the resume, which no rule found.
    IdleCountNeedsResume,
    /// The end of the resume, or the desktop.
    ResumeEndsOrDesktop,
    /// The state that was entered (Kernel-Power event 42).
    StateEntered,
    /// By the kernel's account, to the millisecond.
    KernelAccount,
    /// Its start, as recorded.
    StartRecorded,
    /// Its end, as recorded.
    EndRecorded,
    /// Its length, by the kernel's account.
    LengthByKernelAccount,
    /// The kernel's account of writing the memory image, recorded after the resume.
    KernelAccountOfImageWrite,
    /// The first that was notified in it.
    FirstNotifiedInIt,
    /// The last that was notified in it.
    LastNotifiedInIt,
    /// The request to end the session.
    RequestToEndSession,
    /// The first application notified of the end.
    FirstApplicationNotifiedOfEnd,
    /// The power manager's first record.
    PowerManagerFirstRecord,
    /// Context switches.
    ContextSwitches,
    /// Disk requests.
    DiskRequests,
    /// Profile samples.
    ProfileSamples,
    /// A phase that the firmware measured itself.
    FirmwareMeasurement {
        /// Name of the measurement.
        name: String,
    },
    /// From the start of a firmware phase to what follows it, as its end was not measured.
    FirmwarePhaseStart {
        /// Name of the phase.
        name: String,
    },
    /// From the firmware phase before to the end of this one, as its start was not measured.
    FirmwarePhaseEnd {
        /// Name of the phase.
        name: String,
    },
    /// The thread that created the process of an image.
    CreatingThread {
        /// File name of the image.
        image: String,
    },
    /// The thread that sent a request to a device.
    RequestingThread {
        /// Which device.
        device: String,
    },
    /// The thread that a device's request was made on.
    ThreadOfRequest {
        /// Which device, or its driver.
        device: String,
    },
    /// The thread that wrote a record.
    RecordingThread {
        /// Which record.
        event: String,
    },
    /// A thread of a service.
    ThreadOfService {
        /// Which.
        service: String,
    },
    /// The process is known by a rule; of its threads it is the one that ran last.
    RanLastOfProcess {
        /// What names the process.
        named_by: Box<Rule>,
    },
    /// The first connection to port 445.
    FirstFileServerConnection,
    /// From the end of the stage before to the next request.
    FromStageBeforeToRequest,
    /// From the end of the stage before to the end of the boot.
    FromStageBeforeToEnd,
    /// From the first DISCOVER to the ACK.
    FromDiscoverToAck,
    /// From the first SOLICIT to the REPLY.
    FromSolicitToReply,
    /// From the first question to the last message.
    FromQuestionToLastMessage,
    /// From the read request to the acknowledgment of the last block.
    FromReadToAcknowledgment,
    /// From the read request to the last packet.
    FromReadToLastPacket,
    /// From opening the connection, or the request, to the answer's last byte.
    FromConnectionToLastByte,
    /// The operating system's own DHCP.
    OperatingSystemDhcp,
    /// The operating system's first file server.
    OperatingSystemFileServer,
    /// The acknowledgment of the last file's last block.
    LastBlockAcknowledged,
    /// The last packet of the last transfer.
    LastTransferPacket,
    /// The last byte of the last download.
    LastDownloadByte,
    /// The last DHCP message.
    LastDhcpMessage,
    /// Nothing came after the first frame.
    NothingAfterFirstFrame,
    /// End of reset to the mark SEC.
    FromResetToSec,
    /// Signal of the event ReadyToBoot.
    ReadyToBootSignaled,
    /// Mark ReadyToBoot.
    ReadyToBootMarked,
    /// Start of BdsAttempt, which follows the event ReadyToBoot.
    BootAttemptStarts,
    /// The thread asked about.
    ThreadAskedAbout,
    /// No rule: no context switches were recorded.
    NoContextSwitches,
    /// A thread of the first process.
    ThreadOfFirstProcess,
    /// No rule: nobody ran before.
    NobodyRanBefore,
    /// The thread that notified others of the transition.
    NotifyingThread,
    /// A thread that ran at that moment: no record names who ended it.
    ThreadThatRan,
    /// The last thread that ran before: no record names who ended it.
    ThreadThatRanBefore,
    /// The service manager, which starts it when those before it are done.
    ServiceManagerStartsIt,
    /// The thread that sent the request.
    SendingThread,
}

/// Idle time as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleTime {
    /// How much must come together, ns.
    pub required_idle_ns: i64,
    /// Length of a slice, ns.
    pub slice_ns: i64,
    /// A slice is idle while processors and disk are each less busy than this, in thousandths.
    pub busy_limit_per_mille: i64,
    /// Whether a slice that is just as busy is idle.
    pub busy_limit_included: bool,
}

codes! {
    /// What ended before enough idle time had come together.
    pub enum IdleCutOff {
        /// The time that was looked at: the computer may go to sleep again then.
        LookedAt = "looked_at",
        /// The times of the processors, before the recording did.
        ProcessorTimes = "processor_times",
        /// The recording.
        Recording = "recording",
    }
}
