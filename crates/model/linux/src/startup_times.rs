//! Reads systemd's report at the end of the startup: `Startup finished in 5.179s (firmware) + 269ms (loader) + 2.5s
//! (kernel) + 3.2s (initrd) + 17.5s (userspace) = 28.7s.` It is in the journal, in the kernel log, and in the output of
//! `systemd-analyze time`.

use onoff_trace::milestone;

use super::assembly::Assembly;
use super::parts::{Part, PartKind};
use super::{blame, critical_chain};
use onoff_linux_log::duration::duration_ns;
use onoff_linux_log::kernel_line::strip_colors;

/// Durations of the startup phases, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StartupTimes {
    pub(super) firmware_ns: Option<i64>,
    pub(super) loader_ns: Option<i64>,
    pub(super) kernel_ns: i64,
    pub(super) initrd_ns: Option<i64>,
    pub(super) user_space_ns: i64,
}

impl StartupTimes {
    /// Parses the sentence. Returns `None` for other text and for the sentence of a container, which has no kernel.
    pub(super) fn read(text: &str) -> Option<Self> {
        let durations = blame::unquoted(text).strip_prefix("Startup finished in ")?;
        // The total and a period follow.
        let parts = durations.lines().next()?.split(" = ").next()?;
        let mut times = Self::default();
        let (mut kernel_ns, mut user_space_ns) = (None, None);
        for part in parts.split(" + ") {
            let (duration, name) = part.trim_end_matches('.').trim().split_once(" (")?;
            let phase_ns = duration_ns(duration)?;
            match name.trim_end_matches('`').strip_suffix(')')? {
                "firmware" => times.firmware_ns = Some(phase_ns),
                "loader" => times.loader_ns = Some(phase_ns),
                "kernel" => kernel_ns = Some(phase_ns),
                "initrd" => times.initrd_ns = Some(phase_ns),
                "userspace" => user_space_ns = Some(phase_ns),
                _ => return None,
            }
        }
        Some(Self { kernel_ns: kernel_ns?, user_space_ns: user_space_ns?, ..times })
    }

    /// Adds the start of each phase unless a better source has it. `event` names the source record.
    pub(super) fn add(&self, event: &str, assembly: &mut Assembly) {
        let mut add =
            |time_ns: i64, name: &str, value: Option<i64>| add_unless_known(time_ns, name, value, event, assembly);
        let initrd_ns = self.initrd_ns.unwrap_or(0);
        let begin_ns = self.kernel_ns.saturating_add(initrd_ns);
        if initrd_ns > 0 {
            add(self.kernel_ns, milestone::INITRD_BEGIN, None);
        }
        add(begin_ns, milestone::USER_SPACE_BEGIN, None);
        let end_ns = self.since_kernel_ns();
        add(end_ns, milestone::STARTUP_FINISHED, None);
        if let Some(ns) = self.loader_ns {
            add(-ns, milestone::BOOT_MANAGER, Some(ns));
        }
        if let Some(ns) = self.firmware_ns {
            let begin_ns = self.loader_ns.unwrap_or(0).saturating_add(ns);
            add(-begin_ns, milestone::FIRMWARE, Some(ns));
        }
        assembly.extend_to(end_ns);
    }

    /// Returns the time from the kernel's start to the end of the startup, ns.
    pub(super) fn since_kernel_ns(&self) -> i64 {
        let initrd_ns = self.initrd_ns.unwrap_or(0);
        self.kernel_ns.saturating_add(initrd_ns).saturating_add(self.user_space_ns)
    }
}

/// Number of lines inspected to recognize the sentence.
const SNIFF_LINES: usize = 40;

/// True if one of the first lines is the sentence, and all others are outputs of `systemd-analyze`.
pub(super) fn recognizes(text: &str) -> bool {
    let lines = || text.lines().map(str::trim_end).filter(|line| !line.is_empty()).take(SNIFF_LINES);
    lines().any(|line| StartupTimes::read(line).is_some())
        && lines().all(|line| is_sentence(line) || blame::entry(line).is_some() || critical_chain::is_output(line))
}

/// True for the sentence and the lines below it.
fn is_sentence(line: &str) -> bool {
    let line = blame::unquoted(line);
    line.is_empty()
        || line.starts_with("Startup finished in ")
        || [" reached after ", " is not reached", " was never reached"].iter().any(|words| line.contains(words))
}

/// Reads a text that may contain the outputs of `systemd-analyze`, `systemd-analyze blame` and `systemd-analyze
/// critical-chain` one after another, as people copy them from a terminal.
pub(super) fn read_outputs(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    let text = strip_colors(&text);
    let (mut durations, mut chain, mut has_sentence) = (String::new(), String::new(), false);
    for line in text.lines() {
        if is_sentence(line) {
            has_sentence |= !blame::unquoted(line).is_empty();
            continue;
        }
        let output = if blame::entry(line).is_some() { &mut durations } else { &mut chain };
        output.push_str(line);
        output.push('\n');
    }
    let has_chain = critical_chain::recognizes(&chain);
    match part.kind {
        // The usual case of one output keeps the line numbers of unreadable lines.
        PartKind::Blame if !has_sentence && !has_chain => blame::read(part, assembly),
        PartKind::CriticalChain if !has_sentence && durations.is_empty() => critical_chain::read(part, assembly),
        _ => {
            read(part, assembly);
            if !durations.is_empty() {
                blame::read(&Part { bytes: durations.as_bytes(), ..*part }, assembly);
            }
            if has_chain {
                critical_chain::read(&Part { bytes: chain.as_bytes(), ..*part }, assembly);
            }
        }
    }
}

pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    if let Some(times) = text.lines().find_map(|line| StartupTimes::read(line.trim_start())) {
        times.add("systemd-analyze time", assembly);
    }
    // `graphical.target reached after 17.2s in userspace.`
    let reached = text.lines().find_map(|line| {
        let (unit, delay) = blame::unquoted(line).split_once(" reached after ")?;
        // A copy may have lost the end of a line.
        if unit.contains(' ') {
            return None;
        }
        let delay = delay.trim_end_matches(['`', ' ', '.']).strip_suffix(" in userspace")?;
        let after_ns = duration_ns(delay)?;
        Some((unit, after_ns))
    });
    let begin_ns = assembly.last_time_of(milestone::USER_SPACE_BEGIN);
    if let (Some((unit, after_ns)), Some(begin_ns)) = (reached, begin_ns) {
        if assembly.default_target.is_empty() {
            unit.clone_into(&mut assembly.default_target);
        }
        let time_ns = begin_ns.saturating_add(after_ns);
        let is_known =
            assembly.texts.find(unit).is_some_and(|unit| assembly.milestones.iter().any(|row| row.detail == unit));
        if !is_known {
            assembly.add_milestone(time_ns, milestone::TARGET_REACHED, unit, None, "systemd-analyze time");
        }
    }
}

/// Adds a milestone unless a source other than the kernel log has it. The kernel logs the start of the first program,
/// which differs from the service manager's start.
pub(super) fn add_unless_known(time_ns: i64, name: &str, value: Option<i64>, event: &str, assembly: &mut Assembly) {
    let id = assembly.intern(name);
    let is_known = assembly
        .milestones
        .iter()
        .any(|row| row.name == id && !assembly.texts.get(row.event).starts_with("kernel log"));
    if !is_known {
        assembly.add_milestone(time_ns, name, "", value, event);
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::TableSet;

    use super::*;

    #[test]
    fn parses_phases_and_rejects_other_text() {
        let full = "Startup finished in 5.179s (firmware) + 269ms (loader) + 4.858s (kernel) + 11.200s (initrd) + \
                    1min 27.855s (userspace) = 1min 49.361s.";
        let times = StartupTimes::read(full).unwrap();
        let ms = |ms: i64| ms * 1_000_000;
        assert_eq!(
            times,
            StartupTimes {
                firmware_ns: Some(ms(5179)),
                loader_ns: Some(ms(269)),
                kernel_ns: ms(4858),
                initrd_ns: Some(ms(11_200)),
                user_space_ns: ms(87_855),
            }
        );
        assert_eq!(times.since_kernel_ns(), ms(103_913));
        let analyzed =
            "Startup finished in 2.5s (kernel) + 17.5s (userspace) = 20s \ngraphical.target reached after 17s";
        assert_eq!(StartupTimes::read(analyzed).unwrap().user_space_ns, ms(17_500));
        for text in [
            "Startup finished in 105ms.",
            "Startup finished in 1s (userspace).",
            "Startup finished in x (kernel) + 1s (userspace).",
            "Bootup is not yet finished.",
            "",
        ] {
            assert_eq!(StartupTimes::read(text), None, "{text}");
        }
    }

    #[test]
    fn shortened_copy_names_no_target() {
        let target = |text: &str| {
            let mut assembly = Assembly::new(TableSet::all());
            read(&Part { kind: PartKind::StartupTimes, name: "times", bytes: text.as_bytes() }, &mut assembly);
            assembly.default_target
        };
        let sentence = "Startup finished in 2.5s (kernel) + 17.5s (userspace) = 20s";
        assert_eq!(target(&format!("{sentence} reached after 17s in userspace\n")), "");
        assert_eq!(
            target(&format!("{sentence}\nmulti-user.target reached after 17s in userspace\n")),
            "multi-user.target"
        );
        assert_eq!(target(&format!("{sentence}\n")), "");
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String) {
            let _ = StartupTimes::read(&text);
            if let Some(times) = StartupTimes::read(&format!("Startup finished in {text} (kernel) + {text} (userspace)")) {
                times.since_kernel_ns();
            }
        }
    }
}
