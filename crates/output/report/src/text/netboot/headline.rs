//! The headline of a network boot: the outcome, how long it took, and where most of the time went.

use std::io::{self, Write};

use onoff_network::outcome::Verdict;
use onoff_network::report::{CaptureSide, NetbootReport, NetworkBoot, StageKind};

use super::name;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, counted, duration, percent, size};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};

pub(super) fn write(boot: &NetworkBoot, out: &mut dyn Write) -> io::Result<()> {
    outcome(boot, out)?;
    if let Some(sentence) = blame(boot) {
        writeln!(out, "{sentence}")?;
    }
    if let Some(sentence) = parts(boot) {
        writeln!(out, "{sentence}")?;
    }
    let longest = boot.stages.iter().max_by_key(|stage| stage.duration_ns);
    if let Some(stage) = longest.filter(|stage| stage.duration_ns > 0) {
        let detail = if stage.detail.is_empty() { String::new() } else { format!(" ({})", printable(&stage.detail)) };
        let sentence = format!(
            "Longest stage: {}{detail}, {} ({}).",
            stage.kind.as_str(),
            duration(stage.duration_ns),
            percent(stage.share_percent)
        );
        writeln!(out, "{}", styled(WORST, sentence))?;
    }
    writeln!(out, "{QUIET}{}{QUIET:#}", client(boot))
}

/// Describes the outcome and the duration in a sentence.
#[must_use]
pub fn verdict(boot: &NetworkBoot) -> String {
    let (client, length, outcome) = (name(&boot.client), duration(boot.duration_ns), &boot.outcome);
    let stage = outcome.stage.map_or_else(String::new, |stage| format!(" in the {} stage", stage.as_str()));
    let likely = if outcome.certain { "" } else { "probably " };
    match outcome.verdict {
        Verdict::Loaded => format!("The network boot of {client} {likely}loaded in {length}."),
        Verdict::Failed => format!("The network boot of {client} {likely}failed after {length}{stage}."),
        Verdict::Unknown => {
            format!("Network boot of {client}: outcome unknown. The capture ends after {length}{stage}.")
        }
    }
}

/// Writes the outcome. For a failure, this includes the stage, the reason, and the error codes on the client's screen.
fn outcome(boot: &NetworkBoot, out: &mut dyn Write) -> io::Result<()> {
    let (headline, outcome) = (verdict(boot), &boot.outcome);
    writeln!(out, "{HEADLINE}{headline}{HEADLINE:#}")?;
    let style = if outcome.verdict == Verdict::Failed { WORST } else { QUIET };
    writeln!(out, "{}", styled(style, format!("{}.", printable(&sentence_case(&outcome.description)))))?;
    if outcome.verdict == Verdict::Failed && !outcome.codes.is_empty() {
        let mut shown_codes = Vec::new();
        for shown_by in ["UEFI", "BIOS"] {
            let codes: Vec<&str> =
                outcome.codes.iter().filter(|code| code.shown_by == shown_by).map(|code| code.code).collect();
            if !codes.is_empty() {
                shown_codes.push(format!("{} ({shown_by})", codes.join(" or ")));
            }
        }
        writeln!(out, "The client's screen shows {}.", shown_codes.join(", "))?;
    }
    if !outcome.advice.is_empty() {
        writeln!(out, "Fix: {}.", printable(&outcome.advice))?;
    }
    if outcome.program_loads > 1 {
        writeln!(out, "The boot program was loaded {} times.", outcome.program_loads)?;
    }
    if outcome.repeats > 1 {
        writeln!(out, "{} attempts failed for this reason.", outcome.repeats)?;
    }
    Ok(())
}

/// Capitalizes a sentence unless it starts with a file name or an address.
fn sentence_case(text: &str) -> String {
    match text.split(' ').next() {
        Some("the" | "no" | "offers" | "a") => capitalized(text),
        _ => text.to_owned(),
    }
}

/// Names who spent the time, longest part first.
fn blame(boot: &NetworkBoot) -> Option<String> {
    let blame = &boot.blame;
    let mut parts = [
        ("client", &blame.client),
        ("server", &blame.server),
        ("network", &blame.network),
        ("timeouts", &blame.timeouts),
    ];
    parts.sort_by_key(|(_, part)| std::cmp::Reverse(part.ns));
    let named: Vec<String> = parts
        .iter()
        .filter(|(_, part)| part.ns > 0)
        .map(|(name, part)| format!("{name} {} ({})", duration(part.ns), percent(part.share_percent)))
        .collect();
    (!named.is_empty()).then(|| format!("Blame: {}.", named.join(", ")))
}

fn parts(boot: &NetworkBoot) -> Option<String> {
    let time_in = |kind: StageKind| {
        boot.stages
            .iter()
            .filter(|stage| stage.kind == kind)
            .fold(0_i64, |sum, stage| sum.saturating_add(stage.duration_ns))
    };
    let mut parts = Vec::new();
    if boot.total.files > 0 {
        let rate = boot.total.bytes as f64 * 1e9 / boot.total.duration_ns.max(1) as f64;
        parts.push(format!(
            "{} for {} in {} over TFTP ({}/s)",
            duration(boot.total.duration_ns),
            size(boot.total.bytes),
            counted(boot.total.files, "file"),
            size(rate as u64)
        ));
    }
    for (kind, label) in [
        (StageKind::Dhcp, "in DHCP"),
        (StageKind::BootServer, "with the boot server"),
        (StageKind::Menu, "at the boot menu"),
        (StageKind::Http, "over HTTP"),
        (StageKind::Client, "with the client busy"),
    ] {
        let ns = time_in(kind);
        if ns > 0 {
            parts.push(format!("{} {label}", duration(ns)));
        }
    }
    (!parts.is_empty()).then(|| parts.join(", ") + ".")
}

fn client(boot: &NetworkBoot) -> String {
    let client = &boot.client;
    let mut parts = Vec::new();
    if !client.addresses.is_empty() {
        parts.push(client.addresses.join(", "));
    }
    if !client.architecture_name.is_empty() {
        parts.push(client.architecture_name.to_owned());
    }
    if !client.vendor_class.is_empty() {
        parts.push(printable(&client.vendor_class).into_owned());
    }
    if let Some(id) = &client.machine_id {
        parts.push(format!("machine {id}"));
    }
    parts.push(format!("end: {}", boot.end_rule));
    parts.join(" · ")
}

pub(super) fn write_capture(report: &NetbootReport, out: &mut dyn Write) -> io::Result<()> {
    let capture = &report.capture;
    let mut parts = vec![format!("{} in {}", counted(capture.frames, "frame"), duration(capture.duration_ns))];
    if let Some(start) = &capture.start_utc {
        let second = start.get(..19).unwrap_or(start);
        parts.push(format!("started {} UTC", second.replace('T', " ")));
    }
    if capture.duplicate_frames > 0 {
        parts.push(format!("{} captured twice", counted(capture.duplicate_frames, "frame")));
    }
    if let Some(length) = capture.snap_length {
        parts.push(format!("frames truncated to {length} bytes"));
    }
    let mut sides = report.boots.iter().map(|boot| boot.capture_side).filter(|side| *side != CaptureSide::Unknown);
    let side = sides.next().filter(|side| sides.all(|next_side| next_side == *side));
    let bound = report.boots.iter().filter_map(|boot| boot.max_round_trip_ns).max();
    match side {
        Some(CaptureSide::Server) => parts.push("captured near the server".to_owned()),
        Some(CaptureSide::Client) => parts.push("captured near the client".to_owned()),
        _ => {}
    }
    if let Some(bound) = bound {
        parts.push(format!("round trip at most {}", duration(bound)));
    }
    writeln!(out, "{QUIET}Capture: {}{QUIET:#}", parts.join(" · "))
}
