//! Helpers for the rules about devices at suspend and resume.

use onoff_transitions::SuspendStage;
use onoff_transitions::suspend::PowerTransition;

use crate::rules::prelude::*;

/// Returns findings for slow devices during suspend or resume, judged by their exclusive time if `use_exclusive_time`
/// is set.
pub(super) fn slow_devices(
    transition: &PowerTransition,
    half: SuspendStage,
    limit_ns: i64,
    use_exclusive_time: bool,
    verb: &str,
    advice: &str,
) -> Vec<RuleFinding> {
    transition
        .details
        .devices
        .iter()
        .filter(|device| device.details.phase.is_some_and(|phase| phase.half() == Some(half)))
        .filter_map(|device| {
            let (end, length) = device.end_ns.zip(device.duration_ns)?;
            let exclusive_ns = device.details.exclusive_ns;
            let measure = if use_exclusive_time { exclusive_ns.unwrap_or(length) } else { length };
            if measure < limit_ns {
                return None;
            }
            let name = device.name();
            let driver = if device.driver.is_empty() { String::new() } else { format!(" (driver {})", device.driver) };
            let mut finding = RuleFinding::new(
                FindingSubject::new(
                    FindingSubjectKind::Driver,
                    if device.driver.is_empty() { name } else { device.driver.as_str() },
                ),
                format!("{name}{driver} took {} to {verb}", time(length)),
            )
            .cost(match exclusive_ns {
                Some(exclusive_ns) => Cost::on_path(exclusive_ns),
                None => Cost::at_most(length),
            })
            .evidence(
                device.start_ns,
                format!(
                    "{}: request sent in {}",
                    device.device,
                    device.details.phase.map_or("", |phase| phase.as_str())
                ),
            )
            .evidence(end, format!("done {} later", time(length)))
            .advice(advice);
            if let Some(exclusive_ns) = exclusive_ns {
                finding = finding.evidence(None, format!("for {}, no other device was busy", time(exclusive_ns)));
            }
            for part in device.details.drivers.iter().take(3) {
                if let Some(driver_ns) = part.duration_ns.filter(|&ns| ns >= thresholds::NOISE_NS) {
                    finding = finding
                        .evidence(part.start_ns, format!("driver {} accounts for {}", part.driver, time(driver_ns)));
                }
            }
            Some(finding)
        })
        .collect()
}
