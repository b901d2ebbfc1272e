//! Reads the log of a serial console: firmware and loader before the kernel, the kernel, and what programs print.
//!
//! The parts have different clocks. The kernel counts from its start. U-Boot's `bootstage` report counts from the start
//! of its timer, and its last mark is the hand-over to the kernel. A host that puts times in front of the lines has one
//! clock for all of them; a line of the kernel with the least delay joins it to the kernel's clock. Other parts print
//! their first line, but no time.

mod host_stamps;
mod stages;

use std::borrow::Cow;

use onoff_input::sniff::SNIFF_LEN;
use onoff_trace::milestone;

use host_stamps::HostStamps;
use stages::{Mark, coreboot_state_ns, is_failure, is_hand_over, is_report_head, mark, stage_of};

use crate::assembly::Assembly;
use crate::boot_failures;
use onoff_linux_log::kernel_line::{self, Stamp, strip_colors};

/// Minimum number of restarts without a kernel that show that the firmware or loader does not get further.
const MIN_RESTARTS: usize = 2;

/// Maximum number of parts before the kernel; more are not listed.
const MAX_STAGES: usize = 200;

/// A line of the console.
#[derive(Clone, Debug)]
pub(super) struct ConsoleLine<'t> {
    /// Time of the host, ns from an arbitrary origin.
    host_ns: Option<i64>,
    /// The text, without the time of the host.
    pub(super) text: Cow<'t, str>,
}

/// A part of firmware or loader.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stage {
    name: String,
    is_loader: bool,
    /// Start on the kernel's clock, ns: negative.
    start_ns: Option<i64>,
    duration_ns: Option<i64>,
    /// Source of the times, for the rows.
    clock: &'static str,
}

/// What happened before the kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct BringUp {
    stages: Vec<Stage>,
    /// Why the loader stopped, with the time on the kernel's clock.
    failure: Option<(Option<i64>, String)>,
}

/// The last boot in the log of a console.
#[derive(Clone, Debug)]
pub(super) struct SerialConsole<'t> {
    lines: Vec<ConsoleLine<'t>>,
    /// Time of the host at which the kernel's clock was zero, ns.
    kernel_zero_ns: Option<i64>,
    /// True if lines of the kernel have no times.
    pub(super) is_untimed: bool,
    /// Index of the kernel's first line.
    kernel_start: Option<usize>,
    /// Number of earlier boots in the log.
    pub(super) earlier_boots: u64,
    pub(super) bring_up: BringUp,
}

/// True if a host computer put times in front of the lines of a console.
pub(super) fn has_host_times(text: &str) -> bool {
    HostStamps::recognize(text).is_some()
}

/// True if a log without times, which starts with `head`, is the console of a computer and shows how the boot ended.
/// The end of the log is the place for that.
pub(super) fn recognizes(head: &str, bytes: &[u8]) -> bool {
    let has_line = |text: &str, is_it: &dyn Fn(&str) -> bool| {
        text.lines().any(|line| is_it(strip_colors(without_priority(line)).as_ref()))
    };
    let stages: Vec<String> = head.lines().filter_map(|line| Some(stage_of(line)?.name)).take(MAX_STAGES).collect();
    let has_stage = !stages.is_empty();
    // The computer starts again and again, without a kernel.
    let starts = stages.iter().filter(|&name| Some(name) == stages.first()).count();
    let has_kernel = has_line(head, &|line| line.starts_with("Linux version "));
    if starts > MIN_RESTARTS && !has_kernel {
        return true;
    }
    let tail = bytes.get(bytes.len().saturating_sub(SNIFF_LEN)..).unwrap_or_default();
    let tail = String::from_utf8_lossy(tail);
    if !has_stage && !has_kernel {
        return has_line(&tail, &boot_failures::is_repair);
    }
    // A loader that tried another image has not failed.
    has_line(&tail, &|line| boot_failures::is_end(line) || has_stage && !has_kernel && is_failure(line))
}

/// True if the text is the console of firmware or a loader.
pub(super) fn shows_firmware(text: &str) -> bool {
    text.lines().any(|line| stage_of(line).is_some())
}

/// Returns a kernel message without its priority: `<5>Linux version`.
fn without_priority(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((digits, message)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => message,
        _ => line,
    }
}

impl<'t> SerialConsole<'t> {
    /// Reads the last boot in a log.
    pub(super) fn from_text(text: &'t str) -> Self {
        let form = HostStamps::recognize(text);
        // A serial port that is turned on, and a file after a power cut, may have NULs before a line.
        let mut lines: Vec<ConsoleLine<'t>> = text
            .split(['\n', '\0'])
            .map(|line| {
                let (host_ns, line) = match form.and_then(|form| form.split(line)) {
                    Some((ns, rest)) => (Some(ns), rest),
                    None => (None, line),
                };
                ConsoleLine { host_ns, text: strip_colors(line) }
            })
            .collect();
        if form == Some(HostStamps::TimeOfDay) {
            add_days(&mut lines);
        }
        let starts: Vec<usize> =
            lines.iter().enumerate().filter(|(_, line)| line.is_kernel_start()).map(|(index, _)| index).collect();
        let mut earlier_boots = 0;
        if let [.., previous, last] = starts[..] {
            earlier_boots = starts.len() as u64 - 1;
            let first = first_line_of_boot(&lines, previous, last);
            lines.drain(..first);
        }
        let is_untimed = !lines.iter().any(|line| line.kernel_ns().is_some());
        let kernel_start = lines.iter().position(|line| line.kernel_ns().is_some() || line.is_kernel_start());
        let mut console =
            Self { lines, kernel_zero_ns: None, is_untimed, kernel_start, earlier_boots, bring_up: BringUp::default() };
        console.kernel_zero_ns = console.kernel_zero();
        console.bring_up = console.read_bring_up();
        console
    }

    /// Returns the lines, each with its time on the kernel's clock if the host recorded it, ns.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Option<i64>, &ConsoleLine<'t>)> {
        self.lines.iter().map(|line| (self.axis_ns(line), line))
    }

    /// True if the line with this index is from the kernel or later.
    pub(super) fn is_after_kernel_start(&self, index: usize) -> bool {
        self.kernel_start.is_some_and(|start| index >= start)
    }

    /// Returns the host's time at which the kernel's clock was zero: of the line that arrived with the least delay.
    fn kernel_zero(&self) -> Option<i64> {
        let differences = self.lines.iter().filter_map(|line| line.host_ns?.checked_sub(line.kernel_ns()?));
        differences.min().or_else(|| match self.kernel_start {
            Some(start) => self.lines.get(start)?.host_ns,
            None => self.lines.iter().rev().find_map(|line| line.host_ns),
        })
    }

    fn axis_ns(&self, line: &ConsoleLine<'_>) -> Option<i64> {
        line.host_ns?.checked_sub(self.kernel_zero_ns?)
    }

    fn read_bring_up(&self) -> BringUp {
        let end = self.kernel_start.unwrap_or(self.lines.len());
        let before = self.lines.get(..end).unwrap_or_default();
        let mut stages: Vec<Stage> = Vec::new();
        let mut restarts = 0;
        for line in before {
            if let Some(state_ns) = coreboot_state_ns(&line.text)
                && let Some(stage) = stages.last_mut()
                && stage.start_ns.is_none()
            {
                stage.duration_ns = Some(stage.duration_ns.unwrap_or(0).saturating_add(state_ns));
                stage.clock = COREBOOT_STATES;
            }
            let Some(found) = stage_of(&line.text) else { continue };
            if stages.last().is_some_and(|stage| stage.name == found.name) || stages.len() >= MAX_STAGES {
                continue;
            }
            // The computer started again.
            if stages.first().is_some_and(|first| first.name == found.name) {
                restarts += 1;
                stages.clear();
            }
            let start_ns = self.axis_ns(line);
            let clock = if start_ns.is_some() { HOST_TIME } else { milestone::NO_TIME_EVENT };
            stages.push(Stage { name: found.name, is_loader: found.is_loader, start_ns, duration_ns: None, clock });
        }
        // A part ends when the next one starts.
        let kernel_ns = self.kernel_start.map(|_| 0);
        let starts: Vec<Option<i64>> = stages.iter().skip(1).map(|stage| stage.start_ns).chain([kernel_ns]).collect();
        for (stage, end_ns) in stages.iter_mut().zip(starts) {
            if let (Some(start_ns), Some(end_ns)) = (stage.start_ns, end_ns) {
                stage.duration_ns = Some(end_ns.saturating_sub(start_ns).max(0));
            }
        }
        add_bootstage(before, &mut stages);
        let failure = match self.kernel_start {
            Some(_) => None,
            None => before
                .iter()
                .rev()
                .find(|line| is_failure(&line.text))
                .map(|line| (self.axis_ns(line), line.text.trim().to_owned()))
                .or_else(|| {
                    let first = stages.first().filter(|_| restarts >= MIN_RESTARTS)?;
                    Some((None, format!("{} started {} times", first.name, restarts + 1)))
                }),
        };
        BringUp { stages, failure }
    }
}

impl ConsoleLine<'_> {
    /// Returns the kernel's own time, ns.
    fn kernel_ns(&self) -> Option<i64> {
        match kernel_line::line(&self.text)?.stamp {
            Stamp::Log(ns) => Some(ns),
            Stamp::Wall(_) => None,
        }
    }

    /// True for the line with which the kernel starts.
    fn is_kernel_start(&self) -> bool {
        self.text.contains("Linux version ")
            && match kernel_line::line(&self.text) {
                Some(line) => line.message.starts_with("Linux version "),
                None => without_priority(&self.text).starts_with("Linux version "),
            }
    }
}

/// Adds a day to the times after each midnight.
fn add_days(lines: &mut [ConsoleLine<'_>]) {
    const DAY_NS: i64 = 86_400_000_000_000;
    let (mut last_ns, mut days_ns) = (i64::MIN, 0_i64);
    for ns in lines.iter_mut().filter_map(|line| line.host_ns.as_mut()) {
        if ns.saturating_add(days_ns).saturating_add(DAY_NS / 2) < last_ns {
            days_ns = days_ns.saturating_add(DAY_NS);
        }
        *ns = ns.saturating_add(days_ns);
        last_ns = *ns;
    }
}

/// Returns the first line of the boot whose kernel starts at `last`, after the boot whose kernel started at `previous`.
fn first_line_of_boot(lines: &[ConsoleLine<'_>], previous: usize, last: usize) -> usize {
    let between = lines.get(previous + 1..last).unwrap_or_default();
    if let Some(stage) = between.iter().position(|line| stage_of(&line.text).is_some()) {
        return previous + 1 + stage;
    }
    // "Booting Linux on physical CPU 0x0" comes before the version.
    let first_ns = lines.get(last).and_then(ConsoleLine::kernel_ns);
    let earlier = between.iter().rev().take_while(|line| first_ns.is_some() && line.kernel_ns() == first_ns).count();
    last - earlier
}

/// Words for the sources of times in rows.
const HOST_TIME: &str = "serial console/host time";
const BOOTSTAGE: &str = "bootstage report";
const BOOTSTAGE_DURATION: &str = "bootstage report/durations";
const COREBOOT_STATES: &str = "coreboot boot states";

/// Replaces the loader's stage by the marks of U-Boot's report, if there is one and no host recorded times.
fn add_bootstage(lines: &[ConsoleLine<'_>], stages: &mut Vec<Stage>) {
    if stages.iter().any(|stage| stage.start_ns.is_some()) {
        return;
    }
    let Some(head) = lines.iter().rposition(|line| is_report_head(&line.text)) else { return };
    let rows = lines.get(head + 1..).unwrap_or_default();
    // The head of the columns, then the marks up to the first line without one.
    let marks: Vec<Mark> = rows.iter().skip(1).map_while(|line| mark(&line.text)).take(MAX_STAGES).collect();
    let Some(last_ns) = marks.last().map(|mark| mark.time_ns).filter(|&ns| ns > 0) else { return };
    // U-Boot prints the report after this line; a report printed by the command is not about the end of the loader.
    let is_final = lines.get(..head).unwrap_or_default().iter().rev().take(8).any(|line| is_hand_over(&line.text));
    let loader = stages.iter().rposition(|stage| stage.is_loader);
    let prefix = loader.and_then(|index| stages.get(index)).map_or("U-Boot", |stage| stage.name.as_str()).to_owned();
    let mut rows: Vec<Stage> = Vec::new();
    let mut is_loader = false;
    for pair in marks.windows(2) {
        let [from, to] = pair else { continue };
        // U-Boot proper starts with its first initialization; before that, the time belongs to the firmware.
        is_loader |= from.name.starts_with("board_init_f") || from.name.starts_with("board_init_r");
        let duration_ns = to.time_ns.saturating_sub(from.time_ns).max(0);
        let name =
            if from.name.is_empty() { format!("{prefix}: unnamed mark") } else { format!("{prefix}: {}", from.name) };
        match rows.last_mut() {
            Some(row) if row.name == name => {
                row.duration_ns = row.duration_ns.map(|ns| ns.saturating_add(duration_ns));
            }
            _ => rows.push(Stage {
                name,
                is_loader,
                start_ns: is_final.then(|| from.time_ns.saturating_sub(last_ns)),
                duration_ns: Some(duration_ns),
                clock: if is_final { BOOTSTAGE } else { BOOTSTAGE_DURATION },
            }),
        }
    }
    if let Some(index) = loader {
        stages.truncate(index);
    }
    stages.extend(rows);
}

impl BringUp {
    /// Adds the rows of the parts before the kernel, and the start of firmware and loader if their times are known.
    pub(super) fn read(&self, assembly: &mut Assembly) {
        // Rows without a time are sorted before the next one that has it.
        let mut place_ns = 0;
        let mut places: Vec<i64> = self
            .stages
            .iter()
            .rev()
            .map(|stage| {
                place_ns = stage.start_ns.unwrap_or(place_ns);
                place_ns
            })
            .collect();
        places.reverse();
        for (stage, place_ns) in self.stages.iter().zip(places) {
            assembly.add_milestone(place_ns, milestone::BRING_UP_STAGE, &stage.name, stage.duration_ns, stage.clock);
        }
        let timed = || self.stages.iter().filter_map(|stage| Some((stage.start_ns?, stage)));
        let loader = timed().find(|(_, stage)| stage.is_loader);
        if let Some((first_ns, first)) = timed().next()
            && assembly.last_time_of(milestone::FIRMWARE).is_none()
            && assembly.last_time_of(milestone::BOOT_MANAGER).is_none()
            && self.failure.is_none()
        {
            let end_ns = loader.map_or(0, |(loader_ns, _)| loader_ns);
            if !first.is_loader && first_ns < end_ns {
                let length_ns = end_ns.saturating_sub(first_ns);
                assembly.add_milestone(first_ns, milestone::FIRMWARE, "", Some(length_ns), first.clock);
            }
            if let Some((loader_ns, stage)) = loader.filter(|&(loader_ns, _)| loader_ns < 0) {
                let length_ns = loader_ns.saturating_neg();
                assembly.add_milestone(loader_ns, milestone::BOOT_MANAGER, "", Some(length_ns), stage.clock);
            }
        }
        if let Some((time_ns, text)) = &self.failure {
            let event = if time_ns.is_some() { HOST_TIME } else { milestone::NO_TIME_EVENT };
            assembly.add_milestone(time_ns.unwrap_or(0), milestone::LOADER_FAILED, text, None, event);
        }
    }

    /// Takes over what another log has, if this one has nothing.
    pub(super) fn merge(&mut self, other: Self) {
        if self.stages.is_empty() && self.failure.is_none() {
            *self = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, start in ms, duration in ms and clock of each part.
    fn parts(text: &str) -> Vec<(String, Option<i64>, Option<i64>, &'static str)> {
        let ms = |ns: Option<i64>| ns.map(|ns| ns / 1_000_000);
        let stages = SerialConsole::from_text(text).bring_up.stages;
        stages.into_iter().map(|stage| (stage.name, ms(stage.start_ns), ms(stage.duration_ns), stage.clock)).collect()
    }

    const BOARD: &str = "\u{0}\u{0}U-Boot SPL 2024.01 (Jan 08 2024 - 15:37:48 +0000)\nTrying to boot from MMC1\n\
        NOTICE:  BL31: v2.10(release):v2.10\nNOTICE:  BL31: Built : 10:16:03, Jun  5 2023\n\n\
        U-Boot 2024.01 (Jan 08 2024 - 15:37:48 +0000)\n\nDRAM:  2 GiB\nHit any key to stop autoboot:  0\n";
    const KERNEL: &str = "[    0.000000] Booting Linux on physical CPU 0x0\n[    0.000000] Linux version 6.6.1\n\
        [    2.000000] Run /sbin/init as init process\n";

    #[test]
    fn parts_without_times_are_listed_in_order() {
        let expected = ["U-Boot SPL 2024.01", "TF-A BL31", "U-Boot 2024.01"]
            .map(|name| (name.to_owned(), None, None, milestone::NO_TIME_EVENT));
        assert_eq!(parts(&format!("{BOARD}Starting kernel ...\n\n{KERNEL}")), expected);
        assert_eq!(parts(KERNEL), []);
    }

    #[test]
    fn times_of_a_host_are_joined_to_the_kernel_by_the_least_delay() {
        // The kernel's clock is zero at 5.0 s; the first lines of the kernel arrive late, in one burst.
        let host = |seconds: &str, line: &str| format!("[{seconds} 0.000100] {line}\n");
        let text = [
            host("0.500000", "U-Boot SPL 2024.01 (Jan 08 2024)"),
            host("0.900000", "NOTICE:  BL31: v2.10(release):v2.10"),
            host("1.000000", "U-Boot 2024.01 (Jan 08 2024)"),
            host("4.900000", "Starting kernel ..."),
            host("5.600000", "[    0.000000] Linux version 6.6.1"),
            host("5.800000", "[    0.800000] pci 0000:00:00.0: enabled"),
            host("7.000500", "[    2.000000] Run /sbin/init as init process"),
            host("9.000500", "buildroot login: "),
        ]
        .concat();
        let expected = [
            ("U-Boot SPL 2024.01".to_owned(), Some(-4_500), Some(400), HOST_TIME),
            ("TF-A BL31".to_owned(), Some(-4_100), Some(100), HOST_TIME),
            ("U-Boot 2024.01".to_owned(), Some(-4_000), Some(4_000), HOST_TIME),
        ];
        assert_eq!(parts(&text), expected);
        let console = SerialConsole::from_text(&text);
        assert_eq!(console.kernel_zero_ns, Some(5_000_000_000));
        let (login_ns, login) = console.lines().filter(|(_, line)| !line.text.is_empty()).last().unwrap();
        assert_eq!((login_ns, login.text.as_ref()), (Some(4_000_500_000), "buildroot login: "));
    }

    const REPORT: &str = "Timer summary in microseconds (6 records):\n       Mark    Elapsed  Stage\n          0          0  reset\n    \
        500,000    500,000  board_init_f\n    700,000    200,000  board_init_r\n  1,000,000    300,000  main_loop\n  \
        3,000,000  2,000,000  fit_image_load\n  3,500,000    500,000  start_kernel\n\nAccumulated time:\n      41,696  dm_r\n\n";

    #[test]
    fn marks_of_the_loader_count_back_from_the_hand_over() {
        let marks = [
            ("reset", -3_500, 500),
            ("board_init_f", -3_000, 200),
            ("board_init_r", -2_800, 300),
            ("main_loop", -2_500, 2_000),
            ("fit_image_load", -500, 500),
        ];
        let expected = |clock: &'static str| -> Vec<_> {
            let before = ["U-Boot SPL 2024.01", "TF-A BL31"];
            let before = before.map(|name| (name.to_owned(), None, None, milestone::NO_TIME_EVENT));
            let marks = marks.map(|(name, start, duration)| {
                let start = (clock == BOOTSTAGE).then_some(start);
                (format!("U-Boot 2024.01: {name}"), start, Some(duration), clock)
            });
            before.into_iter().chain(marks).collect()
        };
        assert_eq!(parts(&format!("{BOARD}Starting kernel ...\n\n{REPORT}{KERNEL}")), expected(BOOTSTAGE));
        // Printed by the command, long before the kernel: only the durations are known.
        assert_eq!(
            parts(&format!("{BOARD}=> bootstage report\n{REPORT}=> boot\n{KERNEL}")),
            expected(BOOTSTAGE_DURATION)
        );
    }

    #[test]
    fn states_of_coreboot_have_durations_only() {
        let text = format!(
            "[NOTE ]  coreboot-4.19 Thu Jan 01 1970 x86_32 bootblock starting (log level: 7)...\n\
             [DEBUG]  BS: bootblock times (exec / console): total (unknown) / 38 ms\n\
             [NOTE ]  coreboot-4.19 Thu Jan 01 1970 x86_32 ramstage starting (log level: 7)...\n\
             [DEBUG]  BS: BS_DEV_ENUMERATE run times (exec / console): 20 / 31 ms\n\
             [DEBUG]  BS: BS_DEV_INIT run times (exec / console): 110 / 2 ms\n\
             SeaBIOS (version rel-1.16.3)\n{KERNEL}"
        );
        let unknown = |name: &str| (name.to_owned(), None, None, milestone::NO_TIME_EVENT);
        let ramstage = ("coreboot 4.19 ramstage".to_owned(), None, Some(130), COREBOOT_STATES);
        assert_eq!(parts(&text), [unknown("coreboot 4.19 bootblock"), ramstage, unknown("SeaBIOS rel-1.16.3")]);
    }

    #[test]
    fn the_last_of_several_boots_is_read() {
        let text = format!("{BOARD}{KERNEL}[   90.000000] reboot: Restarting system\n{BOARD}{KERNEL}");
        let console = SerialConsole::from_text(&text);
        assert_eq!((console.earlier_boots, console.bring_up.stages.len()), (1, 3));
        assert!(console.lines().all(|(_, line)| !line.text.contains("Restarting")));
        let without_loader = SerialConsole::from_text(&KERNEL.repeat(2)).lines().count();
        assert_eq!(without_loader, 4);
    }

    #[test]
    fn loaders_that_give_up_are_found() {
        let failure = |text: &str| SerialConsole::from_text(text).bring_up.failure.map(|(_, text)| text);
        let hang = "### ERROR ### Please RESET the board ###";
        assert_eq!(failure(&format!("{BOARD}{hang}\n")).as_deref(), Some(hang));
        assert_eq!(failure(&format!("{BOARD}{hang}\n{BOARD}Starting kernel ...\n{KERNEL}")), None);
        assert_eq!(failure(BOARD), None);
        assert_eq!(failure(&BOARD.repeat(5)).as_deref(), Some("U-Boot SPL 2024.01 started 5 times"));
    }

    #[test]
    fn recognizes_consoles_without_times_that_show_the_end() {
        let is_read = |text: &str| recognizes(text, text.as_bytes());
        assert!(is_read(&format!("{BOARD}<5>Linux version 5.4\nKernel panic - not syncing: No working init found.\n")));
        assert!(is_read("<5>Linux version 5.4\n<0>Kernel panic - not syncing: VFS: Unable to mount root fs\n"));
        assert!(is_read(&format!("{BOARD}ERROR: can't get kernel image!\n")));
        assert!(!is_read("<5>Linux version 5.4\nMemory: 64 MB\n"));
        assert!(!is_read("Kernel panic - not syncing: is what the book says\n"));
        assert!(!is_read(BOARD));
        assert!(is_read(&BOARD.repeat(4)));
        assert!(!is_read(&format!("{BOARD}ERROR: can't get kernel image!\n<5>Linux version 5.4\nMemory: 64 MB\n")));
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String, line in "[A-Za-z0-9 :,.\\[\\]+T-]{0,60}") {
            SerialConsole::from_text(&text);
            SerialConsole::from_text(&format!("{BOARD}{line}\n{REPORT}{text}\n[1.0 0.1] {line}\n"));
            recognizes(&text, line.as_bytes());
        }
    }
}
