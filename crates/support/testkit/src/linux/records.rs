//! The files a machine's recorders write: journal, kernel log, properties of units and of the manager, trace.

use std::fmt::Write as _;

use super::plan::LinuxMachine;
use super::scheduler::Scheduler;

/// Boot id.
const BOOT_ID: &str = "5a1e0b6c7d8f4e219a3b4c5d6e7f8091";
/// Wall clock at the kernel's start, µs since 1970: 2026-11-22 09:00:00 UTC.
const WALL_US: i64 = 1_795_338_000_000_000;
/// Time from sending a message until journald receives it, µs.
const JOURNAL_DELAY_US: i64 = 120;
const FIRST_ENTRY: u64 = 1;

/// The recorded files.
#[derive(Clone, Debug, Default)]
pub struct LinuxFiles {
    /// `journalctl -o export`.
    pub journal: Vec<u8>,
    /// `dmesg`.
    pub kernel_log: Vec<u8>,
    /// `systemctl show '*'`.
    pub units: Vec<u8>,
    /// `systemctl show`.
    pub manager: Vec<u8>,
    /// `/sys/kernel/tracing/trace`.
    pub trace: Vec<u8>,
    /// Firmware tables in sysfs: path and value.
    pub firmware: Vec<(String, Vec<u8>)>,
    /// Readings of clocks and power counters.
    pub power: Vec<u8>,
}

/// One of several boots in a journal.
#[derive(Clone, Copy, Debug)]
pub struct JournaledBoot<'p> {
    pub files: &'p LinuxFiles,
    /// Day of the boot, relative to the day of the simulation.
    pub day: i64,
    /// Messages of programs after the boot: identifier and text.
    pub messages: &'p [(&'p str, &'p str)],
    /// Kernel release.
    pub kernel: &'p str,
}

/// Returns the journal of several boots in the format of `journalctl -o export`.
#[must_use]
pub fn journal_of_boots(boots: &[JournaledBoot<'_>]) -> Vec<u8> {
    const DAY_US: i64 = 86_400_000_000;
    let mut text = String::new();
    for (number, boot) in (0x6000_u32..).zip(boots) {
        let id = format!("{}{number:04x}", &BOOT_ID[4..]);
        let shift_line = |line: &str, name: &str| -> Option<String> {
            let us: i64 = line.strip_prefix(name)?.parse().ok()?;
            Some(format!("{name}{}", us + boot.day * DAY_US))
        };
        let (mut last_real_us, mut last_monotonic_us) = (WALL_US, 0_i64);
        for line in String::from_utf8_lossy(&boot.files.journal).lines() {
            let timestamp = |name: &str| line.strip_prefix(name).and_then(|us| us.parse::<i64>().ok());
            last_real_us = timestamp("__REALTIME_TIMESTAMP=").unwrap_or(last_real_us);
            last_monotonic_us = timestamp("__MONOTONIC_TIMESTAMP=").unwrap_or(last_monotonic_us);
            let shifted_line =
                shift_line(line, "__REALTIME_TIMESTAMP=").or_else(|| shift_line(line, "_SOURCE_REALTIME_TIMESTAMP="));
            let line =
                shifted_line.unwrap_or_else(|| line.replace(BOOT_ID, &id).replace("6.1.0-50-amd64", boot.kernel));
            text.push_str(&line);
            text.push('\n');
        }
        for (after_us, (identifier, message)) in (1..).map(|minutes| minutes * 60_000_000).zip(boot.messages) {
            let _ = writeln!(
                text,
                "__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP={}\n_BOOT_ID={id}\n_MACHINE_ID=5c61d648e6dd4ef099ea0f4ccc0fe160\n_HOSTNAME=machine\n\
                 _TRANSPORT=syslog\nSYSLOG_IDENTIFIER={identifier}\n_PID=900\nMESSAGE={message}\n",
                last_real_us + boot.day * DAY_US + after_us,
                last_monotonic_us + after_us,
            );
        }
    }
    text.into_bytes()
}

impl LinuxFiles {
    /// Returns all files, with the names that `onoff record` uses.
    #[must_use]
    pub fn all_files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = self.files_without_trace();
        files.push(("trace.txt".to_owned(), self.trace.clone()));
        files.push(("trace_clock".to_owned(), b"local global [mono] boot\n".to_vec()));
        files
    }

    /// Returns all files except the trace.
    #[must_use]
    pub fn files_without_trace(&self) -> Vec<(String, Vec<u8>)> {
        let files = [
            ("journal.export", &self.journal),
            ("dmesg.txt", &self.kernel_log),
            ("units.txt", &self.units),
            ("manager.txt", &self.manager),
            ("clock.txt", &self.power),
        ];
        let present_files = files.into_iter().filter(|(_, bytes)| !bytes.is_empty());
        let mut files: Vec<(String, Vec<u8>)> =
            present_files.map(|(name, bytes)| (format!("lab/{name}"), bytes.clone())).collect();
        files.extend(self.firmware.iter().cloned());
        files
    }

    /// Returns only the journal, which includes the kernel log.
    #[must_use]
    pub fn journal_file(&self) -> Vec<(String, Vec<u8>)> {
        vec![("journal.export".to_owned(), self.journal.clone())]
    }

    /// Returns only the kernel log.
    #[must_use]
    pub fn kernel_log_file(&self) -> Vec<(String, Vec<u8>)> {
        vec![("dmesg.txt".to_owned(), self.kernel_log.clone())]
    }
}

/// State of a unit, as `systemctl show` prints it.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitState {
    pub(super) start_us: i64,
    pub(super) active_us: i64,
    pub(super) stop_us: i64,
    pub(super) inactive_us: i64,
    pub(super) pid: u32,
    /// Process ids of its commands, in order.
    pub(super) commands: Vec<u32>,
    pub(super) result: &'static str,
    pub(super) has_failed: bool,
}

/// Collects everything the recorders write during a simulation.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    journal: Vec<(i64, Vec<(String, String)>)>,
    kernel_log: Vec<(i64, String)>,
    manager: Vec<(&'static str, i64)>,
    /// Indexed like the plan's units; `None` for units that never started.
    pub(super) units: Vec<Option<UnitState>>,
    /// Messages logged before the start of journald is known: time, sender, text.
    early: Vec<(i64, &'static str, String)>,
    /// Start of journald, µs; earlier messages go to the kernel log.
    pub(super) journal_from_us: i64,
    /// End of journald; later messages are not in the journal.
    pub(super) journal_until_us: Option<i64>,
    /// Firmware tables in sysfs: path and value.
    pub(super) firmware: Vec<(String, Vec<u8>)>,
    pub(super) power: Vec<String>,
}

impl Recorder {
    /// Logs a kernel message, which the journal also gets.
    pub(super) fn log_kernel(&mut self, time_us: i64, text: &str) {
        self.kernel_log.push((time_us, text.to_owned()));
        let fields = [("_TRANSPORT", "kernel"), ("PRIORITY", "6"), ("SYSLOG_IDENTIFIER", "kernel"), ("MESSAGE", text)];
        self.append_to_journal(time_us, time_us.max(self.journal_from_us), &fields);
    }

    /// Logs a kernel message when the start of journald is not known yet.
    pub(super) fn log_early_kernel(&mut self, time_us: i64, text: &str) {
        self.early.push((time_us, "kernel", text.to_owned()));
    }

    /// Starts journald, which receives the earlier messages.
    pub(super) fn start_journald(&mut self, time_us: i64) {
        self.journal_from_us = time_us;
        let flush = "systemd-journald[180]: Received client request to flush runtime journal.";
        self.kernel_log.push((time_us, flush.to_owned()));
        for (sent_us, sender, text) in std::mem::take(&mut self.early) {
            match sender {
                "kernel" => self.log_kernel(sent_us, &text),
                _ => self.log_manager(sent_us, &text, &[]),
            }
        }
    }

    /// Logs a program's message to the kernel log only.
    pub(super) fn log_console(&mut self, time_us: i64, sender: &str, text: &str) {
        self.kernel_log.push((time_us, format!("{sender}[1]: {text}")));
    }

    /// Logs a message of the service manager, with fields that describe its subject.
    pub(super) fn log_manager(&mut self, time_us: i64, text: &str, extra_fields: &[(&str, &str)]) {
        if self.journal_from_us == i64::MAX {
            self.early.push((time_us, "systemd", text.to_owned()));
            return;
        }
        if time_us < self.journal_from_us {
            self.kernel_log.push((time_us, format!("systemd[1]: {text}")));
            let fields = [
                ("_TRANSPORT", "kernel"),
                ("PRIORITY", "6"),
                ("SYSLOG_IDENTIFIER", "systemd"),
                ("SYSLOG_PID", "1"),
                ("MESSAGE", text),
            ];
            self.append_to_journal(time_us, self.journal_from_us, &fields);
            return;
        }
        let mut fields = vec![
            ("_TRANSPORT", "journal"),
            ("PRIORITY", "6"),
            ("SYSLOG_IDENTIFIER", "systemd"),
            ("_PID", "1"),
            ("_COMM", "systemd"),
            ("_EXE", "/usr/lib/systemd/systemd"),
            ("MESSAGE", text),
        ];
        fields.extend(extra_fields);
        self.append_to_journal(time_us, time_us, &fields);
    }

    /// Logs a message of another program.
    pub(super) fn log_program(&mut self, time_us: i64, (name, pid): (&str, u32), text: &str) {
        let pid = pid.to_string();
        let fields = [
            ("_TRANSPORT", "journal"),
            ("PRIORITY", "6"),
            ("SYSLOG_IDENTIFIER", name),
            ("_PID", &pid),
            ("_COMM", name),
            ("MESSAGE", text),
        ];
        self.append_to_journal(time_us, time_us, &fields);
    }

    fn append_to_journal(&mut self, sent_us: i64, received_us: i64, fields: &[(&str, &str)]) {
        if self.journal_until_us.is_some_and(|end_us| received_us > end_us) {
            return;
        }
        let mut owned_fields: Vec<(String, String)> =
            fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (source_name, source_us) = match fields.first() {
            Some(&("_TRANSPORT", "kernel")) => ("_SOURCE_MONOTONIC_TIMESTAMP", sent_us),
            _ => ("_SOURCE_REALTIME_TIMESTAMP", WALL_US + sent_us),
        };
        owned_fields.push((source_name.to_owned(), source_us.to_string()));
        self.journal.push((received_us + JOURNAL_DELAY_US, owned_fields));
    }

    pub(super) fn property(&mut self, name: &'static str, us: i64) {
        self.manager.push((name, us));
    }

    pub(super) fn files(mut self, plan: &LinuxMachine, scheduler: Scheduler) -> LinuxFiles {
        self.journal.sort_by_key(|(time_us, _)| *time_us);
        self.kernel_log.sort_by_key(|(time_us, _)| *time_us);
        let mut kernel_log = String::new();
        for (time_us, text) in &self.kernel_log {
            let _ = writeln!(kernel_log, "[{:5}.{:06}] {text}", time_us / 1_000_000, time_us % 1_000_000);
        }
        let mut manager = "Version=252.39-1~deb12u2\n".to_owned();
        for (name, us) in &self.manager {
            let _ = writeln!(manager, "{name}={us}");
        }
        LinuxFiles {
            journal: self.export().into_bytes(),
            kernel_log: kernel_log.into_bytes(),
            units: self.unit_properties(plan).into_bytes(),
            manager: manager.into_bytes(),
            trace: trace(scheduler).into_bytes(),
            firmware: self.firmware,
            power: self.power.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes(),
        }
    }

    fn export(&self) -> String {
        let mut text = String::new();
        for ((time_us, fields), number) in self.journal.iter().zip(FIRST_ENTRY..) {
            let real_us = WALL_US + time_us;
            let _ = writeln!(
                text,
                "__CURSOR=s=0f1e2d3c4b5a49788695a4b3c2d1e0ff;i={number:x};b={BOOT_ID};m={time_us:x};t={real_us:x};x={number:x}\n\
                 __REALTIME_TIMESTAMP={real_us}\n__MONOTONIC_TIMESTAMP={time_us}\n_BOOT_ID={BOOT_ID}\n\
                 _MACHINE_ID=5c61d648e6dd4ef099ea0f4ccc0fe160\n_HOSTNAME=machine"
            );
            for (name, value) in fields {
                let _ = writeln!(text, "{name}={value}");
            }
            text.push('\n');
        }
        text
    }

    fn unit_properties(&self, plan: &LinuxMachine) -> String {
        let mut text = String::new();
        for (unit, state) in plan.units.iter().zip(&self.units) {
            let is_default = unit.name == plan.default_target;
            let alias = if is_default { " default.target" } else { "" };
            let _ = writeln!(text, "Id={0}\nNames={0}{alias}\nLoadState=loaded", unit.name);
            let _ = writeln!(text, "After={}", unit.after.join(" "));
            if unit.name.ends_with(".target") {
                let _ = writeln!(text, "Wants={}", unit.after.join(" "));
            }
            let Some(state) = state else {
                text.push_str("ActiveState=inactive\nInactiveExitTimestampMonotonic=0\n\n");
                continue;
            };
            let active_state = match state {
                UnitState { has_failed: true, .. } => "failed",
                UnitState { active_us: 0, .. } => "activating",
                UnitState { inactive_us, active_us, .. } if inactive_us > active_us => "inactive",
                _ => "active",
            };
            let result = if state.result.is_empty() { "success" } else { state.result };
            let _ = writeln!(text, "ActiveState={active_state}\nResult={result}");
            if unit.name.ends_with(".service") && state.pid > 0 {
                let _ = writeln!(
                    text,
                    "ExecMainPID={}\nExecMainStartTimestampMonotonic={}\nTimeoutStartUSec=1min 30s\nTimeoutStopUSec=1min 30s",
                    state.pid, state.start_us
                );
            }
            for pid in &state.commands {
                let command = format!(
                    "path=/bin/{0} ; argv[]=/bin/{0} ; ignore_errors=no ; pid={pid} ; code=exited ; status=0",
                    "load"
                );
                let _ = writeln!(text, "ExecStart={{ {command} }}");
            }
            for (name, us) in [
                ("InactiveExit", state.start_us),
                ("ActiveEnter", state.active_us),
                ("ActiveExit", state.stop_us),
                ("InactiveEnter", state.inactive_us),
            ] {
                let _ = writeln!(text, "{name}TimestampMonotonic={us}");
            }
            text.push('\n');
        }
        text
    }
}

/// Returns the trace in ftrace's text format.
fn trace(scheduler: Scheduler) -> String {
    let mut lines = scheduler.lines;
    lines.sort_by_key(|line| line.time_us);
    let mut text = format!(
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: {0}/{0}   #P:2\n#\n\
         #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n#              | |         |   |||||     |         |\n",
        lines.len()
    );
    for line in lines {
        let task = format!("{}-{}", line.task, line.pid);
        let (seconds, us) = (line.time_us / 1_000_000, line.time_us % 1_000_000);
        let flags = if line.in_interrupt { "d.s3." } else { "d..2." };
        let _ = writeln!(text, "{task:>16} [{:03}] {flags} {seconds:5}.{us:06}: {}", line.cpu, line.event);
    }
    text
}
