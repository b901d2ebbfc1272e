//! The headline of a boot: how long it took and where most of the time went.

use onoff_transitions::Variant;
use onoff_transitions::{Phase, PhaseName};
use std::borrow::Cow;
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::boot::{BootReport, ReadAhead, TrainingState};
use onoff_usage::devices::Device;
use onoff_usage::units::Unit;

use crate::text::boot_axis;
use crate::text::device_work;
use crate::text::fix_first;
use crate::text::machine::machine;
use crate::text::printable::printable;
use crate::text::quantity::{counted, duration, percent, share};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use crate::text::why::account::culprit_of;

/// Minimum share of its phase, in percent, for a service, driver or process to be named.
const NOTABLE_SHARE: f64 = 10.0;

pub(super) fn write(report: &BootReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(report))?;
    if let Some(sentence) = parts(report) {
        writeln!(out, "{sentence}")?;
    }
    if let Some(phase) = longest_phase(report) {
        write_longest(report, phase, out)?;
    }
    fix_first::write(report, out)?;
    writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, training(report)))
}

fn answer(report: &BootReport) -> String {
    let kind = match report.variant {
        Variant::FastStartup => "The fast startup",
        Variant::Resume => "The resume",
        _ => "The boot",
    };
    let user_wait = match report.user_input_ns {
        0 => String::new(),
        ns => format!(", plus {} waiting for a user to log on", duration(ns)),
    };
    match (report.total_ns, report.total_certainty) {
        (Some(total), Certainty::Measured) => format!("{kind} took {}{user_wait}.", duration(total)),
        (Some(total), _) => format!("{kind} took {}{user_wait} (inferred).", duration(total)),
        (None, _) if !report.details.channels.is_empty() => without_account(report),
        (None, _) => format!(
            "{kind} took at least {}{user_wait}: the recording ends before the computer was idle.",
            duration(report.total_at_least_ns)
        ),
    }
}

/// Says why event logs do not tell how long a boot took.
fn without_account(report: &BootReport) -> String {
    const ACCOUNTS: &str = "Microsoft-Windows-Diagnostics-Performance/Operational";
    let is_logged = report.details.channels.iter().any(|channel| channel.name == ACCOUNTS);
    let reason = match is_logged {
        true => "Windows wrote no account of it (event 100 of Diagnostics-Performance)".to_owned(),
        false => format!("the logs do not include {ACCOUNTS}"),
    };
    format!("The duration of this boot is unknown: {reason}.")
}

fn parts(report: &BootReport) -> Option<String> {
    let desktop = report.main_path_ns()?;
    let mut sentence = format!("{} to a usable desktop", duration(desktop));
    if let Some(logged_on) = report.details.logon.to_desktop_ns {
        sentence += &format!(" ({} from logon to desktop)", duration(logged_on));
    }
    match report.work_after_ns() {
        Some(0) => sentence += ", then idle",
        Some(busy) => sentence += &format!(", then {} until idle", duration(busy)),
        None => {}
    }
    sentence += ".";
    // A total from reset is divided as in the firmware's table, so that the parts add up to it.
    let axis = report.details.axis.as_ref();
    let mut before_kernel = match axis.filter(|_| report.details.total_from_reset_ns.is_some()) {
        Some(axis) => boot_axis::before_kernel(axis),
        None => Vec::new(),
    };
    if before_kernel.is_empty() {
        let firmware = report.details.before_kernel.firmware.duration_ns.map(|ns| (ns, "in firmware"));
        before_kernel.extend(firmware.into_iter().chain(report.details.os_loader_ns.map(|ns| (ns, "in the loader"))));
    }
    let user_input = report.details.before_kernel.user_input.duration_ns.filter(|&ns| ns > 0);
    before_kernel.extend(user_input.map(|ns| (ns, "waiting for a user at a boot menu or disk password (included)")));
    let before_kernel: Vec<String> =
        before_kernel.into_iter().map(|(ns, what)| format!("{} {what}", duration(ns))).collect();
    if !before_kernel.is_empty() {
        sentence += &format!(" Before the kernel: {}.", before_kernel.join(", "));
    }
    if let Some(from_reset_ns) = report.details.total_from_reset_ns {
        let doubt = axis.and_then(boot_axis::firmware_doubt).map(|doubt| format!(" ({doubt})")).unwrap_or_default();
        sentence += &format!(" Total from CPU reset: {}{doubt}.", duration(from_reset_ns));
    }
    if let Some(download) = axis.and_then(boot_axis::download) {
        sentence += &format!(" {download}");
    }
    Some(sentence)
}

/// Returns the cost of a phase, without the idle time PostBoot requires and without time spent waiting for a user.
pub(super) fn cost(report: &BootReport, phase: &Phase) -> Option<i64> {
    match phase.name {
        PhaseName::PostBoot => report.work_after_ns(),
        PhaseName::TraceTail => None,
        _ => phase.duration_without_input_ns(),
    }
}

fn longest_phase(report: &BootReport) -> Option<&Phase> {
    let phases = report.phases.iter().filter(|phase| cost(report, phase).is_some_and(|cost| cost > 0));
    phases.max_by_key(|phase| cost(report, phase))
}

fn write_longest(report: &BootReport, phase: &Phase, out: &mut dyn Write) -> io::Result<()> {
    let length = cost(report, phase).unwrap_or(0);
    let mut sentence = format!("Longest phase: {}, {}", phase.name.as_str(), duration(length));
    if let Some(total) = report.total_ns {
        sentence += &format!(" ({})", percent(share(length, total)));
    }
    sentence += ".";
    if let Some(culprit) = report.first_culprit() {
        sentence += &format!(" {}", culprit_of(culprit, phase.name.as_str()));
        return writeln!(out, "{}", styled(WORST, sentence));
    }
    let notable = |ns: i64| share(ns, length) >= NOTABLE_SHARE;
    let mut has_cause = false;
    if let Some((service, took)) = slowest_service(report, phase).filter(|&(_, took)| notable(took)) {
        has_cause = true;
        sentence += &format!(" Slowest service in it: {}, {}", printable(&service.name), duration(took));
        sentence += &match (service.held_up.first(), service.held_up_total) {
            (None, _) => ".".to_owned(),
            (Some(blocked), 0 | 1) => format!(", which blocked {}.", printable(blocked)),
            (Some(blocked), services) => {
                format!(", which blocked {} and {} more, directly or indirectly.", printable(blocked), services - 1)
            }
        };
    }
    if let Some((device, took)) = slowest_device(report, phase).filter(|&(_, took)| notable(took)) {
        has_cause = true;
        sentence += &format!(" Slowest driver in it: {}, {}", device_work::name(device), duration(took));
        sentence += if device.details.pend_ns.is_none() { ", which did not pend." } else { "." };
    }
    if !has_cause && let Some((process, took)) = busiest_process(phase).filter(|&(_, took)| notable(took)) {
        sentence += &format!(" Busiest process in it: {process}, {} of CPU time.", duration(took));
    }
    writeln!(out, "{}", styled(WORST, sentence))
}

fn starts_in(phase: &Phase, start_ns: i64) -> bool {
    phase.start_ns.is_none_or(|start| start <= start_ns) && phase.end_ns.is_none_or(|end| start_ns < end)
}

fn slowest_service<'a>(report: &'a BootReport, phase: &Phase) -> Option<(&'a Unit, i64)> {
    let ended = report.units.iter().filter_map(|service| Some((service, service.duration_ns?)));
    ended.filter(|(service, _)| starts_in(phase, service.start_ns)).max_by_key(|&(_, took)| took)
}

fn slowest_device<'a>(report: &'a BootReport, phase: &Phase) -> Option<(&'a Device, i64)> {
    let ended = report.details.devices.iter().filter_map(|device| Some((device, device.details.pre_pend_ns?)));
    ended.filter(|(device, _)| starts_in(phase, device.start_ns)).max_by_key(|&(_, took)| took)
}

fn busiest_process(phase: &Phase) -> Option<(Cow<'_, str>, i64)> {
    let process = phase.cpu.as_ref()?.by_process.first()?;
    Some((printable(&process.image), process.cpu_ns)).filter(|(name, _)| !name.is_empty())
}

/// Says how many boots ReadyBoot was trained on.
fn training(report: &BootReport) -> Option<String> {
    let boots = report.details.read_ahead.training_count?.unsigned_abs();
    Some(match report.details.read_ahead.state {
        TrainingState::Untrained | TrainingState::Training => {
            format!("ReadyBoot trained on {boots} of {} boots", ReadAhead::TRAINED_BOOTS)
        }
        TrainingState::Trained | TrainingState::Unknown => {
            format!("ReadyBoot trained on {}", counted(boots, "boot"))
        }
    })
}
