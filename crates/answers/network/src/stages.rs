//! The stages of a boot, one after the other without gaps.

use onoff_netboot::transfer::Outcome;

use super::dhcp::{DhcpExchange, Stack};
use super::http::Download;
use super::model::percent;
use super::report::{FileRole, FileTransfer, Stage, StageKind};
use onoff_evidence::rule::Rule;

/// Shorter silences between files of one kind do not part them, ns.
const MIN_SILENCE_NS: i64 = 20_000_000;

/// Something that took time, before overlaps are settled.
#[derive(Clone, Debug)]
struct Piece {
    kind: StageKind,
    detail: String,
    start_ns: i64,
    end_ns: i64,
    rule: Rule,
}

/// The stages from `start_ns` to `end_ns`.
pub(super) fn stages(
    start_ns: i64,
    end_ns: i64,
    dhcp: &[DhcpExchange],
    (files, downloads): (&[FileTransfer], &[Download]),
    file_server_ns: Option<i64>,
) -> Vec<Stage> {
    let mut pieces: Vec<Piece> = dhcp.iter().map(dialogue).collect();
    pieces.extend(files.iter().filter(|file| !file.write).map(file));
    pieces.extend(downloads.iter().map(download));
    pieces.extend(file_server_ns.map(|ns| Piece {
        kind: StageKind::OperatingSystem,
        detail: "first file server".to_owned(),
        start_ns: ns,
        end_ns: ns,
        rule: Rule::FirstFileServerConnection,
    }));
    pieces.retain(|piece| piece.start_ns <= end_ns);
    pieces.sort_by_key(|piece| (piece.start_ns, piece.end_ns));
    // A prompt with time-out 0 starts its first entry at once: nobody sees a menu.
    let menu = dhcp.iter().find(|exchange| {
        let pxe = &exchange.pxe;
        (!pxe.menu.is_empty() || pxe.prompt.is_some()) && pxe.prompt_timeout_s.is_some_and(|seconds| seconds > 0)
    });
    let mut stages: Vec<Piece> = Vec::new();
    let mut at_ns = start_ns;
    for mut piece in pieces {
        if piece.start_ns > at_ns {
            let wait = Piece {
                kind: silence(&stages, &piece, menu, at_ns),
                detail: String::new(),
                start_ns: at_ns,
                end_ns: piece.start_ns,
                rule: Rule::FromStageBeforeToRequest,
            };
            stages.push(wait);
            at_ns = piece.start_ns;
        }
        // What overlaps belongs to what began first.
        piece.start_ns = piece.start_ns.max(at_ns);
        // What goes on behind the boot's end is no part of it; times that went back must not give a stage that ends before it begins.
        piece.end_ns = piece.end_ns.min(end_ns).max(piece.start_ns);
        if piece.end_ns <= piece.start_ns && piece.kind != StageKind::OperatingSystem {
            continue;
        }
        at_ns = at_ns.max(piece.end_ns);
        join(&mut stages, piece);
    }
    if end_ns > at_ns {
        stages.push(Piece {
            kind: StageKind::Client,
            detail: String::new(),
            start_ns: at_ns,
            end_ns,
            rule: Rule::FromStageBeforeToEnd,
        });
    }
    let total_ns = end_ns.saturating_sub(start_ns);
    stages
        .into_iter()
        .map(|piece| {
            let duration_ns = piece.end_ns.saturating_sub(piece.start_ns);
            Stage {
                kind: piece.kind,
                detail: piece.detail,
                start_ns: piece.start_ns,
                end_ns: piece.end_ns,
                duration_ns,
                share_percent: percent(duration_ns, total_ns),
                rule: piece.rule,
            }
        })
        .collect()
}

fn silence(stages: &[Piece], next: &Piece, menu: Option<&DhcpExchange>, at_ns: i64) -> StageKind {
    if stages.is_empty() {
        return StageKind::Link;
    }
    let after_dialogue = menu.is_some_and(|menu| menu.end_ns <= at_ns)
        && stages.last().is_some_and(|last| matches!(last.kind, StageKind::Dhcp | StageKind::BootServer));
    if after_dialogue && next.kind != StageKind::Dhcp { StageKind::Menu } else { StageKind::Client }
}

/// Appends, or lengthens the last stage when it is of the same kind: a loader's dozen modules are one stage.
fn join(stages: &mut Vec<Piece>, piece: Piece) {
    let joinable = |last: &Piece| {
        last.kind == piece.kind
            && matches!(
                piece.kind,
                StageKind::Loader
                    | StageKind::Configuration
                    | StageKind::Refused
                    | StageKind::SizeProbe
                    | StageKind::OtherFile
                    | StageKind::Http
            )
    };
    let [.., before, silence] = stages.as_slice() else {
        stages.push(piece);
        return;
    };
    let short = silence.kind == StageKind::Client && silence.end_ns.saturating_sub(silence.start_ns) < MIN_SILENCE_NS;
    if short && joinable(before) {
        stages.pop();
    }
    let same = stages.last_mut().filter(|last| joinable(last));
    match same {
        Some(last) => {
            last.end_ns = piece.end_ns;
            let more = last.detail.rsplit_once(" and ").and_then(|(name, rest)| {
                let count = rest.strip_suffix(" more")?.parse::<u64>().ok()?;
                Some((name.to_owned(), count))
            });
            last.detail = match more {
                Some((name, count)) => format!("{name} and {} more", count + 1),
                None => format!("{} and 1 more", last.detail),
            };
        }
        None => stages.push(piece),
    }
}

fn dialogue(exchange: &DhcpExchange) -> Piece {
    let family = if exchange.ip_version == 4 { "IPv4" } else { "IPv6" };
    let result = match (&exchange.address, exchange.complete) {
        (Some(address), true) => address.clone(),
        (_, true) => "answered".to_owned(),
        (Some(_), false) => "offers not taken".to_owned(),
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
        attempts => format!(", asked {attempts} times"),
    };
    let rule = match (exchange.complete, exchange.ip_version) {
        (true, 4) => Rule::FromDiscoverToAck,
        (true, _) => Rule::FromSolicitToReply,
        (false, _) => Rule::FromQuestionToLastMessage,
    };
    Piece {
        kind,
        detail: format!("{family}, {result}{attempts}"),
        start_ns: exchange.start_ns,
        end_ns: exchange.end_ns,
        rule,
    }
}

fn file(file: &FileTransfer) -> Piece {
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
    Piece { kind, detail: file.file.clone(), start_ns: file.request_ns, end_ns: file.end_ns, rule }
}

fn download(download: &Download) -> Piece {
    Piece {
        kind: StageKind::Http,
        detail: download.url.clone(),
        start_ns: download.start_ns,
        end_ns: download.end_ns,
        rule: Rule::FromConnectionToLastByte,
    }
}
