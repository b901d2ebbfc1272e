//! What the rules about applications and services at a suspend share.

use onoff_trace::NotificationKind;
use onoff_transitions::suspend::{PowerNotification, PowerTransition};

use crate::rules::prelude::*;

/// Those who answer slowly, of these kinds.
pub(super) fn slow(
    transition: &PowerTransition,
    kinds: &[NotificationKind],
    kind: FindingSubjectKind,
    advice: &str,
) -> Vec<RuleFinding> {
    transition
        .details
        .notifications
        .iter()
        .filter(|one| kinds.contains(&one.details.kind) && one.details.has_end)
        .filter_map(|one| {
            let (end, length) = match (one.end_ns, one.duration_ns, &one.details.time_out) {
                (Some(end), Some(length), _) => (end, length),
                (_, _, time_out) => {
                    let limit_ns = time_out.as_ref()?.limit_ns?;
                    (one.start_ns.saturating_add(limit_ns), limit_ns)
                }
            };
            if length < thresholds::ANSWER_NS {
                return None;
            }
            let name = if one.name.is_empty() { "a process" } else { one.name.as_str() };
            let mut finding = RuleFinding::new(
                FindingSubject::new(kind, name).with_pid(one.pid),
                match &one.details.time_out {
                    Some(_) => {
                        format!("{name} does not answer that the computer suspends: {} are waited for it", time(length))
                    }
                    None => format!("{name} takes {} to answer that the computer suspends", time(length)),
                },
            )
            .costs(alone(transition, one, (one.start_ns, end)))
            .because(one.start_ns, format!("notified in {} ({})", one.details.phase.as_str(), one.event))
            .advise(advice);
            if let Some(time_out) = &one.details.time_out {
                finding = finding.certain(time_out.certainty).because(None, time_out.evidence.to_string());
            }
            Some(finding)
        })
        .collect()
}

/// Time in which nobody else had still to answer: those are told one after the other, but current versions overlap them.
fn alone(transition: &PowerTransition, one: &PowerNotification, own: Stretch) -> Cost {
    let others: Vec<Stretch> = transition
        .details
        .notifications
        .iter()
        .filter(|other| !std::ptr::eq(*other, one) && other.details.phase == one.details.phase)
        .filter_map(|other| Some((other.start_ns, other.end_ns?)))
        .collect();
    let shared = covered_ns(others, own);
    Cost::on_path(own.1.saturating_sub(own.0).saturating_sub(shared))
}
