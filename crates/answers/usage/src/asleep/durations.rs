//! Determines the durations of the parts of a sleep without events, from the kernel's own times and from clocks.

use onoff_trace::{Milestone, Trace, milestone};

use super::cycles::Cycle;
use onoff_evidence::Certainty;
use onoff_evidence::phase_name::PhaseName;
use onoff_evidence::rule::Rule;

pub(crate) type Length = fn(&Trace, &Cycle) -> Option<(i64, Milestone)>;

/// The parts of a resume before the kernel records events, without overlap, each with a function that returns its
/// recorded duration, ns.
pub const BEFORE_KERNEL: [(PhaseName, Length); 4] = [
    (PhaseName::BiosInit, |trace, cycle| {
        first_duration(trace, cycle, &[milestone::POWER_FIRMWARE_TIME, milestone::RESUME_FIRMWARE_TIME])
    }),
    (PhaseName::BootManager, |trace, cycle| cycle.duration(trace, milestone::RESUME_BOOT_MANAGER_TIME)),
    // Reading the image in the loader counts as HiberRead.
    (PhaseName::ResumeLoader, |trace, cycle| {
        let (ns, row) = cycle.duration(trace, milestone::RESUME_LOADER_TIME)?;
        let read_ns = cycle.duration(trace, milestone::RESUME_LOADER_READ_TIME).map_or(0, |(ns, _)| ns);
        Some((ns.saturating_sub(read_ns).max(0), row))
    }),
    (PhaseName::HiberRead, image_read),
];

pub fn first_duration(trace: &Trace, cycle: &Cycle, names: &[&str]) -> Option<(i64, Milestone)> {
    names.iter().find_map(|name| cycle.duration(trace, name))
}

/// Returns the time to write the memory image, in ns.
pub fn image_write(trace: &Trace, cycle: &Cycle) -> Option<(i64, Milestone)> {
    let names =
        [milestone::POWER_HIBERNATE_WRITE_TIME, milestone::HIBERNATE_FILE_TIME, milestone::HYBRID_SHUTDOWN_FILE_TIME];
    first_duration(trace, cycle, &names)
}

/// Returns the time to read the memory image in the loader and the kernel, in ns.
pub fn image_read(trace: &Trace, cycle: &Cycle) -> Option<(i64, Milestone)> {
    cycle.duration(trace, milestone::POWER_HIBERNATE_READ_TIME).or_else(|| {
        let (kernel_ns, row) = cycle.duration(trace, milestone::RESUME_KERNEL_READ_TIME)?;
        let loader_ns = cycle.duration(trace, milestone::RESUME_LOADER_READ_TIME).map_or(0, |(ns, _)| ns);
        Some((kernel_ns.saturating_add(loader_ns), row))
    })
}

/// Returns the known time of the resume before the kernel recorded events, in ns.
pub fn before_kernel_ns(trace: &Trace, cycle: &Cycle) -> i64 {
    let lengths = BEFORE_KERNEL.into_iter().filter_map(|(_, length)| Some(length(trace, cycle)?.0));
    lengths.fold(0, i64::saturating_add)
}

/// Returns the time to write the memory image that suspend events do not cover, in ns; `None` if unknown. The write is
/// covered if it fits between its start record and the last suspend event, at `suspend_end_ns`.
pub fn uncovered_image_write_ns(trace: &Trace, cycle: &Cycle, suspend_end_ns: Option<i64>) -> Option<i64> {
    let (written_ns, _) = image_write(trace, cycle)?;
    let begin_ns = cycle.image_start(trace).map(|row| row.time_ns);
    let covered_ns = suspend_end_ns.zip(begin_ns).map_or(0, |(end, begin)| end.saturating_sub(begin));
    // The kernel measures milliseconds with another clock, so a difference of up to a tenth counts as equal.
    Some(if covered_ns >= written_ns.saturating_sub(written_ns / 10) { 0 } else { written_ns })
}

/// A clock that missed less time than this kept running, ns: start and end come from different records, and the
/// hardware clock counts whole seconds.
pub const MIN_CLOCK_STOP_NS: i64 = 1_000_000_000;

/// Returns whether the recording's clock kept running during a sleep, given the time it missed; true if unknown.
pub fn clock_kept_running(missed_ns: Option<i64>) -> bool {
    missed_ns.is_none_or(|missed| missed.saturating_abs() < MIN_CLOCK_STOP_NS)
}

/// Returns the wall-clock time from the last record before a sleep to the first record after it, in ns. The recording's
/// clock counted `axis_ns` of it.
///
/// After a sleep, the kernel sets the wall clock forward by exactly the time it was stopped.
pub fn wall_clock_gap(
    trace: &Trace,
    cycle: &Cycle,
    axis_ns: i64,
    from_ns: Option<i64>,
) -> Option<(i64, Rule, Certainty)> {
    let utc = |name| cycle.value(trace, name).map(|(ns, _)| ns);
    let wall_times = utc(milestone::POWER_BEGIN_UTC).zip(utc(milestone::POWER_END_UTC));
    let transition_ns = cycle.transition.and_then(|row| Some(row.end_ns?.saturating_sub(row.start_ns)));
    if let Some(((start, end), transition_ns)) = wall_times.zip(transition_ns) {
        let missed_ns = end.saturating_sub(start).saturating_sub(transition_ns);
        return Some((axis_ns.saturating_add(missed_ns), Rule::WallClockMinusSuspendAndResume, Certainty::Measured));
    }
    // An adjustment smaller than the time on the recording's clock is not time asleep.
    let set_ns = clock_adjustment(trace, cycle, from_ns)
        .filter(|set| *set > 0 && set.saturating_add(MIN_CLOCK_STOP_NS) > axis_ns);
    Some((set_ns?, Rule::ClockAdjustedAfterSleep, Certainty::Inferred))
}

/// Maximum time after the end of a transition in which a clock change still belongs to it, ns.
const MAX_CLOCK_SET_DELAY_NS: i64 = 60_000_000_000;

/// Returns by how much the wall clock was set for the sleep, in ns. Ignores changes by programs or the time service.
pub fn clock_adjustment(trace: &Trace, cycle: &Cycle, from_ns: Option<i64>) -> Option<i64> {
    let until_ns =
        cycle.transition.and_then(|row| row.end_ns).map_or(i64::MAX, |end| end.saturating_add(MAX_CLOCK_SET_DELAY_NS));
    cycle
        .clock_sets(trace)
        .filter(|(row, for_sleep)| *for_sleep && row.time_ns <= until_ns)
        .filter(|(row, _)| from_ns.is_none_or(|from_ns| row.time_ns >= from_ns))
        .filter_map(|(row, _)| row.value)
        .map(|milliseconds| milliseconds.saturating_mul(1_000_000))
        .reduce(i64::saturating_add)
}
