//! Durations of the parts of a sleep without events, from the kernel's own times and from clocks.

use onoff_trace::{Milestone, Trace, milestone};

use super::cycles::Cycle;
use onoff_evidence::Certainty;
use onoff_evidence::phase_name::PhaseName;
use onoff_evidence::rule::Rule;

pub(crate) type Length = fn(&Trace, &Cycle) -> Option<(i64, Milestone)>;

/// The parts of a resume before the kernel records events, without overlap, each with its duration as recorded by the
/// kernel, ns.
pub const BEFORE_KERNEL: [(PhaseName, Length); 4] = [
    (PhaseName::BiosInit, |trace, cycle| {
        first(trace, cycle, &[milestone::POWER_FIRMWARE_TIME, milestone::RESUME_FIRMWARE_TIME])
    }),
    (PhaseName::BootManager, |trace, cycle| cycle.length(trace, milestone::RESUME_BOOT_MANAGER_TIME)),
    // Reading the image in the loader counts as HiberRead.
    (PhaseName::ResumeLoader, |trace, cycle| {
        let (ns, row) = cycle.length(trace, milestone::RESUME_LOADER_TIME)?;
        let read_ns = cycle.length(trace, milestone::RESUME_LOADER_READ_TIME).map_or(0, |(ns, _)| ns);
        Some((ns.saturating_sub(read_ns).max(0), row))
    }),
    (PhaseName::HiberRead, image_read),
];

pub fn first(trace: &Trace, cycle: &Cycle, names: &[&str]) -> Option<(i64, Milestone)> {
    names.iter().find_map(|name| cycle.length(trace, name))
}

/// Time to write the memory image, ns.
pub fn image_write(trace: &Trace, cycle: &Cycle) -> Option<(i64, Milestone)> {
    let names =
        [milestone::POWER_HIBERNATE_WRITE_TIME, milestone::HIBERNATE_FILE_TIME, milestone::HYBRID_SHUTDOWN_FILE_TIME];
    first(trace, cycle, &names)
}

/// Time to read the memory image, ns: in the loader and in the kernel.
pub fn image_read(trace: &Trace, cycle: &Cycle) -> Option<(i64, Milestone)> {
    cycle.length(trace, milestone::POWER_HIBERNATE_READ_TIME).or_else(|| {
        let (kernel, row) = cycle.length(trace, milestone::RESUME_KERNEL_READ_TIME)?;
        let loader = cycle.length(trace, milestone::RESUME_LOADER_READ_TIME).map_or(0, |(ns, _)| ns);
        Some((kernel.saturating_add(loader), row))
    })
}

/// Known time of the resume before the kernel recorded events, ns.
pub fn before_kernel_ns(trace: &Trace, cycle: &Cycle) -> i64 {
    let lengths = BEFORE_KERNEL.into_iter().filter_map(|(_, length)| Some(length(trace, cycle)?.0));
    lengths.fold(0, i64::saturating_add)
}

/// Time to write the memory image that is not covered by suspend events, ns; `None` if unknown. The write record can
/// precede the last of these events or be one of them: if the whole write fits between the two, it is covered.
pub fn uncovered_image_write_ns(trace: &Trace, cycle: &Cycle, down_ns: Option<i64>) -> Option<i64> {
    let (written_ns, _) = image_write(trace, cycle)?;
    let begins_ns = cycle.image_begins(trace).map(|row| row.time_ns);
    let room_ns = down_ns.zip(begins_ns).map_or(0, |(end, begins)| end.saturating_sub(begins));
    // The kernel measures milliseconds with another clock: a difference of a tenth counts as equal.
    Some(if room_ns >= written_ns.saturating_sub(written_ns / 10) { 0 } else { written_ns })
}

/// A clock that missed less than this kept running: start and end come from different records, and the hardware clock
/// counts whole seconds.
pub const MIN_CLOCK_STOP_NS: i64 = 1_000_000_000;

/// Whether the recording's clock kept running during a sleep in which it missed this time; true if unknown.
pub fn kept_running(missed_ns: Option<i64>) -> bool {
    missed_ns.is_none_or(|missed| missed.saturating_abs() < MIN_CLOCK_STOP_NS)
}

/// The wall-clock time from the last record before a sleep to the first one after it, of which the recording's clock
/// counted `on_axis` ns.
///
/// After a sleep the kernel sets the wall clock forward by exactly the time it had stopped.
pub fn wall_clock_gap(
    trace: &Trace,
    cycle: &Cycle,
    on_axis: i64,
    from_ns: Option<i64>,
) -> Option<(i64, Rule, Certainty)> {
    let utc = |name| cycle.value(trace, name).map(|(ns, _)| ns);
    let wall = utc(milestone::POWER_BEGIN_UTC).zip(utc(milestone::POWER_END_UTC));
    let whole = cycle.whole.and_then(|row| Some(row.end_ns?.saturating_sub(row.start_ns)));
    if let Some(((start, end), whole)) = wall.zip(whole) {
        let missed = end.saturating_sub(start).saturating_sub(whole);
        return Some((on_axis.saturating_add(missed), Rule::WallClockMinusSuspendAndResume, Certainty::Measured));
    }
    // An adjustment smaller than the time on the recording's clock is not time asleep.
    let set_ns = clock_adjustment(trace, cycle, from_ns)
        .filter(|set| *set > 0 && set.saturating_add(MIN_CLOCK_STOP_NS) > on_axis);
    Some((set_ns?, Rule::ClockAdjustedAfterSleep, Certainty::Inferred))
}

/// Maximum time after the end of a transition in which a clock change still belongs to it, ns.
const MAX_CLOCK_SET_DELAY_NS: i64 = 60_000_000_000;

/// By how much the wall clock was set for the sleep, ns. Changes by a program or the time service are not time asleep.
pub fn clock_adjustment(trace: &Trace, cycle: &Cycle, from_ns: Option<i64>) -> Option<i64> {
    let until_ns =
        cycle.whole.and_then(|row| row.end_ns).map_or(i64::MAX, |end| end.saturating_add(MAX_CLOCK_SET_DELAY_NS));
    cycle
        .clock_sets(trace)
        .filter(|(row, for_sleep)| *for_sleep && row.time_ns <= until_ns)
        .filter(|(row, _)| from_ns.is_none_or(|from| row.time_ns >= from))
        .filter_map(|(row, _)| row.value)
        .map(|milliseconds| milliseconds.saturating_mul(1_000_000))
        .reduce(i64::saturating_add)
}
