//! Page content of transitions: phases with their breakdown, timeouts, time asleep, and the stages before the kernel
//! from firmware tables and network captures.

use onoff_blame::account::PhaseAccount;
use onoff_blame::waits::TransitionPhase;
use onoff_evidence::Certainty;
use onoff_evidence::recording::summarize;
use onoff_findings::diagnosis::Diagnosis;
use onoff_findings::finding::CostBasis;
use onoff_lanes::slices::{LaneSlice, SliceLane, Tone};
use onoff_lanes::{Lane, Track, TrackGroup};
use onoff_report::text::boot_axis::{join_sentence, title as stage_title};
use onoff_report::text::fix_first;
use onoff_report::text::phases::display_name as shown_name;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::duration;
use onoff_report::text::transition::headline_sentences;
use onoff_sections::glossary;
use onoff_trace::Trace;
use onoff_transitions::boot_axis::{AxisOrigin, AxisSource, AxisStage, BootAxis};
use onoff_transitions::{Details, Phase, PhaseName, Transition, TransitionKind, Variant};
use onoff_usage::idle::Settling;
use onoff_usage::units::TimeOut;

use crate::page::{PageBand, PageFinding, PageFold, PagePhase, PageSlice, PageTick, PageTransition};
use crate::usage::{account_entries, usage};

/// Maximum number of ticks per transition.
const MAX_TICKS: usize = 40;
/// Minimum share of the axis, in percent, for a sleep to be folded. Shorter sleeps are drawn at full length.
const MIN_FOLDED_PERCENT: i64 = 5;

/// Returns the name of a transition in findings: `boot`, `shutdown`, `suspend 1`.
fn key(transition: &Transition) -> String {
    match transition.kind {
        TransitionKind::Suspend => format!("suspend {}", transition.number),
        kind => kind.as_str().to_owned(),
    }
}

/// Selects the transitions to show. A fast startup is reported both as a boot and as a sleep; only the sleep is shown.
pub(crate) fn select_shown(transitions: &[Transition]) -> Vec<&Transition> {
    let is_fast = |transition: &&Transition| transition.variant == Variant::FastStartup;
    let has_sleep =
        transitions.iter().any(|transition| is_fast(&transition) && transition.kind == TransitionKind::Suspend);
    transitions
        .iter()
        .filter(|transition| !(has_sleep && is_fast(transition) && transition.kind == TransitionKind::Boot))
        .collect()
}

/// Converts a transition. `accounts` are the accounts of all phases of the recording.
pub(crate) fn page_transition(
    trace: &Trace,
    transition: &Transition,
    (has_siblings, accounts): (bool, &[(TransitionPhase, PhaseAccount)]),
    diagnosis: &Diagnosis,
) -> PageTransition {
    let key = key(transition);
    let mut page = PageTransition {
        kind: transition.kind.as_str().to_owned(),
        number: transition.number,
        variant: transition.variant.as_str().to_owned(),
        title: title(transition, has_siblings),
        findings: findings(diagnosis, &key),
        band: transition.settling.as_ref().and_then(band),
        ticks: ticks(transition),
        ..PageTransition::default()
    };
    let joins = axis(transition).map_or(&[][..], |axis| &axis.joins);
    page.unplaced.extend(joins.iter().filter(|join| !join.joined).map(join_sentence));
    for phase in transition.phases.iter().filter(|phase| phase.name != PhaseName::TraceTail) {
        let Some((start_ns, end_ns)) = drawn(phase) else {
            page.unplaced.extend(unplaced(phase));
            continue;
        };
        let is_same_phase = |(accounted, _): &&(TransitionPhase, PhaseAccount)| {
            accounted.transition == transition.kind
                && accounted.name == phase.name.as_str()
                && (accounted.range.start_ns, accounted.range.end_ns) == (start_ns, end_ns)
        };
        let settling = transition
            .settling
            .as_ref()
            .filter(|settling| (settling.start_ns, settling.end_ns) == (phase.start_ns, phase.end_ns));
        page.phases.push(PagePhase {
            name: phase.name.as_str().to_owned(),
            title: shown_name(phase.name.as_str()),
            start_ns,
            end_ns,
            idle_ns: settling.map_or(0, |settling| settling.idle_ns),
            user_input_ns: phase.user_input_ns,
            is_open: phase.end_ns.is_none(),
            rule: if phase.end_ns.is_some() { phase.ends.rule.to_string() } else { String::new() },
            event: phase.ends.event.clone(),
            certainty: if phase.end_ns.is_some() { phase.certainty } else { Certainty::Missing },
            explains: explains(phase.name.as_str()),
            account: accounts
                .iter()
                .find(is_same_phase)
                .map(|(_, account)| account_entries(account))
                .unwrap_or_default(),
            usage: if start_ns >= 0 { usage(trace, start_ns, end_ns) } else { Default::default() },
            ..PagePhase::default()
        });
    }
    page.fix_first = fix_first_sentence(diagnosis, &key);
    page.headline = headline(trace, &page, transition, diagnosis, &key);
    if let Some(axis) = axis(transition) {
        let has_early_phases = page.phases.iter().any(|phase| phase.start_ns < 0);
        let early_stages =
            axis.stages.iter().filter(|stage| stage.source != AxisSource::Recording && !has_early_phases);
        let mut phases: Vec<PagePhase> = early_stages.map(|stage| stage_before_kernel(axis, stage)).collect();
        phases.append(&mut page.phases);
        page.phases = phases;
    }
    page.start_ns = page.phases.iter().map(|phase| phase.start_ns).chain(transition.start_ns).min().unwrap_or(0);
    // Show an open phase as far as it was searched for idle time.
    let searched_ns = page.band.iter().flat_map(|band| band.slices.last()).map(|slice| slice.end_ns);
    let is_drawn = |phase: &&PagePhase| !phase.is_open || page.band.is_none();
    let ends = page.phases.iter().filter(is_drawn).map(|phase| phase.end_ns);
    let end_ns = ends.chain(transition.end_ns).chain(searched_ns).max();
    page.end_ns = end_ns.unwrap_or_else(|| page.phases.last().map_or(page.start_ns, |phase| phase.end_ns));
    if transition.total_ns.is_none() {
        page.still_running = still_running(trace, page.start_ns);
    }
    let bounds = page.start_ns..=page.end_ns;
    page.ticks.retain(|tick| bounds.contains(&tick.time_ns));
    page
}

/// Returns what began after `start_ns` and had not ended when the recording did, longest first.
fn still_running(trace: &Trace, start_ns: i64) -> Vec<PageTick> {
    let text = |id| printable(trace.text(id));
    let services = trace.service_transitions.iter().filter(|row| row.end_ns.is_none()).map(|row| PageTick {
        time_ns: row.start_ns,
        label: format!("service {}: {}", text(row.service), row.kind.as_str()),
    });
    let devices = trace.device_operations.iter().filter(|row| row.end_ns.is_none()).map(|row| PageTick {
        time_ns: row.start_ns,
        label: format!("driver {}: {} {}", text(row.driver), row.kind.as_str(), text(row.device)),
    });
    let requests = trace.power_requests.iter().filter(|row| row.end_ns.is_none() && !row.kind.is_runtime());
    let requests = requests.map(|row| PageTick {
        time_ns: row.start_ns,
        label: format!("driver {}: {} {}", text(row.driver), row.kind.as_str().replace('_', " "), text(row.device)),
    });
    let notifications = trace.notifications.iter().filter(|row| row.end_ns.is_none()).map(|row| PageTick {
        time_ns: row.start_ns,
        label: match (text(row.name), row.pid) {
            (name, Some(pid)) if name.is_empty() => format!("process {pid}: {}", row.kind.as_str().replace('_', " ")),
            (name, _) => format!("{name}: {}", row.kind.as_str().replace('_', " ")),
        },
    });
    let activities = trace.activities.iter().filter(|row| row.end_ns.is_none()).map(|row| PageTick {
        time_ns: row.start_ns,
        label: format!("{} {}", row.kind.as_str().replace('_', " "), text(row.name)),
    });
    let all = services.chain(devices).chain(requests).chain(notifications).chain(activities);
    let mut running: Vec<PageTick> = all.filter(|tick| tick.time_ns >= start_ns).collect();
    running.sort_by_key(|tick| tick.time_ns);
    running.truncate(MAX_TICKS);
    running
}

/// Returns the drawn interval of a phase; an open phase ends with the recording.
fn drawn(phase: &Phase) -> Option<(i64, i64)> {
    let start_ns = phase.start_ns?;
    let end_ns = phase.end_ns.or((phase.recorded_ns > 0).then(|| start_ns.saturating_add(phase.recorded_ns)))?;
    (start_ns <= end_ns).then_some((start_ns, end_ns))
}

/// Returns the text for a phase whose position is unknown.
fn unplaced(phase: &Phase) -> Option<String> {
    let took_ns = phase.duration_ns.filter(|&ns| ns > 0)?;
    let name = shown_name(phase.name.as_str());
    Some(format!("{name}: {}, {}; position unknown", duration(took_ns), phase.ends.rule))
}

fn title(transition: &Transition, has_siblings: bool) -> String {
    let title = match (transition.kind, transition.variant) {
        (_, Variant::FastStartup) => "Fast startup",
        (TransitionKind::Boot, _) => "Boot",
        (TransitionKind::Shutdown, _) => "Shutdown",
        (_, Variant::Hibernate) => "Hibernation",
        (_, Variant::ModernStandby) => "Modern standby",
        (_, Variant::HybridSleep) => "Hybrid sleep",
        (TransitionKind::Suspend, _) => "Sleep and wake",
    };
    if has_siblings { format!("{title} {}", transition.number) } else { title.to_owned() }
}

/// Returns the glossary entry of a word; empty if there is none.
pub(crate) fn explains(word: &str) -> String {
    glossary::find(word).first().map_or_else(String::new, |entry| entry.meaning.to_owned())
}

fn axis(transition: &Transition) -> Option<&BootAxis> {
    let axis = match &transition.details {
        Details::WindowsBoot(boot) => boot.axis.as_ref(),
        Details::LinuxBoot(boot) => boot.axis.as_ref(),
        _ => None,
    }?;
    (axis.origin == AxisOrigin::Recording).then_some(axis)
}

/// Converts a stage before the kernel, from firmware tables or packets.
fn stage_before_kernel(axis: &BootAxis, stage: &AxisStage) -> PagePhase {
    let join = axis.joins.iter().find(|join| join.source == stage.source);
    PagePhase {
        name: stage.name.clone(),
        title: stage_title(&stage.name),
        start_ns: stage.start_ns,
        end_ns: stage.end_ns,
        rule: match stage.source {
            AxisSource::Firmware => "firmware table",
            _ => "packets of the network boot",
        }
        .to_owned(),
        certainty: join.map_or(Certainty::Inferred, |join| join.certainty),
        explains: explains(&stage.name),
        ..PagePhase::default()
    }
}

/// Lanes of the stages before the kernel, from firmware tables and packets.
pub(crate) fn tracks_before_kernel(transitions: &[&Transition]) -> Vec<Track> {
    let Some(axis) = transitions.iter().copied().find_map(axis) else { return Vec::new() };
    let track = |group, name: &str, note: &str, slices: Vec<LaneSlice>| Track {
        group,
        section: String::new(),
        name: name.to_owned(),
        note: note.to_owned(),
        lane: Lane::Slices(SliceLane::new(slices)),
    };
    let stages = |source| {
        let stages = axis.stages.iter().filter(move |stage: &&AxisStage| stage.source == source);
        stages
            .map(|stage| LaneSlice::new(stage.start_ns, stage.end_ns, stage_title(&stage.name), Tone::Work))
            .collect::<Vec<_>>()
    };
    let parts = |source| {
        let parts = axis.stages.iter().flat_map(|stage| &stage.parts).filter(move |part| part.source == source);
        parts
            .map(|part| {
                let label =
                    if part.detail.is_empty() { part.name.clone() } else { format!("{}: {}", part.name, part.detail) };
                LaneSlice::new(part.start_ns, part.end_ns, label, Tone::Initialize)
            })
            .collect::<Vec<_>>()
    };
    [
        track(TrackGroup::Firmware, "Stages", "FPDT boot performance record", stages(AxisSource::Firmware)),
        track(TrackGroup::Firmware, "Phases", "phases measured by the firmware", parts(AxisSource::Firmware)),
        track(TrackGroup::Network, "Network boot", "first to last frame", stages(AxisSource::Capture)),
        track(TrackGroup::Network, "Packets", "DHCP exchanges and transfers", parts(AxisSource::Capture)),
    ]
    .into_iter()
    .filter(|track| matches!(&track.lane, Lane::Slices(lane) if !lane.is_empty()))
    .collect()
}

/// Returns the timeouts that were reached, and the shutdown timeout of all services.
fn ticks(transition: &Transition) -> Vec<PageTick> {
    let mut ticks = Vec::new();
    let mut add = |owner: &str, time_out: &TimeOut| {
        if let Some(time_ns) = time_out.at_ns {
            let limit = time_out
                .limit_ns
                .map_or_else(|| "its timeout".to_owned(), |ns| format!("its timeout of {}", duration(ns)));
            let certainty = if time_out.certainty == Certainty::Measured { "" } else { " (inferred)" };
            ticks.push(PageTick { time_ns, label: format!("{owner} reached {limit}{certainty}") });
        }
    };
    for unit in &transition.units {
        if let Some(time_out) = &unit.time_out {
            add(&unit.name, time_out);
        }
    }
    match &transition.details {
        Details::WindowsShutdown(shutdown) => {
            for application in shutdown.sessions.iter().flat_map(|session| &session.applications) {
                application.details.time_outs.iter().for_each(|time_out| add(&application.name, time_out));
            }
            if let (Some(start_ns), Some(limit_ns)) =
                (shutdown.service_shutdown.start_ns, shutdown.service_time_out.limit_ns)
            {
                let label = format!("Service timeout of {} ({})", duration(limit_ns), shutdown.service_time_out.rule);
                ticks.push(PageTick { time_ns: start_ns.saturating_add(limit_ns), label });
            }
        }
        Details::WindowsSuspend(suspend) => {
            for notification in &suspend.notifications {
                notification.details.time_out.iter().for_each(|time_out| add(&notification.name, time_out));
            }
        }
        _ => {}
    }
    ticks.sort_by_key(|tick| tick.time_ns);
    ticks.truncate(MAX_TICKS);
    ticks
}

/// Returns the time asleep if the recording's clock covers it or stopped.
pub(crate) fn fold(transition: &Transition) -> Option<PageFold> {
    let (measured, slept_ns, rule) = match &transition.details {
        Details::WindowsSuspend(suspend) if suspend.standby.is_none() => {
            (&suspend.asleep.measured, suspend.asleep.wall_ns, &suspend.asleep.wall_rule)
        }
        Details::LinuxSuspend(suspend) => {
            (&suspend.asleep.measured, suspend.asleep.slept_ns, &suspend.asleep.slept_rule)
        }
        _ => return None,
    };
    let (start_ns, end_ns) = measured.start_ns.zip(measured.end_ns).filter(|(start, end)| start <= end)?;
    let length_ns = end_ns.saturating_sub(start_ns);
    let total_ns = transition.total_ns.unwrap_or(0).saturating_add(length_ns);
    if length_ns > 0 && length_ns.saturating_mul(100) < total_ns.saturating_mul(MIN_FOLDED_PERCENT) {
        return None;
    }
    let text = match slept_ns {
        Some(ns) => format!("asleep for {} ({rule})", duration(ns)),
        None if length_ns > 0 => format!("asleep for {}", duration(length_ns)),
        None => "asleep for an unknown time".to_owned(),
    };
    let clock_note = if length_ns == 0 { "; the recording's clock stopped" } else { "" };
    Some(PageFold {
        start_ns,
        end_ns,
        slept_ns: slept_ns.or((length_ns > 0).then_some(length_ns)),
        text: format!("{text}{clock_note}"),
    })
}

fn findings(diagnosis: &Diagnosis, key: &str) -> Vec<PageFinding> {
    diagnosis
        .findings
        .iter()
        .filter(|finding| finding.transition == key)
        .map(|finding| PageFinding {
            code: finding.code.to_owned(),
            title: finding.title.clone(),
            cost_ns: finding.cost_ns,
            cost_is_upper_bound: finding.cost_basis == CostBasis::AtMost,
            changes: finding.changes.clone(),
            evidence: finding.evidence.iter().map(|evidence| evidence.text.as_str()).collect::<Vec<_>>().join("; "),
            advice: finding.advice.clone(),
            certainty: finding.certainty,
            explained_by: format!("onoff diagnose --explain {}", finding.code),
            subject: Some(finding.subject.clone()),
            track: None,
            start_ns: finding.evidence.iter().find_map(|evidence| evidence.time_ns),
            end_ns: finding
                .evidence
                .iter()
                .find_map(|evidence| evidence.time_ns)
                .map(|start_ns| start_ns.saturating_add(finding.cost_ns.unwrap_or(0))),
        })
        .collect()
}

/// Returns the length of the transition, what to fix, and the other first sentences of the command about it.
fn fix_first_sentence(diagnosis: &Diagnosis, key: &str) -> String {
    let diagnosed = diagnosis.transitions.iter().find(|diagnosed| diagnosed.name == key);
    diagnosed.and_then(|diagnosed| diagnosed.fix_first.as_ref()).map(fix_first::sentence).unwrap_or_default()
}

fn headline(
    trace: &Trace,
    page: &PageTransition,
    transition: &Transition,
    diagnosis: &Diagnosis,
    key: &str,
) -> Vec<String> {
    let mut transition = transition.clone();
    let diagnosed = diagnosis.transitions.iter().find(|diagnosed| diagnosed.name == key);
    let mut lines = Vec::new();
    let mut length = None;
    if let Some(diagnosed) = diagnosed {
        transition.culprits.clone_from(&diagnosed.culprits);
        transition.fix_first = None;
        let known = match (diagnosed.duration_ns, diagnosed.at_least_ns) {
            (Some(ns), _) => duration(ns),
            (None, ns) => format!("at least {}", duration(if ns > 0 { ns } else { transition.total_at_least_ns })),
        };
        lines.push(format!("{}: {known}.", page.title));
        length = Some(known);
        lines.extend(Some(page.fix_first.clone()).filter(|sentence| !sentence.is_empty()));
    }
    let mut sentences = headline_sentences(transition, &summarize(trace));
    // A first sentence with nothing but the length says it again.
    let is_plain =
        |sentence: &String| length.as_ref().is_some_and(|length| sentence.ends_with(&format!(" took {length}.")));
    if sentences.first().is_some_and(is_plain) {
        sentences.remove(0);
    }
    lines.extend(sentences);
    lines
}

/// Converts the search for the end of a phase that ends when the computer is idle.
fn band(settling: &Settling) -> Option<PageBand> {
    if settling.slices.is_empty() {
        return None;
    }
    let percent = |value: Option<f64>| value.map_or_else(|| "not recorded".to_owned(), |value| format!("{value:.0} %"));
    let end_ns = settling.end_ns;
    let slices = settling
        .slices
        .iter()
        .zip(settling.slices.iter().skip(1).map(|next_slice| Some(next_slice.start_ns)).chain([end_ns]));
    Some(PageBand {
        required_ns: settling.metric.required_idle_ns,
        slices: slices
            .map(|(slice, end_ns)| PageSlice {
                start_ns: slice.start_ns,
                end_ns: end_ns.unwrap_or_else(|| slice.start_ns.saturating_add(settling.metric.slice_ns)),
                state: if slice.idle { "idle" } else { "busy" },
                idle_so_far_ns: slice.accumulated_ns,
                note: format!("CPU {}, disk {}", percent(slice.cpu_busy_percent), percent(slice.disk_busy_percent)),
            })
            .collect(),
    })
}
