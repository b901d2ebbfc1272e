//! Helpers for the rules about applications and services at suspend.

use onoff_trace::NotificationKind;
use onoff_transitions::suspend::{PowerNotification, PowerTransition};

use crate::rules::prelude::*;

/// Returns findings for slow responses to notifications of these kinds.
pub(super) fn slow_responses(
    transition: &PowerTransition,
    kinds: &[NotificationKind],
    kind: FindingSubjectKind,
    advice: &str,
) -> Vec<RuleFinding> {
    transition
        .details
        .notifications
        .iter()
        .filter(|notification| kinds.contains(&notification.details.kind) && notification.details.has_end)
        .filter_map(|notification| {
            let (end, length) = match (notification.end_ns, notification.duration_ns, &notification.details.time_out) {
                (Some(end), Some(length), _) => (end, length),
                (_, _, time_out) => {
                    let limit_ns = time_out.as_ref()?.limit_ns?;
                    (notification.start_ns.saturating_add(limit_ns), limit_ns)
                }
            };
            if length < thresholds::RESPONSE_NS {
                return None;
            }
            let name = if notification.name.is_empty() { "a process" } else { notification.name.as_str() };
            let mut finding = RuleFinding::new(
                FindingSubject::new(kind, name).with_pid(notification.pid),
                match &notification.details.time_out {
                    Some(_) => {
                        format!(
                            "{name} did not respond to the suspend notification; Windows waited the full {}",
                            time(length)
                        )
                    }
                    None => format!("{name} took {} to respond to the suspend notification", time(length)),
                },
            )
            .cost(exclusive_cost(transition, notification, (notification.start_ns, end)))
            .evidence(
                notification.start_ns,
                format!("notified in {} ({})", notification.details.phase.as_str(), notification.event),
            )
            .advice(advice);
            if let Some(time_out) = &notification.details.time_out {
                finding = finding.certainty(time_out.certainty).evidence(None, time_out.evidence.to_string());
            }
            Some(finding)
        })
        .collect()
}

/// Cost of the time in which no other response of the phase was pending. Notifications are sent one at a time, but they
/// overlap in current versions.
fn exclusive_cost(transition: &PowerTransition, notification: &PowerNotification, interval: Interval) -> Cost {
    let others: Vec<Interval> = transition
        .details
        .notifications
        .iter()
        .filter(|other| !std::ptr::eq(*other, notification) && other.details.phase == notification.details.phase)
        .filter_map(|other| Some((other.start_ns, other.end_ns?)))
        .collect();
    let shared = covered_ns(others, interval);
    Cost::on_path(interval.1.saturating_sub(interval.0).saturating_sub(shared))
}
