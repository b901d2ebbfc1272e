//! Page content of network boots: stages become phases; DHCP exchanges and transfers become lanes. Times count from the
//! first frame of the capture.

use onoff_evidence::Certainty;
use onoff_lanes::slices::{LaneSlice, SliceLane, Tone};
use onoff_lanes::{Lane, Track, TrackGroup};
use onoff_network::outcome::Verdict;
use onoff_network::report::{NetbootReport, NetworkBoot, Stage, StageKind};
use onoff_report::text::netboot::verdict;
use onoff_report::text::quantity::{duration, size};

use crate::build::LoadedRecording;
use crate::page::{PageAccountEntry, PageFinding, PagePhase, PageRecording, PageTick, PageTransition, loss_list};
use crate::track::track_list;
use crate::transitions::explains;
use crate::{interval_tables, shades};

/// Maximum number of tracks per protocol.
const MAX_TRACKS: usize = 400;

/// Maximum number of ticks per boot.
const MAX_TICKS: usize = 40;

impl LoadedRecording {
    /// Builds the content of a capture with network boots, displayed as `name`.
    #[must_use]
    pub fn from_capture(name: String, report: &NetbootReport) -> Self {
        let has_several = report.boots.len() > 1;
        let transitions: Vec<PageTransition> = report
            .boots
            .iter()
            .zip(1_usize..)
            .map(|(boot, number)| {
                let mut transition = transition(boot, has_several.then_some(number));
                transition.number = u32::try_from(number).unwrap_or(u32::MAX);
                shades::assign(&mut transition.phases);
                transition
            })
            .collect();
        let tracks: Vec<Track> = report
            .boots
            .iter()
            .zip(1_usize..)
            .flat_map(|(boot, number)| tracks(boot, has_several.then_some(number)))
            .collect();
        let clients: Vec<&str> = report
            .boots
            .iter()
            .map(|boot| boot.client.vendor_class.as_str())
            .filter(|class| !class.is_empty())
            .collect();
        let capture = &report.capture;
        let machine = [
            Some(format!("{} frames", capture.frames)),
            Some(size(capture.wire_bytes)),
            clients.first().map(|class| (*class).to_owned()),
            capture.start_utc.as_ref().map(|utc| format!("captured {utc} UTC")),
        ];
        let interval_tables = interval_tables::netboot(report);
        let recording = PageRecording {
            name,
            machine: machine.into_iter().flatten().collect::<Vec<_>>().join(" · "),
            start_ns: 0,
            duration_ns: capture.duration_ns,
            transitions,
            tracks: track_list(&tracks),
            losses: loss_list(&report.losses),
            subjects: interval_tables.iter().map(|table| table.subject).collect(),
            ..PageRecording::default()
        };
        Self { tracks, interval_tables, content: recording, ..Self::default() }
    }
}

/// Returns the names of the stages, numbered if there are several of a kind.
fn names(boot: &NetworkBoot) -> Vec<String> {
    let number_and_count = |index: usize| {
        let kind = boot.stages[index].kind;
        let count = |stages: &[Stage]| stages.iter().filter(|stage| stage.kind == kind).count();
        (count(&boot.stages[..=index]), count(&boot.stages))
    };
    let name = |index: usize| match (boot.stages[index].kind.as_str(), number_and_count(index)) {
        (kind, (_, 1)) => kind.to_owned(),
        (kind, (number, _)) => format!("{kind} {number}"),
    };
    (0..boot.stages.len()).map(name).collect()
}

fn transition(boot: &NetworkBoot, number: Option<usize>) -> PageTransition {
    let phase = |(stage, name): (&Stage, String)| {
        let subject = match (stage.kind, stage.detail.as_str()) {
            (StageKind::Client, "") => "the client".to_owned(),
            (kind, "") => kind.as_str().to_owned(),
            (_, detail) => detail.to_owned(),
        };
        PagePhase {
            title: name.clone(),
            name,
            start_ns: stage.start_ns,
            end_ns: stage.end_ns,
            rule: stage.rule.to_string(),
            event: stage.detail.clone(),
            certainty: Certainty::Measured,
            explains: explains(stage.kind.as_str()),
            account: vec![PageAccountEntry {
                subject,
                kind: stage.kind.as_str().to_owned(),
                ns: stage.duration_ns,
                actions: stage.rule.to_string(),
                certainty: Certainty::Measured,
                intervals: vec![(stage.start_ns, stage.end_ns)],
            }],
            ..PagePhase::default()
        }
    };
    let findings = boot.findings.iter().map(|finding| PageFinding {
        code: finding.rule.to_owned(),
        title: finding.title.clone(),
        cost_ns: finding.cost_ns,
        evidence: finding.source.to_owned(),
        advice: finding.advice.clone(),
        certainty: Certainty::Measured,
        explained_by: "onoff netboot --help".to_owned(),
        ..PageFinding::default()
    });
    let mut headline = vec![verdict(boot), format!("{}.", boot.outcome.description)];
    if boot.outcome.verdict == Verdict::Failed && !boot.outcome.advice.is_empty() {
        headline.push(format!("Fix: {}.", boot.outcome.advice));
    }
    let longest = boot.stages.iter().max_by_key(|stage| stage.duration_ns);
    if let Some(stage) = longest.filter(|stage| stage.duration_ns > 0) {
        let detail = if stage.detail.is_empty() { String::new() } else { format!(" ({})", stage.detail) };
        headline.push(format!("Longest stage: {}{detail}, {}.", stage.kind.as_str(), duration(stage.duration_ns)));
    }
    let mut ticks: Vec<PageTick> = Vec::new();
    for file in &boot.transfers {
        ticks.extend(file.timeouts.iter().take(MAX_TICKS.saturating_sub(ticks.len())).map(|timeout| PageTick {
            time_ns: timeout.end_ns,
            label: format!(
                "{} timed out after {} without a packet, block {} of {}",
                if timeout.by_client { "the client" } else { "the server" },
                duration(timeout.end_ns.saturating_sub(timeout.start_ns)),
                timeout.block,
                file.file
            ),
        }));
    }
    let failure = PageTick { time_ns: boot.outcome.time_ns, label: boot.outcome.description.clone() };
    if boot.outcome.verdict == Verdict::Failed {
        ticks.push(failure);
    }
    PageTransition {
        kind: "netboot".to_owned(),
        variant: boot.outcome.verdict.as_str().to_owned(),
        title: number.map_or_else(|| "Network boot".to_owned(), |number| format!("Network boot {number}")),
        headline,
        start_ns: boot.start_ns,
        end_ns: boot.end_ns,
        phases: boot.stages.iter().zip(names(boot)).map(phase).collect(),
        ticks,
        findings: findings.collect(),
        ..PageTransition::default()
    }
}

/// Lanes of a boot: stages, DHCP messages, TFTP files, HTTP downloads.
fn tracks(boot: &NetworkBoot, number: Option<usize>) -> Vec<Track> {
    let prefix = number.map_or_else(String::new, |number| format!("boot {number} · "));
    let track = |section: &str, name: String, note: String, slices: Vec<LaneSlice>| Track {
        group: TrackGroup::Network,
        section: format!("{prefix}{section}"),
        name,
        note,
        lane: Lane::Slices(SliceLane::new(slices)),
    };
    let stages = boot.stages.iter().map(|stage| {
        let label = match stage.detail.as_str() {
            "" => stage.kind.as_str().to_owned(),
            detail => format!("{}: {detail}", stage.kind.as_str()),
        };
        let tone = match stage.kind {
            StageKind::Client | StageKind::Menu => Tone::Timer,
            StageKind::Refused => Tone::Failed,
            _ => Tone::Work,
        };
        LaneSlice::new(stage.start_ns, stage.end_ns, label, tone)
    });
    let mut tracks = vec![track("", "Stages".to_owned(), "consecutive stages".to_owned(), stages.collect())];
    for exchange in boot.dhcp.iter().take(MAX_TRACKS) {
        let name =
            format!("DHCPv{}{}", exchange.ip_version, if exchange.boot_server_dialogue { ", boot server" } else { "" });
        let note =
            exchange.address.as_ref().map_or_else(|| "no address".to_owned(), |address| format!("address {address}"));
        let tone = if exchange.complete { Tone::Service } else { Tone::Failed };
        let mut slices = vec![LaneSlice::new(exchange.start_ns, exchange.end_ns, format!("{name}: {note}"), tone)];
        slices.extend(exchange.messages.iter().map(|message| {
            let label = format!("{} from {}", message.kind.as_str(), message.from);
            LaneSlice::new(message.time_ns, message.time_ns, label, Tone::Notified)
        }));
        tracks.push(track("DHCP", name, note, slices));
    }
    for file in boot.transfers.iter().take(MAX_TRACKS) {
        let is_complete = file.duration_ns.is_some();
        let data_ns =
            file.first_data_ns.unwrap_or(file.end_ns).clamp(file.request_ns, file.end_ns.max(file.request_ns));
        let note = format!(
            "{} by TFTP from {}, {}-byte blocks, window {}",
            size(file.counts.bytes),
            file.server,
            file.block_size,
            file.window
        );
        tracks.push(track(
            "TFTP",
            file.file.clone(),
            note,
            vec![
                LaneSlice::new(file.request_ns, data_ns, format!("{}: request", file.file), Tone::Container),
                LaneSlice::new(
                    data_ns,
                    file.end_ns,
                    format!("{}: data", file.file),
                    if is_complete { Tone::Load } else { Tone::Failed },
                ),
            ],
        ));
    }
    for download in boot.downloads.iter().take(MAX_TRACKS) {
        let last_ns = download.end_ns.max(download.start_ns);
        let first_ns = last_ns.saturating_sub(download.body_ns.unwrap_or(0)).clamp(download.start_ns, last_ns);
        let tone = if download.complete { Tone::Load } else { Tone::Failed };
        tracks.push(track(
            "HTTP",
            download.url.clone(),
            format!("{} from {}", size(download.bytes), download.server),
            vec![
                LaneSlice::new(download.start_ns, first_ns, format!("{}: request", download.url), Tone::Container),
                LaneSlice::new(first_ns, download.end_ns, format!("{}: data", download.url), tone),
            ],
        ));
    }
    tracks
}
