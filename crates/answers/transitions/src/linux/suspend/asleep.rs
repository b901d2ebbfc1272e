//! Measures suspend, resume and the time between them.

use crate::Variant;
use crate::{Phase, PhaseName, SuspendStage};
use onoff_trace::{Milestone, Trace, milestone};

use super::names::{has_callbacks, stops_clock};
use super::report::LinuxAsleep;
use super::{Cycle, boundary, is_logged, is_received, precedes_sleep};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval};

/// The interval in which the machine was in the sleep state, and its event.
pub(super) struct MachineSleep {
    entry_ns: i64,
    exit_ns: i64,
    event: String,
    certainty: Certainty,
}

/// Finds the interval in which the machine was in the sleep state. If suspend-to-idle entered it several times, returns
/// the interval from the first entry to the last exit.
pub(super) fn machine_sleep(trace: &Trace, cycle: &Cycle, phases: &[Phase]) -> Option<MachineSleep> {
    let machine_phases = || phases.iter().filter(|phase| phase.name == PhaseName::Machine);
    let exit_ns = machine_phases().filter_map(|phase| phase.end_ns).max();
    if let (Some((first, entry_ns)), Some(exit_ns)) =
        (machine_phases().find_map(|phase| Some((phase, phase.start_ns?))), exit_ns)
    {
        return Some(MachineSleep { entry_ns, exit_ns, event: first.starts.event.clone(), certainty: first.certainty });
    }
    // The log only has the line with the time asleep, written just after the exit. Its clock had stopped until then.
    let entry = cycle.milestones(trace, milestone::SLEEP).next()?;
    let exit = cycle.milestones(trace, milestone::WAKE).last()?;
    Some(MachineSleep {
        entry_ns: entry.time_ns,
        exit_ns: exit.time_ns.max(entry.time_ns),
        event: trace.text(exit.event).to_owned(),
        certainty: Certainty::Inferred,
    })
}

/// Returns the suspend, the time asleep, and the resume.
pub(super) fn halves(
    trace: &Trace,
    cycle: &Cycle,
    variant: Variant,
    phases: &[Phase],
    machine: Option<&MachineSleep>,
    aborted: bool,
) -> (DerivedInterval, LinuxAsleep, DerivedInterval) {
    let event = trace.text(cycle.transition.event);
    let suspend_start =
        boundary(Some((cycle.transition.start_ns, event)), Rule::KernelDecidesToSleep, Certainty::Measured);
    // Without device phases, the recorded phases do not cover the whole half, so its end is unknown.
    let has_device_phase = |half: SuspendStage| {
        aborted || phases.iter().any(|phase| phase.half == Some(half) && has_callbacks(phase.name))
    };
    let last_suspend_phase = phases
        .iter()
        .filter(|phase| precedes_sleep(phase) && has_device_phase(SuspendStage::Suspend))
        // A phase that failed has no end in the log; it may seem to last until the next sleep.
        .filter(|phase| !aborted || phase.end_ns <= cycle.transition.end_ns)
        .filter_map(|phase| Some((phase.end_ns?, phase.ends.event.as_str())))
        .max();
    let first_resume_phase = phases
        .iter()
        .filter(|phase| phase.half == Some(SuspendStage::Resume) && has_device_phase(SuspendStage::Resume))
        .filter_map(|phase| Some((phase.start_ns?, phase.starts.event.as_str())))
        .min();
    let (entry, exit) = match machine {
        // These messages were received after the sleep, so its position between them is not recorded.
        _ if is_received(event) && !aborted => (
            boundary(None, Rule::SleepStateEntered, Certainty::Missing),
            boundary(None, Rule::SleepStateExited, Certainty::Missing),
        ),
        Some(machine) => (
            boundary(Some((machine.entry_ns, &machine.event)), Rule::SleepStateEntered, machine.certainty),
            boundary(Some((machine.exit_ns, &machine.event)), Rule::SleepStateExited, machine.certainty),
        ),
        None => (
            boundary(last_suspend_phase, Rule::LastSuspendPhaseEnds, Certainty::Inferred),
            boundary(first_resume_phase, Rule::FirstResumePhaseStarts, Certainty::Inferred),
        ),
    };
    let resume_end =
        boundary(cycle.transition.end_ns.map(|end| (end, event)), Rule::ProcessesThawed, Certainty::Measured);
    let suspend = DerivedInterval::between(&suspend_start, &entry);
    let resume = DerivedInterval::between(&exit, &resume_end);
    // The clocks of the journal show how long the machine slept, but not when within the cycle.
    let clock_gap_ns =
        cycle.value(trace, milestone::POWER_SLEEP_TIME).filter(|_| !aborted).map(|(slept_ns, _)| slept_ns);
    let asleep = match (machine, clock_gap_ns) {
        (Some(_), _) => sleep_time(trace, cycle, variant, DerivedInterval::between(&entry, &exit)),
        (None, Some(slept_ns)) => LinuxAsleep {
            measured: DerivedInterval::not_found([Rule::SleepStateEnteredAndExited]),
            slept_ns: Some(slept_ns),
            slept_rule: Rule::SleepByClocks,
            slept_certainty: Certainty::Measured,
            kernel_ns: None,
        },
        (None, None) => LinuxAsleep {
            measured: DerivedInterval::not_found([Rule::SleepStateEnteredAndExited]),
            slept_rule: Rule::SleepStateNotEntered,
            ..LinuxAsleep::default()
        },
    };
    (suspend, asleep, resume)
}

/// Determines the time asleep by a clock that kept running.
fn sleep_time(trace: &Trace, cycle: &Cycle, variant: Variant, measured: DerivedInterval) -> LinuxAsleep {
    let wake_value = cycle.value(trace, milestone::WAKE);
    let is_from_kernel = |row: &Milestone| is_logged(trace.text(row.event));
    let is_from_clocks = |row: &Milestone| trace.text(row.event).starts_with("wall clock");
    let sleep_time = cycle.value(trace, milestone::POWER_SLEEP_TIME);
    let kernel_ns = sleep_time
        .filter(|(_, row)| !is_from_clocks(row))
        .or(wake_value.filter(|(_, row)| is_from_kernel(row)))
        .map(|(ns, _)| ns);
    let clock_gap_ns = wake_value
        .filter(|(_, row)| !is_from_kernel(row))
        .or(sleep_time.filter(|(_, row)| is_from_clocks(row)))
        .map(|(ns, _)| ns);
    let axis_ns = measured.duration_ns.filter(|_| !stops_clock(variant));
    let (slept_ns, rule, certainty) = match (axis_ns, clock_gap_ns, kernel_ns) {
        // The axis keeps running in suspend-to-idle, unless the machine stops its clock.
        (Some(axis_ns), gap, _) => {
            let off_axis_ns = gap.or(kernel_ns).unwrap_or(0).max(0);
            (Some(axis_ns.saturating_add(off_axis_ns)), Rule::SleepOnTimeAxis, Certainty::Measured)
        }
        (None, Some(ns), _) => (Some(ns), Rule::SleepByClocks, Certainty::Measured),
        (None, None, Some(ns)) => (Some(ns), Rule::SleepByKernelLog, Certainty::Measured),
        (None, None, None) => (None, Rule::NoClockDuringSleep, Certainty::Missing),
    };
    LinuxAsleep { measured, slept_ns, slept_rule: rule.to_owned(), slept_certainty: certainty, kernel_ns }
}
