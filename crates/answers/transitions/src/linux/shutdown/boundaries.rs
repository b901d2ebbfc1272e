//! Finds the start and end of a shutdown, and its phases.

use crate::PhaseName;
use crate::Variant;
use onoff_trace::{ActivityKind, ServiceChange, Trace, milestone, shutdown_step};

use crate::search::{Match, Search, first_of, milestone_at, milestones};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// Targets that are only reached during a shutdown.
const SHUTDOWN_TARGETS: [&str; 7] = [
    "shutdown.target",
    "final.target",
    "umount.target",
    "poweroff.target",
    "reboot.target",
    "halt.target",
    "kexec.target",
];

/// Maximum time between two stops of one shutdown in which no unit is stopping, ns.
const MAX_PAUSE_NS: i64 = 5_000_000_000;

/// Maximum duration of a shutdown, ns: earlier requests were not carried out.
const MAX_SHUTDOWN_NS: i64 = 1_800_000_000_000;

/// The boundaries of a shutdown.
pub(super) struct ShutdownBoundaries {
    pub(super) variant: Variant,
    pub(super) variant_rule: Rule,
    pub(super) starts: Boundary,
    pub(super) ends: Boundary,
    /// Last recorded time, ns.
    pub(super) known_until_ns: i64,
    pub(super) phases: Vec<(PhaseName, Boundary, Boundary)>,
}

/// The boundaries of the shutdown in `trace`; `None` if it contains none.
pub(super) fn find(trace: &Trace) -> Option<ShutdownBoundaries> {
    let sign = last_sign(trace)?;
    let starts = starts(trace, sign);
    let from = starts.time_ns.unwrap_or(sign);
    let ends = first_of(
        &[Search::measured(Rule::KernelLastLine, |from| {
            step(trace, ActivityKind::KernelShutdownStep, from).and_then(|(_, end, event)| Some((end?, event)))
        })],
        from,
    );
    let (variant, variant_rule) = variant(trace, from);
    Some(ShutdownBoundaries {
        variant,
        variant_rule,
        phases: phases(trace, &starts, &ends, from),
        starts,
        ends,
        known_until_ns: trace.duration_ns.max(from),
    })
}

/// Time of the last sign of a shutdown; `None` if there is none.
fn last_sign(trace: &Trace) -> Option<i64> {
    let reached = milestones(trace, milestone::TARGET_REACHED)
        .filter(|row| SHUTDOWN_TARGETS.contains(&trace.text(row.detail)))
        .map(|row| row.time_ns);
    let requested = [milestone::SHUTDOWN_REQUEST, milestone::SHUTDOWN_EXECUTOR, milestone::SHUTDOWN_FINAL]
        .into_iter()
        .flat_map(|name| milestones(trace, name))
        .map(|row| row.time_ns);
    let steps = trace
        .activities
        .iter()
        .filter(|row| matches!(row.kind, ActivityKind::ShutdownStep | ActivityKind::KernelShutdownStep))
        .map(|row| row.start_ns);
    reached.chain(requested).chain(steps).max()
}

fn starts(trace: &Trace, sign: i64) -> Boundary {
    let first_stop = first_stop(trace, sign);
    first_of(
        &[
            Search::measured(Rule::ShutdownRequested, |_| {
                milestones(trace, milestone::SHUTDOWN_REQUEST)
                    .filter(|row| row.time_ns <= sign && sign.saturating_sub(row.time_ns) <= MAX_SHUTDOWN_NS)
                    .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
                    // Logind logs two messages: that it will shut down, and that it does.
                    .min()
            }),
            Search::inferred(Rule::FirstUnitStops, |_| first_stop.clone()),
            Search::inferred(Rule::LastProgram, |_| milestone_at(trace, milestone::SHUTDOWN_EXECUTOR, i64::MIN)),
            Search::inferred(Rule::SystemdShutdownFirstStep, |_| {
                step(trace, ActivityKind::ShutdownStep, i64::MIN).map(|(start, _, event)| (start, event))
            }),
        ],
        i64::MIN,
    )
}

/// The first of the units that stop without a pause longer than `MAX_PAUSE_NS`, backwards from the last stop before
/// `sign`.
fn first_stop(trace: &Trace, sign: i64) -> Option<Match> {
    let mut stops: Vec<(i64, i64, &str)> = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop && row.start_ns <= sign)
        .map(|row| (row.end_ns.unwrap_or(sign).min(sign), row.start_ns, trace.text(row.event)))
        .collect();
    stops.sort();
    let mut first: Option<(i64, &str)> = None;
    for (end, start, event) in stops.into_iter().rev() {
        match first {
            Some((at, _)) if at.saturating_sub(end) > MAX_PAUSE_NS => break,
            Some((at, _)) if at <= start => {}
            _ => first = Some((start, event)),
        }
    }
    first.map(|(at, event)| (at, event.to_owned()))
}

/// The first step of this kind at or after `from`: start, end, event.
fn step(trace: &Trace, kind: ActivityKind, from: i64) -> Option<(i64, Option<i64>, String)> {
    trace
        .activities
        .iter()
        .filter(|row| row.kind == kind && row.start_ns >= from)
        .min_by_key(|row| row.start_ns)
        .map(|row| (row.start_ns, row.end_ns, trace.text(row.event).to_owned()))
}

fn variant(trace: &Trace, from: i64) -> (Variant, Rule) {
    let recorded = milestones(trace, milestone::SHUTDOWN_KIND)
        .filter(|row| row.time_ns >= from)
        .find_map(|row| variant_of(trace.text(row.detail)));
    if let Some(variant) = recorded {
        return (variant, Rule::KindBySystemdShutdown);
    }
    let reached = milestones(trace, milestone::TARGET_REACHED)
        .filter(|row| row.time_ns >= from)
        .find_map(|row| variant_of(trace.text(row.detail).strip_suffix(".target")?));
    if let Some(variant) = reached {
        return (variant, Rule::KindByLastTarget);
    }
    let requested = milestones(trace, milestone::SHUTDOWN_REQUEST)
        .filter(|row| row.time_ns >= from)
        .find_map(|row| variant_of(trace.text(row.detail)));
    match requested {
        Some(variant) => (variant, Rule::KindRequested),
        None => (Variant::Unknown, Rule::KindUnknown),
    }
}

/// The steps of systemd-shutdown, and their phases.
const STEPS: [(&str, PhaseName, Rule); 5] = [
    (shutdown_step::TERMINATE_REMAINING, PhaseName::TerminateRemaining, Rule::SystemdShutdownSendsTerm),
    (shutdown_step::KILL_REMAINING, PhaseName::KillRemaining, Rule::SystemdShutdownSendsKill),
    (shutdown_step::UNMOUNT, PhaseName::Unmount, Rule::SystemdShutdownUnmounts),
    (shutdown_step::SHUTDOWN_HOOKS, PhaseName::Hooks, Rule::ShutdownHooksRun),
    (shutdown_step::KERNEL_STOP, PhaseName::Kernel, Rule::SystemdShutdownCallsKernel),
];

/// The phases, in order, with start and end.
fn phases(trace: &Trace, starts: &Boundary, ends: &Boundary, from: i64) -> Vec<(PhaseName, Boundary, Boundary)> {
    let start_of = |name: &'static str, rule: Rule| {
        let id = trace.strings.find(name);
        first_of(
            &[Search::measured(rule, |from| {
                trace
                    .activities
                    .iter()
                    .filter(|row| {
                        matches!(row.kind, ActivityKind::ShutdownStep | ActivityKind::KernelShutdownStep)
                            && Some(row.name) == id
                            && row.start_ns >= from
                    })
                    .map(|row| (row.start_ns, trace.text(row.event).to_owned()))
                    .min()
            })],
            from,
        )
    };
    let executor = first_of(
        &[Search::measured(Rule::SystemdShutdownStarts, |from| {
            milestone_at(trace, milestone::SHUTDOWN_EXECUTOR, from)
        })],
        from,
    );
    let steps: Vec<(PhaseName, Boundary)> =
        STEPS.into_iter().map(|(step, name, rule)| (name, start_of(step, rule))).collect();
    let first_step = steps.iter().map(|(_, start)| start).find(|start| start.time_ns.is_some());
    // Stopping units ends where the next phase starts; otherwise with the last unit that stopped.
    let stopped = [Some(&executor), first_step]
        .into_iter()
        .flatten()
        .find(|start| start.time_ns.is_some())
        .cloned()
        .unwrap_or_else(|| last_stop(trace, from));
    let mut phase_starts = vec![(PhaseName::StopUnits, starts.clone()), (PhaseName::Sync, executor)];
    phase_starts.extend(steps);
    let nexts: Vec<Option<Boundary>> = (0..phase_starts.len())
        .map(|at| {
            phase_starts.iter().skip(at + 1).map(|(_, start)| start).find(|start| start.time_ns.is_some()).cloned()
        })
        .collect();
    phase_starts
        .into_iter()
        .zip(nexts)
        .map(|((name, start), next)| {
            let end = match name {
                PhaseName::StopUnits => stopped.clone(),
                _ => next.unwrap_or_else(|| ends.clone()),
            };
            // A phase that did not start has no end.
            let end = match start.time_ns {
                Some(_) => end,
                None => Boundary::default(),
            };
            (name, start, end)
        })
        .collect()
}

/// The last unit that stopped, if nothing after it was recorded.
fn last_stop(trace: &Trace, from: i64) -> Boundary {
    let last = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop && row.start_ns >= from)
        .filter_map(|row| Some((row.end_ns?, row.event)))
        .max_by_key(|&(end, _)| end);
    Boundary {
        time_ns: last.map(|(end, _)| end),
        rule: Rule::LastUnitStopped,
        event: last.map_or_else(String::new, |(_, event)| trace.text(event).to_owned()),
        certainty: if last.is_some() { Certainty::Inferred } else { Certainty::Missing },
        unmatched_rules: vec![Rule::SystemdShutdownStarts],
    }
}

/// The variant for the name that systemd uses.
fn variant_of(name: &str) -> Option<Variant> {
    match name {
        "poweroff" => Some(Variant::PowerOff),
        "reboot" => Some(Variant::Restart),
        "halt" => Some(Variant::Halt),
        "kexec" => Some(Variant::Kexec),
        _ => None,
    }
}
