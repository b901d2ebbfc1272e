//! The lines that EDK II's driver for these tables writes in a debug build:
//! `FPDT: Boot Performance - ResetEnd                = 21000000`.

use onoff_firmware::BasicBoot;
use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareFaultKind, FirmwareForm, FirmwareResume, FirmwareSuspend};

use super::gathering::{Boot, Gathering};
use super::{tables, text};

const BOOT: &str = "FPDT: Boot Performance - ";
const RESUME: &str = "FPDT: S3 Resume Performance - ";
const SUSPEND: &str = "FPDT: S3 Suspend Performance - ";

/// Whether a text holds such lines.
pub(super) fn is_it(text: &str) -> bool {
    [BOOT, RESUME, SUSPEND].into_iter().any(|start| text.contains(start))
}

/// Adds the last boot, suspend and resume of `log`.
pub(super) fn add(name: &str, log: &str, gathering: &mut Gathering) {
    gathering.input(name, FirmwareForm::SerialLog);
    // A log runs over restarts. A name that comes again begins the next boot.
    let mut boots = 0_u64;
    let mut boot: [Option<u64>; 5] = [None; 5];
    let mut resume: [Option<u64>; 3] = [None; 3];
    let mut suspend: [Option<u64>; 2] = [None; 2];
    for (number, line) in log.lines().enumerate() {
        let mut take = |start: &str, names: &[&str], values: &mut [Option<u64>], sets: &mut u64| {
            let Some((_, rest)) = line.split_once(start) else {
                return;
            };
            let Some((what, value)) = rest.split_once('=') else {
                return;
            };
            let Some(at) = names.iter().position(|name| name.eq_ignore_ascii_case(what.trim())) else {
                return;
            };
            let digits = value.split_whitespace().next().unwrap_or_default();
            let Some(value) = text::number(digits) else {
                gathering.fault(
                    FirmwareFaultKind::UnreadableText,
                    Severity::Error,
                    format!("{name}: line {}", number + 1),
                    format!("'{digits}' is no number"),
                    0,
                );
                return;
            };
            if *sets == 0 || values[at].is_some() {
                *sets += 1;
                values.fill(None);
            }
            values[at] = Some(value);
        };
        take(
            BOOT,
            &[
                "ResetEnd",
                "OsLoaderLoadImageStart",
                "OsLoaderStartImageStart",
                "ExitBootServicesEntry",
                "ExitBootServicesExit",
            ],
            &mut boot,
            &mut boots,
        );
        take(RESUME, &["ResumeCount", "FullResume", "AverageResume"], &mut resume, &mut 1);
        take(SUSPEND, &["SuspendStart", "SuspendEnd"], &mut suspend, &mut 1);
    }
    if boots > 1 {
        gathering.fault(
            FirmwareFaultKind::SeveralBoots,
            Severity::Warning,
            name.to_owned(),
            format!("the log holds {boots} boots; the last is shown"),
            0,
        );
    }
    if boots > 0 {
        let [reset_end_ns, loader_load_ns, loader_start_ns, exit_begin_ns, exit_end_ns] =
            boot.map(|value| value.unwrap_or(0));
        let times = BasicBoot { reset_end_ns, loader_load_ns, loader_start_ns, exit_begin_ns, exit_end_ns };
        let mut checkpoints = tables::checkpoints(times, name, gathering);
        if boot[0].is_none() {
            checkpoints.reset_end_ns = None;
        }
        gathering.boot(Boot { from: name.to_owned(), checkpoints: Some(checkpoints), events: Vec::new() });
    }
    if let Some(count) = resume[0] {
        let last_ns = resume[1].and_then(|ns| gathering.time_ns(ns, "the last resume", name));
        let average_ns = resume[2].and_then(|ns| gathering.time_ns(ns, "the mean resume", name));
        gathering.resume(FirmwareResume { count, last_ns, average_ns });
    }
    if let [Some(start), Some(end)] = suspend {
        let start_ns = gathering.time_ns(start, "the suspend's begin", name);
        let end_ns = gathering.time_ns(end, "the suspend's end", name);
        if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) {
            gathering.suspend(FirmwareSuspend { start_ns, end_ns });
        }
    }
}
