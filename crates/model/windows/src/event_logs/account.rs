//! Windows' own account of a boot: event 100 of Diagnostics-Performance, and the delays it reports (101 to 110).
//!
//! The phases follow the Microsoft paper "Windows On/Off Transition Performance Analysis". Measured on nine boots
//! of Windows 7 to 11 (differences of at most 3 ms):
//!
//! ```text
//! SessionInitStart = kernel and devices                              PreSMSS
//! WinLogonStart    = SessionInitStart + BootSmssInit                 SMSSInit
//! MainPathBoot     = WinLogonStart + OtherLogonInit + both profiles  WinLogonInit
//!                    + BootExplorerInit                              ExplorerInit
//! Boot             = MainPathBoot + BootPostBoot                     PostBoot
//! ```
//!
//! `UserLogonWait` lies between `OtherLogonInit` and the profiles and is in no sum.

use onoff_event_log::Record;
use onoff_trace::{ActivityKind, ReportedCause, ReportedDelay, ReportedTransition, WindowsAccount, milestone};

use super::events::SHUTDOWN_DELAYS;

/// Waits shorter than this are automatic logons; they stay out of the axis, as Windows leaves them out of its sums.
const MIN_USER_WAIT_NS: i64 = 500_000_000;

/// Milliseconds of a sane account: a month.
const MAX_MS: u64 = 30 * 24 * 3_600 * 1_000;

/// Reads a field in milliseconds, in ns; `None` if it is missing or absurd.
pub(super) fn milliseconds(record: &Record, name: &str) -> Option<i64> {
    record.number(name).filter(|&ms| ms <= MAX_MS).map(|ms| ms as i64 * 1_000_000)
}

/// An account, with its times on the axis.
#[derive(Clone, Debug)]
pub(super) struct BootAccount {
    /// Kernel start, ns since 1970.
    pub(super) start_unix_ns: i64,
    pub(super) account: WindowsAccount,
    session_init_ns: i64,
    logon_process_ns: i64,
    logon_work_ns: i64,
    devices: [(i64, i64); 2],
}

impl BootAccount {
    /// `None` if a field that every version has is missing or absurd.
    pub(super) fn new(record: &Record) -> Option<Self> {
        let ms = |name: &str| milliseconds(record, name);
        let or_zero = |name: &str| ms(name).unwrap_or(0);
        let interval = |start: &str, length: &str| (or_zero(start), or_zero(start) + or_zero(length));
        let flag = |name: &str| record.number(name) == Some(1);
        let explorer_ns = ms("BootExplorerInitTime")?;
        let post_boot_ns = ms("BootPostBootTime")?;
        Some(Self {
            start_unix_ns: record.time("BootStartTime")?,
            session_init_ns: or_zero("SessionInitStartTimeMS"),
            logon_process_ns: or_zero("WinLogonStartTimeMS"),
            logon_work_ns: or_zero("OtherLogonInitActivityDuration"),
            devices: [
                interval("BootPNPInitStartTimeMS", "BootPNPInitDuration"),
                interval("SystemPNPInitStartTimeMS", "SystemPNPInitDuration"),
            ],
            account: WindowsAccount {
                boot_ns: ms("BootTime")?,
                main_path_ns: ms("MainPathBootTime")?,
                post_boot_ns,
                session_manager_ns: ms("SessionInitStartTimeMS"),
                logon_process_ns: ms("WinLogonStartTimeMS"),
                // Windows counts busy slices of 100 ms there; other values are wall time.
                is_post_boot_without_idle: post_boot_ns % 100_000_000 == 0,
                os_loader_ns: ms("OSLoaderDuration"),
                user_wait_ns: ms("UserLogonWaitDuration"),
                explorer_ns: Some(explorer_ns).filter(|&ns| ns > 0),
                profiles_ns: or_zero("BootUserProfileProcessingTime") + or_zero("BootMachineProfileProcessingTime"),
                session_0_ns: ms("Session0InitDuration"),
                session_1_ns: ms("Session1InitDuration"),
                session_other_ns: ms("SessionInitOtherDuration"),
                system_boot_number: record.number("SystemBootInstance"),
                is_after_installation: flag("BootIsRebootAfterInstall"),
                is_degradation: flag("BootIsDegradation"),
                event: format!("{}/{}", record.provider, record.id),
            },
        })
    }

    /// Windows 7 and later record the phases, Windows Vista only their totals.
    fn has_phases(&self) -> bool {
        self.session_init_ns > 0 && self.logon_process_ns >= self.session_init_ns
    }

    /// Length of the wait for a person; 0 for an automatic logon.
    fn user_wait_ns(&self) -> i64 {
        self.account.user_wait_ns.filter(|&ns| ns >= MIN_USER_WAIT_NS).unwrap_or(0)
    }

    /// The desktop is usable, ns after the kernel's start.
    fn desktop_ns(&self) -> i64 {
        self.account.main_path_ns + self.user_wait_ns()
    }

    /// The computer is idle, by Windows' own count.
    pub(super) fn idle_ns(&self) -> i64 {
        self.desktop_ns() + self.account.post_boot_ns
    }

    /// Time, milestone and value of each moment of the account.
    pub(super) fn milestones(&self) -> Vec<(i64, &'static str, Option<i64>)> {
        let mut rows = Vec::new();
        if let Some(ns) = self.account.os_loader_ns {
            rows.push((0, milestone::OS_LOADER, Some(ns)));
        }
        if self.has_phases() {
            let [boot_start, system_start] = self.devices;
            rows.extend([
                (boot_start.0, milestone::BOOT_START_BEGIN, None),
                (boot_start.1, milestone::BOOT_START_END, None),
                (system_start.0, milestone::SYSTEM_START_BEGIN, None),
                (system_start.1, milestone::SYSTEM_START_END, None),
                (self.session_init_ns, milestone::ACCOUNT_SESSION_MANAGER, None),
                (self.logon_process_ns, milestone::ACCOUNT_LOGON_PROCESS, None),
            ]);
        }
        if let Some(explorer_ns) = self.account.explorer_ns {
            rows.push((self.desktop_ns() - explorer_ns, milestone::ACCOUNT_SHELL_START, None));
        }
        rows.push((self.desktop_ns(), milestone::ACCOUNT_DESKTOP, None));
        rows.push((self.idle_ns(), milestone::ACCOUNT_IDLE, None));
        rows
    }

    /// The wait for a person at the logon screen, ns after the kernel's start.
    pub(super) fn user_wait(&self) -> Option<(ActivityKind, i64, i64)> {
        let wait_ns = self.user_wait_ns();
        let start_ns = self.logon_process_ns + self.logon_work_ns;
        (wait_ns > 0 && self.has_phases()).then_some((ActivityKind::CredentialRequest, start_ns, start_ns + wait_ns))
    }
}

/// A delay that Windows reports.
pub(super) fn reported_delay(record: &Record) -> Option<Delay> {
    let cause = match record.id {
        101 | 201 => ReportedCause::Application,
        102 => ReportedCause::Driver,
        103 | 203 => ReportedCause::Service,
        104 => ReportedCause::CorePrefetch,
        105 => ReportedCause::ForegroundOptimization,
        106 => ReportedCause::BackgroundOptimization,
        107 => ReportedCause::MachinePolicy,
        108 => ReportedCause::UserPolicy,
        109 | 202 => ReportedCause::Device,
        110 => ReportedCause::SessionManager,
        _ => return None,
    };
    let ms = |name: &str| milliseconds(record, name);
    let text = |name: &str| record.text(name).unwrap_or_default().to_owned();
    Some(Delay {
        start_unix_ns: record.time("StartTime")?,
        row: ReportedDelay {
            transition: match SHUTDOWN_DELAYS.contains(&record.id) {
                true => ReportedTransition::Shutdown,
                false => ReportedTransition::Boot,
            },
            cause,
            total_ns: ms("TotalTime")?,
            excess_ns: ms("DegradationTime")?,
            ..ReportedDelay::UNKNOWN
        },
        texts: ["Name", "FriendlyName", "Version", "Path", "CompanyName"].map(text),
    })
}

/// A reported delay before its texts are interned.
pub(super) struct Delay {
    /// Start of the transition it belongs to.
    pub(super) start_unix_ns: i64,
    pub(super) row: ReportedDelay,
    /// Name, friendly name, version, path and company.
    pub(super) texts: [String; 5],
}
