//! The lines in which firmware writes the five times to a serial port, in every form that EDK II and firmware built on
//! it has:
//!
//! ```text
//! FPDT: Boot Performance - ResetEnd                = 21000000          FirmwarePerformanceDxe
//! FPDT: ResetEnd                = 21000000                             FpdtStatusCodeListener
//! UefiPerfRecord->UefiFBBPDataRecord.ResetEnd                = 0000000021000000
//! ```
//!
//! What stands before the name, such as a stamp of the terminal program, does not matter.

use onoff_firmware::BasicBoot;
use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareFaultKind, FirmwareForm, FirmwareLoggedBoot, FirmwareResume, FirmwareSuspend};

use super::gathering::{Boot, Gathering};
use super::{tables, text};

/// The five times of a boot, compared without case.
const BOOT: [&str; 5] =
    ["ResetEnd", "OsLoaderLoadImageStart", "OsLoaderStartImageStart", "ExitBootServicesEntry", "ExitBootServicesExit"];
const RESUME: [&str; 3] = ["ResumeCount", "FullResume", "AverageResume"];
const SUSPEND: [&str; 2] = ["SuspendStart", "SuspendEnd"];
/// Boots of one log that are kept, at most.
const MAX_BOOTS: usize = 10_000;

/// Whether a text holds such lines.
pub(super) fn is_it(text: &str) -> bool {
    text.lines().any(|line| {
        [&BOOT[..], &RESUME, &SUSPEND]
            .into_iter()
            .any(|names| assignment(line, names).is_some_and(|(_, value)| text::number(value).is_some()))
    })
}

/// Which of `names` a line gives a value, and the value as written.
fn assignment<'l>(line: &'l str, names: &[&str]) -> Option<(usize, &'l str)> {
    let (before, value) = line.split_once('=')?;
    let before = before.trim_end();
    let at = names.iter().position(|name| {
        let start = before.len().checked_sub(name.len());
        start.and_then(|start| before.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(name))
            && !before.get(..before.len() - name.len()).unwrap_or_default().ends_with(char::is_alphanumeric)
    })?;
    Some((at, value.split_whitespace().next().unwrap_or_default()))
}

/// A boot as the log tells it so far.
#[derive(Clone, Debug, Default)]
struct Logged {
    line: u64,
    times: [Option<u64>; 5],
}

/// Adds the chosen boot, and the last suspend and resume of `log`.
pub(super) fn add(name: &str, log: &str, gathering: &mut Gathering) {
    gathering.input(name, FirmwareForm::SerialLog);
    // A log runs over restarts. A name that comes again begins the next boot.
    let mut boots: Vec<Logged> = Vec::new();
    let mut more_boots = 0_u64;
    let mut resume: [Option<u64>; 3] = [None; 3];
    let mut suspend: [Option<u64>; 2] = [None; 2];
    for (line, number) in log.lines().zip(1_u64..) {
        let mut take = |names: &[&str]| {
            let (at, digits) = assignment(line, names)?;
            let value = text::number(digits);
            if value.is_none() {
                let place = format!("{name}: line {number}");
                let text = format!("'{digits}' is no number");
                gathering.fault(FirmwareFaultKind::UnreadableText, Severity::Error, place, text, 0);
            }
            Some((at, value?))
        };
        if let Some((at, value)) = take(&BOOT) {
            if boots.last().is_none_or(|boot| boot.times[at].is_some()) {
                if boots.len() == MAX_BOOTS {
                    boots.remove(0);
                    more_boots += 1;
                }
                boots.push(Logged { line: number, ..Logged::default() });
            }
            if let Some(boot) = boots.last_mut() {
                boot.times[at] = Some(value);
            }
        } else if let Some((at, value)) = take(&RESUME) {
            if resume[at].is_some() {
                resume.fill(None);
            }
            resume[at] = Some(value);
        } else if let Some((at, value)) = take(&SUSPEND) {
            if suspend[at].is_some() {
                suspend.fill(None);
            }
            suspend[at] = Some(value);
        }
    }
    add_boots(name, &boots, more_boots, gathering);
    if let Some(count) = resume[0] {
        let last_ns = resume[1].and_then(|ns| gathering.time_ns(ns, "the last resume", name));
        let average_ns = resume[2].and_then(|ns| gathering.time_ns(ns, "the mean resume", name));
        gathering.resume(FirmwareResume { count, last_ns, average_ns });
    }
    if let [Some(start), Some(end)] = suspend {
        let start_ns = gathering.time_ns(start, "the suspend's start", name);
        let end_ns = gathering.time_ns(end, "the suspend's end", name);
        if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) {
            gathering.suspend(FirmwareSuspend { start_ns, end_ns });
        }
    }
}

fn add_boots(name: &str, boots: &[Logged], more_boots: u64, gathering: &mut Gathering) {
    if boots.len() > 1 && gathering.chosen_boot == 0 {
        let held = boots.len() as u64 + more_boots;
        let text = format!("the log holds {held} boots; the last is shown, and --boot -1 shows the one before");
        gathering.fault(FirmwareFaultKind::SeveralBoots, Severity::Notice, name.to_owned(), text, 0);
    }
    for (boot, back) in boots.iter().zip((0..boots.len() as i64).rev()) {
        let [reset_end_ns, loader_load_ns, loader_start_ns, exit_begin_ns, exit_end_ns] =
            boot.times.map(|value| value.unwrap_or(0));
        let times = BasicBoot { reset_end_ns, loader_load_ns, loader_start_ns, exit_begin_ns, exit_end_ns };
        let place = if boots.len() > 1 { format!("{name}: line {}", boot.line) } else { name.to_owned() };
        let mut checkpoints = tables::checkpoints(times, &place, gathering);
        if boot.times[0].is_none() {
            checkpoints.reset_end_ns = None;
        }
        let read = -back == gathering.chosen_boot;
        if boots.len() > 1 {
            let input = name.to_owned();
            gathering.logged(FirmwareLoggedBoot { number: -back, input, line: boot.line, read, checkpoints });
        }
        if read {
            gathering.boot(Boot { from: name.to_owned(), checkpoints: Some(checkpoints), events: Vec::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_line() {
        for line in [
            "FPDT: Boot Performance - ResetEnd                = 21000000",
            "FPDT: ResetEnd                = 21000000",
            "[2026-11-20 10:00:00.123] FPDT: ResetEnd = 0x1406F40\r",
            "UefiPerfRecord->UefiFBBPDataRecord.ResetEnd                = 0000000021000000",
            "resetend=21000000 ns",
        ] {
            assert_eq!(
                assignment(line, &BOOT).and_then(|(at, value)| Some((at, text::number(value)?))),
                Some((0, 21_000_000)),
                "{line}"
            );
        }
        for line in ["ResetEnd", "PresetEnd = 5", "ResetEnding = 5", "ResetEnd : 5", "=", "ResetEnd =", "é= 5"] {
            assert_eq!(assignment(line, &BOOT).filter(|(_, value)| text::number(value).is_some()), None, "{line}");
        }
    }
}
