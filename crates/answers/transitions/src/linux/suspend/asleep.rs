//! The two halves of a sleep and the time between them.

use crate::Variant;
use crate::{Half, Phase, PhaseName};
use onoff_trace::{Milestone, Trace, milestone};

use super::names::{asks_devices, stops_the_clock};
use super::report::LinuxAsleep;
use super::{Cycle, boundary, is_down, is_logged, is_received};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, Span};

/// From the machine's entry to its return, and what tells it.
pub(super) struct Machine {
    entry_ns: i64,
    back_ns: i64,
    event: String,
    certainty: Certainty,
}

/// From the machine's entry to its return. A suspend to idle may enter several times: from the first to the last.
pub(super) fn machine(trace: &Trace, cycle: &Cycle, phases: &[Phase]) -> Option<Machine> {
    let all = || phases.iter().filter(|phase| phase.name == PhaseName::Machine);
    let back_ns = all().filter_map(|phase| phase.end_ns).max();
    if let (Some((first, entry_ns)), Some(back_ns)) = (all().find_map(|phase| Some((phase, phase.start_ns?))), back_ns)
    {
        return Some(Machine { entry_ns, back_ns, event: first.starts.event.clone(), certainty: first.certainty });
    }
    // The log tells only when it counted the time asleep, just after the return, by a clock that had stood still until then.
    let entry = cycle.milestones(trace, milestone::SLEEP).next()?;
    let back = cycle.milestones(trace, milestone::WAKE).last()?;
    Some(Machine {
        entry_ns: entry.time_ns,
        back_ns: back.time_ns.max(entry.time_ns),
        event: trace.text(back.event).to_owned(),
        certainty: Certainty::Inferred,
    })
}

/// The way down, the time asleep, and the way up.
pub(super) fn halves(
    trace: &Trace,
    cycle: &Cycle,
    variant: Variant,
    phases: &[Phase],
    machine: Option<&Machine>,
    given_up: bool,
) -> (Span, LinuxAsleep, Span) {
    let event = trace.text(cycle.whole.event);
    let begins = boundary(Some((cycle.whole.start_ns, event)), Rule::KernelDecidesToSleep, Certainty::Measured);
    // Where nothing tells of the devices, what is known is not all of the way: the halves end somewhere in the unknown.
    let devices =
        |half: Half| given_up || phases.iter().any(|phase| phase.half == Some(half) && asks_devices(phase.name));
    let last_down = phases
        .iter()
        .filter(|phase| is_down(phase) && devices(Half::Suspend))
        .filter_map(|phase| Some((phase.end_ns?, phase.ends.event.as_str())))
        .max();
    let first_up = phases
        .iter()
        .filter(|phase| phase.half == Some(Half::Resume) && devices(Half::Resume))
        .filter_map(|phase| Some((phase.start_ns?, phase.starts.event.as_str())))
        .min();
    let (entry, back) = match machine {
        // The messages around the sleep were read after it: where in the stretch it lies, none of them says.
        _ if is_received(event) && !given_up => (
            boundary(None, Rule::MachineEnters, Certainty::Missing),
            boundary(None, Rule::MachineReturns, Certainty::Missing),
        ),
        Some(machine) => (
            boundary(Some((machine.entry_ns, &machine.event)), Rule::MachineEnters, machine.certainty),
            boundary(Some((machine.back_ns, &machine.event)), Rule::MachineReturns, machine.certainty),
        ),
        None => (
            boundary(last_down, Rule::LastPhaseDownEnds, Certainty::Inferred),
            boundary(first_up, Rule::FirstPhaseUpStarts, Certainty::Inferred),
        ),
    };
    let ends = boundary(cycle.whole.end_ns.map(|end| (end, event)), Rule::ProcessesGoOn, Certainty::Measured);
    let suspend = Span::between(&begins, &entry);
    let resume = Span::between(&back, &ends);
    let asleep = match machine {
        Some(_) => slept(trace, cycle, variant, Span::between(&entry, &back)),
        None => LinuxAsleep {
            measured: Span::absent([Rule::MachineEntersAndReturns]),
            slept_rule: Rule::NoMachineEntry,
            ..LinuxAsleep::default()
        },
    };
    (suspend, asleep, resume)
}

/// How long the machine slept by a clock that went on.
fn slept(trace: &Trace, cycle: &Cycle, variant: Variant, measured: Span) -> LinuxAsleep {
    let told = cycle.value(trace, milestone::WAKE);
    let is_kernels = |row: &Milestone| is_logged(trace.text(row.event));
    let kernel_ns =
        cycle.value(trace, milestone::POWER_SLEEP_TIME).or(told.filter(|(_, row)| is_kernels(row))).map(|(ns, _)| ns);
    let by_clocks = told.filter(|(_, row)| !is_kernels(row)).map(|(ns, _)| ns);
    let on_axis = measured.duration_ns.filter(|_| !stops_the_clock(variant));
    let (slept_ns, rule, certainty) = match (on_axis, by_clocks, kernel_ns) {
        // The axis goes on in a suspend to idle, unless the machine has a clock that it stops for it.
        (Some(axis), gap, _) => {
            (Some(axis.saturating_add(gap.unwrap_or(0).max(0))), Rule::SleptOnTheAxis, Certainty::Measured)
        }
        (None, Some(ns), _) => (Some(ns), Rule::SleptByClocks, Certainty::Measured),
        (None, None, Some(ns)) => (Some(ns), Rule::SleptByKernelLog, Certainty::Measured),
        (None, None, None) => (None, Rule::SleptByNoClock, Certainty::Missing),
    };
    LinuxAsleep { measured, slept_ns, slept_rule: rule.to_owned(), slept_certainty: certainty, kernel_ns }
}
