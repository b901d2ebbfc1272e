//! The facts about each transition and their sources.
//!
//! GUIDs, keywords and levels come from the provider manifests. The keywords select the events that onoff reads;
//! all bits are set where such an event has no documented keyword.

use onoff_trace::{ActivityKind, NotificationKind, TableName, milestone};

use super::Sign::{Activity, Milestone, Notification, Rows};
use super::{Provider, Question, Sign, Source, UnknownFact};

const ALL: u64 = u64::MAX;

macro_rules! providers {
    ($($constant:ident = $name:literal, $guid:literal, $keyword:expr, $level:literal;)*) => {$(
        static $constant: Provider = Provider {
            name: $name,
            guid: $guid,
            keyword: $keyword,
            level: $level,
        };
    )*};
}

providers! {
    CSR = "Microsoft-Windows-Subsys-Csr", "e8316a2d-0d94-4f52-85dd-1e15b66c5891", 0x1_0000, 5;
    GROUP_POLICY = "Microsoft-Windows-GroupPolicy", "aea1b4fa-97d1-45f2-a64c-4d69fffd92c9", ALL, 5;
    KERNEL_BOOT = "Microsoft-Windows-Kernel-Boot", "15ca44ff-4d7a-4baa-bba5-0998955e531e", ALL, 5;
    // Kernel-PnP: 0x20 alone carries the phases and the loader's times; the other bits are its tasks.
    KERNEL_PNP = "Microsoft-Windows-Kernel-PnP", "9c205a39-1250-487d-abd7-e831c6290539", 0x1f_f020, 5;
    // Kernel-Power: transitions have 0x1, sleep and wake 0x4, phases, requests and shutdown steps 0x8.
    KERNEL_POWER = "Microsoft-Windows-Kernel-Power", "331c3b3a-2005-44c2-ac5e-77220c37d6b4", 0xd, 5;
    PERF_TRACK = "Microsoft-Windows-Diagnostics-PerfTrack", "030f2f57-abd0-4427-bcf1-3a3587d7dc7d", ALL, 4;
    SERVICES = "Microsoft-Windows-Services", "0063715b-eeda-4007-9429-ad526f62696e", 0x1_0000, 5;
    SHELL_CORE = "Microsoft-Windows-Shell-Core", "30336ed4-e327-447c-9de0-51b652c86108", 0x2_0400_0000, 5;
    WININIT = "Microsoft-Windows-Wininit", "206f6dea-d3c5-4d10-bc72-989f03c8b84b", 0x1_0000, 5;
    WINLOGON = "Microsoft-Windows-Winlogon", "dbe9b383-7cf3-4331-91cc-a3cb16a3b538", 0x3_0000, 5;
    WINSRV = "Microsoft-Windows-Winsrv", "9d55b53d-449b-4824-a637-24f9d69aa02f", 0x100, 5;
}

const fn from_provider(fact: UnknownFact, provider: &'static Provider, signs: &'static [Sign]) -> Question {
    Question { fact, source: Source::Provider(provider), signs }
}

const fn from_kernel(fact: UnknownFact, flags: &'static [&'static str], signs: &'static [Sign]) -> Question {
    Question { fact, source: Source::Kernel(flags), signs }
}

const PROCESSES: Question =
    from_kernel(UnknownFact::ProcessTimes, &["PROC_THREAD", "LOADER"], &[Rows(TableName::Processes)]);

const PROCESSORS: Question = from_kernel(UnknownFact::ProcessorUse, &["CSWITCH"], &[Rows(TableName::ContextSwitches)]);

const DISKS: Question =
    from_kernel(UnknownFact::DiskUse, &["DISK_IO", "DISK_IO_INIT", "FILENAME"], &[Rows(TableName::DiskIos)]);

const POLICY: Question = from_provider(
    UnknownFact::Policy,
    &GROUP_POLICY,
    &[Sign::Provider, Activity(ActivityKind::GroupPolicy), Activity(ActivityKind::GroupPolicyScript)],
);

pub(super) const BOOT: &[Question] = &[
    PROCESSES,
    from_provider(UnknownFact::DesktopReady, &SHELL_CORE, &[Sign::Provider, Milestone(milestone::DESKTOP_READY)]),
    PROCESSORS,
    DISKS,
    from_provider(UnknownFact::ServiceStarts, &SERVICES, &[Sign::Provider, Rows(TableName::ServiceTransitions)]),
    from_provider(UnknownFact::DriverStarts, &KERNEL_PNP, &[Sign::Provider, Rows(TableName::DeviceOperations)]),
    from_provider(
        UnknownFact::FirmwareAndBootKind,
        &KERNEL_BOOT,
        &[Sign::Provider, Milestone(milestone::FIRMWARE), Milestone(milestone::BOOT_TYPE)],
    ),
    from_provider(UnknownFact::Logon, &WINLOGON, &[Sign::Provider, Activity(ActivityKind::Authentication)]),
    POLICY,
];

pub(super) const SHUTDOWN: &[Question] = &[
    from_provider(
        UnknownFact::SessionEnds,
        &CSR,
        &[Sign::Provider, Activity(ActivityKind::SessionShutdown), Notification(NotificationKind::ApplicationShutdown)],
    ),
    from_provider(
        UnknownFact::WindowsAskedToClose,
        &WINSRV,
        &[Sign::Provider, Notification(NotificationKind::ThreadShutdown), Notification(NotificationKind::Termination)],
    ),
    from_provider(UnknownFact::ServiceStops, &SERVICES, &[Sign::Provider, Rows(TableName::ServiceTransitions)]),
    from_provider(UnknownFact::ShutdownRequest, &WININIT, &[Sign::Provider, Milestone(milestone::KERNEL_SHUTDOWN)]),
    from_provider(UnknownFact::KernelShutdownSteps, &KERNEL_POWER, &[Activity(ActivityKind::KernelShutdownStep)]),
    from_provider(
        UnknownFact::LogoffSubscribers,
        &WINLOGON,
        &[Sign::Provider, Activity(ActivityKind::LogonNotification)],
    ),
    PROCESSES,
    PROCESSORS,
    DISKS,
    POLICY,
];

pub(super) const SUSPEND: &[Question] = &[
    from_provider(
        UnknownFact::SleepPhases,
        &KERNEL_POWER,
        &[
            Notification(NotificationKind::ApplicationSuspend),
            Notification(NotificationKind::ServiceSuspend),
            Milestone(milestone::STANDBY_ENTER),
            Milestone(milestone::STANDBY_EXIT),
        ],
    ),
    from_provider(UnknownFact::ResumeName, &PERF_TRACK, &[Sign::Provider, Milestone(milestone::IDLE_DETECTION_BEGIN)]),
    PROCESSORS,
    DISKS,
    PROCESSES,
];
