//! Reads the five boot times from the serial log of firmware based on EDK II. Formats:
//!
//! ```text
//! FPDT: Boot Performance - ResetEnd                = 21000000          FirmwarePerformanceDxe
//! FPDT: ResetEnd                = 21000000                             FpdtStatusCodeListener
//! UefiPerfRecord->UefiFBBPDataRecord.ResetEnd                = 0000000021000000
//! ```
//!
//! Text before the name, such as a timestamp of the terminal program, is ignored.

use onoff_firmware::BasicBoot;
use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareFormat, FirmwareLoggedBoot, FirmwareProblemKind, FirmwareResume, FirmwareSuspend};

use super::collector::{Boot, FirmwareTableCollector};
use super::{tables, text};

/// Names of the five times of a boot; compared case-insensitively.
const BOOT_NAMES: [&str; 5] =
    ["ResetEnd", "OsLoaderLoadImageStart", "OsLoaderStartImageStart", "ExitBootServicesEntry", "ExitBootServicesExit"];
const RESUME_NAMES: [&str; 3] = ["ResumeCount", "FullResume", "AverageResume"];
const SUSPEND_NAMES: [&str; 2] = ["SuspendStart", "SuspendEnd"];
/// Maximum number of boots per log.
const MAX_BOOTS: usize = 10_000;

/// Returns true if the text has lines in one of these formats.
pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| {
        [&BOOT_NAMES[..], &RESUME_NAMES, &SUSPEND_NAMES]
            .into_iter()
            .any(|names| parse_assignment(line, names).is_some_and(|(_, value)| text::parse_number(value).is_some()))
    })
}

/// Returns the index in `names` of the name that a line assigns, and the value as written.
fn parse_assignment<'l>(line: &'l str, names: &[&str]) -> Option<(usize, &'l str)> {
    let (left_side, value) = line.split_once('=')?;
    let left_side = left_side.trim_end();
    let index = names.iter().position(|name| {
        let start = left_side.len().checked_sub(name.len());
        start.and_then(|start| left_side.get(start..)).is_some_and(|suffix| suffix.eq_ignore_ascii_case(name))
            && !left_side.get(..left_side.len() - name.len()).unwrap_or_default().ends_with(char::is_alphanumeric)
    })?;
    Some((index, value.split_whitespace().next().unwrap_or_default()))
}

/// A boot in the log.
#[derive(Clone, Debug, Default)]
struct LoggedTimes {
    line: u64,
    times: [Option<u64>; 5],
}

/// Adds the selected boot and the last suspend and resume.
pub(super) fn add(name: &str, log: &str, collector: &mut FirmwareTableCollector) {
    collector.add_input(name, FirmwareFormat::SerialLog);
    // A log may cover several boots. A repeated name starts the next boot.
    let mut boots: Vec<LoggedTimes> = Vec::new();
    let mut dropped_boots = 0_u64;
    let mut resume: [Option<u64>; 3] = [None; 3];
    let mut suspend: [Option<u64>; 2] = [None; 2];
    for (line, number) in log.lines().zip(1_u64..) {
        let mut parse = |names: &[&str]| {
            let (index, digits) = parse_assignment(line, names)?;
            let value = text::parse_number(digits);
            if value.is_none() {
                let place = format!("{name}: line {number}");
                let text = format!("invalid number '{digits}'");
                collector.add_problem(FirmwareProblemKind::UnreadableText, Severity::Error, place, text, 0);
            }
            Some((index, value?))
        };
        if let Some((index, value)) = parse(&BOOT_NAMES) {
            if boots.last().is_none_or(|boot| boot.times[index].is_some()) {
                if boots.len() == MAX_BOOTS {
                    boots.remove(0);
                    dropped_boots += 1;
                }
                boots.push(LoggedTimes { line: number, ..LoggedTimes::default() });
            }
            if let Some(boot) = boots.last_mut() {
                boot.times[index] = Some(value);
            }
        } else if let Some((index, value)) = parse(&RESUME_NAMES) {
            if resume[index].is_some() {
                resume.fill(None);
            }
            resume[index] = Some(value);
        } else if let Some((index, value)) = parse(&SUSPEND_NAMES) {
            if suspend[index].is_some() {
                suspend.fill(None);
            }
            suspend[index] = Some(value);
        }
    }
    add_boots(name, &boots, dropped_boots, collector);
    if let Some(count) = resume[0] {
        let last_ns = resume[1].and_then(|ns| collector.time_ns(ns, "the last resume", name));
        let average_ns = resume[2].and_then(|ns| collector.time_ns(ns, "the mean resume", name));
        collector.add_resume(FirmwareResume { count, last_ns, average_ns });
    }
    if let [Some(start), Some(end)] = suspend {
        let start_ns = collector.time_ns(start, "the suspend start", name);
        let end_ns = collector.time_ns(end, "the suspend end", name);
        if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) {
            collector.add_suspend(FirmwareSuspend { start_ns, end_ns });
        }
    }
}

fn add_boots(name: &str, boots: &[LoggedTimes], dropped_boots: u64, collector: &mut FirmwareTableCollector) {
    if boots.len() > 1 && collector.selected_boot == 0 {
        let count = boots.len() as u64 + dropped_boots;
        let text = format!("the log has {count} boots; the last one is used. Use --boot -1 for the previous one");
        collector.add_problem(FirmwareProblemKind::SeveralBoots, Severity::Notice, name.to_owned(), text, 0);
    }
    for (boot, age) in boots.iter().zip((0..boots.len() as i64).rev()) {
        let [reset_end_ns, loader_load_ns, loader_start_ns, exit_begin_ns, exit_end_ns] =
            boot.times.map(|value| value.unwrap_or(0));
        let times =
            BasicBoot { reset_end_ns, loader_load_ns, loader_start_ns, exit_start_ns: exit_begin_ns, exit_end_ns };
        let place = if boots.len() > 1 { format!("{name}: line {}", boot.line) } else { name.to_owned() };
        let mut checkpoints = tables::convert_checkpoints(times, &place, collector);
        if boot.times[0].is_none() {
            checkpoints.reset_end_ns = None;
        }
        let is_selected = -age == collector.selected_boot;
        if boots.len() > 1 {
            let input = name.to_owned();
            collector.add_logged_boot(FirmwareLoggedBoot {
                number: -age,
                input,
                line: boot.line,
                read: is_selected,
                checkpoints,
            });
        }
        if is_selected {
            collector.add_boot(Boot { from: name.to_owned(), checkpoints: Some(checkpoints), events: Vec::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_every_line_format() {
        for line in [
            "FPDT: Boot Performance - ResetEnd                = 21000000",
            "FPDT: ResetEnd                = 21000000",
            "[2026-11-20 10:00:00.123] FPDT: ResetEnd = 0x1406F40\r",
            "UefiPerfRecord->UefiFBBPDataRecord.ResetEnd                = 0000000021000000",
            "resetend=21000000 ns",
        ] {
            assert_eq!(
                parse_assignment(line, &BOOT_NAMES)
                    .and_then(|(index, value)| Some((index, text::parse_number(value)?))),
                Some((0, 21_000_000)),
                "{line}"
            );
        }
        for line in ["ResetEnd", "PresetEnd = 5", "ResetEnding = 5", "ResetEnd : 5", "=", "ResetEnd =", "é= 5"] {
            assert_eq!(
                parse_assignment(line, &BOOT_NAMES).filter(|(_, value)| text::parse_number(value).is_some()),
                None,
                "{line}"
            );
        }
    }
}
