//! Rules that set a time, a length or a kind. A rule is a code with arguments; `phrase` has its wording in reports and
//! findings.

mod phrase;

use onoff_trace::codes;
use serde::Serialize;

use crate::phase_name::PhaseName;

/// The rule that set an answer, or would have set a better one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Rule {
    /// No rule.
    #[default]
    None,
    /// No rule matched.
    NotFound,
    /// From one boundary to another.
    Between {
        /// The rule of the first boundary.
        start: Box<Rule>,
        /// The rule of the second boundary.
        end: Box<Rule>,
    },
    /// A process with this image starts.
    ProcessStarts {
        /// Image file name.
        process: String,
        /// Which start of that image, from 1.
        ordinal: u32,
    },
    /// A phase starts.
    PhaseStarts { phase: PhaseName },
    /// A phase ends.
    PhaseEnds { phase: PhaseName },
    /// From the end of an execution of csrss.exe to the execution of the next program by the session manager.
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
    /// A field of Windows' own account of the boot or shutdown (events 100 and 200 of Diagnostics-Performance).
    WindowsAccount { field: &'static str },
    /// The record of the kernel's start in the System log.
    KernelStartRecord,
    /// The first record of a shutdown in the System log: the event log service stops, or the kernel records the action.
    FirstShutdownRecord,
    /// The wall clock stopped for the sleep; the first record after the sleep still has that time.
    ClockStopped,
    /// A unit was reached.
    UnitReached { unit: String },
    /// The requested action was restart.
    KindKernelRestarts {
        /// The record with the action.
        event: String,
    },
    /// The requested action was power-off.
    KindKernelPowersOff {
        /// The record with the action.
        event: String,
    },
    /// The requested action was to write a memory image.
    KindImageWriteRequested {
        /// The record with the action.
        event: String,
    },
    /// Devices were prepared for hibernation before power-off.
    KindPreparedForHibernationBeforePowerOff,
    /// A memory image was written after the user session.
    KindImageAfterSession {
        /// The record with the action.
        event: String,
    },
    /// Enough idle time had accumulated.
    IdleTime(IdleTime),
    /// The data ended before enough idle time had accumulated.
    IdleTimeCutOff {
        /// The required idle time.
        wanted: IdleTime,
        /// What ended first.
        ended: IdleCutOff,
        /// Accumulated idle time, ns.
        found_ns: i64,
    },
    /// Idle time is unknown because CPU usage was not recorded.
    IdleTimeNotRecorded(IdleTime),
    /// More idle time was needed before the end of the recording.
    MoreIdleTime {
        /// Missing idle time, ns.
        idle_ns: i64,
    },
    /// The kernel that was restored saw neither the writing nor the reading of the memory image: both are within the
    /// time asleep.
    ImageWithinSleep,
    /// The start of auto-start services, from the service control manager.
    AutoStartBegins,
    /// The end of auto-start services, from the service control manager.
    AutoStartEnds,
    /// The first automatic start of a service.
    FirstAutomaticStart,
    /// The end of the last automatic start.
    LastAutomaticStartEnds,
    /// The start event of the phase.
    DevicePhaseStarts,
    /// The start of the phase's first operation.
    FirstOperationStarts,
    /// The end event of the phase.
    DevicePhaseEnds,
    /// The end of the phase's last operation.
    LastOperationEnds,
    /// Time before the boot manager as recorded by the kernel, taken as milliseconds.
    KernelRecordsFirmwareTime,
    /// Firmware performance table: from processor reset to the start of the boot manager.
    FirmwareTableInRecording,
    /// Firmware performance table whose clock kept running over resets: from the end of the reset to the start of the
    /// boot manager.
    FirmwareTableFromResetEnd,
    /// Boot manager time as recorded by the kernel, taken as milliseconds.
    KernelRecordsBootManagerTime,
    /// Loader start and end as recorded by the loader.
    LoaderStartAndEnd,
    /// User input time as recorded by the kernel, taken as milliseconds.
    KernelRecordsUserInput,
    /// Given firmware performance table: from processor reset to the start of the boot manager.
    FirmwareTableGiven,
    /// ExitBootServices return taken as the kernel start; the time between them is not measured.
    ExitBootServicesIsKernelStart,
    /// Not on the time axis: the recording contradicts these times.
    NotPlacedContradicted,
    /// Not on the time axis: the return of ExitBootServices or the kernel start is unknown.
    NotPlacedUnknown,
    /// Not recorded.
    NotRecorded,
    /// User input time at the resume loader, as recorded by the kernel.
    KernelRecordsUserInputAtResumeLoader,
    /// From the first record after the memory image was read to the desktop.
    FromMemoryImageToDesktop,
    /// Idle counting starts when the desktop is ready, but no rule found that time.
    IdleCountNeedsDesktop,
    /// The last event of the recording.
    LastEvent,
    /// No rule matched: the recording started after smss.exe.
    RecordingStartedTooLate,
    /// The recording starts with the kernel.
    RecordingStartsWithKernel,
    /// The first event of the recording.
    FirstEvent,
    /// The first program or subsystem of the session manager.
    SessionManagerFirstProgram,
    /// The execution of winlogon.exe by the session manager.
    SessionManagerRunsLogonProcess,
    /// The end of the last subsystem load of the session manager.
    LastSubsystemLoaded,
    /// The launch of the shell by Winlogon.
    LogonProcessLaunchesShell,
    /// The start of shell initialization.
    ShellInitializationBegins,
    /// The start of the shell's desktop preparation.
    DesktopReadyBegins,
    /// The desktop-ready event of the shell.
    DesktopReady,
    /// The ExplorerReady mark.
    ExplorerReadyMark,
    /// The end of shell initialization.
    ShellInitializationEnds,
    /// The end of the user's boot in Winlogon.
    UserBootEnds,
    /// The exit of the logon screen (LogonUI.exe).
    LogonScreenEnds,
    /// Idle counting starts when the boot is finished, but no rule found that time.
    IdleCountNeedsFinish,
    /// All units loaded.
    UnitsLoaded,
    /// The start of the first generator.
    FirstGeneratorStarts,
    /// The end of the last generator.
    LastGeneratorEnds,
    /// The first unit loaded.
    FirstUnitLoaded,
    /// The start of the service manager of the root file system.
    ServiceManagerStarts,
    /// The start of the initramfs program by the kernel.
    InitramfsProgramStarts,
    /// The start of the service manager of the initramfs.
    InitramfsServiceManagerStarts,
    /// All start jobs done.
    StartJobsDone,
    /// The startup-finished message of the service manager.
    StartFinished,
    /// The start of the firmware.
    FirmwareStarts,
    /// The start of the loader.
    LoaderStarts,
    /// The start of the kernel's clock.
    KernelClockStarts,
    /// The end of the last initcall.
    LastInitcallEnds,
    /// `default.target` is an alias of this target.
    DefaultTargetIsAlias,
    /// The highest standard target that was reached.
    HighestStandardTarget,
    /// The last line of the kernel log.
    KernelLastLine,
    /// The shutdown request.
    ShutdownRequested,
    /// The first unit to stop in the last series of stops.
    FirstUnitStops,
    /// The last program of the service manager.
    LastProgram,
    /// The first step of systemd-shutdown.
    SystemdShutdownFirstStep,
    /// From messages of systemd-shutdown or the kernel.
    KindBySystemdShutdown,
    /// From the last target that was reached.
    KindByLastTarget,
    /// From the request.
    KindRequested,
    /// Not recorded.
    KindUnknown,
    /// SIGTERM from systemd-shutdown to the remaining processes.
    SystemdShutdownSendsTerm,
    /// SIGKILL from systemd-shutdown to the remaining processes.
    SystemdShutdownSendsKill,
    /// Unmounting by systemd-shutdown.
    SystemdShutdownUnmounts,
    /// The start of the scripts in system-shutdown, after everything is detached.
    ShutdownHooksRun,
    /// The call to the kernel by systemd-shutdown.
    SystemdShutdownCallsKernel,
    /// The start of systemd-shutdown.
    SystemdShutdownStarts,
    /// The last recorded stop of a unit.
    LastUnitStopped,
    /// The kernel's decision to sleep.
    KernelDecidesToSleep,
    /// The machine entering the sleep state.
    SleepStateEntered,
    /// The machine leaving the sleep state.
    SleepStateExited,
    /// The end of the last suspend phase.
    LastSuspendPhaseEnds,
    /// The start of the first resume phase.
    FirstResumePhaseStarts,
    /// Processes being thawed.
    ProcessesThawed,
    /// The machine entering and leaving the sleep state.
    SleepStateEnteredAndExited,
    /// The machine did not sleep, or entering the sleep state was not recorded.
    SleepStateNotEntered,
    /// From entering to leaving the sleep state (the clock keeps running in suspend-to-idle).
    SleepOnTimeAxis,
    /// The difference between CLOCK_BOOTTIME and CLOCK_MONOTONIC, from readings of both before and after.
    SleepByClocks,
    /// Sleep time from the kernel log.
    SleepByKernelLog,
    /// CLOCK_MONOTONIC stops during sleep, and no other clock was recorded.
    NoClockDuringSleep,
    /// The end of the resume is not in the recording.
    ResumeEndNotRecorded,
    /// The restored kernel saw neither the write nor the read of the memory image, and no clock that keeps running was recorded.
    ImageAndClockNotRecorded,
    /// From the last log line before to the first one after; the log does not name the slow device.
    LogLinesAroundDevices,
    /// The end is not in the recording.
    EndNotRecorded,
    /// Start and end from the trace.
    Traced,
    /// The log line at the end, which contains the duration.
    LogLineWithDuration,
    /// Logged time of preparing and suspending, minus suspending.
    LogTimeMinusSuspend,
    /// From the last log line before the sleep to the first one after.
    LogLinesAroundSleep,
    /// From the log line about restarting tasks to the end of the suspend.
    LogTaskRestart,
    /// Log lines at start and end.
    LogLines,
    /// The shutdown request.
    RequestForShutdown,
    /// The shutdown request of Winlogon.
    LogonProcessRequestsShutdown,
    /// The logoff request.
    RequestToLogOff,
    /// The first step of ending a session.
    FirstSessionStep,
    /// The first session whose applications were notified.
    FirstSessionNotified,
    /// The first application notification.
    FirstApplicationNotified,
    /// The request to the kernel.
    KernelRequested,
    /// The kernel's first step.
    KernelFirstStep,
    /// The first process exit.
    FirstProcessEnds,
    /// The start of the power transition that follows.
    PowerTransitionFollows,
    /// The first user session whose applications were notified.
    FirstUserSessionNotified,
    /// The first notification of a user's application.
    FirstUserApplicationNotified,
    /// The first exit of a user's program.
    FirstUserProgramEnds,
    /// The end of all applications in user sessions.
    UserSessionsEnded,
    /// The start of the phase after the user sessions.
    AfterUserSessions,
    /// The last response of a user's application.
    LastUserApplicationResponded,
    /// The last exit of a user's program.
    LastUserProgramEnds,
    /// The notification of pre-shutdown services.
    PreShutdownNotified,
    /// The notification of the system session.
    SystemSessionNotified,
    /// The first service stop request after the user sessions.
    FirstServiceStopRequested,
    /// The end of the system session's shutdown.
    SystemSessionShutdownEnds,
    /// The end of the wait for system processes.
    SystemProcessWaitEnds,
    /// The last exit of a service host process.
    LastServiceHostEnds,
    /// The kernel's record of the requested action.
    KernelRecordsAction,
    /// The end of the system session.
    SystemSessionEnds,
    /// The end of the kernel's last step.
    KernelLastStepEnds,
    /// The end of the kernel's orderly shutdown.
    KernelOrderlyShutdownEnds,
    /// A logoff was requested, and no shutdown was recorded.
    LogoffAndNoShutdown,
    /// The action requested from the kernel was not recorded.
    KernelActionUnknown,
    /// Not part of a shutdown with fast startup.
    NotPartOfFastStartup,
    /// Not part of a logoff.
    NotPartOfLogoff,
    /// The pre-shutdown notification by the service control manager.
    PreShutdownNotification,
    /// The pre-shutdown notification.
    NotificationBeforeShutdown,
    /// The system session.
    SystemSession,
    /// The end of the pre-shutdown notification.
    PreShutdownNotificationEnds,
    /// As given.
    Given,
    /// The Windows version is not recorded.
    VersionNotRecorded,
    /// The Windows Vista default.
    TimeOutOfVista,
    /// The Windows 7 default.
    TimeOutOfWindows7,
    /// The default after Windows 7 (WaitToKillServiceTimeout may override it).
    TimeOutAfterWindows7,
    /// The entry into modern standby.
    ModernStandbyEntered,
    /// The exit from modern standby.
    ModernStandbyExited,
    /// The start of the transition in the kernel.
    KernelTransitionBegins,
    /// The last record before the sleep.
    LastRecordBeforeSleep,
    /// The start of the memory image write.
    MemoryImageWriteStarts,
    /// The suspend, which is not in the recording.
    SuspendNotRecorded,
    /// The first record after the sleep.
    FirstRecordAfterSleep,
    /// The end of the transition in the kernel.
    KernelTransitionEnds,
    /// The kernel's own times, recorded after the resume.
    KernelAccountAfterResume,
    /// The resume, which is not in the recording.
    ResumeNotRecorded,
    /// The end of the suspend.
    SuspendEnds,
    /// The start of the resume.
    ResumeStarts,
    /// A resume recorded after the suspend.
    ResumeBeforeSuspend,
    /// Wall-clock time from start to end, minus suspend and resume.
    WallClockMinusSuspendAndResume,
    /// The start and end of the session in the power report.
    PowerReportSession,
    /// The clock adjustment after the sleep.
    ClockAdjustedAfterSleep,
    /// No rule matched: the wall-clock times leave no room for a sleep, so the clock was changed.
    WallClockContradicts,
    /// Modern standby was entered or left.
    KindModernStandby,
    /// Windows reported a fast startup.
    KindFastStartupBySystem,
    /// The recorded boot type is fast startup.
    KindFastStartupByBootType,
    /// A memory image was written before power-off.
    KindImageWrittenBeforePowerOff,
    /// A memory image was written after the user session ended.
    KindImageWrittenAfterSession,
    /// A memory image was written before the sleep.
    KindImageWrittenBeforeSleep,
    /// Devices were prepared for hibernation before the sleep.
    KindDevicesPreparedForHibernation,
    /// The computer resumed from a memory image.
    KindResumedFromImage,
    /// Windows reported a resume from hibernation.
    KindHibernationBySystem,
    /// Hibernation was requested.
    KindHibernationRequested,
    /// A memory image was written but not read.
    KindImageWrittenNotRead,
    /// A memory image was written.
    KindImageWritten,
    /// The computer entered sleep without writing a memory image.
    KindSleepEntered,
    /// Windows reported a resume from sleep.
    KindSleepBySystem,
    /// Devices received a hibernation request.
    KindDevicesRequestedToHibernate,
    /// Devices received a sleep request.
    KindDevicesRequestedToSleep,
    /// The requested action was hibernation.
    KindHibernationAction,
    /// The requested action was sleep.
    KindSleepAction,
    /// The entered state was not recorded.
    KindNotRecorded,
    /// The end of the resume.
    ResumeEnds,
    /// Idle counting starts at the end of the resume, but no rule found that time.
    IdleCountNeedsResume,
    /// The end of the resume, or the desktop.
    ResumeEndsOrDesktop,
    /// The entered state (Kernel-Power event 42).
    StateEntered,
    /// The kernel's own times, to the millisecond.
    KernelAccount,
    /// The recorded start of the phase.
    StartRecorded,
    /// The recorded end of the phase.
    EndRecorded,
    /// The duration of the phase from the kernel's own times.
    DurationByKernelAccount,
    /// The kernel's own time for writing the memory image, recorded after the resume.
    KernelAccountOfImageWrite,
    /// The first notification in the phase.
    FirstNotification,
    /// The last notification in the phase.
    LastNotification,
    /// The request to end the session.
    RequestToEndSession,
    /// The first notification of an application about the end of the session.
    FirstApplicationNotifiedOfEnd,
    /// The first record of the power manager.
    PowerManagerFirstRecord,
    /// Context switches.
    ContextSwitches,
    /// Disk requests.
    DiskRequests,
    /// Profile samples.
    ProfileSamples,
    /// A phase measured by the firmware itself.
    FirmwareMeasurement {
        /// Name of the measurement.
        name: String,
    },
    /// From the start of a firmware phase to the next event; its end was not measured.
    FirmwarePhaseStart { name: String },
    /// From the end of the previous firmware phase to the end of this one; its start was not measured.
    FirmwarePhaseEnd { name: String },
    /// The thread that created a process with this image.
    CreatingThread {
        /// Image file name.
        image: String,
    },
    /// The thread that sent a request to a device.
    RequestingThread { device: String },
    /// The thread that a device request ran on.
    ThreadOfRequest {
        /// Device instance, or its driver.
        device: String,
    },
    /// The thread that logged a record.
    RecordingThread { event: String },
    /// A thread of a service.
    ThreadOfService { service: String },
    /// The thread that ran last in a process named by another rule.
    LastThreadOfProcess {
        /// The rule that names the process.
        named_by: Box<Rule>,
    },
    /// The first connection to port 445.
    FirstFileServerConnection,
    /// From the end of the previous stage to the next request.
    FromPreviousStageToRequest,
    /// From the end of the previous stage to the end of the boot.
    FromPreviousStageToEnd,
    /// From the first DISCOVER to the ACK.
    FromDiscoverToAck,
    /// From the first SOLICIT to the REPLY.
    FromSolicitToReply,
    /// From the first request to the last message.
    FromRequestToLastMessage,
    /// From the read request to the acknowledgment of the last block.
    FromReadToAcknowledgment,
    /// From the read request to the last packet.
    FromReadToLastPacket,
    /// From opening the connection, or the request, to the last byte of the response.
    FromConnectionToLastByte,
    /// DHCP of the operating system.
    OperatingSystemDhcp,
    /// The first file server connection of the operating system.
    OperatingSystemFileServer,
    /// The acknowledgment of the last block of the last file.
    LastBlockAcknowledged,
    /// The last packet of the last transfer.
    LastTransferPacket,
    /// The last byte of the last download.
    LastDownloadByte,
    /// The last DHCP message.
    LastDhcpMessage,
    /// Nothing was captured after the first frame.
    NothingAfterFirstFrame,
    /// From the end of reset to the SEC mark.
    FromResetToSec,
    /// The ReadyToBoot event signal.
    ReadyToBootSignaled,
    /// The ReadyToBoot mark.
    ReadyToBootMarked,
    /// The start of BdsAttempt, which follows the ReadyToBoot event.
    BootAttemptStarts,
    /// The selected thread.
    SelectedThread,
    /// Context switches were not recorded.
    NoContextSwitches,
    /// A thread of the first process.
    ThreadOfFirstProcess,
    /// No thread ran before the end of the interval.
    NoThreadRanBefore,
    /// The thread that sent the notifications of the transition.
    NotifyingThread,
    /// A thread that ran when the interval ended; the thread that ended it was not recorded.
    ThreadThatRan,
    /// The last thread that ran before the interval ended; the thread that ended it was not recorded.
    ThreadThatRanBefore,
    /// The service manager, which starts the service after the services ordered before it.
    ServiceManagerStartsIt,
    /// The thread that sent the request.
    SendingThread,
}

/// How idle time is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleTime {
    /// Idle time that must accumulate, ns.
    pub required_idle_ns: i64,
    /// Length of a slice, ns.
    pub slice_ns: i64,
    /// A slice is idle if CPU and disk usage are each below this limit, per mille.
    pub busy_limit_per_mille: i64,
    /// Whether a slice exactly at the limit is idle.
    pub busy_limit_included: bool,
}

codes! {
    /// What ended before enough idle time had accumulated.
    pub enum IdleCutOff {
        /// The analyzed interval, which ends where the computer may sleep again.
        AnalyzedInterval = "looked_at",
        /// The CPU usage data, before the recording ended.
        ProcessorTimes = "processor_times",
        Recording = "recording",
    }
}
