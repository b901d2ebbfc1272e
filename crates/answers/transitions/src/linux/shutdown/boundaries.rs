//! Finds the start, the end and the phases of a shutdown.

use crate::PhaseName;
use crate::Variant;
use onoff_trace::{ActivityKind, ServiceChange, Trace, milestone, shutdown_step};

use crate::search::{Match, Search, first_milestone, first_of, milestones};
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

/// Maximum pause between two unit stops of the same shutdown, ns.
const MAX_PAUSE_NS: i64 = 5_000_000_000;

/// Maximum duration of a shutdown, ns. Earlier requests were not carried out.
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

/// Finds the boundaries of the shutdown in `trace`; `None` if it contains no shutdown.
pub(super) fn find(trace: &Trace) -> Option<ShutdownBoundaries> {
    let sign_ns = last_sign_ns(trace)?;
    let starts = starts(trace, sign_ns);
    let from_ns = starts.time_ns.unwrap_or(sign_ns);
    let ends = first_of(
        &[Search::measured(Rule::KernelLastLine, |from_ns| {
            first_step(trace, ActivityKind::KernelShutdownStep, from_ns).and_then(|(_, end, event)| Some((end?, event)))
        })],
        from_ns,
    );
    let (variant, variant_rule) = variant(trace, from_ns);
    Some(ShutdownBoundaries {
        variant,
        variant_rule,
        phases: phases(trace, &starts, &ends, from_ns),
        starts,
        ends,
        known_until_ns: trace.duration_ns.max(from_ns),
    })
}

/// Returns the time of the last sign of a shutdown, in ns; `None` if there is none.
fn last_sign_ns(trace: &Trace) -> Option<i64> {
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

fn starts(trace: &Trace, sign_ns: i64) -> Boundary {
    let first_stop = first_stop(trace, sign_ns);
    first_of(
        &[
            Search::measured(Rule::ShutdownRequested, |_| {
                milestones(trace, milestone::SHUTDOWN_REQUEST)
                    .filter(|row| row.time_ns <= sign_ns && sign_ns.saturating_sub(row.time_ns) <= MAX_SHUTDOWN_NS)
                    .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
                    // Logind logs two messages: one announces the shutdown, the other its start.
                    .min()
            }),
            Search::inferred(Rule::FirstUnitStops, |_| first_stop.clone()),
            Search::inferred(Rule::LastProgram, |_| first_milestone(trace, milestone::SHUTDOWN_EXECUTOR, i64::MIN)),
            Search::inferred(Rule::SystemdShutdownFirstStep, |_| {
                first_step(trace, ActivityKind::ShutdownStep, i64::MIN).map(|(start, _, event)| (start, event))
            }),
        ],
        i64::MIN,
    )
}

/// Returns the first unit stop of the shutdown: the earliest that is linked to the last stop before `sign_ns` without a
/// pause longer than `MAX_PAUSE_NS`.
fn first_stop(trace: &Trace, sign_ns: i64) -> Option<Match> {
    let mut stops: Vec<(i64, i64, &str)> = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop && row.start_ns <= sign_ns)
        .map(|row| (row.end_ns.unwrap_or(sign_ns).min(sign_ns), row.start_ns, trace.text(row.event)))
        .collect();
    stops.sort();
    let mut first_start: Option<(i64, &str)> = None;
    for (end, start, event) in stops.into_iter().rev() {
        match first_start {
            Some((first_ns, _)) if first_ns.saturating_sub(end) > MAX_PAUSE_NS => break,
            Some((first_ns, _)) if first_ns <= start => {}
            _ => first_start = Some((start, event)),
        }
    }
    first_start.map(|(time_ns, event)| (time_ns, event.to_owned()))
}

/// Returns start, end and event of the first step of this kind at or after `from_ns`.
fn first_step(trace: &Trace, kind: ActivityKind, from_ns: i64) -> Option<(i64, Option<i64>, String)> {
    trace
        .activities
        .iter()
        .filter(|row| row.kind == kind && row.start_ns >= from_ns)
        .min_by_key(|row| row.start_ns)
        .map(|row| (row.start_ns, row.end_ns, trace.text(row.event).to_owned()))
}

fn variant(trace: &Trace, from_ns: i64) -> (Variant, Rule) {
    let recorded = milestones(trace, milestone::SHUTDOWN_KIND)
        .filter(|row| row.time_ns >= from_ns)
        .find_map(|row| variant_of(trace.text(row.detail)));
    if let Some(variant) = recorded {
        return (variant, Rule::KindBySystemdShutdown);
    }
    let reached = milestones(trace, milestone::TARGET_REACHED)
        .filter(|row| row.time_ns >= from_ns)
        .find_map(|row| variant_of(trace.text(row.detail).strip_suffix(".target")?));
    if let Some(variant) = reached {
        return (variant, Rule::KindByLastTarget);
    }
    let requested = milestones(trace, milestone::SHUTDOWN_REQUEST)
        .filter(|row| row.time_ns >= from_ns)
        .find_map(|row| variant_of(trace.text(row.detail)));
    match requested {
        Some(variant) => (variant, Rule::KindRequested),
        None => (Variant::Unknown, Rule::KindUnknown),
    }
}

/// The steps of systemd-shutdown, with their phases and rules.
const STEPS: [(&str, PhaseName, Rule); 5] = [
    (shutdown_step::TERMINATE_REMAINING, PhaseName::TerminateRemaining, Rule::SystemdShutdownSendsTerm),
    (shutdown_step::KILL_REMAINING, PhaseName::KillRemaining, Rule::SystemdShutdownSendsKill),
    (shutdown_step::UNMOUNT, PhaseName::Unmount, Rule::SystemdShutdownUnmounts),
    (shutdown_step::SHUTDOWN_HOOKS, PhaseName::Hooks, Rule::ShutdownHooksRun),
    (shutdown_step::KERNEL_STOP, PhaseName::Kernel, Rule::SystemdShutdownCallsKernel),
];

/// Returns the phases, in order, with start and end.
fn phases(trace: &Trace, starts: &Boundary, ends: &Boundary, from_ns: i64) -> Vec<(PhaseName, Boundary, Boundary)> {
    let start_of = |name: &'static str, rule: Rule| {
        let id = trace.strings.find(name);
        first_of(
            &[Search::measured(rule, |from_ns| {
                trace
                    .activities
                    .iter()
                    .filter(|row| {
                        matches!(row.kind, ActivityKind::ShutdownStep | ActivityKind::KernelShutdownStep)
                            && Some(row.name) == id
                            && row.start_ns >= from_ns
                    })
                    .map(|row| (row.start_ns, trace.text(row.event).to_owned()))
                    .min()
            })],
            from_ns,
        )
    };
    let executor = first_of(
        &[Search::measured(Rule::SystemdShutdownStarts, |from_ns| {
            first_milestone(trace, milestone::SHUTDOWN_EXECUTOR, from_ns)
        })],
        from_ns,
    );
    let steps: Vec<(PhaseName, Boundary)> =
        STEPS.into_iter().map(|(step, name, rule)| (name, start_of(step, rule))).collect();
    let first_step = steps.iter().map(|(_, start)| start).find(|start| start.time_ns.is_some());
    // Stopping units ends when the next phase starts, otherwise when the last unit stopped.
    let stopped = [Some(&executor), first_step]
        .into_iter()
        .flatten()
        .find(|start| start.time_ns.is_some())
        .cloned()
        .unwrap_or_else(|| last_stop(trace, from_ns));
    let mut phase_starts = vec![(PhaseName::StopUnits, starts.clone()), (PhaseName::Sync, executor)];
    phase_starts.extend(steps);
    let next_starts: Vec<Option<Boundary>> = (0..phase_starts.len())
        .map(|index| {
            phase_starts.iter().skip(index + 1).map(|(_, start)| start).find(|start| start.time_ns.is_some()).cloned()
        })
        .collect();
    phase_starts
        .into_iter()
        .zip(next_starts)
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

/// Returns the time at which the last unit stopped, for recordings without later steps.
fn last_stop(trace: &Trace, from_ns: i64) -> Boundary {
    let last_unit_end = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop && row.start_ns >= from_ns)
        .filter_map(|row| Some((row.end_ns?, row.event)))
        .max_by_key(|&(end, _)| end);
    Boundary {
        time_ns: last_unit_end.map(|(end, _)| end),
        rule: Rule::LastUnitStopped,
        event: last_unit_end.map_or_else(String::new, |(_, event)| trace.text(event).to_owned()),
        certainty: if last_unit_end.is_some() { Certainty::Inferred } else { Certainty::Missing },
        unmatched_rules: vec![Rule::SystemdShutdownStarts],
    }
}

/// Returns the variant for the name that systemd uses.
fn variant_of(name: &str) -> Option<Variant> {
    match name {
        "poweroff" => Some(Variant::PowerOff),
        "reboot" => Some(Variant::Restart),
        "halt" => Some(Variant::Halt),
        "kexec" => Some(Variant::Kexec),
        _ => None,
    }
}
