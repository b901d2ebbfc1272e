//! The stages of a boot, in order and without gaps.

use onoff_netboot::transfer::Outcome;

use super::dhcp::{DhcpExchange, Stack};
use super::http::Download;
use super::model::percent;
use super::report::{FileRole, FileTransfer, Stage, StageKind};
use onoff_evidence::rule::Rule;

/// Files of one kind with a shorter silence between them form one stage, ns.
const MIN_SILENCE_NS: i64 = 20_000_000;

/// Minimum time at a boot menu, ns.
const MIN_MENU_NS: i64 = 1_000_000_000;

/// A stage before overlaps are resolved.
#[derive(Clone, Debug)]
struct StageInterval {
    kind: StageKind,
    detail: String,
    start_ns: i64,
    end_ns: i64,
    rule: Rule,
}

/// Returns the stages from `start_ns` to `end_ns`.
pub(super) fn stages(
    start_ns: i64,
    end_ns: i64,
    dhcp: &[DhcpExchange],
    (files, downloads): (&[FileTransfer], &[Download]),
    file_server_ns: Option<i64>,
) -> Vec<Stage> {
    let mut intervals: Vec<StageInterval> = dhcp.iter().map(dialogue).collect();
    intervals.extend(files.iter().filter(|file| !file.write).map(file));
    intervals.extend(downloads.iter().map(download));
    intervals.extend(file_server_ns.map(|ns| StageInterval {
        kind: StageKind::OperatingSystem,
        detail: "first file server".to_owned(),
        start_ns: ns,
        end_ns: ns,
        rule: Rule::FirstFileServerConnection,
    }));
    intervals.retain(|interval| interval.start_ns <= end_ns);
    intervals.sort_by_key(|interval| (interval.start_ns, interval.end_ns));
    // A prompt with timeout 0 starts its first entry at once, without a menu.
    let menu = dhcp.iter().find(|exchange| {
        let pxe = &exchange.pxe;
        (!pxe.menu.is_empty() || pxe.prompt.is_some()) && pxe.prompt_timeout_s.is_some_and(|seconds| seconds > 0)
    });
    let mut stages: Vec<StageInterval> = Vec::new();
    let mut position_ns = start_ns;
    for mut interval in intervals {
        if interval.start_ns > position_ns {
            let wait = StageInterval {
                kind: silence(&stages, &interval, menu, position_ns),
                detail: String::new(),
                start_ns: position_ns,
                end_ns: interval.start_ns,
                rule: Rule::FromPreviousStageToRequest,
            };
            stages.push(wait);
            position_ns = interval.start_ns;
        }
        // Overlaps belong to the stage that started first.
        interval.start_ns = interval.start_ns.max(position_ns);
        // Clip at the end of the boot. If the clock was set back, a stage must still not end before it starts.
        interval.end_ns = interval.end_ns.min(end_ns).max(interval.start_ns);
        if interval.end_ns <= interval.start_ns && interval.kind != StageKind::OperatingSystem {
            continue;
        }
        position_ns = position_ns.max(interval.end_ns);
        join(&mut stages, interval);
    }
    if end_ns > position_ns {
        stages.push(StageInterval {
            kind: StageKind::Client,
            detail: String::new(),
            start_ns: position_ns,
            end_ns,
            rule: Rule::FromPreviousStageToEnd,
        });
    }
    let total_ns = end_ns.saturating_sub(start_ns);
    stages
        .into_iter()
        .map(|interval| {
            let duration_ns = interval.end_ns.saturating_sub(interval.start_ns);
            Stage {
                kind: interval.kind,
                detail: interval.detail,
                start_ns: interval.start_ns,
                end_ns: interval.end_ns,
                duration_ns,
                share_percent: percent(duration_ns, total_ns),
                rule: interval.rule,
            }
        })
        .collect()
}

/// True for a stage in which nothing is done: the client waits for a link, for its user, or for an answer that does not
/// come.
#[must_use]
pub fn is_wait(stage: &Stage) -> bool {
    matches!(stage.kind, StageKind::Link | StageKind::Menu) || stage.rule == Rule::FromRequestToLastMessage
}

fn silence(stages: &[StageInterval], next: &StageInterval, menu: Option<&DhcpExchange>, position_ns: i64) -> StageKind {
    if stages.is_empty() {
        return StageKind::Link;
    }
    // Every client needs some time between the answer and its first file; prompts are in whole seconds.
    let is_long = next.start_ns.saturating_sub(position_ns) >= MIN_MENU_NS;
    let follows_dialogue = menu.is_some_and(|menu| menu.end_ns <= position_ns)
        && stages.last().is_some_and(|last| matches!(last.kind, StageKind::Dhcp | StageKind::BootServer));
    if is_long && follows_dialogue && next.kind != StageKind::Dhcp { StageKind::Menu } else { StageKind::Client }
}

/// Appends a stage, or extends the last stage if it is of the same kind. A dozen loader modules are one stage.
fn join(stages: &mut Vec<StageInterval>, interval: StageInterval) {
    let is_joinable = |last: &StageInterval| {
        last.kind == interval.kind
            && matches!(
                interval.kind,
                StageKind::Loader
                    | StageKind::Configuration
                    | StageKind::Refused
                    | StageKind::SizeProbe
                    | StageKind::OtherFile
                    | StageKind::Http
            )
    };
    let [.., previous, silence] = stages.as_slice() else {
        stages.push(interval);
        return;
    };
    let is_short =
        silence.kind == StageKind::Client && silence.end_ns.saturating_sub(silence.start_ns) < MIN_SILENCE_NS;
    if is_short && is_joinable(previous) {
        stages.pop();
    }
    let extended = stages.last_mut().filter(|last| is_joinable(last));
    match extended {
        Some(last) => {
            last.end_ns = interval.end_ns;
            let name_and_count = last.detail.rsplit_once(" and ").and_then(|(name, suffix)| {
                let count = suffix.strip_suffix(" more")?.parse::<u64>().ok()?;
                Some((name.to_owned(), count))
            });
            last.detail = match name_and_count {
                Some((name, count)) => format!("{name} and {} more", count + 1),
                None => format!("{} and 1 more", last.detail),
            };
        }
        None => stages.push(interval),
    }
}

fn dialogue(exchange: &DhcpExchange) -> StageInterval {
    let family = if exchange.ip_version == 4 { "IPv4" } else { "IPv6" };
    let result = match (&exchange.address, exchange.complete) {
        (Some(address), true) => address.clone(),
        (_, true) => "answered".to_owned(),
        (Some(_), false) => "offers not accepted".to_owned(),
        (None, false) if exchange.lacks_offer() => "answers not in the capture".to_owned(),
        (None, false) => "no answer".to_owned(),
    };
    let kind = if exchange.stack == Stack::OperatingSystem {
        StageKind::OperatingSystem
    } else if exchange.boot_server_dialogue {
        StageKind::BootServer
    } else {
        StageKind::Dhcp
    };
    let attempts = match exchange.attempts {
        0 | 1 => String::new(),
        attempts => format!(", {attempts} attempts"),
    };
    let rule = match (exchange.complete, exchange.ip_version) {
        (true, 4) => Rule::FromDiscoverToAck,
        (true, _) => Rule::FromSolicitToReply,
        (false, _) => Rule::FromRequestToLastMessage,
    };
    StageInterval {
        kind,
        detail: format!("{family}, {result}{attempts}"),
        start_ns: exchange.start_ns,
        end_ns: exchange.end_ns,
        rule,
    }
}

fn file(file: &FileTransfer) -> StageInterval {
    let kind = match (file.outcome, file.role) {
        (Outcome::SizeProbe, _) => StageKind::SizeProbe,
        (Outcome::Refused, _) => StageKind::Refused,
        (_, FileRole::BootProgram) => StageKind::BootProgram,
        (_, FileRole::Loader) => StageKind::Loader,
        (_, FileRole::Configuration) => StageKind::Configuration,
        (_, FileRole::Kernel) => StageKind::Kernel,
        (_, FileRole::Ramdisk) => StageKind::Ramdisk,
        (_, FileRole::Other) => StageKind::OtherFile,
    };
    let rule = match file.outcome {
        Outcome::Complete => Rule::FromReadToAcknowledgment,
        _ => Rule::FromReadToLastPacket,
    };
    StageInterval { kind, detail: file.file.clone(), start_ns: file.request_ns, end_ns: file.end_ns, rule }
}

fn download(download: &Download) -> StageInterval {
    StageInterval {
        kind: StageKind::Http,
        detail: download.url.clone(),
        start_ns: download.start_ns,
        end_ns: download.end_ns,
        rule: Rule::FromConnectionToLastByte,
    }
}
