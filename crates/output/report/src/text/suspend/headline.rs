//! How long it took and what most of it went to, in a few sentences.

use onoff_transitions::Variant;
use onoff_transitions::{Phase, PhaseName};
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_transitions::suspend::{PowerDevice, PowerNotification, PowerTotal, PowerTransition};

use crate::text::printable::printable;
use crate::text::quantity::{capitalized, duration, duration_or_dash, percent, share};
use crate::text::style::{HEADLINE, WORST, styled};
use crate::text::why::account::culprit;

/// From this share of its phase on, one application, service or device is worth a sentence, percent.
const NOTABLE_SHARE: f64 = 10.0;

pub(super) fn write(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(transition))?;
    if let Some(sentence) = longest(transition) {
        writeln!(out, "{}", styled(WORST, sentence))?;
    }
    if let Some(sentence) = between(transition) {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

pub(super) fn kind_name(kind: Variant) -> &'static str {
    match kind {
        Variant::Sleep => "Sleep",
        Variant::Hibernate => "Hibernation",
        Variant::HybridSleep => "Hybrid sleep",
        Variant::ModernStandby => "Modern standby",
        Variant::FastStartup => "Fast startup",
        _ => "Power transition",
    }
}

fn answer(transition: &PowerTransition) -> String {
    let kind = kind_name(transition.variant);
    if transition.variant == Variant::ModernStandby {
        return standby(transition);
    }
    let (down, up) = match transition.variant {
        Variant::FastStartup => ("to shut down", "to start"),
        _ => ("to suspend", "to resume"),
    };
    let details = &transition.details;
    let mut sentence = format!(
        "{kind}: {}, {}",
        half(&details.suspend, down, ["the way down is not in the recording", "writing"]),
        half(&details.resume, up, ["the way up is not in the recording", "reading"]),
    );
    if transition.person_ns > 0 {
        sentence += &format!(", and {} waiting for someone to log on", duration(transition.person_ns));
    }
    if let Some(settling) = transition.settled() {
        sentence += &format!(", then {} of further work until it settled", duration(settling.busy_ns));
    }
    if transition.details.status.is_some_and(|status| status != 0) {
        sentence += "; it failed";
    }
    sentence + "."
}

/// A half: how long, at least how long and why no more is known, or by whose account.
fn half(total: &PowerTotal, what: &str, [absent, image]: [&str; 2]) -> String {
    match (total.whole_ns, total.by_kernel_ns()) {
        (Some(ns), _) => format!("{} {what}", duration(ns)),
        (None, _) if total.at_least_ns > 0 => {
            let why = match total.unrecorded_ns {
                None => format!(" (how long {image} the memory image took is not recorded)"),
                Some(_) => String::new(),
            };
            format!("at least {} {what}{why}", duration(total.at_least_ns))
        }
        (None, Some(ns)) => format!("{} {what} by the kernel's account", duration(ns)),
        (None, None) => absent.to_owned(),
    }
}

fn standby(transition: &PowerTransition) -> String {
    let on_axis = transition.details.asleep.measured.duration_ns;
    let figures = transition.details.standby.clone().unwrap_or_default();
    let mut sentence = match figures.total_ns.or(on_axis) {
        Some(ns) => format!("Modern standby: {}", duration(ns)),
        None if transition.details.asleep.measured.start_ns.is_some() => {
            "Modern standby was entered; the exit is not in the recording".to_owned()
        }
        None => "Modern standby was left; the entry is not in the recording".to_owned(),
    };
    if let (Some(total), Some(deepest)) = (figures.total_ns, figures.deepest_ns) {
        sentence += &format!(", {} of it in the deepest idle state", percent(share(deepest, total)));
    }
    if let Some(exit) = figures.exit_ns {
        sentence += &format!(", {} to leave it", duration(exit));
    }
    sentence + "."
}

/// The phase that took longest, of those that do not overlap others.
pub(super) fn longest_phase(transition: &PowerTransition) -> Option<&Phase> {
    transition
        .phases
        .iter()
        .filter(|phase| transition.details.counts(phase))
        .filter(|phase| phase.took_ns().is_some_and(|ns| ns > 0))
        .max_by_key(|phase| phase.took_ns())
}

fn longest(transition: &PowerTransition) -> Option<String> {
    let phase = longest_phase(transition)?;
    let length = phase.took_ns()?;
    let mut sentence = format!("{} took {}", phase.name.as_str(), duration(length));
    if let Some(first) = transition.first_culprit() {
        // That somebody let a time-out pass is more than how long it took.
        if let Some(cause) = cause(transition, phase).filter(|cause| cause.contains("time-out")) {
            sentence += &format!(": {cause}");
        }
        return Some(format!("{sentence}. {}", culprit(first)));
    }
    match cause(transition, phase) {
        Some(cause) => sentence += &format!(": {cause}."),
        None => sentence += ".",
    }
    Some(sentence)
}

/// What a phase's time went to, as a clause; `None` where nothing stands out.
pub(super) fn cause(transition: &PowerTransition, phase: &Phase) -> Option<String> {
    let length = phase.duration_ns?;
    let notable = |ns: i64| share(ns, length) >= NOTABLE_SHARE;
    if let Some((row, ns)) = slowest_told(transition, phase).filter(|&(_, ns)| notable(ns)) {
        let name = told_name(row);
        return Some(match &row.details.time_out {
            Some(limit) => format!("{name} did not answer for {} (its time-out)", duration_or_dash(limit.limit_ns)),
            None => format!("{name} took {}", duration(ns)),
        });
    }
    if let Some((device, ns)) = slowest_device(transition, phase).filter(|&(_, ns)| notable(ns)) {
        let mut clause = format!("{} took {}", device_name(device), duration(ns));
        match device.details.alone_ns {
            Some(alone) if notable(alone) => {
                clause += &format!(", {} of it with no other device under way", duration(alone));
            }
            _ => {}
        }
        return Some(clause);
    }
    if phase.name == PhaseName::SuspendApps
        && let Some(beyond) = phase.work.beyond_ns.filter(|&ns| notable(ns))
    {
        return Some(format!("usually the display fading out: {} not spent in any application", duration(beyond)));
    }
    None
}

fn slowest_told<'a>(transition: &'a PowerTransition, phase: &Phase) -> Option<(&'a PowerNotification, i64)> {
    transition
        .details
        .notifications
        .iter()
        .filter(|row| row.details.phase == phase.name)
        .filter_map(|row| Some((row, row.duration_ns?)))
        .max_by_key(|&(_, ns)| ns)
}

/// The device that cost its phase most: alone, or else as a whole.
fn slowest_device<'a>(transition: &'a PowerTransition, phase: &Phase) -> Option<(&'a PowerDevice, i64)> {
    transition
        .details
        .devices
        .iter()
        .filter(|row| row.details.phase == Some(phase.name))
        .filter_map(|row| Some((row, row.duration_ns?)))
        .max_by_key(|&(row, ns)| (row.details.alone_ns, ns))
}

/// An application's or a service's name.
pub(super) fn told_name(row: &PowerNotification) -> String {
    match (row.name.as_str(), row.pid) {
        ("", Some(pid)) => format!("process {pid}"),
        ("", None) => "unnamed".to_owned(),
        (name, _) => printable(name).into_owned(),
    }
}

/// A device's name, with its driver.
pub(super) fn device_name(device: &PowerDevice) -> String {
    let name = printable(device.name());
    if device.driver.is_empty() || device.driver == name {
        name.into_owned()
    } else {
        format!("{} ({name})", printable(&device.driver))
    }
}

fn between(transition: &PowerTransition) -> Option<String> {
    let asleep = &transition.details.asleep;
    let mut parts = Vec::new();
    if let Some(ns) = asleep.wall_ns.filter(|&ns| ns > 0) {
        let about = match asleep.wall_certainty {
            Certainty::Measured => "",
            _ => "about ",
        };
        parts.push(format!("it was away for {about}{}", duration(ns)));
    }
    if !transition.details.wake_source.is_empty() {
        parts.push(format!("woken by {}", printable(&transition.details.wake_source)));
    }
    if let Some(state) = transition.details.woke_from_state {
        parts.push(format!("from {}", onoff_transitions::suspend::state_name(state)));
    }
    (!parts.is_empty()).then(|| capitalized(&parts.join(", ")) + ".")
}
