//! The headline of a sleep: how long each half took and where most of the time went.

use onoff_transitions::Variant;
use onoff_transitions::{Phase, PhaseName};
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_transitions::suspend::{PowerDevice, PowerNotification, PowerTotal, PowerTransition};

use super::power_report;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, duration, duration_or_dash, percent, share};
use crate::text::style::{HEADLINE, WORST, styled};
use crate::text::why::account::culprit_of;

/// Minimum share of its phase, in percent, for an application, service or device to be named.
const NOTABLE_SHARE: f64 = 10.0;

pub(super) fn write(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(transition))?;
    if let Some(sentence) = longest(transition) {
        writeln!(out, "{}", styled(WORST, sentence))?;
    }
    if let Some(sentence) = sleep_details(transition) {
        writeln!(out, "{sentence}")?;
    }
    for sentence in power_report::sentences(transition) {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

/// Returns the name of the kind. A battery report does not say what a suspended computer did.
pub(super) fn kind_name(transition: &PowerTransition) -> &'static str {
    match transition.variant {
        Variant::Unknown if power_report::is_reported(transition) => "Suspended",
        Variant::Sleep => "Sleep",
        Variant::Hibernate => "Hibernation",
        Variant::HybridSleep => "Hybrid sleep",
        Variant::ModernStandby => "Modern standby",
        Variant::FastStartup => "Fast startup",
        _ => "Power transition",
    }
}

fn answer(transition: &PowerTransition) -> String {
    let kind = kind_name(transition);
    if transition.variant == Variant::ModernStandby {
        return standby(transition);
    }
    let (down, up) = match transition.variant {
        Variant::FastStartup => ("to shut down", "to start"),
        _ => ("to suspend", "to resume"),
    };
    let details = &transition.details;
    let is_known =
        |total: &PowerTotal| total.whole_ns.is_some() || total.at_least_ns > 0 || total.kernel_duration_ns().is_some();
    if power_report::is_reported(transition) && !is_known(&details.suspend) && !is_known(&details.resume) {
        let time = duration_or_dash(details.asleep.wall_ns);
        if transition.variant == Variant::Unknown {
            return format!("Suspended for {time}; sleep, hibernation or off: not known.");
        }
        return format!("{kind}: {time} asleep.");
    }
    let mut sentence = format!(
        "{kind}: {}, {}",
        half(&details.suspend, down, ["suspend not recorded", "writing"]),
        half(&details.resume, up, ["resume not recorded", "reading"]),
    );
    if transition.user_input_ns > 0 {
        sentence += &format!(", plus {} waiting for a user to log on", duration(transition.user_input_ns));
    }
    match transition.settled().map(|settling| settling.busy_ns) {
        Some(0) => sentence += ", then idle",
        Some(busy_ns) => sentence += &format!(", then {} until idle", duration(busy_ns)),
        None => {}
    }
    if transition.details.status.is_some_and(|status| status != 0) {
        sentence += "; it failed";
    }
    sentence + "."
}

/// Describes the duration of one half: exact, a lower bound with the reason, or the kernel's own measurement.
fn half(total: &PowerTotal, activity: &str, [absent, image]: [&str; 2]) -> String {
    match (total.whole_ns, total.kernel_duration_ns()) {
        (Some(ns), _) => format!("{} {activity}", duration(ns)),
        (None, _) if total.at_least_ns > 0 => {
            let reason = match total.unrecorded_ns {
                None => format!(" ({image} the memory image was not recorded)"),
                Some(_) => String::new(),
            };
            format!("at least {} {activity}{reason}", duration(total.at_least_ns))
        }
        (None, Some(ns)) => format!("{} {activity} (kernel's time)", duration(ns)),
        (None, None) => absent.to_owned(),
    }
}

fn standby(transition: &PowerTransition) -> String {
    let on_axis = transition.details.asleep.measured.duration_ns;
    let figures = transition.details.standby.clone().unwrap_or_default();
    let mut sentence = match figures.total_ns.or(on_axis) {
        Some(ns) => format!("Modern standby: {}", duration(ns)),
        None if transition.details.asleep.measured.start_ns.is_some() => {
            "Modern standby: entered; the exit was not recorded".to_owned()
        }
        None => "Modern standby: exited; the entry was not recorded".to_owned(),
    };
    if let (Some(total), Some(deepest)) = (figures.total_ns, figures.deepest_ns) {
        sentence += &format!(", {} of it in the deepest idle state", percent(share(deepest, total)));
    }
    if let (Some(total), Some(hardware)) = (figures.total_ns, figures.hardware_ns) {
        sentence += &format!(" ({} by the hardware counter)", percent(share(hardware, total)));
    }
    if let Some(exit) = figures.exit_ns {
        sentence += &format!(", {} to exit", duration(exit));
    }
    sentence + "."
}

/// Returns the longest phase that does not overlap another.
pub(super) fn longest_phase(transition: &PowerTransition) -> Option<&Phase> {
    transition
        .phases
        .iter()
        .filter(|phase| transition.details.counts_toward_duration(phase))
        .filter(|phase| phase.duration_without_input_ns().is_some_and(|ns| ns > 0))
        .max_by_key(|phase| phase.duration_without_input_ns())
}

fn longest(transition: &PowerTransition) -> Option<String> {
    let phase = longest_phase(transition)?;
    let length = phase.duration_without_input_ns()?;
    let mut sentence = format!("{} took {}", phase.name.as_str(), duration(length));
    if let Some(culprit) = transition.first_culprit() {
        // An expired timeout says more than a duration.
        if let Some(cause) = cause(transition, phase).filter(|cause| cause.contains("did not respond")) {
            sentence += &format!(": {cause}");
        }
        return Some(format!("{sentence}. {}", culprit_of(culprit, phase.name.as_str())));
    }
    match cause(transition, phase) {
        Some(cause) => sentence += &format!(": {cause}."),
        None => sentence += ".",
    }
    Some(sentence)
}

/// Returns a clause that says where the time of a phase went; `None` if nothing stands out.
pub(super) fn cause(transition: &PowerTransition, phase: &Phase) -> Option<String> {
    let length = phase.duration_ns?;
    let notable = |ns: i64| share(ns, length) >= NOTABLE_SHARE;
    if let Some((row, ns)) = slowest_notified(transition, phase).filter(|&(_, ns)| notable(ns)) {
        let name = notified_name(row);
        return Some(match &row.details.time_out {
            Some(limit) => format!("{name} did not respond within {}", duration_or_dash(limit.limit_ns)),
            None => format!("{name} took {}", duration(ns)),
        });
    }
    if let Some((device, ns)) = slowest_device(transition, phase).filter(|&(_, ns)| notable(ns)) {
        let mut clause = format!("{} took {}", device_name(device), duration(ns));
        match device.details.exclusive_ns {
            Some(exclusive_ns) if notable(exclusive_ns) => {
                clause += &format!(", {} of that while no other device was busy", duration(exclusive_ns));
            }
            _ => {}
        }
        return Some(clause);
    }
    if phase.name == PhaseName::SuspendApps
        && let Some(outside_ns) = phase.work.other_ns.filter(|&ns| notable(ns))
    {
        return Some(format!("{} outside any application (usually the display fading out)", duration(outside_ns)));
    }
    None
}

fn slowest_notified<'a>(transition: &'a PowerTransition, phase: &Phase) -> Option<(&'a PowerNotification, i64)> {
    transition
        .details
        .notifications
        .iter()
        .filter(|row| row.details.phase == phase.name)
        .filter_map(|row| Some((row, row.duration_ns?)))
        .max_by_key(|&(_, ns)| ns)
}

/// Returns the device with the most exclusive time or, if none has any, with the longest request.
fn slowest_device<'a>(transition: &'a PowerTransition, phase: &Phase) -> Option<(&'a PowerDevice, i64)> {
    transition
        .details
        .devices
        .iter()
        .filter(|row| row.details.phase == Some(phase.name))
        .filter_map(|row| Some((row, row.duration_ns?)))
        .max_by_key(|&(row, ns)| (row.details.exclusive_ns, ns))
}

/// Returns the name of an application or service.
pub(super) fn notified_name(row: &PowerNotification) -> String {
    match (row.name.as_str(), row.pid) {
        ("", Some(pid)) => format!("process {pid}"),
        ("", None) => "unnamed".to_owned(),
        (name, _) => printable(name).into_owned(),
    }
}

/// Returns the driver, followed by the device if it has another name.
pub(super) fn device_name(device: &PowerDevice) -> String {
    let name = printable(device.name());
    if device.driver.is_empty() || device.driver == name {
        name.into_owned()
    } else {
        format!("{} ({name})", printable(&device.driver))
    }
}

/// Returns the name of a power state without its meaning: `S3`.
pub(super) fn state_code(state: i64) -> String {
    let name = onoff_transitions::suspend::state_name(state);
    name.split(" (").next().unwrap_or(&name).to_owned()
}

fn sleep_details(transition: &PowerTransition) -> Option<String> {
    let asleep = &transition.details.asleep;
    let state = transition.details.woke_from_state.map(state_code);
    let mut parts = Vec::new();
    // The headline of modern standby has the duration.
    let is_standby = transition.variant == Variant::ModernStandby;
    if let Some(ns) = asleep.wall_ns.filter(|&ns| ns > 0 && !is_standby) {
        let qualifier = match asleep.wall_certainty {
            Certainty::Measured => "",
            _ => "about ",
        };
        let state = state.map_or_else(String::new, |state| format!(" in {state}"));
        parts.push(format!("asleep for {qualifier}{}{state}", duration(ns)));
    } else if let Some(state) = state {
        parts.push(format!("asleep in {state}"));
    }
    if !transition.details.wake_source.is_empty() {
        parts.push(format!("woken by {}", printable(&transition.details.wake_source)));
    }
    (!parts.is_empty()).then(|| capitalized(&parts.join(", ")) + ".")
}
