//! The headline of a Linux sleep: how long it took and where most of the time went.

use onoff_transitions::Variant;
use onoff_transitions::{Phase, SuspendStage};
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;
use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::text::phases::{self, device};
use crate::text::printable::printable;
use crate::text::quantity::{count, duration, share};
use crate::text::style::{DOUBT, HEADLINE, QUIET, WORST, styled};
use crate::text::why::account::culprit;

/// Minimum share of its phase, in percent, for a device to be named.
const NOTABLE_SHARE: f64 = 10.0;

/// Two values for the time asleep disagree from this difference on, in ns: the kernel counts milliseconds.
const MIN_DISAGREEMENT_NS: u64 = 10_000_000;

pub(super) fn write(sleep: &LinuxSleep, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(sleep))?;
    for reason in &sleep.details.refusals {
        writeln!(out, "{}", styled(DOUBT, printable(reason)))?;
    }
    if let Some(first_culprit) = sleep.first_culprit() {
        writeln!(out, "{}", styled(WORST, culprit(first_culprit)))?;
    }
    match (unknown(sleep), longest(sleep)) {
        (Some(text), _) => writeln!(out, "{}", styled(DOUBT, format!("Unknown: {text}.")))?,
        (None, Some(text)) => writeln!(out, "{}", styled(WORST, format!("Longest: {text}.")))?,
        (None, None) => {}
    }
    if let Some(sentence) = wake_details(sleep) {
        writeln!(out, "{sentence}")?;
    }
    for sentence in [low_power(sleep), batteries(sleep), network(sleep)].into_iter().flatten() {
        writeln!(out, "{}", printable(&sentence))?;
    }
    write_image(sleep, out)
}

/// Returns the kind of sleep in words.
pub(super) fn kind(sleep: &LinuxSleep) -> &'static str {
    variant_name(sleep.variant)
}

/// Returns a kind of sleep in words.
pub(crate) fn variant_name(variant: Variant) -> &'static str {
    match variant {
        Variant::SuspendToIdle => "Suspend to idle (s2idle)",
        Variant::Standby => "Standby (S1)",
        Variant::Sleep => "Suspend to memory (S3)",
        Variant::Hibernate => "Hibernation (S4)",
        _ => "Sleep",
    }
}

fn answer(sleep: &LinuxSleep) -> String {
    let down = match sleep.details.suspend.duration_ns {
        Some(ns) => format!("{} to suspend", duration(ns)),
        None => "suspend not recorded".to_owned(),
    };
    let up = match sleep.details.resume.duration_ns {
        Some(ns) => format!("{} to resume", duration(ns)),
        None => "resume not recorded".to_owned(),
    };
    let mut sentence = match sleep.details.outcome {
        SleepOutcome::Aborted => {
            let error = sleep.details.error.map_or_else(String::new, |error| format!(" with error {error}"));
            let device = match sleep.details.refused_by.as_str() {
                "" => String::new(),
                device => format!(" by {}", printable(device)),
            };
            format!("{}: aborted{device}{error}; {down}, {up}", kind(sleep))
        }
        SleepOutcome::Crashed => {
            format!("{}: the kernel failed ({}); {down}", kind(sleep), printable(&sleep.details.crash))
        }
        _ => {
            let asleep = match sleep.details.asleep.slept_ns {
                Some(ns) => format!("{} asleep", duration(ns)),
                None => "time asleep not recorded".to_owned(),
            };
            format!("{}: {down}, {asleep}, {up}", kind(sleep))
        }
    };
    match sleep.settled().map(|settling| settling.busy_ns) {
        Some(0) => sentence += ", then idle",
        Some(busy_ns) => sentence += &format!(", then {} until idle", duration(busy_ns)),
        None => {}
    }
    if sleep.details.outcome == SleepOutcome::Unfinished {
        sentence += "; the end is not in the recording";
    }
    if !sleep.details.crash.is_empty() && sleep.details.outcome != SleepOutcome::Crashed {
        sentence += &format!("; the kernel reported an error ({})", printable(&sleep.details.crash));
    }
    sentence + "."
}

/// Describes the longest interval without any record, if it is longer than every phase. The longest phase would then
/// mislead.
pub(super) fn unknown(sleep: &LinuxSleep) -> Option<String> {
    let gap = sleep.details.longest_gap.as_ref()?;
    let longest = sleep
        .phases
        .iter()
        .filter(|phase| phase.half != Some(SuspendStage::Asleep))
        .filter_map(|phase| phase.duration_ns);
    if longest.max().is_some_and(|longest| longest >= gap.duration_ns) {
        return None;
    }
    let preceding = gap.after.map_or_else(|| "the decision to sleep".to_owned(), phases::name);
    let following = gap.before.map_or_else(|| "the end of the sleep".to_owned(), phases::name);
    let halves_unknown = sleep.details.suspend.duration_ns.is_none() && sleep.details.resume.duration_ns.is_none();
    let asleep_note = if halves_unknown { " (including the time asleep)" } else { "" };
    Some(format!("{} between {preceding} and {following}{asleep_note} without any record", duration(gap.duration_ns)))
}

/// Describes the longest phase and where its time went.
pub(super) fn longest(sleep: &LinuxSleep) -> Option<String> {
    let phase = sleep
        .phases
        .iter()
        .filter(|phase| phase.half != Some(SuspendStage::Asleep))
        .filter(|phase| phase.duration_ns.is_some_and(|ns| ns > 0))
        .max_by_key(|phase| phase.duration_ns)?;
    let length = phase.duration_ns?;
    let mut text = format!("{}, {}", phases::name(phase.name), duration(length));
    let step = phase
        .work
        .path
        .iter()
        .max_by_key(|step| step.duration_ns)
        .filter(|step| share(step.duration_ns, length) >= NOTABLE_SHARE);
    // Callbacks run in parallel: the longest need not be on the critical path.
    let longest = sleep
        .details
        .callbacks
        .iter()
        .filter(|row| row.details.phase == Some(phase.name) && Some(row.start_ns) >= phase.start_ns)
        .filter_map(|row| Some((row.duration_ns?, row)))
        .max_by_key(|&(ns, _)| ns)
        .filter(|&(ns, _)| share(ns, length) >= NOTABLE_SHARE);
    match (step, longest) {
        (Some(step), longest) => {
            text +=
                &format!("; {} of it waiting for {}", duration(step.duration_ns), device(&step.device, &step.driver));
            if let Some((ns, row)) = longest.filter(|(_, row)| row.device != step.device) {
                text += &format!(", longest callback {} {}", device(&row.device, &row.driver), duration(ns));
            }
        }
        (None, Some((ns, row))) => {
            text += &format!("; longest callback {} {}", device(&row.device, &row.driver), duration(ns));
        }
        _ if phase.work.items > 0 && share(phase.work.covered_ns, length) < NOTABLE_SHARE => {
            text += &format!("; only {} of it in device callbacks", duration(phase.work.covered_ns));
        }
        _ => text += &busiest(phase),
    }
    Some(text)
}

/// Names the process with the most CPU time, if that is a notable share of the phase.
fn busiest(phase: &Phase) -> String {
    let busiest = phase.cpu.as_ref().and_then(|cpu| cpu.by_process.first());
    let length = phase.duration_ns.unwrap_or_default();
    match busiest.filter(|busiest| share(busiest.cpu_ns, length) >= NOTABLE_SHARE) {
        Some(busiest) => format!("; {} used {} of CPU", printable(&busiest.image), duration(busiest.cpu_ns)),
        None => String::new(),
    }
}

fn wake_details(sleep: &LinuxSleep) -> Option<String> {
    let mut parts = Vec::new();
    if !sleep.details.wake_sources.is_empty() {
        let names: Vec<String> = sleep
            .details
            .wake_sources
            .iter()
            .map(|source| match source.certainty {
                Certainty::Measured => printable(&source.name).into_owned(),
                _ => format!("{} (inferred)", printable(&source.name)),
            })
            .collect();
        parts.push(format!("Woken by {}.", names.join(", ")));
    }
    if !sleep.details.requested_by.is_empty() {
        let pid = sleep.details.requested_by_pid.map_or_else(String::new, |pid| format!(" ({pid})"));
        parts.push(format!("Requested by {}{pid}.", printable(&sleep.details.requested_by)));
    }
    if let (Some(ns), Some(kernel)) = (sleep.details.asleep.slept_ns, sleep.details.asleep.kernel_ns)
        && ns.abs_diff(kernel) >= MIN_DISAGREEMENT_NS
    {
        parts.push(format!("Time asleep according to the kernel: {}.", duration(kernel)));
    }
    let firmware: Vec<String> =
        [("suspend", sleep.details.firmware.suspend_ns), ("resume", sleep.details.firmware.resume_ns)]
            .into_iter()
            .filter_map(|(name, ns)| Some(format!("{name} {}", duration(ns?))))
            .collect();
    if !firmware.is_empty() {
        parts.push(format!("Firmware times: {}.", firmware.join(", ")));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Says how long the hardware was in its low-power state during a suspend to idle.
fn low_power(sleep: &LinuxSleep) -> Option<String> {
    let power = sleep.details.low_power.as_ref()?;
    let mut sentence = match (power.hardware_ns, power.hardware_percent) {
        (Some(ns), Some(percent)) => {
            format!("The hardware was in its low-power state for {} ({percent:.0} %) of the sleep", duration(ns))
        }
        (Some(ns), None) => format!("The hardware was in its low-power state for {}", duration(ns)),
        (None, _) => {
            "The time in the hardware's low-power state was not recorded ('onoff record suspend' records it on machines that count it)"
                .to_owned()
        }
    };
    if power.entries > 1 {
        sentence += &format!("; it woke {} before the final resume", times(power.entries - 1));
    }
    for message in &power.missed {
        sentence += &format!("; kernel message: {message}");
    }
    Some(sentence + ".")
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn batteries(sleep: &LinuxSleep) -> Option<String> {
    let batteries: Vec<String> = sleep
        .details
        .batteries
        .iter()
        .map(|battery| {
            let watt_hours = battery.used_uwh as f64 / 1e6;
            let mean = battery.mean_mw.map_or_else(String::new, |mw| format!(", {mw:.0} mW on average"));
            match battery.used_uwh {
                ..0 => format!("{} charged by {:.2} Wh", battery.name, -watt_hours),
                _ => format!("{} used {watt_hours:.2} Wh{mean}", battery.name),
            }
        })
        .collect();
    (!batteries.is_empty()).then(|| format!("Battery: {}.", batteries.join("; ")))
}

/// Says when each network interface was back, relative to the start of the resume.
fn network(sleep: &LinuxSleep) -> Option<String> {
    let resume_start_ns = sleep.details.resume.start_ns?;
    let since = |time: Option<i64>| time.map(|ns| duration(ns.saturating_sub(resume_start_ns)));
    let interfaces: Vec<String> = sleep
        .details
        .reconnections
        .iter()
        .map(|connection| {
            let name = if connection.interface.is_empty() { "an interface" } else { &connection.interface };
            let steps: Vec<String> = [
                ("associated", since(connection.associated_ns)),
                ("ready", since(connection.ready_ns)),
                ("address", since(connection.address_ns)),
                ("connected", since(connection.connected_ns)),
            ]
            .into_iter()
            .filter_map(|(step, time)| Some(format!("{step} {}", time?)))
            .collect();
            format!("{name} {}", steps.join(", "))
        })
        .collect();
    (!interfaces.is_empty()).then(|| format!("Network, times from the start of the resume: {}.", interfaces.join("; ")))
}

fn write_image(sleep: &LinuxSleep, out: &mut dyn Write) -> io::Result<()> {
    let Some(image) = &sleep.details.image else { return Ok(()) };
    let mut parts = Vec::new();
    if let Some(pages) = image.pages.filter(|&pages| pages > 0) {
        parts.push(format!("{} pages", count(pages.unsigned_abs())));
    }
    for (label, ns) in
        [("memory freed in", image.create_ns), ("written in", image.write_ns), ("read in", image.read_ns)]
    {
        if let Some(ns) = ns {
            parts.push(format!("{label} {}", duration(ns)));
        }
    }
    if !parts.is_empty() {
        writeln!(out, "Memory image: {}.", parts.join(", "))?;
    }
    if image.rule != Rule::None {
        let bound = image.max_ns.map_or_else(String::new, |ns| format!(" ({})", duration(ns)));
        writeln!(
            out,
            "{QUIET}How long writing and reading the image took was not recorded: {}{bound}.{QUIET:#}",
            image.rule
        )?;
    }
    Ok(())
}
