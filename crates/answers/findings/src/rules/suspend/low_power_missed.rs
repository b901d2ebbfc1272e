//! Modern standby that does not reach the deepest idle state.

use onoff_trace::LowPowerBlockerKind;
use onoff_transitions::suspend::PowerTransition;

use crate::finding::{FindingEvidence, FoldedFinding};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A modern standby of 10 minutes or more (in a recording of this standby, 10 s or more) in which the computer spent
    /// less than half of the time in its deepest idle state, and the devices, programs and components that Windows lists
    /// as the reason.
    ///
    /// # Why it costs time
    /// It does not cost time but drains the battery, and the computer gets warm. A single device or program that stays
    /// active keeps the whole platform out of its deepest state.
    ///
    /// # Evidence needed
    /// A sleep study (`powercfg /sleepstudy`), or event 507 of Microsoft-Windows-Kernel-Power. Only a sleep study lists
    /// what was active.
    ///
    /// # What to do
    /// For a device, update its driver and firmware, or unplug it before standby. For a program or component, close it
    /// or change its settings. `powercfg /requests` shows what is active now.
    ///
    /// # When it is wrong
    /// On external power, Windows allows updates, downloads and indexing. Playing music with the screen off is a use of
    /// modern standby.
    ///
    /// # Source
    /// Microsoft, "Modern standby SleepStudy"; the thresholds are onoff's.
    "suspend/low-power-missed", "a modern standby that does not reach the deepest idle state", Suspend(check)
}

/// Maximum number of blockers in the evidence.
const MAX_BLOCKERS: usize = 5;

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    let details = &transition.details;
    let Some((total_ns, deepest_ns)) =
        details.standby.as_ref().and_then(|standby| standby.total_ns.zip(standby.deepest_ns))
    else {
        return Ok(Vec::new());
    };
    let percent = deepest_ns as f64 * 100.0 / total_ns.max(1) as f64;
    // A recording is about this one standby; reports and logs list every short one.
    let is_recorded = !facts.trace.is_power_report() && facts.trace.channels.is_empty();
    let min_ns = if is_recorded { thresholds::LOW_POWER_SLEEP_NS } else { thresholds::STANDBY_NS };
    if total_ns < min_ns || percent >= thresholds::LOW_POWER_PERCENT {
        return Ok(Vec::new());
    }
    let first = details.blockers.first();
    let subject = match first {
        Some(blocker) => {
            let is_device = matches!(blocker.kind, LowPowerBlockerKind::Device | LowPowerBlockerKind::PlatformVeto);
            let kind = if is_device { FindingSubjectKind::Device } else { FindingSubjectKind::Work };
            FindingSubject::new(kind, blocker.name.clone())
        }
        None => FindingSubject::new(FindingSubjectKind::Transition, "modern standby"),
    };
    let reason = first.map_or_else(String::new, |blocker| {
        format!("; {} was active for {:.0} %", blocker.name, blocker.active_percent)
    });
    let title = format!("modern standby of {} spent {percent:.0} % in the deepest idle state{reason}", time(total_ns));
    let mut finding = RuleFinding::new(subject, title).advice(
        "update the driver and firmware of the active devices, or unplug them before standby; close the active programs; \
         'powercfg /requests' shows what is active now",
    );
    for blocker in details.blockers.iter().take(MAX_BLOCKERS) {
        let kind = blocker.kind.as_str().replace('_', " ");
        finding = finding.evidence(None, format!("{} ({kind}): active for {}", blocker.name, time(blocker.active_ns)));
    }
    if let Some(energy) = details.energy.as_ref().filter(|energy| energy.change_mwh < 0) {
        let (used, percent) = (energy.change_mwh.unsigned_abs(), energy.change_percent.abs());
        finding = finding.evidence(None, format!("energy used: {used} mWh, {percent:.1} % of the full battery"));
    }
    let asleep = &details.asleep.measured;
    if let Some(interval) = asleep.start_ns.zip(asleep.end_ns) {
        finding = finding.active_during(interval);
    }
    Ok(vec![finding])
}

/// Keeps one finding for all standbys with the same cause: the finding about the longest standby.
pub(crate) fn fold_repeated(findings: &mut Vec<RuleFinding>) {
    let length = |finding: &RuleFinding| finding.active_interval.map_or(0, |(start, end)| end.saturating_sub(start));
    let (mut repeated, others): (Vec<_>, Vec<_>) =
        std::mem::take(findings).into_iter().partition(|finding| finding.code == RULE.code);
    *findings = others;
    repeated.sort_by(|a, b| (&a.subject.name, length(b)).cmp(&(&b.subject.name, length(a))));
    let mut leading: Vec<(RuleFinding, u64, i64)> = Vec::new();
    for finding in repeated {
        match leading.last_mut().filter(|(first, ..)| first.subject.name == finding.subject.name) {
            Some((first, count, total_ns)) => {
                *count += 1;
                *total_ns = total_ns.saturating_add(length(&finding));
                first.folded.push(FoldedFinding { code: finding.code, title: finding.title });
            }
            None => leading.push((finding, 0, 0)),
        }
    }
    findings.extend(leading.into_iter().map(|(mut first, count, total_ns)| {
        let standbys = match count {
            0 => return first,
            1 => "1 more modern standby of".to_owned(),
            _ => format!("{count} more modern standbys of together"),
        };
        let text = format!("{standbys} {} with the same cause", time(total_ns));
        first.evidence.insert(0, FindingEvidence { time_ns: None, text });
        first
    }));
}
