//! The words of rules: what reports and findings say where a rule is named.

use std::borrow::Cow;
use std::fmt::{Display, Formatter, Result};

use onoff_trace::Duration;

use super::{IdleCutOff, IdleTime, Rule};

/// What set an answer, as a phrase; empty where there is nothing to say.
impl Display for Rule {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match self {
            Self::Between { start, end } => write!(formatter, "from {start} to {end}"),
            Self::ProcessStarts { process, ordinal } => {
                write!(formatter, "the {} start of {process}", place(*ordinal))
            }
            Self::PhaseStarts { phase } => write!(formatter, "the start of {}", phase.as_str()),
            Self::PhaseEnds { phase } => write!(formatter, "the end of {}", phase.as_str()),
            Self::FromSubsystemToProgram { ordinal, program } => {
                let place = place(*ordinal);
                let from = format_args!("from the end of the {place} execution of csrss.exe");
                write!(formatter, "{from} to the execution of {program} by the session manager")
            }
            Self::FromSubsystemStartToProgramStart { ordinal, program } => {
                let place = place(*ordinal);
                write!(formatter, "from the {place} start of csrss.exe to the start of {program}")?;
                formatter.write_str(": an upper bound, since it includes the start of csrss.exe itself")
            }
            Self::UnitReached { unit } => write!(formatter, "{unit} is reached"),
            Self::KindKernelRestarts { event } => write!(formatter, "the kernel is to restart ({event})"),
            Self::KindKernelTurnsOff { event } => write!(formatter, "the kernel is to turn off ({event})"),
            Self::KindImageToBeWritten { event } => write!(formatter, "a memory image is to be written ({event})"),
            Self::KindImageAfterSession { event } => {
                write!(formatter, "a memory image is written after the user's session ({event})")
            }
            Self::IdleTime(wanted) => write!(formatter, "{wanted}"),
            Self::IdleTimeCutOff { wanted, ended, found_ns } => {
                let ends = match ended {
                    IdleCutOff::LookedAt => "the time looked at ends",
                    IdleCutOff::ProcessorTimes => "processor times end",
                    IdleCutOff::Recording => "the recording ends",
                };
                write!(formatter, "{wanted}: {ends} with {} of idle time found", Duration::from_ns(*found_ns))
            }
            Self::IdleTimeNotRecorded(wanted) => {
                write!(formatter, "{wanted}: not known, because processor times were not recorded")
            }
            Self::MoreIdleTime { idle_ns } => {
                write!(formatter, "{} more idle time before the recording's end", Duration::from_ns(*idle_ns))
            }
            Self::FirmwareMeasurement { name } => write!(formatter, "the firmware's measurement {name}"),
            Self::FirmwarePhaseStart { name } => {
                write!(formatter, "start of {name} to what follows it; its end was not measured")
            }
            Self::FirmwarePhaseEnd { name } => {
                write!(formatter, "the phase before {name} to its end; its start was not measured")
            }
            Self::CreatingThread { image } => write!(formatter, "the thread that created {image}"),
            Self::RequestingThread { device } => write!(formatter, "the thread that sent the request to {device}"),
            Self::ThreadOfRequest { device } => write!(formatter, "the thread of the request to {device}"),
            Self::RecordingThread { event } => write!(formatter, "the thread that recorded {event}"),
            Self::ThreadOfService { service } => write!(formatter, "a thread of the service {service}"),
            Self::RanLastOfProcess { named_by } => {
                write!(formatter, "{named_by}: of its process, the thread that ran last")
            }
            plain => formatter.write_str(plain.plain()),
        }
    }
}

impl Rule {
    /// The phrase of a rule without arguments.
    const fn plain(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::NotFound => "no rule found it",
            Self::ImageWithinSleep => {
                "the kernel that was restored saw neither: writing the image, power off, the time off, firmware, loader, and the \
                 kernel that read the image are together the time asleep"
            }
            Self::AutomaticStartsBegin => "the service control manager's begin of automatic starts",
            Self::AutomaticStartsEnd => "the service control manager's end of automatic starts",
            Self::FirstAutomaticStart => "the first automatic start of a service",
            Self::LastAutomaticStartEnds => "the end of the last automatic start",
            Self::DevicePhaseStarts => "the phase's start event",
            Self::FirstOperationStarts => "the start of its first operation",
            Self::DevicePhaseEnds => "the phase's own end",
            Self::LastOperationEnds => "the end of its last operation",
            Self::KernelRecordsFirmwareTime => {
                "the kernel's record of the time before the boot manager, read as milliseconds"
            }
            Self::FirmwareTableInRecording => {
                "the firmware performance table: processor reset to the start of the boot manager"
            }
            Self::KernelRecordsBootManagerTime => {
                "the kernel's record of the boot manager's time, read as milliseconds"
            }
            Self::LoaderBeginAndEnd => "the loader's own begin and end",
            Self::KernelRecordsPersonTime => "the kernel's record of the time a person took, read as milliseconds",
            Self::FirmwareTableGiven => {
                "the given firmware performance table: processor reset to the start of the boot manager"
            }
            Self::ExitBootServicesIsKernelStart => {
                "the return of ExitBootServices is the kernel's start; the time between is not measured"
            }
            Self::NotPlacedContradicted => "not placed: the recording contradicts these times",
            Self::NotPlacedUnknown => "not placed: the return of ExitBootServices or the kernel's start is not known",
            Self::NotRecorded => "not recorded",
            Self::KernelRecordsPersonTimeAtResumeLoader => {
                "the kernel's record of the time a person took at the resume loader"
            }
            Self::FromMemoryImageToDesktop => "from the first record after the memory image was read to the desktop",
            Self::IdleCountNeedsDesktop => "counting begins when the desktop is ready, which no rule found",
            Self::LastEvent => "the recording's last event",
            Self::RecordingBeganTooLate => "no rule: the recording began after smss.exe had started",
            Self::RecordingFromTheKernel => "a recording that begins with the kernel",
            Self::FirstEvent => "the recording's first event",
            Self::SessionManagerFirstProgram => "the session manager's first program or subsystem",
            Self::SessionManagerRunsLogonProcess => "the session manager's execution of winlogon.exe",
            Self::LastSubsystemLoaded => "the end of the session manager's last subsystem load",
            Self::LogonProcessLaunchesShell => "the logon process's launch of the shell",
            Self::ShellInitializationBegins => "the start of the shell's initialization",
            Self::DesktopReadyBegins => "the start of the shell's way to a ready desktop",
            Self::DesktopReady => "the shell's report of a ready desktop",
            Self::ExplorerReadyMark => "the mark ExplorerReady",
            Self::ShellInitializationEnds => "the end of the shell's initialization",
            Self::UserBootEnds => "the logon process's end of the user's boot",
            Self::LogonScreenEnds => "the end of the logon screen's process LogonUI.exe",
            Self::IdleCountNeedsFinish => "counting begins when the start is finished, which no rule found",
            Self::UnitsRead => "all units are read",
            Self::FirstGeneratorStarts => "the first generator starts",
            Self::LastGeneratorEnds => "the last generator ends",
            Self::FirstUnitRead => "the first unit is read",
            Self::ServiceManagerStarts => "the service manager of the root file system starts",
            Self::InitialProgramRuns => "the kernel runs the initial file system's program",
            Self::InitialServiceManagerStarts => "the service manager of the initial file system starts",
            Self::StartJobsDone => "every job of the start is done",
            Self::StartFinished => "the service manager's word that the start is finished",
            Self::FirmwareStarts => "the firmware starts",
            Self::LoaderStarts => "the loader starts",
            Self::KernelClockStarts => "the kernel's clock starts",
            Self::LastInitcallEnds => "the kernel's last initialization function ends",
            Self::DefaultTargetIsAlias => "default.target is another name of it",
            Self::HighestUsualTarget => "the highest of the usual targets that was reached",
            Self::KernelLastLine => "the kernel's last line",
            Self::ShutdownRequested => "the request for the shutdown",
            Self::FirstUnitStops => "the first unit that stops in the last run of stops",
            Self::LastProgram => "the last program of the service manager",
            Self::LastProgramFirstStep => "the first step of the last program",
            Self::KindByLastProgram => "what the last program or the kernel says",
            Self::KindByLastTarget => "the last target that was reached",
            Self::KindRequested => "the kind that was requested",
            Self::KindUnknown => "nothing says it",
            Self::LastProgramTerminates => "the last program sends SIGTERM to what still runs",
            Self::LastProgramKills => "the last program sends SIGKILL to what still runs",
            Self::LastProgramUnmounts => "the last program takes file systems out",
            Self::ShutdownHooksRun => "everything is detached, programs of the folder system-shutdown run",
            Self::LastProgramAsksKernel => "the last program is done and asks the kernel",
            Self::LastProgramStarts => "the service manager's last program starts",
            Self::LastUnitStopped => "the last unit that is recorded to have stopped",
            Self::KernelDecidesToSleep => "the kernel's decision to sleep",
            Self::MachineEnters => "the machine's entry",
            Self::MachineReturns => "the machine's return",
            Self::LastPhaseDownEnds => "the end of the last phase on the way down",
            Self::FirstPhaseUpStarts => "the start of the first phase on the way up",
            Self::ProcessesGoOn => "processes going on",
            Self::MachineEntersAndReturns => "the machine's entry and return",
            Self::NoMachineEntry => "the machine did not sleep, or its entry was not recorded",
            Self::SleptOnTheAxis => "from the machine's entry to its return: the axis goes on in a suspend to idle",
            Self::SleptByClocks => {
                "by how much CLOCK_BOOTTIME went on and CLOCK_MONOTONIC did not, from readings of both before and after"
            }
            Self::SleptByKernelLog => "the kernel's own count, from its log",
            Self::SleptByNoClock => {
                "CLOCK_MONOTONIC stands still while the machine sleeps, and no other clock was recorded"
            }
            Self::ResumeHasNoEnd => "the resume has no end in the recording",
            Self::ImageUnseenAndNoClock => {
                "the kernel that was restored saw neither, and no clock that went on was recorded"
            }
            Self::LogLinesAroundDevices => {
                "from the last line before to the first after; which device took it is not logged"
            }
            Self::EndNotRecorded => "its end is not in the recording",
            Self::Traced => "begin and end as traced",
            Self::LogLineWithLength => "the log's line at the end and the length in it",
            Self::LogTimeLessSuspending => "the log's time for preparing and suspending, less suspending",
            Self::LogLinesAroundSleep => "from the last line before the machine sleeps to the first after",
            Self::LogRestartOfTasks => "from the restart of tasks to the end of the sleep, as logged",
            Self::LogLines => "the log's lines at begin and end",
            Self::RequestForShutdown => "the request for a shutdown",
            Self::LogonProcessRequestsShutdown => "the logon process's request for a shutdown",
            Self::RequestToLogOff => "the request to log off",
            Self::FirstSessionStep => "the first step of ending a session",
            Self::FirstSessionNotified => "the first session whose applications were notified",
            Self::FirstApplicationNotified => "the first application notified",
            Self::KernelRequested => "the request to the kernel",
            Self::KernelFirstStep => "the kernel's first step",
            Self::FirstProcessEnds => "the first end of a process",
            Self::PowerTransitionFollows => "the start of the power transition that follows",
            Self::FirstUserSessionNotified => "the first user's session whose applications were notified",
            Self::FirstUserApplicationNotified => "the first application of a user notified",
            Self::FirstUserProgramEnds => "the first end of a user's program",
            Self::UserSessionsEnded => "all applications of the users' sessions ended",
            Self::AfterUserSessions => "the start of what follows the users' sessions",
            Self::LastUserApplicationAnswered => "the last application of a user answered",
            Self::LastUserProgramEnds => "the last end of a user's program",
            Self::PreShutdownNotified => "services that registered for it are notified before all others",
            Self::SystemSessionNotified => "the system's session is notified",
            Self::FirstServiceToldToStop => "the first service notified to stop after the users' sessions",
            Self::SystemSessionOver => "the system's session is over",
            Self::SystemProcessesWaitedFor => "the wait for the system's processes is over",
            Self::LastServiceHostEnds => "the last end of a service's host",
            Self::KernelRecordsAction => "the kernel's record of what it is to do",
            Self::SystemSessionEnds => "the end of the system's session",
            Self::KernelLastStepEnds => "the end of the kernel's last step",
            Self::KernelOrderlyShutdownEnds => "the end of the kernel's orderly shutdown",
            Self::LogoffAndNoShutdown => "a logoff was requested, and nothing shows a shutdown",
            Self::KernelActionUnknown => "no record says what the kernel is to do",
            Self::NotPartOfFastStartup => "not part of a shutdown for a fast startup",
            Self::NotPartOfLogoff => "not part of a logoff",
            Self::PreShutdownNotification => "the service control manager's notification before shutdown",
            Self::NotificationBeforeShutdown => "the notification before shutdown",
            Self::SystemSession => "the system's session",
            Self::PreShutdownNotificationEnds => "the end of the notification before shutdown",
            Self::Given => "as given",
            Self::VersionNotRecorded => "the version of the system is not recorded",
            Self::TimeOutOfVista => "Windows Vista's",
            Self::TimeOutOfWindows7 => "Windows 7's",
            Self::TimeOutAfterWindows7 => "the default after Windows 7; WaitToKillServiceTimeout may say otherwise",
            Self::ModernStandbyEntered => "the entry into modern standby",
            Self::ModernStandbyLeft => "the exit from modern standby",
            Self::KernelTransitionBegins => "the kernel's begin of the transition",
            Self::LastRecordBeforeSleep => "the last record before the sleep",
            Self::MemoryImageWriteStarts => "the start of writing the memory image",
            Self::WayDownNotRecorded => "the way down, which is not in the recording",
            Self::FirstRecordAfterSleep => "the first record after the sleep",
            Self::KernelTransitionEnds => "the kernel's end of the transition",
            Self::KernelAccountAfterResume => "the kernel's account, which it records after the resume",
            Self::WayUpNotRecorded => "the way up, which is not in the recording",
            Self::WayDownEnds => "the end of the way down",
            Self::WayUpStarts => "the start of the way up",
            Self::WayUpBeforeWayDown => "a way up whose records stand after those of the way down",
            Self::RealTimesLessHalves => "the real times of begin and end less both halves",
            Self::ClockSetForward => "what the system's clock was set forward by",
            Self::RealTimesContradict => {
                "no rule: the real times leave no time for a sleep, so the clock was set meanwhile"
            }
            Self::KindModernStandby => "modern standby was entered or left",
            Self::KindFastStartupBySystem => "the system calls it a fast startup",
            Self::KindFastStartupByBootType => "the boot is recorded as a fast startup",
            Self::KindImageWrittenOnWayToOff => "a memory image was written on the way to off",
            Self::KindImageWrittenAfterSession => "a memory image was written after the user's session had ended",
            Self::KindImageWrittenOnWayToSleep => "a memory image was written on the way to sleep",
            Self::KindDevicesPreparedForHibernation => "devices were prepared for hibernation on the way to sleep",
            Self::KindResumedFromImage => "it resumed from a memory image",
            Self::KindHibernationBySystem => "the system calls it a resume from hibernation",
            Self::KindHibernationRequested => "hibernation was requested",
            Self::KindImageWrittenNotRead => "a memory image was written and none was read",
            Self::KindImageWritten => "a memory image was written",
            Self::KindSleepEntered => "sleep was entered and no memory image written",
            Self::KindSleepBySystem => "the system calls it a resume from sleep",
            Self::KindDevicesToldToHibernate => "devices got a request to hibernate",
            Self::KindDevicesToldToSleep => "devices got a request to sleep",
            Self::KindHibernationAction => "hibernation was the requested action",
            Self::KindSleepAction => "sleep was the requested action",
            Self::KindNotRecorded => "no record says which state was entered",
            Self::ResumeEnds => "the end of the resume",
            Self::IdleCountNeedsResume => "counting begins at the end of the resume, which no rule found",
            Self::ResumeEndsOrDesktop => "the end of the resume, or the desktop",
            Self::StateEntered => "the state that was entered (Kernel-Power event 42)",
            Self::KernelAccount => "by the kernel's account, to the millisecond",
            Self::StartRecorded => "its start, as recorded",
            Self::EndRecorded => "its end, as recorded",
            Self::LengthByKernelAccount => "its length, by the kernel's account",
            Self::KernelAccountOfImageWrite => {
                "the kernel's account of writing the memory image, recorded after the resume"
            }
            Self::FirstNotifiedInIt => "the first that was notified in it",
            Self::LastNotifiedInIt => "the last that was notified in it",
            Self::RequestToEndSession => "the request to end the session",
            Self::FirstApplicationNotifiedOfEnd => "the first application notified of the end",
            Self::PowerManagerFirstRecord => "the power manager's first record",
            Self::ContextSwitches => "context switches",
            Self::DiskRequests => "disk requests",
            Self::ProfileSamples => "profile samples",
            Self::FirstFileServerConnection => "the first connection to port 445",
            Self::FromStageBeforeToRequest => "from the end of the stage before to the next request",
            Self::FromStageBeforeToEnd => "from the end of the stage before to the end of the boot",
            Self::FromDiscoverToAck => "from the first DISCOVER to the ACK",
            Self::FromSolicitToReply => "from the first SOLICIT to the REPLY",
            Self::FromQuestionToLastMessage => "from the first question to the last message",
            Self::FromReadToAcknowledgment => "from the read request to the acknowledgment of the last block",
            Self::FromReadToLastPacket => "from the read request to the last packet",
            Self::FromConnectionToLastByte => "from opening the connection, or the request, to the answer's last byte",
            Self::OperatingSystemDhcp => "the operating system's own DHCP",
            Self::OperatingSystemFileServer => "the operating system's first file server",
            Self::LastBlockAcknowledged => "the acknowledgment of the last file's last block",
            Self::LastTransferPacket => "the last packet of the last transfer",
            Self::LastDownloadByte => "the last byte of the last download",
            Self::LastDhcpMessage => "the last DHCP message",
            Self::NothingAfterFirstFrame => "nothing came after the first frame",
            Self::FromResetToSec => "end of reset to the mark SEC",
            Self::ReadyToBootSignaled => "signal of the event ReadyToBoot",
            Self::ReadyToBootMarked => "mark ReadyToBoot",
            Self::BootAttemptStarts => "start of BdsAttempt, which follows the event ReadyToBoot",
            Self::ThreadAskedAbout => "the thread asked about",
            Self::NoContextSwitches => "no rule: no context switches were recorded",
            Self::ThreadOfFirstProcess => "a thread of the first process",
            Self::NobodyRanBefore => "no rule: nobody ran before",
            Self::NotifyingThread => "the thread that notified others of the transition",
            Self::ThreadThatRan => "a thread that ran at that moment: no record names who ended it",
            Self::ThreadThatRanBefore => "the last thread that ran before: no record names who ended it",
            Self::ServiceManagerStartsIt => "the service manager, which starts it when those before it are done",
            Self::SendingThread => "the thread that sent the request",
            // These are written with their arguments.
            Self::Between { .. }
            | Self::ProcessStarts { .. }
            | Self::PhaseStarts { .. }
            | Self::PhaseEnds { .. }
            | Self::FromSubsystemToProgram { .. }
            | Self::FromSubsystemStartToProgramStart { .. }
            | Self::UnitReached { .. }
            | Self::KindKernelRestarts { .. }
            | Self::KindKernelTurnsOff { .. }
            | Self::KindImageToBeWritten { .. }
            | Self::KindImageAfterSession { .. }
            | Self::IdleTimeCutOff { .. }
            | Self::MoreIdleTime { .. }
            | Self::FirmwareMeasurement { .. }
            | Self::FirmwarePhaseStart { .. }
            | Self::FirmwarePhaseEnd { .. }
            | Self::CreatingThread { .. }
            | Self::RequestingThread { .. }
            | Self::ThreadOfRequest { .. }
            | Self::RecordingThread { .. }
            | Self::ThreadOfService { .. }
            | Self::RanLastOfProcess { .. }
            | Self::IdleTime(_)
            | Self::IdleTimeNotRecorded(_) => "",
        }
    }
}

fn place(ordinal: u32) -> Cow<'static, str> {
    match ordinal {
        1 => "first".into(),
        2 => "second".into(),
        3 => "third".into(),
        other => format!("{other}th").into(),
    }
}

impl Display for IdleTime {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(
            formatter,
            "{} of idle time in slices of {} ms whose processors and disk are each {} {} % busy, low priority left out",
            Duration::from_ns(self.required_idle_ns),
            self.slice_ns / 1_000_000,
            if self.busy_limit_included { "at most" } else { "less than" },
            self.busy_limit_per_mille as f64 / 10.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase_name::PhaseName;

    #[test]
    fn a_rule_is_a_code_with_arguments_and_a_phrase() {
        let begin = Rule::ProcessStarts { process: "smss.exe".to_owned(), ordinal: 1 };
        let whole =
            Rule::Between { start: Box::new(begin), end: Box::new(Rule::PhaseEnds { phase: PhaseName::SmssInit }) };
        assert_eq!(whole.to_string(), "from the first start of smss.exe to the end of SMSSInit");
        assert_eq!(
            serde_json::to_value(&whole).unwrap(),
            serde_json::json!({
                "code": "between",
                "start": { "code": "process_starts", "process": "smss.exe", "ordinal": 1 },
                "end": { "code": "phase_ends", "phase": "SMSSInit" },
            })
        );
        assert_eq!(serde_json::to_value(Rule::DesktopReady).unwrap(), serde_json::json!({ "code": "desktop_ready" }));
        assert_eq!(Rule::None.to_string(), "");
    }

    #[test]
    fn idle_time_is_said_with_its_limits_and_what_it_lacked() {
        let wanted = IdleTime {
            required_idle_ns: 5_000_000_000,
            slice_ns: 500_000_000,
            busy_limit_per_mille: 200,
            busy_limit_included: false,
        };
        let cut_off = Rule::IdleTimeCutOff { wanted, ended: IdleCutOff::Recording, found_ns: 1_200_000_000 };
        assert_eq!(
            cut_off.to_string(),
            "5.00 s of idle time in slices of 500 ms whose processors and disk are each less than 20 % busy, low priority left out: \
             the recording ends with 1.20 s of idle time found"
        );
    }
}
