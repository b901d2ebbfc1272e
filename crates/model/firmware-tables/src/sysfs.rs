//! Reads `/sys/firmware/acpi/fpdt` of Linux: one file with a decimal number for each value of the basic records
//! (`Documentation/ABI/testing/sysfs-firmware-acpi`).

use onoff_firmware::BasicBoot;
use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareFormat, FirmwareProblemKind, FirmwareResume, FirmwareSuspend};

use super::collector::{Boot, FirmwareTableCollector};
use super::{tables, text};

/// All files, with their directory.
const FILES: [(&str, &str); 10] = [
    ("boot", "firmware_start_ns"),
    ("boot", "bootloader_load_ns"),
    ("boot", "bootloader_launch_ns"),
    ("boot", "exitbootservice_start_ns"),
    ("boot", "exitbootservice_end_ns"),
    ("suspend", "suspend_start_ns"),
    ("suspend", "suspend_end_ns"),
    ("resume", "resume_count"),
    ("resume", "resume_prev_ns"),
    ("resume", "resume_avg_ns"),
];

/// The values of one machine read so far.
#[derive(Debug, Default)]
pub struct SysfsValues {
    directory: String,
    values: [Option<u64>; 10],
}

impl SysfsValues {
    /// Returns the index of the file `path`, which has slashes as separators.
    pub fn index_of(path: &str) -> Option<usize> {
        let (directory, file) = path.rsplit_once('/')?;
        let directory = directory.rsplit('/').next()?;
        FILES.iter().position(|&names| names == (directory, file))
    }

    /// Adds the value of file number `index`. A file in another directory starts another machine.
    pub fn add(&mut self, index: usize, path: &str, bytes: &[u8], collector: &mut FirmwareTableCollector) {
        let text = text::decode(bytes);
        let Some(value) = text::parse_number(&text) else {
            collector.add_problem(
                FirmwareProblemKind::UnreadableText,
                Severity::Error,
                path.to_owned(),
                "not a decimal number".to_owned(),
                0,
            );
            return;
        };
        let directory = path.rsplitn(3, '/').nth(2).unwrap_or_default();
        if directory != self.directory {
            std::mem::take(self).finish(collector);
            self.directory = directory.to_owned();
        }
        if let Some(slot) = self.values.get_mut(index) {
            *slot = Some(value);
        }
    }

    /// Adds the values.
    pub fn finish(self, collector: &mut FirmwareTableCollector) {
        if self.values.iter().all(Option::is_none) {
            return;
        }
        let name = if self.directory.is_empty() { "." } else { &self.directory };
        collector.add_input(name, FirmwareFormat::Sysfs);
        let [start, load, launch, begin, end, suspend_start, suspend_end, count, last, average] = self.values;
        if load.or(launch).or(begin).or(end).or(start).is_some() {
            let times = BasicBoot {
                reset_end_ns: start.unwrap_or(0),
                loader_load_ns: load.unwrap_or(0),
                loader_start_ns: launch.unwrap_or(0),
                exit_start_ns: begin.unwrap_or(0),
                exit_end_ns: end.unwrap_or(0),
            };
            let mut checkpoints = tables::convert_checkpoints(times, name, collector);
            if start.is_none() {
                checkpoints.reset_end_ns = None;
            }
            collector.add_boot(Boot { from: name.to_owned(), checkpoints: Some(checkpoints), events: Vec::new() });
        }
        if let Some(count) = count {
            let last_ns = last.and_then(|ns| collector.time_ns(ns, "the last resume", name));
            let average_ns = average.and_then(|ns| collector.time_ns(ns, "the mean resume", name));
            collector.add_resume(FirmwareResume { count, last_ns, average_ns });
        }
        if let (Some(start), Some(end)) = (suspend_start, suspend_end) {
            let start_ns = collector.time_ns(start, "the suspend start", name);
            let end_ns = collector.time_ns(end, "the suspend end", name);
            if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) {
                collector.add_suspend(FirmwareSuspend { start_ns, end_ns });
            }
        }
    }
}
