//! Writes the event logs of a simulated boot, as Windows writes them, from the truth of its recording.
//!
//! Facts from the logs of real computers: the kernel's first records come some 40 ms after `BootStartTime`; the log
//! service writes its own records first, then the end of the previous session, then the kernel's start, with earlier
//! times; Windows' own account comes a minute after the computer was idle, and its sums hold to the millisecond. Texts
//! for people are in the language of the computer.

use onoff_testkit::event_log::{LogRecord, LogValue, evtx};

use super::scenario::Scenario;
use super::truth::Truth;
use super::units::TickDuration;
use super::unix_ns;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
/// Precision of the start time in the kernel's own record, in ticks of 100 ns.
const HALF_SECOND: u64 = 5_000_000;
/// The kernel starts this long before its first record.
const KERNEL_BEFORE_RECORD_NS: i64 = 40 * MS;
/// The previous session ended this long before the boot.
const OFF_NS: i64 = 8 * 3_600 * SECOND;
/// Idle time that Windows waits for, and that its account leaves out.
const IDLE_NS: i64 = 60 * SECOND;
/// Time after which Windows writes its account.
const WRITE_ACCOUNT_NS: i64 = 5 * SECOND;
/// Number of the boot since Windows was installed.
const BOOT_NUMBER: u32 = 41;

const SYSTEM: &str = "System";
const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";
const GENERAL: &str = "Microsoft-Windows-Kernel-General";
const KERNEL_BOOT: &str = "Microsoft-Windows-Kernel-Boot";
const WINLOGON: &str = "Microsoft-Windows-Winlogon";
const GROUP_POLICY: &str = "Microsoft-Windows-GroupPolicy";
const PROFILES: &str = "Microsoft-Windows-User Profiles Service";
const PROFILE_CHANNEL: &str = "Microsoft-Windows-User Profile Service/Operational";

/// The records of a computer's event logs, each channel in the order of writing.
#[derive(Clone, Debug, Default)]
pub struct ComputerLogs {
    pub records: Vec<LogRecord>,
}

impl ComputerLogs {
    /// Returns one file per channel, with the names that Windows gives them.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut channels: Vec<&str> = Vec::new();
        for record in &self.records {
            if !channels.contains(&record.channel.as_str()) {
                channels.push(&record.channel);
            }
        }
        let file = |channel: &str| {
            let records = self.records.iter().filter(|record| record.channel == channel);
            let numbered: Vec<LogRecord> =
                (1..).zip(records).map(|(number, record)| LogRecord { number, ..record.clone() }).collect();
            (format!("{}.evtx", channel.replace('/', "%4")), evtx(&numbered))
        };
        channels.into_iter().map(file).collect()
    }

    /// Returns the same boot at another time.
    #[must_use]
    pub fn shifted(&self, ns: i64) -> Self {
        let mut logs = self.clone();
        for record in &mut logs.records {
            record.time_ns += ns;
            for (_, value) in &mut record.data {
                if let LogValue::Time(time_ns) = value {
                    *time_ns += ns;
                }
            }
        }
        logs
    }

    /// Returns the logs of this boot and a later one.
    #[must_use]
    pub fn followed_by(&self, later: &Self) -> Self {
        Self { records: [&self.records[..], &later.records[..]].concat() }
    }

    /// Returns the logs of a computer with another name.
    #[must_use]
    pub fn of_computer(&self, name: &str) -> Self {
        let mut logs = self.clone();
        logs.records.iter_mut().for_each(|record| record.computer = name.to_owned());
        logs
    }

    /// Returns Windows' own account of the boot.
    pub fn account_mut(&mut self) -> Option<&mut LogRecord> {
        self.records.iter_mut().find(|record| record.provider == DIAGNOSTICS && record.id == 100)
    }
}

/// Returns the build in the kernel's own records: that of the release which an enablement package turns into `build`.
pub(super) const fn base_build(build: u32) -> u32 {
    match build {
        18363 => 18362,
        19042..=19045 => 19041,
        22631 => 22621,
        26200 => 26100,
        _ => build,
    }
}

impl Scenario {
    /// Returns the start in the kernel's own record, a `FILETIME`: coarse, up to half a second before the record.
    pub(super) fn kernel_start_time(&self) -> u64 {
        let time = self.logger().start_time;
        time - time % HALF_SECOND
    }

    /// Returns the event logs that the computer has some minutes after the simulated boot; empty if the scenario is not
    /// a boot. Windows' own account is missing if the computer was not idle before the recording ended.
    #[must_use]
    pub fn event_logs(&self, truth: &Truth) -> ComputerLogs {
        if !self.is_boot() {
            return ComputerLogs::default();
        }
        let mut writer = Writer {
            scenario: self,
            truth,
            start_unix_ns: unix_ns(self.logger().start_time),
            logs: ComputerLogs::default(),
        };
        writer.previous_session();
        writer.log_service();
        writer.kernel();
        writer.logon();
        writer.account();
        writer.logs
    }
}

struct Writer<'s> {
    scenario: &'s Scenario,
    truth: &'s Truth,
    /// Wall clock of the recording's first event.
    start_unix_ns: i64,
    logs: ComputerLogs,
}

impl Writer<'_> {
    /// Returns the wall clock at a time of the recording.
    fn wall_clock(&self, time_ns: i64) -> i64 {
        let steps = self.truth.clock_steps.iter().filter(|(step_time_ns, _)| *step_time_ns <= time_ns);
        self.start_unix_ns + time_ns + steps.map(|(_, step_ns)| step_ns).sum::<i64>()
    }

    fn record(&self, channel: &str, provider: &str, id: u16, time_ns: i64) -> LogRecord {
        LogRecord {
            computer: self.scenario.machine.computer.clone(),
            ..LogRecord::new(channel, provider, id, self.wall_clock(time_ns))
        }
    }

    fn write(&mut self, record: LogRecord) {
        self.logs.records.push(record);
    }

    /// The end of the session before: a person shuts down, and the log service stops.
    fn previous_session(&mut self) {
        let shut_down = self
            .record(SYSTEM, "User32", 1074, -OFF_NS - 9 * SECOND)
            .with("param1", "C:\\Windows\\System32\\shutdown.exe")
            .with("param2", self.scenario.machine.computer.as_str())
            .with("param3", "Für diesen Grund wurde kein Name gefunden.")
            .with("param4", "0x800000ff")
            .with("param5", "Herunterfahren")
            .with("param6", "")
            .with("param7", "NT-AUTORITÄT\\SYSTEM");
        self.write(shut_down);
        let stopped = self.record(SYSTEM, "EventLog", 6006, -OFF_NS - 2 * SECOND);
        self.write(stopped);
    }

    /// The log service writes its own records before those that the kernel kept for it.
    fn log_service(&mut self) {
        let service =
            self.truth.services.iter().find(|service| service.name == "EventLog").map(|service| service.end_ns);
        let time_ns = service.filter(|&end_ns| end_ns > 0).unwrap_or(9 * SECOND);
        let build = self.scenario.machine.build.to_string();
        let version = self
            .record(SYSTEM, "EventLog", 6009, time_ns)
            .with("", "10.00.")
            .with("", build.as_str())
            .with("", "")
            .with("", "Multiprocessor Free");
        self.write(version);
        let started = self.record(SYSTEM, "EventLog", 6005, time_ns);
        self.write(started);
        let uptime = (time_ns / SECOND).to_string();
        let uptime = ["", "", "", "", uptime.as_str(), "60", "-60 Mitteleuropäische Zeit"]
            .into_iter()
            .fold(self.record(SYSTEM, "EventLog", 6013, time_ns), |record, value| record.with("", value));
        self.write(uptime);
        let end_ns = -OFF_NS;
        let action = self
            .record(SYSTEM, "Microsoft-Windows-Kernel-Power", 109, end_ns - 540 * MS)
            .with("ShutdownActionType", 6)
            .with("ShutdownEventCode", 0)
            .with("ShutdownReason", 5);
        self.write(action);
        let stop_time = LogValue::Time(self.wall_clock(end_ns));
        let stopped = self.record(SYSTEM, GENERAL, 13, end_ns).with("StopTime", stop_time);
        self.write(stopped);
    }

    fn kernel(&mut self) {
        let machine = &self.scenario.machine;
        let start_time = LogValue::Time(unix_ns(self.scenario.kernel_start_time()));
        let started = self
            .record(SYSTEM, GENERAL, 12, 0)
            .with("MajorVersion", 10)
            .with("MinorVersion", 0)
            .with("BuildVersion", base_build(machine.build))
            .with("QfeVersion", 0)
            .with("ServiceVersion", 0)
            .with("BootMode", 0)
            .with("StartTime", start_time);
        self.write(started);
        let last_boot = self
            .record(SYSTEM, KERNEL_BOOT, 20, MS)
            .with("LastShutdownGood", LogValue::Bool(true))
            .with("LastBootGood", LogValue::Bool(true))
            .with("LastBootId", BOOT_NUMBER - 1)
            .with("BootStatusPolicy", 1);
        self.write(last_boot);
        if let Some(firmware) = &self.scenario.firmware {
            let kind = self
                .record(SYSTEM, KERNEL_BOOT, 27, MS)
                .with("BootType", firmware.boot_type)
                .with("LoadOptions", " NOEXECUTE=OPTIN");
            self.write(kind);
            let names = [
                "ResetEndStart",
                "LoadOSImageStart",
                "StartOSImageStart",
                "ExitBootServicesEntry",
                "ExitBootServicesExit",
            ];
            let table = firmware.kernel_table(self.scenario.kernel.loader);
            let times =
                names.into_iter().zip(table).fold(self.record(SYSTEM, KERNEL_BOOT, 30, MS), |record, (name, ms)| {
                    record.with(name, LogValue::U64(ms))
                });
            self.write(times);
        }
        let password = self.record(SYSTEM, KERNEL_BOOT, 32, MS).with("BitlockerUserInputTime", 0);
        self.write(password);
        let volume = self
            .record(SYSTEM, "Microsoft-Windows-Ntfs", 98, 2_500 * MS)
            .with("DriveName", "C:")
            .with("DeviceName", "\\Device\\HarddiskVolume2")
            .with("CorruptionActionState", 0);
        self.write(volume);
        for &(time_ns, step_ns) in &self.truth.clock_steps {
            let new_ns = self.wall_clock(time_ns);
            let set = self
                .record(SYSTEM, GENERAL, 1, time_ns)
                .with("NewTime", LogValue::Time(new_ns))
                .with("OldTime", LogValue::Time(new_ns - step_ns))
                .with("Reason", 1)
                .with("ProcessName", "\\Device\\HarddiskVolume2\\Windows\\System32\\svchost.exe")
                .with("ProcessID", 1_204);
            self.write(set);
        }
        let boot = self.record("Microsoft-Windows-Kernel-Boot/Operational", KERNEL_BOOT, 292, MS).with("Status", 0);
        self.write(boot);
    }

    fn logon(&mut self) {
        const CHANNEL: &str = "Microsoft-Windows-Winlogon/Operational";
        const POLICY_CHANNEL: &str = "Microsoft-Windows-GroupPolicy/Operational";
        let mut records: Vec<(i64, LogRecord)> = Vec::new();
        if let Some((start_ns, end_ns)) = self.truth.authentication_ns {
            records.push((start_ns, self.record(CHANNEL, WINLOGON, 1, start_ns)));
            records.push((end_ns, self.record(CHANNEL, WINLOGON, 2, end_ns).with("Win32Status", 0)));
            records.push((end_ns, self.record(SYSTEM, WINLOGON, 7001, end_ns).with("TSId", 1)));
            let profile =
                |id, time_ns| (time_ns, self.record(PROFILE_CHANNEL, PROFILES, id, time_ns).with("Session", 1));
            // Loading the profile is a part of its processing.
            records.extend([profile(1, end_ns), profile(2, end_ns + 30 * MS)]);
        }
        for (name, start_ns, end_ns) in &self.truth.subscribers {
            for (id, time_ns) in [(811, *start_ns), (812, *end_ns)] {
                let record = self.record(CHANNEL, WINLOGON, id, time_ns).with("Event", 2);
                records.push((time_ns, record.with("SubscriberName", name.as_str())));
            }
        }
        let policies = [(self.truth.computer_policy_ns, 4000, 1), (self.truth.user_policy_ns, 4001, 0)];
        for (interval, id, is_machine) in policies {
            let Some((start_ns, end_ns)) = interval else { continue };
            let start = self.record(POLICY_CHANNEL, GROUP_POLICY, id, start_ns).with("IsMachine", is_machine);
            let seconds = u32::try_from((end_ns - start_ns) / SECOND).unwrap_or(0);
            let end = self
                .record(POLICY_CHANNEL, GROUP_POLICY, id + 4_000, end_ns)
                .with("PolicyElaspedTimeInSeconds", seconds)
                .with("ErrorCode", 0)
                .with("IsMachine", is_machine);
            records.extend([(start_ns, start), (end_ns, end)]);
        }
        records.sort_by_key(|(time_ns, _)| *time_ns);
        records.into_iter().for_each(|(_, record)| self.write(record));
    }

    /// Event 100. Its times are in whole milliseconds since the kernel's start; each length is the difference of two of
    /// them, so that the sums hold.
    fn account(&mut self) {
        const CHANNEL: &str = "Microsoft-Windows-Diagnostics-Performance/Operational";
        let Some(account) = Account::new(self.scenario, self.truth) else { return };
        let end_ns = i64::from(account.boot + account.wait) * MS - KERNEL_BEFORE_RECORD_NS + IDLE_NS;
        let start_time = LogValue::Time(self.wall_clock(-KERNEL_BEFORE_RECORD_NS));
        let end_time = LogValue::Time(self.wall_clock(end_ns));
        let record = LogRecord {
            version: 2,
            level: account.level(),
            ..self.record(CHANNEL, DIAGNOSTICS, 100, end_ns + WRITE_ACCOUNT_NS)
        };
        let record = record
            .with("BootTsVersion", 2)
            .with("BootStartTime", start_time)
            .with("BootEndTime", end_time)
            .with("SystemBootInstance", BOOT_NUMBER)
            .with("UserBootInstance", BOOT_NUMBER - 3);
        let record = account.fields().into_iter().fold(record, |record, (name, value)| match value {
            Field::Number(number) => record.with(name, number),
            Field::Flag(flag) => record.with(name, LogValue::Bool(flag)),
        });
        self.write(record);
    }
}

enum Field {
    Number(u32),
    Flag(bool),
}

/// Times of event 100, ms.
struct Account {
    boot: u32,
    main_path: u32,
    post_boot: u32,
    loader: u32,
    boot_devices: (u32, u32),
    system_devices: (u32, u32),
    autochk: u32,
    session_manager: u32,
    session_0: u32,
    session_1: u32,
    logon_process: u32,
    logon_work: u32,
    wait: u32,
    profile: u32,
    explorer: u32,
    startup_apps: u32,
}

impl Account {
    /// Returns `None` if the computer was not idle at the end of the recording.
    fn new(scenario: &Scenario, truth: &Truth) -> Option<Self> {
        let post_boot = truth.post_boot.as_ref().filter(|post_boot| post_boot.is_satisfied)?;
        let ms = |ns: i64| u32::try_from((ns + MS / 2) / MS).unwrap_or(0);
        let since_kernel = |time_ns: i64| ms(time_ns + KERNEL_BEFORE_RECORD_NS);
        let interval = |interval: Option<(i64, i64)>| {
            let (start, end) = interval.map_or((0, 0), |(start, end)| (since_kernel(start), since_kernel(end)));
            (start, end - start)
        };
        let phase_end = |name: &str| truth.phase(name).map(|phase| since_kernel(phase.end_ns));
        let session_manager = phase_end("PreSMSS")?;
        let logon_process = phase_end("SMSSInit")?;
        let shell = phase_end("WinLogonInit")?;
        let desktop = since_kernel(truth.desktop_ready_ns?);
        let wait = truth.credentials_ns.map_or(0, |(start_ns, end_ns)| ms(end_ns - start_ns));
        // Authentication starts after the work of the logon and the wait; what follows is processing of the profile.
        let authentication = truth.authentication_ns.map_or(shell, |(start_ns, _)| since_kernel(start_ns));
        let main_path = desktop - wait;
        let post_boot = ms(post_boot.busy_ns);
        let ticks = |duration: Option<TickDuration>| duration.map_or(0, |duration| ms(duration.as_ns()));
        Some(Self {
            boot: main_path + post_boot,
            main_path,
            post_boot,
            loader: ticks(scenario.kernel.loader),
            boot_devices: interval(truth.boot_start_ns),
            system_devices: interval(truth.system_start_ns),
            autochk: ticks(scenario.session.autochk),
            session_manager,
            session_0: truth.system_video_ns.map_or(0, ms),
            session_1: truth.user_video_ns.map_or(0, ms),
            logon_process,
            logon_work: authentication.saturating_sub(logon_process + wait),
            wait,
            profile: shell.saturating_sub(authentication),
            explorer: desktop - shell,
            startup_apps: u32::try_from(scenario.shell.startup.len()).unwrap_or(0),
        })
    }

    const fn level(&self) -> u8 {
        const CRITICAL: u8 = 1;
        const ERROR: u8 = 2;
        const WARNING: u8 = 3;
        if self.post_boot > 60_000 || self.main_path > 120_000 {
            CRITICAL
        } else if self.post_boot > 30_000 || self.main_path > 60_000 {
            ERROR
        } else {
            WARNING
        }
    }

    /// The fields after the counters, in the order of version 2.
    fn fields(&self) -> Vec<(&'static str, Field)> {
        let devices = self.boot_devices.1 + self.system_devices.1;
        let smss = self.logon_process - self.session_manager;
        let number = |name, value| (name, Field::Number(value));
        let flag = |name, value| (name, Field::Flag(value));
        vec![
            number("BootTime", self.boot),
            number("MainPathBootTime", self.main_path),
            number("BootKernelInitTime", self.boot_devices.0),
            number("BootDriverInitTime", devices / 3),
            number("BootDevicesInitTime", devices - devices / 3),
            number("BootPrefetchInitTime", 0),
            number("BootPrefetchBytes", 0),
            number("BootAutoChkTime", self.autochk),
            number("BootSmssInitTime", smss),
            number("BootCriticalServicesInitTime", self.logon_work / 4),
            number("BootUserProfileProcessingTime", self.profile),
            number("BootMachineProfileProcessingTime", 0),
            number("BootExplorerInitTime", self.explorer),
            number("BootNumStartupApps", self.startup_apps),
            number("BootPostBootTime", self.post_boot),
            flag("BootIsRebootAfterInstall", false),
            number("BootRootCauseStepImprovementBits", 0),
            number("BootRootCauseGradualImprovementBits", 0),
            number("BootRootCauseStepDegradationBits", 0),
            number("BootRootCauseGradualDegradationBits", 0),
            flag("BootIsDegradation", false),
            flag("BootIsStepDegradation", false),
            flag("BootIsGradualDegradation", false),
            number("BootImprovementDelta", 0),
            number("BootDegradationDelta", 0),
            flag("BootIsRootCauseIdentified", false),
            number("OSLoaderDuration", self.loader),
            number("BootPNPInitStartTimeMS", self.boot_devices.0),
            number("BootPNPInitDuration", self.boot_devices.1),
            number("OtherKernelInitDuration", self.session_manager.saturating_sub(devices)),
            number("SystemPNPInitStartTimeMS", self.system_devices.0),
            number("SystemPNPInitDuration", self.system_devices.1),
            number("SessionInitStartTimeMS", self.session_manager),
            number("Session0InitDuration", self.session_0),
            number("Session1InitDuration", self.session_1),
            number("SessionInitOtherDuration", smss.saturating_sub(self.session_0 + self.session_1)),
            number("WinLogonStartTimeMS", self.logon_process),
            number("OtherLogonInitActivityDuration", self.logon_work),
            number("UserLogonWaitDuration", self.wait),
        ]
    }
}
