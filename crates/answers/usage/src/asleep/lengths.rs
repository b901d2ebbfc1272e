//! How long the parts of a sleep took that no event spans, by the kernel's account and by the clocks.

use onoff_trace::{Milestone, Trace, milestone};

use super::cycles::Cycle;
use onoff_evidence::Certainty;
use onoff_evidence::phase_name::PhaseName;
use onoff_evidence::rule::Rule;

pub(crate) type Length = fn(&Trace, &Cycle) -> Option<(i64, Milestone)>;

/// What happens on the way up before the kernel records anything, none of it twice, with the kernel's account of its length, ns.
pub const BEFORE_THE_KERNEL: [(PhaseName, Length); 4] = [
    (PhaseName::BiosInit, |trace, cycle| {
        first(trace, cycle, &[milestone::POWER_FIRMWARE_TIME, milestone::RESUME_FIRMWARE_TIME])
    }),
    (PhaseName::BootManager, |trace, cycle| cycle.length(trace, milestone::RESUME_BOOT_MANAGER_TIME)),
    // What the loader reads of the image is counted as reading it.
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

/// How long writing the memory image took, ns.
pub fn image_write(trace: &Trace, cycle: &Cycle) -> Option<(i64, Milestone)> {
    let names =
        [milestone::POWER_HIBERNATE_WRITE_TIME, milestone::HIBERNATE_FILE_TIME, milestone::HYBRID_SHUTDOWN_FILE_TIME];
    first(trace, cycle, &names)
}

/// How long reading the memory image took, ns: by the loader and by the kernel.
pub fn image_read(trace: &Trace, cycle: &Cycle) -> Option<(i64, Milestone)> {
    cycle.length(trace, milestone::POWER_HIBERNATE_READ_TIME).or_else(|| {
        let (kernel, row) = cycle.length(trace, milestone::RESUME_KERNEL_READ_TIME)?;
        let loader = cycle.length(trace, milestone::RESUME_LOADER_READ_TIME).map_or(0, |(ns, _)| ns);
        Some((kernel.saturating_add(loader), row))
    })
}

/// How long the way up took before the kernel recorded anything, ns: what is known of it.
pub fn before_the_kernel_ns(trace: &Trace, cycle: &Cycle) -> i64 {
    let lengths = BEFORE_THE_KERNEL.into_iter().filter_map(|(_, length)| Some(length(trace, cycle)?.0));
    lengths.fold(0, i64::saturating_add)
}

/// How long writing the memory image took beyond what the events of the way down span, ns; `None` when nothing says. Its record may stand
/// before the last of these events or be one of them: where there is room for all of it between the two, it is within.
pub fn image_beyond(trace: &Trace, cycle: &Cycle, down_ns: Option<i64>) -> Option<i64> {
    let (written_ns, _) = image_write(trace, cycle)?;
    let begins_ns = cycle.image_begins(trace).map(|row| row.time_ns);
    let room_ns = down_ns.zip(begins_ns).map_or(0, |(end, begins)| end.saturating_sub(begins));
    // The kernel counts milliseconds, by another clock: a tenth of difference is the same time.
    Some(if room_ns >= written_ns.saturating_sub(written_ns / 10) { 0 } else { written_ns })
}

/// A clock that missed less than this has gone on: begin and end are told by different records, and the hardware's clock by whole seconds.
pub const STOOD_STILL_NS: i64 = 1_000_000_000;

/// Whether the recording's clock went on in a sleep of which it missed so much; of one that nobody knows, it may have.
pub fn went_on(missed_ns: Option<i64>) -> bool {
    missed_ns.is_none_or(|missed| missed.saturating_abs() < STOOD_STILL_NS)
}

/// How long it really was from the last record before a sleep to the first after it, of which the recording's clock counted `on_axis` ns.
///
/// The kernel sets the wall clock, which stood still from before the sleep, by just that.
pub fn real_gap(trace: &Trace, cycle: &Cycle, on_axis: i64, from_ns: Option<i64>) -> Option<(i64, Rule, Certainty)> {
    let utc = |name| cycle.value(trace, name).map(|(ns, _)| ns);
    let wall = utc(milestone::POWER_BEGIN_UTC).zip(utc(milestone::POWER_END_UTC));
    let whole = cycle.whole.and_then(|row| Some(row.end_ns?.saturating_sub(row.start_ns)));
    if let Some(((start, end), whole)) = wall.zip(whole) {
        let missed = end.saturating_sub(start).saturating_sub(whole);
        return Some((on_axis.saturating_add(missed), Rule::RealTimesLessHalves, Certainty::Measured));
    }
    // Less than the recording's clock counted is no time asleep.
    let set_ns =
        clock_set(trace, cycle, from_ns).filter(|set| *set > 0 && set.saturating_add(STOOD_STILL_NS) > on_axis);
    Some((set_ns?, Rule::ClockSetForward, Certainty::Inferred))
}

/// How long after the end of a transition the clock may still be set for it, ns.
const CLOCK_SET_WITHIN_NS: i64 = 60_000_000_000;

/// By how much the wall clock was set for the sleep, ns. What a program or the time service set it by is no time asleep.
pub fn clock_set(trace: &Trace, cycle: &Cycle, from_ns: Option<i64>) -> Option<i64> {
    let until_ns =
        cycle.whole.and_then(|row| row.end_ns).map_or(i64::MAX, |end| end.saturating_add(CLOCK_SET_WITHIN_NS));
    cycle
        .clock_sets(trace)
        .filter(|(row, for_sleep)| *for_sleep && row.time_ns <= until_ns)
        .filter(|(row, _)| from_ns.is_none_or(|from| row.time_ns >= from))
        .filter_map(|(row, _)| row.value)
        .map(|milliseconds| milliseconds.saturating_mul(1_000_000))
        .reduce(i64::saturating_add)
}
