//! Decides the kind of a suspend, with the evidence.

use crate::Variant;
use onoff_trace::{Milestone, PowerRequest, PowerRequestKind, PowerStateKind, Trace, milestone};

use super::kind_evidence::{KindEvidence, KindFact};
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;
use onoff_usage::asleep::cycles::Cycle;
use onoff_usage::asleep::cycles::is_kernel_logger;

/// `SYSTEM_POWER_STATE` values for hibernation and off; 2 to 4 are S1 to S3.
const HIBERNATE: i64 = 5;
const OFF: i64 = 6;

/// The kind of a transition, and its evidence.
#[derive(Debug, Default)]
pub(super) struct KindDecision {
    pub variant: Variant,
    pub rule: Rule,
    pub certainty: Certainty,
    pub evidence: Vec<KindEvidence>,
    pub target_state: Option<i64>,
    pub effective_state: Option<i64>,
    pub woke_from_state: Option<i64>,
}

/// The recorded facts about the kind.
#[derive(Default)]
struct Facts {
    target: Option<i64>,
    effective: Option<i64>,
    woke_from: Option<i64>,
    /// A memory image was written or was about to be written.
    image_written: bool,
    /// A memory image was read.
    image_read: bool,
    /// The kernel reported that no image was read.
    image_not_read: bool,
    fast_startup: bool,
    session_ended: bool,
    boot_type: Option<i64>,
    idle_detection: String,
    /// The deepest system state that devices were requested to enter.
    requested_state: Option<i64>,
    action: Option<u32>,
    evidence: Vec<KindEvidence>,
}

/// Decides the kind of `cycle`. `session_ended` is true if the user session ended just before.
pub(super) fn decide(trace: &Trace, cycle: &Cycle, requests: &[PowerRequest], session_ended: bool) -> KindDecision {
    if cycle.standby.is_some() {
        return KindDecision {
            variant: Variant::ModernStandby,
            rule: Rule::KindModernStandby,
            certainty: Certainty::Measured,
            evidence: standby_evidence(trace, cycle),
            ..KindDecision::default()
        };
    }
    let facts = gather(trace, cycle, requests, session_ended);
    let (variant, rule, certainty) = judge(&facts);
    KindDecision {
        variant,
        rule,
        certainty,
        evidence: facts.evidence,
        target_state: facts.target,
        effective_state: facts.effective,
        woke_from_state: facts.woke_from,
    }
}

fn judge(facts: &Facts) -> (Variant, Rule, Certainty) {
    use Certainty::{Inferred, Measured};
    let is_sleep = |state: Option<i64>| matches!(state, Some(2..=4));
    if facts.fast_startup {
        return (Variant::FastStartup, Rule::KindFastStartupBySystem, Measured);
    }
    if facts.boot_type == Some(1) {
        return (Variant::FastStartup, Rule::KindFastStartupByBootType, Measured);
    }
    if facts.image_written && facts.target == Some(OFF) {
        return (Variant::FastStartup, Rule::KindImageWrittenBeforePowerOff, Measured);
    }
    if facts.session_ended && (facts.image_written || facts.effective == Some(HIBERNATE)) {
        return (Variant::FastStartup, Rule::KindImageWrittenAfterSession, Inferred);
    }
    if facts.target == Some(OFF) && facts.effective == Some(HIBERNATE) {
        return (Variant::FastStartup, Rule::KindPreparedForHibernationBeforePowerOff, Measured);
    }
    if facts.image_written && (is_sleep(facts.target) || is_sleep(facts.woke_from)) {
        return (Variant::HybridSleep, Rule::KindImageWrittenBeforeSleep, Measured);
    }
    if is_sleep(facts.target) && facts.effective == Some(HIBERNATE) && !facts.image_read {
        return (Variant::HybridSleep, Rule::KindDevicesPreparedForHibernation, Inferred);
    }
    if facts.image_read || facts.woke_from == Some(HIBERNATE) || facts.boot_type == Some(2) {
        return (Variant::Hibernate, Rule::KindResumedFromImage, Measured);
    }
    if facts.idle_detection == "hibernate" {
        return (Variant::Hibernate, Rule::KindHibernationBySystem, Measured);
    }
    if facts.target == Some(HIBERNATE) || facts.effective == Some(HIBERNATE) {
        return (Variant::Hibernate, Rule::KindHibernationRequested, Measured);
    }
    if facts.image_written && facts.image_not_read {
        return (Variant::HybridSleep, Rule::KindImageWrittenNotRead, Inferred);
    }
    if facts.image_written {
        return (Variant::Hibernate, Rule::KindImageWritten, Inferred);
    }
    if is_sleep(facts.target) || is_sleep(facts.woke_from) {
        return (Variant::Sleep, Rule::KindSleepEntered, Measured);
    }
    if facts.idle_detection == "sleep" {
        return (Variant::Sleep, Rule::KindSleepBySystem, Measured);
    }
    match (facts.requested_state, facts.action) {
        (Some(HIBERNATE), _) => (Variant::Hibernate, Rule::KindDevicesRequestedToHibernate, Inferred),
        (Some(2..=4), _) => (Variant::Sleep, Rule::KindDevicesRequestedToSleep, Inferred),
        (_, Some(3)) => (Variant::Hibernate, Rule::KindHibernationAction, Inferred),
        (_, Some(2)) => (Variant::Sleep, Rule::KindSleepAction, Inferred),
        _ => (Variant::Unknown, Rule::KindNotRecorded, Certainty::Missing),
    }
}

fn gather(trace: &Trace, cycle: &Cycle, requests: &[PowerRequest], session_ended: bool) -> Facts {
    let mut facts = Facts { session_ended, ..Facts::default() };
    let mut evidence: Vec<KindEvidence> = Vec::new();
    let mut add = |fact: KindFact, row: Milestone| evidence.push(KindEvidence::new(fact, trace.text(row.event)));
    if let Some((target, row)) = cycle.value(trace, milestone::SLEEP) {
        facts.target = Some(target);
        facts.effective = trace.text(row.detail).parse().ok();
        add(KindFact::Requested { state: target, prepared_for: facts.effective }, row);
    }
    if let Some((state, row)) = cycle.value(trace, milestone::WAKE) {
        facts.woke_from = Some(state);
        add(KindFact::Woke { from_state: state }, row);
    }
    if let Some(row) = cycle.milestone(trace, milestone::HIBERNATE) {
        facts.image_written = true;
        add(KindFact::ImageWriteRequested, row);
    }
    if let Some((ns, row)) = cycle.value(trace, milestone::POWER_HIBERNATE_WRITE_TIME) {
        facts.image_written |= ns > 0;
        add(KindFact::ImageWriteTime { spent: ns > 0 }, row);
    }
    if let Some((ns, row)) = cycle.value(trace, milestone::POWER_HIBERNATE_READ_TIME) {
        facts.image_read = ns > 0;
        facts.image_not_read = ns == 0;
        add(KindFact::ImageReadTime { spent: ns > 0 }, row);
    }
    for name in [milestone::RESUME_KERNEL_READ_TIME, milestone::RESUME_LOADER_READ_TIME] {
        if let Some((_, row)) = cycle.duration(trace, name)
            && !facts.image_read
        {
            facts.image_read = true;
            add(KindFact::ImageReadTime { spent: true }, row);
        }
    }
    for (name, fact) in [
        (milestone::HYBRID_SHUTDOWN_TIME, KindFact::FastStartupShutdownTime),
        (milestone::HYBRID_BOOT_MAIN_PATH, KindFact::FastStartupTime),
    ] {
        if let Some((_, row)) = cycle.duration(trace, name) {
            facts.fast_startup = true;
            add(fact, row);
        }
    }
    if let Some(row) = cycle.milestone(trace, milestone::IDLE_DETECTION_BEGIN) {
        trace.text(row.detail).clone_into(&mut facts.idle_detection);
        facts.fast_startup |= facts.idle_detection == "fast_startup";
        add(KindFact::IdleDetection { after: facts.idle_detection.clone() }, row);
    }
    if let Some((kind, row)) = cycle.value(trace, milestone::BOOT_TYPE) {
        facts.boot_type = Some(kind);
        add(KindFact::BootType { value: kind }, row);
    }
    if session_ended {
        evidence.push(KindEvidence::new(KindFact::SessionEndedBefore, ""));
    }
    if let Some(row) = cycle.transition.filter(|row| is_kernel_logger(trace, row.event)) {
        facts.action = trace.text(row.name).parse().ok();
        if let Some(value) = facts.action {
            evidence.push(KindEvidence::new(KindFact::PowerAction { value }, trace.text(row.event)));
        }
    }
    facts.requested_state = requested_state(requests, cycle);
    if let Some(state) = facts.requested_state {
        evidence.push(KindEvidence::new(KindFact::DevicesRequested { state }, ""));
    }
    facts.evidence = evidence;
    facts
}

/// Returns the deepest system state that devices were requested to enter; `requests` must be sorted by start.
fn requested_state(requests: &[PowerRequest], cycle: &Cycle) -> Option<i64> {
    let start_index = requests.partition_point(|row| row.start_ns < cycle.first_ns);
    requests
        .iter()
        .skip(start_index)
        .take_while(|row| row.start_ns < cycle.until_ns)
        .filter(|row| row.kind == PowerRequestKind::Set && row.state_kind == PowerStateKind::System)
        .filter_map(|row| row.state)
        .filter(|&state| state > 1)
        .map(i64::from)
        .max()
}

fn standby_evidence(trace: &Trace, cycle: &Cycle) -> Vec<KindEvidence> {
    let Some((enter, exit)) = &cycle.standby else { return Vec::new() };
    [(enter, KindFact::StandbyEntered), (exit, KindFact::StandbyExited)]
        .into_iter()
        .filter_map(|(row, fact)| Some(KindEvidence::new(fact, trace.text(row.as_ref()?.event))))
        .collect()
}
