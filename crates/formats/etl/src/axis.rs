//! The time axis of a recording: picks its clock and converts the timestamps of every file to it.

use crate::clock::ClockKind;
use crate::logfile_header::BUFFER_HEADER_SIZE;
use crate::losses::Location;
use crate::{BufferInfo, Clock, FileSummary, Loss, Losses};

/// Maximum disagreement between headers of one boot about the zero of the counter, caused by adjustments of the system
/// time between their starts. Unit: 100 ns.
const SAME_BOOT_TOLERANCE: i128 = 60 * 10_000_000;

#[derive(Debug)]
enum Unit {
    /// Ticks of the recording's clock.
    Shared,
    /// Ticks of another clock, aligned by UTC. `offset_ns` is the start of that clock, relative to the start of the
    /// recording.
    Converted { clock: Clock, offset_ns: i64 },
}

#[derive(Debug)]
struct FileAxis {
    unit: Unit,
    /// Ticks to add, by session. Not zero for appended sessions whose counter restarted with the machine.
    shifts: Vec<u64>,
}

/// The recording's clock and the conversion of each file's timestamps to it.
#[derive(Debug)]
pub(crate) struct Axes {
    pub clock: Clock,
    files: Vec<FileAxis>,
}

impl Axes {
    /// Picks the clock of the file that started first. Aligns files with another clock by UTC and counts them as
    /// a loss. Returns `None` if there are no files.
    pub(crate) fn align(files: &mut [FileSummary], losses: &mut Losses) -> Option<Axes> {
        let earliest = files.iter().min_by_key(|file| file.clock.start_filetime())?;
        let (mut clock, boot_time) = (earliest.clock.clone(), earliest.header.boot_time);
        let has_same_clock = |file: &FileSummary| {
            let same_units =
                file.clock.kind() == clock.kind() && file.clock.ticks_per_second() == clock.ticks_per_second();
            let zero_difference = (file.clock.zero_filetime() - clock.zero_filetime()).abs();
            let boot_difference = i128::from(file.header.boot_time.abs_diff(boot_time));
            let same_boot = zero_difference.min(boot_difference) <= SAME_BOOT_TOLERANCE;
            same_units && (clock.kind() == ClockKind::SystemTime || same_boot)
        };
        let shared: Vec<bool> = files.iter().map(has_same_clock).collect();
        for (file, &shares_clock) in files.iter_mut().zip(&shared) {
            file.shares_clock = shares_clock;
            // The system time may have been set between the two starts; the counter is the more reliable order.
            if shares_clock && file.clock.start_ticks() < clock.start_ticks() {
                clock = file.clock.clone();
            }
        }
        let axes = files.iter().enumerate().map(|(number, file)| FileAxis {
            unit: if file.shares_clock {
                Unit::Shared
            } else {
                let offset = BUFFER_HEADER_SIZE as u64;
                losses.add_at(Loss::UnrelatedFile, 1, Location { file: number, offset });
                let start = file.clock.start_filetime().saturating_sub(clock.start_filetime());
                Unit::Converted { clock: file.clock.clone(), offset_ns: start.saturating_mul(100) }
            },
            shifts: Vec::new(),
        });
        let files = axes.collect();
        Some(Axes { clock, files })
    }

    /// Delays a session of an appended file by `ticks`.
    pub(crate) fn shift(&mut self, file: usize, session: u32, ticks: u64) {
        if let Some(axis) = self.files.get_mut(file) {
            let session = session as usize;
            axis.shifts.resize(axis.shifts.len().max(session + 1), 0);
            axis.shifts.iter_mut().skip(session).take(1).for_each(|shift| *shift = ticks);
        }
    }

    /// True if the buffer's timestamps are ticks of the recording's clock.
    pub(crate) fn is_identity(&self, buffer: &BufferInfo) -> bool {
        let axis = self.files.get(buffer.file);
        axis.is_none_or(|axis| matches!(axis.unit, Unit::Shared) && axis.shifts.is_empty())
    }

    /// Converts a stored timestamp to ticks of the recording's clock.
    #[inline]
    pub(crate) fn to_ticks(&self, buffer: &BufferInfo, timestamp: u64) -> u64 {
        let Some(axis) = self.files.get(buffer.file) else { return timestamp };
        let ticks = match &axis.unit {
            Unit::Shared => timestamp,
            Unit::Converted { clock, offset_ns } => self.clock.ticks(clock.ns(timestamp).saturating_add(*offset_ns)),
        };
        let shift = axis.shifts.get(buffer.session as usize).copied().unwrap_or(0);
        ticks.saturating_add(shift)
    }
}
