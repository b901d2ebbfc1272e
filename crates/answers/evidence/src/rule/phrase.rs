//! The wording of rules in reports and findings.

use std::borrow::Cow;
use std::fmt::{Display, Formatter, Result};

use onoff_trace::Duration;

use super::{IdleCutOff, IdleTime, Rule};

/// Formats the rule as a phrase; empty if there is nothing to say.
impl Display for Rule {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match self {
            Self::Between { start, end } => write!(formatter, "from {start} to {end}"),
            Self::ProcessStarts { process, ordinal } => {
                write!(formatter, "the {} start of {process}", ordinal_word(*ordinal))
            }
            Self::PhaseStarts { phase } => write!(formatter, "the start of {}", phase.as_str()),
            Self::PhaseEnds { phase } => write!(formatter, "the end of {}", phase.as_str()),
            Self::FromSubsystemToProgram { ordinal, program } => {
                let ordinal_text = ordinal_word(*ordinal);
                write!(formatter, "from the {ordinal_text} csrss.exe start to the {program} start")
            }
            Self::FromSubsystemStartToProgramStart { ordinal, program } => {
                let ordinal_text = ordinal_word(*ordinal);
                write!(formatter, "from the {ordinal_text} start of csrss.exe to the start of {program}")?;
                formatter.write_str(" (an upper bound: includes starting csrss.exe)")
            }
            Self::WindowsAccount { field } => write!(formatter, "{field} in Windows' own account"),
            Self::UnitReached { unit } => write!(formatter, "{unit} reached"),
            Self::KindKernelRestarts { event } => write!(formatter, "the requested action was restart ({event})"),
            Self::KindKernelPowersOff { event } => write!(formatter, "the requested action was power-off ({event})"),
            Self::KindImageWriteRequested { event } => {
                write!(formatter, "the requested action was to write a memory image ({event})")
            }
            Self::KindImageAfterSession { event } => {
                write!(formatter, "a memory image was written after the user session ({event})")
            }
            Self::IdleTime(wanted) => write!(formatter, "{wanted}"),
            Self::IdleTimeCutOff { wanted, ended, found_ns } => {
                let cut_off = match ended {
                    IdleCutOff::AnalyzedInterval => "the analyzed interval ended",
                    IdleCutOff::ProcessorTimes => "CPU usage data ended",
                    IdleCutOff::Recording => "the recording ended",
                };
                write!(formatter, "{wanted}; {cut_off} after {} of idle time", Duration::from_ns(*found_ns))
            }
            Self::IdleTimeNotRecorded(wanted) => {
                write!(formatter, "{wanted}; unknown because CPU usage was not recorded")
            }
            Self::MoreIdleTime { idle_ns } => {
                write!(formatter, "{} more of idle time before the end of the recording", Duration::from_ns(*idle_ns))
            }
            Self::FirmwareMeasurement { name } => write!(formatter, "firmware measurement {name}"),
            Self::FirmwarePhaseStart { name } => {
                write!(formatter, "from the start of {name} to the next event (its end was not measured)")
            }
            Self::FirmwarePhaseEnd { name } => {
                write!(formatter, "from the previous phase to the end of {name} (its start was not measured)")
            }
            Self::CreatingThread { image } => write!(formatter, "the thread that created {image}"),
            Self::RequestingThread { device } => write!(formatter, "the thread that sent the request to {device}"),
            Self::ThreadOfRequest { device } => write!(formatter, "the thread of the request to {device}"),
            Self::RecordingThread { event } => write!(formatter, "the thread that logged {event}"),
            Self::ThreadOfService { service } => write!(formatter, "a thread of service {service}"),
            Self::LastThreadOfProcess { named_by } => {
                write!(formatter, "{named_by} (the last thread of that process to run)")
            }
            rule => formatter.write_str(rule.fixed_phrase()),
        }
    }
}

impl Rule {
    /// Returns the phrase of a rule without arguments.
    const fn fixed_phrase(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::NotFound => "no rule matched",
            Self::KernelStartRecord => "the record of the kernel's start in the System log",
            Self::ClockStopped => "the time at which the wall clock stopped, from the first record after the sleep",
            Self::FirstShutdownRecord => {
                "the first record of the shutdown in the System log: the event log service stops, or the kernel records the action"
            }
            Self::ImageWithinSleep => {
                "the restored kernel did not run during the write or the read; the time asleep includes writing the image, power-off, firmware, loader, \
                 and the kernel that read the image"
            }
            Self::AutoStartBegins => "the start of auto-start services, from the service control manager",
            Self::AutoStartEnds => "the end of auto-start services, from the service control manager",
            Self::FirstAutomaticStart => "the first automatic start of a service",
            Self::LastAutomaticStartEnds => "the end of the last automatic start",
            Self::DevicePhaseStarts => "the start event of the phase",
            Self::FirstOperationStarts => "the start of its first operation",
            Self::DevicePhaseEnds => "the end event of the phase",
            Self::LastOperationEnds => "the end of its last operation",
            Self::KernelRecordsFirmwareTime => {
                "time before the boot manager, recorded by the kernel (unit assumed to be ms)"
            }
            Self::FirmwareTableInRecording => {
                "firmware performance table: from processor reset to the start of the boot manager"
            }
            Self::FirmwareTableFromResetEnd => {
                "firmware performance table: from the end of the reset to the start of the boot manager, because its clock kept running over resets"
            }
            Self::KernelRecordsBootManagerTime => "boot manager time recorded by the kernel (unit assumed to be ms)",
            Self::LoaderStartAndEnd => "start and end recorded by the loader",
            Self::KernelRecordsUserInput => "user input time recorded by the kernel (unit assumed to be ms)",
            Self::FirmwareTableGiven => {
                "firmware performance table that was passed: from processor reset to the start of the boot manager"
            }
            Self::ExitBootServicesIsKernelStart => {
                "the return from ExitBootServices is taken as the kernel start; the time between them is not measured"
            }
            Self::NotPlacedContradicted => "not on the timeline: the recording contradicts these times",
            Self::NotPlacedUnknown => {
                "not on the timeline: the return from ExitBootServices or the kernel start is unknown"
            }
            Self::NotRecorded => "not recorded",
            Self::KernelRecordsUserInputAtResumeLoader => {
                "user input time at the resume loader, recorded by the kernel"
            }
            Self::FromMemoryImageToDesktop => "from the first record after the memory image was read to the desktop",
            Self::IdleCountNeedsDesktop => {
                "idle counting starts when the desktop is ready, but no rule found that time"
            }
            Self::LastEvent => "the last event of the recording",
            Self::RecordingStartedTooLate => "no rule matched: the recording started after smss.exe",
            Self::RecordingStartsWithKernel => "the recording starts with the kernel",
            Self::FirstEvent => "the first event of the recording",
            Self::SessionManagerFirstProgram => "the first program or subsystem of the session manager",
            Self::SessionManagerRunsLogonProcess => "the execution of winlogon.exe by the session manager",
            Self::LastSubsystemLoaded => "the end of the last subsystem load of the session manager",
            Self::LogonProcessLaunchesShell => "the launch of the shell by Winlogon",
            Self::ShellInitializationBegins => "the start of shell initialization",
            Self::DesktopReadyBegins => "the start of the shell's desktop preparation",
            Self::DesktopReady => "the desktop-ready event of the shell",
            Self::ExplorerReadyMark => "the ExplorerReady mark",
            Self::ShellInitializationEnds => "the end of shell initialization",
            Self::UserBootEnds => "the end of the user's boot in Winlogon",
            Self::LogonScreenEnds => "the exit of the logon screen (LogonUI.exe)",
            Self::IdleCountNeedsFinish => "idle counting starts when the boot is finished, but no rule found that time",
            Self::UnitsLoaded => "all units loaded",
            Self::FirstGeneratorStarts => "the start of the first generator",
            Self::LastGeneratorEnds => "the end of the last generator",
            Self::FirstUnitLoaded => "the first unit loaded",
            Self::ServiceManagerStarts => "the start of the service manager of the root file system",
            Self::InitramfsProgramStarts => "the start of the initramfs program by the kernel",
            Self::InitramfsServiceManagerStarts => "the start of the service manager of the initramfs",
            Self::StartJobsDone => "all start jobs done",
            Self::StartFinished => "the startup-finished message of the service manager",
            Self::FirmwareStarts => "the start of the firmware",
            Self::LoaderStarts => "the start of the loader",
            Self::KernelClockStarts => "the start of the kernel's clock",
            Self::LastInitcallEnds => "the end of the last initcall",
            Self::DefaultTargetIsAlias => "default.target is an alias of this target",
            Self::HighestStandardTarget => "the highest standard target that was reached",
            Self::KernelLastLine => "the last line of the kernel log",
            Self::ShutdownRequested => "the shutdown request",
            Self::FirstUnitStops => "the first unit to stop in the last series of stops",
            Self::LastProgram => "the last program of the service manager",
            Self::SystemdShutdownFirstStep => "the first step of systemd-shutdown",
            Self::KindBySystemdShutdown => "from messages of systemd-shutdown or the kernel",
            Self::KindByLastTarget => "from the last target that was reached",
            Self::KindRequested => "from the request",
            Self::KindUnknown => "not recorded",
            Self::SystemdShutdownSendsTerm => "SIGTERM from systemd-shutdown to the remaining processes",
            Self::SystemdShutdownSendsKill => "SIGKILL from systemd-shutdown to the remaining processes",
            Self::SystemdShutdownUnmounts => "unmounting by systemd-shutdown",
            Self::ShutdownHooksRun => "the start of the scripts in system-shutdown, after everything is detached",
            Self::SystemdShutdownCallsKernel => "the call to the kernel by systemd-shutdown",
            Self::SystemdShutdownStarts => "the start of systemd-shutdown",
            Self::LastUnitStopped => "the last recorded stop of a unit",
            Self::KernelDecidesToSleep => "the kernel's decision to sleep",
            Self::SleepStateEntered => "the machine entering the sleep state",
            Self::SleepStateExited => "the machine leaving the sleep state",
            Self::LastSuspendPhaseEnds => "the end of the last suspend phase",
            Self::FirstResumePhaseStarts => "the start of the first resume phase",
            Self::ProcessesThawed => "processes being thawed",
            Self::SleepStateEnteredAndExited => "the machine entering and leaving the sleep state",
            Self::SleepStateNotEntered => "the machine did not sleep, or the start of the sleep was not recorded",
            Self::SleepOnTimeAxis => {
                "from entering to leaving the sleep state (the clock keeps running in suspend-to-idle)"
            }
            Self::SleepByClocks => {
                "the difference between CLOCK_BOOTTIME and CLOCK_MONOTONIC, from readings of both before and after"
            }
            Self::SleepByKernelLog => "sleep time from the kernel log",
            Self::NoClockDuringSleep => "CLOCK_MONOTONIC stops during sleep, and no other clock was recorded",
            Self::ResumeEndNotRecorded => "the end of the resume is not in the recording",
            Self::ImageAndClockNotRecorded => {
                "the restored kernel did not run during the write or the read, and no clock that keeps running during sleep was recorded"
            }
            Self::LogLinesAroundDevices => {
                "from the last log line before to the first one after; the log does not name the slow device"
            }
            Self::EndNotRecorded => "the end is not in the recording",
            Self::Traced => "start and end from the trace",
            Self::LogLineWithDuration => "the log line at the end, which contains the duration",
            Self::LogTimeMinusSuspend => "logged time of preparing and suspending, minus suspending",
            Self::LogLinesAroundSleep => "from the last log line before the sleep to the first one after",
            Self::LogTaskRestart => "from the log line about restarting tasks to the end of the suspend",
            Self::LogLines => "log lines at start and end",
            Self::RequestForShutdown => "the shutdown request",
            Self::LogonProcessRequestsShutdown => "the shutdown request of Winlogon",
            Self::RequestToLogOff => "the logoff request",
            Self::FirstSessionStep => "the first step of ending a session",
            Self::FirstSessionNotified => "the first session whose applications were notified",
            Self::FirstApplicationNotified => "the first application notification",
            Self::KernelRequested => "the request to the kernel",
            Self::KernelFirstStep => "the kernel's first step",
            Self::FirstProcessEnds => "the first process exit",
            Self::PowerTransitionFollows => "the start of the power transition that follows",
            Self::FirstUserSessionNotified => "the first user session whose applications were notified",
            Self::FirstUserApplicationNotified => "the first notification of a user's application",
            Self::FirstUserProgramEnds => "the first exit of a user's program",
            Self::UserSessionsEnded => "the end of all applications in user sessions",
            Self::AfterUserSessions => "the start of the phase after the user sessions",
            Self::LastUserApplicationResponded => "the last response of a user's application",
            Self::LastUserProgramEnds => "the last exit of a user's program",
            Self::PreShutdownNotified => "the notification of preshutdown services",
            Self::SystemSessionNotified => "the notification of the system session",
            Self::FirstServiceStopRequested => "the first service stop request after the user sessions",
            Self::SystemSessionShutdownEnds => "the end of the system session's shutdown",
            Self::SystemProcessWaitEnds => "the end of the wait for system processes",
            Self::LastServiceHostEnds => "the last exit of a service host process",
            Self::KernelRecordsAction => "the kernel's record of the requested action",
            Self::SystemSessionEnds => "the end of the system session",
            Self::KernelLastStepEnds => "the end of the kernel's last step",
            Self::KernelOrderlyShutdownEnds => "the end of the kernel's orderly shutdown",
            Self::LogoffAndNoShutdown => "a logoff was requested, and no shutdown was recorded",
            Self::KernelActionUnknown => "the action requested from the kernel was not recorded",
            Self::NotPartOfFastStartup => "not part of a shutdown with fast startup",
            Self::NotPartOfLogoff => "not part of a logoff",
            Self::PreShutdownNotification => "the preshutdown notification by the service control manager",
            Self::NotificationBeforeShutdown => "the preshutdown notification",
            Self::SystemSession => "the system session",
            Self::PreShutdownNotificationEnds => "the end of the preshutdown notification",
            Self::Given => "as given",
            Self::VersionNotRecorded => "the Windows version is not recorded",
            Self::TimeOutOfVista => "the Windows Vista default",
            Self::TimeOutOfWindows7 => "the Windows 7 default",
            Self::TimeOutAfterWindows7 => "the default since Windows 8, which WaitToKillServiceTimeout may override",
            Self::ModernStandbyEntered => "the entry into modern standby",
            Self::ModernStandbyExited => "the exit from modern standby",
            Self::KernelTransitionBegins => "the start of the transition in the kernel",
            Self::LastRecordBeforeSleep => "the last record before the sleep",
            Self::MemoryImageWriteStarts => "the start of the memory image write",
            Self::SuspendNotRecorded => "the suspend, which is not in the recording",
            Self::FirstRecordAfterSleep => "the first record after the sleep",
            Self::KernelTransitionEnds => "the end of the transition in the kernel",
            Self::KernelAccountAfterResume => "the kernel's times, recorded after the resume",
            Self::ResumeNotRecorded => "the resume, which is not in the recording",
            Self::SuspendEnds => "the end of the suspend",
            Self::ResumeStarts => "the start of the resume",
            Self::ResumeBeforeSuspend => "a resume recorded after the suspend",
            Self::WallClockMinusSuspendAndResume => "wall-clock time from start to end, minus suspend and resume",
            Self::PowerReportSession => "start and end of the session in the power report",
            Self::ClockAdjustedAfterSleep => "the clock adjustment after the sleep",
            Self::WallClockContradicts => {
                "no rule matched: the clock was changed, because the wall-clock times leave no room for a sleep"
            }
            Self::KindModernStandby => "modern standby was entered or exited",
            Self::KindFastStartupBySystem => "Windows reported a fast startup",
            Self::KindFastStartupByBootType => "the recorded boot type is fast startup",
            Self::KindImageWrittenBeforePowerOff => "a memory image was written before power-off",
            Self::KindPreparedForHibernationBeforePowerOff => "devices were prepared for hibernation before power-off",
            Self::KindImageWrittenAfterSession => "a memory image was written after the user session ended",
            Self::KindImageWrittenBeforeSleep => "a memory image was written before the sleep",
            Self::KindDevicesPreparedForHibernation => "devices were prepared for hibernation before the sleep",
            Self::KindResumedFromImage => "the computer resumed from a memory image",
            Self::KindHibernationBySystem => "Windows reported a resume from hibernation",
            Self::KindHibernationRequested => "hibernation was requested",
            Self::KindImageWrittenNotRead => "a memory image was written but not read",
            Self::KindImageWritten => "a memory image was written",
            Self::KindSleepEntered => "the computer entered sleep without writing a memory image",
            Self::KindSleepBySystem => "Windows reported a resume from sleep",
            Self::KindDevicesRequestedToHibernate => "devices received a hibernation request",
            Self::KindDevicesRequestedToSleep => "devices received a sleep request",
            Self::KindHibernationAction => "the requested action was hibernation",
            Self::KindSleepAction => "the requested action was sleep",
            Self::KindNotRecorded => "the entered state was not recorded",
            Self::ResumeEnds => "the end of the resume",
            Self::IdleCountNeedsResume => "idle counting starts at the end of the resume, but no rule found that time",
            Self::ResumeEndsOrDesktop => "the end of the resume, or the desktop",
            Self::StateEntered => "the entered state (Kernel-Power event 42)",
            Self::KernelAccount => "the kernel's times, in whole milliseconds",
            Self::StartRecorded => "the start event of the phase",
            Self::EndRecorded => "the end event of the phase",
            Self::DurationByKernelAccount => "its duration from the kernel's times",
            Self::KernelAccountOfImageWrite => {
                "the kernel's time for writing the memory image, recorded after the resume"
            }
            Self::FirstNotification => "the first notification of the phase",
            Self::LastNotification => "the last notification of the phase",
            Self::RequestToEndSession => "the request to end the session",
            Self::FirstApplicationNotifiedOfEnd => {
                "the first notification of an application about the end of the session"
            }
            Self::PowerManagerFirstRecord => "the first record of the power manager",
            Self::ContextSwitches => "context switches",
            Self::DiskRequests => "disk requests",
            Self::ProfileSamples => "profile samples",
            Self::FirstFileServerConnection => "the first connection to port 445",
            Self::FromPreviousStageToRequest => "from the end of the previous stage to the next request",
            Self::FromPreviousStageToEnd => "from the end of the previous stage to the end of the boot",
            Self::FromDiscoverToAck => "from the first DISCOVER to the ACK",
            Self::FromSolicitToReply => "from the first SOLICIT to the REPLY",
            Self::FromRequestToLastMessage => "from the first request to the last message",
            Self::FromReadToAcknowledgment => "from the read request to the acknowledgment of the last block",
            Self::FromReadToLastPacket => "from the read request to the last packet",
            Self::FromConnectionToLastByte => {
                "from opening the connection, or the request, to the last byte of the response"
            }
            Self::OperatingSystemDhcp => "DHCP of the operating system",
            Self::OperatingSystemFileServer => "the first file server connection of the operating system",
            Self::LastBlockAcknowledged => "the acknowledgment of the last block of the last file",
            Self::LastTransferPacket => "the last packet of the last transfer",
            Self::LastDownloadByte => "the last byte of the last download",
            Self::LastDhcpMessage => "the last DHCP message",
            Self::NothingAfterFirstFrame => "nothing was captured after the first frame",
            Self::FromResetToSec => "from the end of reset to the SEC mark",
            Self::ReadyToBootSignaled => "the ReadyToBoot event signal",
            Self::ReadyToBootMarked => "the ReadyToBoot mark",
            Self::BootAttemptStarts => "the start of BdsAttempt, which follows the ReadyToBoot event",
            Self::SelectedThread => "the selected thread",
            Self::NoContextSwitches => "context switches were not recorded",
            Self::ThreadOfFirstProcess => "a thread of the first process",
            Self::NoThreadRanBefore => "no thread ran before",
            Self::NotifyingThread => "the thread that sent the notifications of the transition",
            Self::ThreadThatRan => "a thread that ran at that time (the thread that ended it was not recorded)",
            Self::ThreadThatRanBefore => "the last thread that ran before (the thread that ended it was not recorded)",
            Self::ServiceManagerStartsIt => "the service manager, which starts services in order",
            Self::SendingThread => "the thread that sent the request",
            // Phrases with arguments are written by `fmt`.
            Self::Between { .. }
            | Self::ProcessStarts { .. }
            | Self::PhaseStarts { .. }
            | Self::PhaseEnds { .. }
            | Self::FromSubsystemToProgram { .. }
            | Self::FromSubsystemStartToProgramStart { .. }
            | Self::UnitReached { .. }
            | Self::KindKernelRestarts { .. }
            | Self::KindKernelPowersOff { .. }
            | Self::KindImageWriteRequested { .. }
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
            | Self::LastThreadOfProcess { .. }
            | Self::IdleTime(_)
            | Self::WindowsAccount { .. }
            | Self::IdleTimeNotRecorded(_) => "",
        }
    }
}

fn ordinal_word(ordinal: u32) -> Cow<'static, str> {
    match ordinal {
        1 => "first".into(),
        2 => "second".into(),
        3 => "third".into(),
        number => format!("{number}th").into(),
    }
}

impl Display for IdleTime {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        write!(
            formatter,
            "{} of idle time, counted in {} ms slices with CPU and disk each {} {} % busy (low priority excluded)",
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
    fn rules_serialize_as_codes_and_display_as_phrases() {
        let begin = Rule::ProcessStarts { process: "smss.exe".to_owned(), ordinal: 1 };
        let interval_rule =
            Rule::Between { start: Box::new(begin), end: Box::new(Rule::PhaseEnds { phase: PhaseName::SmssInit }) };
        assert_eq!(interval_rule.to_string(), "from the first start of smss.exe to the end of SMSSInit");
        assert_eq!(
            serde_json::to_value(&interval_rule).unwrap(),
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
    fn idle_time_phrase_includes_limits_and_shortfall() {
        let wanted = IdleTime {
            required_idle_ns: 5_000_000_000,
            slice_ns: 500_000_000,
            busy_limit_per_mille: 200,
            busy_limit_included: false,
        };
        let cut_off = Rule::IdleTimeCutOff { wanted, ended: IdleCutOff::Recording, found_ns: 1_200_000_000 };
        assert_eq!(
            cut_off.to_string(),
            "5.00 s of idle time, counted in 500 ms slices with CPU and disk each less than 20 % busy (low priority excluded); \
             the recording ended after 1.20 s of idle time"
        );
    }
}
