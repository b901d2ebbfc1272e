//! What the rules about devices share.

use onoff_transitions::Half;
use onoff_transitions::suspend::PowerTransition;

use crate::rules::prelude::*;

/// Devices that took long in one half, by how long each was the only one under way.
pub(super) fn slow(
    transition: &PowerTransition,
    half: Half,
    limit_ns: i64,
    by_alone: bool,
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
            let alone = device.details.alone_ns;
            let measure = if by_alone { alone.unwrap_or(length) } else { length };
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
                format!("{name}{driver} takes {} to {verb}", time(length)),
            )
            .costs(match alone {
                Some(alone) => Cost::on_path(alone),
                None => Cost::at_most(length),
            })
            .because(
                device.start_ns,
                format!("{} asked in {}", device.device, device.details.phase.map_or("", |phase| phase.as_str())),
            )
            .because(end, format!("done {} later", time(length)))
            .advise(advice);
            if let Some(alone) = alone {
                finding = finding
                    .because(None, format!("for {} of that no other device of the phase was under way", time(alone)));
            }
            for part in device.details.drivers.iter().take(3) {
                if let Some(held) = part.duration_ns.filter(|&ns| ns >= thresholds::NOISE_NS) {
                    finding = finding
                        .because(part.start_ns, format!("driver {} itself held it for {}", part.driver, time(held)));
                }
            }
            Some(finding)
        })
        .collect()
}
