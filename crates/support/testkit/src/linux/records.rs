//! What a machine's recorders write: the journal, the kernel's log, properties of units and of the manager, the
//! tracer's text.

use std::fmt::Write as _;

use super::plan::LinuxMachine;
use super::processors::Processors;

/// The identity of the boot, as the journal has it.
const BOOT: &str = "5a1e0b6c7d8f4e219a3b4c5d6e7f8091";
/// The wall clock at the kernel's start, µs since 1970: 2026-11-22 09:00:00 UTC.
const WALL_US: i64 = 1_795_338_000_000_000;
/// A message reaches journald so much later than it was sent, µs.
const JOURNAL_DELAY_US: i64 = 120;
/// The number of the first entry.
const FIRST_ENTRY: u64 = 1;

/// What was recorded, by part.
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
    /// What Linux shows of the firmware's tables: path and value.
    pub firmware: Vec<(String, Vec<u8>)>,
    /// Readings of clocks and of what counts power.
    pub power: Vec<u8>,
}

/// A boot as one of several in a journal.
#[derive(Clone, Copy, Debug)]
pub struct JournalledBoot<'p> {
    /// What was recorded of it.
    pub files: &'p LinuxFiles,
    /// On which day it was, counted from that on which a machine is played by itself.
    pub day: i64,
    /// What programs said while it ran, after its start: who and what.
    pub said: &'p [(&'p str, &'p str)],
    /// The release of its kernel.
    pub kernel: &'p str,
}

/// The journal of several boots, as `journalctl -o export` writes it.
#[must_use]
pub fn journal_of_boots(boots: &[JournalledBoot<'_>]) -> Vec<u8> {
    const DAY_US: i64 = 86_400_000_000;
    let mut text = String::new();
    for (number, boot) in (0x6000_u32..).zip(boots) {
        let id = format!("{}{number:04x}", &BOOT[4..]);
        let later = |line: &str, name: &str| -> Option<String> {
            let us: i64 = line.strip_prefix(name)?.parse().ok()?;
            Some(format!("{name}{}", us + boot.day * DAY_US))
        };
        let mut last_us = (WALL_US, 0_i64);
        for line in String::from_utf8_lossy(&boot.files.journal).lines() {
            let stamp = |name: &str| line.strip_prefix(name).and_then(|us| us.parse::<i64>().ok());
            last_us.0 = stamp("__REALTIME_TIMESTAMP=").unwrap_or(last_us.0);
            last_us.1 = stamp("__MONOTONIC_TIMESTAMP=").unwrap_or(last_us.1);
            let moved = later(line, "__REALTIME_TIMESTAMP=").or_else(|| later(line, "_SOURCE_REALTIME_TIMESTAMP="));
            let line = moved.unwrap_or_else(|| line.replace(BOOT, &id).replace("6.1.0-50-amd64", boot.kernel));
            text.push_str(&line);
            text.push('\n');
        }
        for (after_us, (who, what)) in (1..).map(|minutes| minutes * 60_000_000).zip(boot.said) {
            let _ = writeln!(
                text,
                "__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP={}\n_BOOT_ID={id}\n_MACHINE_ID=5c61d648e6dd4ef099ea0f4ccc0fe160\n_HOSTNAME=machine\n\
                 _TRANSPORT=syslog\nSYSLOG_IDENTIFIER={who}\n_PID=900\nMESSAGE={what}\n",
                last_us.0 + boot.day * DAY_US + after_us,
                last_us.1 + after_us,
            );
        }
    }
    text.into_bytes()
}

impl LinuxFiles {
    /// Every part, as `onoff record` keeps them.
    #[must_use]
    pub fn all(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = self.without_trace();
        files.push(("trace.txt".to_owned(), self.trace.clone()));
        files.push(("trace_clock".to_owned(), b"local global [mono] boot\n".to_vec()));
        files
    }

    /// Every part but the trace.
    #[must_use]
    pub fn without_trace(&self) -> Vec<(String, Vec<u8>)> {
        let parts = [
            ("journal.export", &self.journal),
            ("dmesg.txt", &self.kernel_log),
            ("units.txt", &self.units),
            ("manager.txt", &self.manager),
            ("clock.txt", &self.power),
        ];
        let parts = parts.into_iter().filter(|(_, bytes)| !bytes.is_empty());
        let mut files: Vec<(String, Vec<u8>)> =
            parts.map(|(name, bytes)| (format!("lab/{name}"), bytes.clone())).collect();
        files.extend(self.firmware.iter().cloned());
        files
    }

    /// The journal alone, which holds the kernel's log too.
    #[must_use]
    pub fn journal_alone(&self) -> Vec<(String, Vec<u8>)> {
        vec![("journal.export".to_owned(), self.journal.clone())]
    }

    /// The kernel's log alone.
    #[must_use]
    pub fn kernel_log_alone(&self) -> Vec<(String, Vec<u8>)> {
        vec![("dmesg.txt".to_owned(), self.kernel_log.clone())]
    }
}

/// What `systemctl show` says of a unit.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitState {
    pub(super) start_us: i64,
    pub(super) active_us: i64,
    pub(super) stop_us: i64,
    pub(super) inactive_us: i64,
    pub(super) pid: u32,
    /// Processes of its commands, in the order in which they ran.
    pub(super) commands: Vec<u32>,
    pub(super) result: &'static str,
    pub(super) has_failed: bool,
}

/// What is written down while a machine is played.
#[derive(Debug, Default)]
pub(super) struct Records {
    journal: Vec<(i64, Vec<(String, String)>)>,
    kernel_log: Vec<(i64, String)>,
    manager: Vec<(&'static str, i64)>,
    /// By the units' places in the plan; those that never started have none.
    pub(super) units: Vec<Option<UnitState>>,
    /// What was said before it is known when journald will be there: when, by whom, what.
    early: Vec<(i64, &'static str, String)>,
    /// From when on journald takes messages, µs; before, they go to the kernel's log.
    pub(super) journal_from_us: i64,
    /// Without it nothing reaches the journal any more.
    pub(super) journal_until_us: Option<i64>,
    /// What Linux shows of the firmware's tables.
    pub(super) firmware: Vec<(String, Vec<u8>)>,
    /// Lines of readings of clocks and power.
    pub(super) power: Vec<String>,
}

impl Records {
    /// The kernel says something; journald keeps it too.
    pub(super) fn kernel(&mut self, time_us: i64, text: &str) {
        self.kernel_log.push((time_us, text.to_owned()));
        let fields = [("_TRANSPORT", "kernel"), ("PRIORITY", "6"), ("SYSLOG_IDENTIFIER", "kernel"), ("MESSAGE", text)];
        self.journal_takes(time_us, time_us.max(self.journal_from_us), &fields);
    }

    /// The same, when it is not known yet when journald will be there.
    pub(super) fn kernel_before_journal(&mut self, time_us: i64, text: &str) {
        self.early.push((time_us, "kernel", text.to_owned()));
    }

    /// journald is there: it takes what was said before.
    pub(super) fn journal_is_there(&mut self, time_us: i64) {
        self.journal_from_us = time_us;
        let flush = "systemd-journald[180]: Received client request to flush runtime journal.";
        self.kernel_log.push((time_us, flush.to_owned()));
        for (said_us, sender, text) in std::mem::take(&mut self.early) {
            match sender {
                "kernel" => self.kernel(said_us, &text),
                _ => self.manager_says(said_us, &text, &[]),
            }
        }
    }

    /// A program without a journal says something in the kernel's log.
    pub(super) fn console(&mut self, time_us: i64, sender: &str, text: &str) {
        self.kernel_log.push((time_us, format!("{sender}[1]: {text}")));
    }

    /// The service manager says something, with the fields that say what it is about.
    pub(super) fn manager_says(&mut self, time_us: i64, text: &str, about: &[(&str, &str)]) {
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
            self.journal_takes(time_us, self.journal_from_us, &fields);
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
        fields.extend(about);
        self.journal_takes(time_us, time_us, &fields);
    }

    /// Another program says something.
    pub(super) fn program_says(&mut self, time_us: i64, (name, pid): (&str, u32), text: &str) {
        let pid = pid.to_string();
        let fields = [
            ("_TRANSPORT", "journal"),
            ("PRIORITY", "6"),
            ("SYSLOG_IDENTIFIER", name),
            ("_PID", &pid),
            ("_COMM", name),
            ("MESSAGE", text),
        ];
        self.journal_takes(time_us, time_us, &fields);
    }

    fn journal_takes(&mut self, sent_us: i64, taken_us: i64, fields: &[(&str, &str)]) {
        if self.journal_until_us.is_some_and(|until| taken_us > until) {
            return;
        }
        let mut all: Vec<(String, String)> =
            fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let source = match fields.first() {
            Some(&("_TRANSPORT", "kernel")) => ("_SOURCE_MONOTONIC_TIMESTAMP", sent_us),
            _ => ("_SOURCE_REALTIME_TIMESTAMP", WALL_US + sent_us),
        };
        all.push((source.0.to_owned(), source.1.to_string()));
        self.journal.push((taken_us + JOURNAL_DELAY_US, all));
    }

    /// A property of the service manager.
    pub(super) fn property(&mut self, name: &'static str, us: i64) {
        self.manager.push((name, us));
    }

    /// What the files hold.
    pub(super) fn files(mut self, plan: &LinuxMachine, processors: Processors) -> LinuxFiles {
        self.journal.sort_by_key(|entry| entry.0);
        self.kernel_log.sort_by_key(|line| line.0);
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
            trace: trace(processors).into_bytes(),
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
                "__CURSOR=s=0f1e2d3c4b5a49788695a4b3c2d1e0ff;i={number:x};b={BOOT};m={time_us:x};t={real_us:x};x={number:x}\n\
                 __REALTIME_TIMESTAMP={real_us}\n__MONOTONIC_TIMESTAMP={time_us}\n_BOOT_ID={BOOT}\n\
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
            let more = if is_default { " default.target" } else { "" };
            let _ = writeln!(text, "Id={0}\nNames={0}{more}\nLoadState=loaded", unit.name);
            let _ = writeln!(text, "After={}", unit.after.join(" "));
            if unit.name.ends_with(".target") {
                let _ = writeln!(text, "Wants={}", unit.after.join(" "));
            }
            let Some(state) = state else {
                text.push_str("ActiveState=inactive\nInactiveExitTimestampMonotonic=0\n\n");
                continue;
            };
            let active = match state {
                UnitState { has_failed: true, .. } => "failed",
                UnitState { active_us: 0, .. } => "activating",
                UnitState { inactive_us, active_us, .. } if inactive_us > active_us => "inactive",
                _ => "active",
            };
            let result = if state.result.is_empty() { "success" } else { state.result };
            let _ = writeln!(text, "ActiveState={active}\nResult={result}");
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

/// The tracer's text, as the kernel writes it.
fn trace(processors: Processors) -> String {
    let mut lines = processors.lines;
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
