//! The firmware's phases: those it measured, and those whose missing end another measurement tells.

use onoff_trace::firmware::{FirmwareCheckpoints, FirmwareEvent, FirmwareWork};

use super::pairing::{Paired, Piece};
use super::report::FirmwarePhase;
use super::sweep::Share;
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;

/// The phases in order, each with the one it is a part of.
const PHASES: [(&str, &str); 14] = [
    ("SEC", ""),
    ("PEI", ""),
    ("PreMem", "PEI"),
    ("PostMem", "PEI"),
    ("DXE", ""),
    ("BDS", ""),
    // coreboot's stages, and Slim Bootloader's.
    ("bootblock", ""),
    ("romstage", ""),
    ("postcar", ""),
    ("ramstage", ""),
    ("Stage1A", ""),
    ("Stage1B", ""),
    ("Stage2", ""),
    ("payload", ""),
];

/// The phase that a measurement is about.
pub(super) fn phase_of(event: &FirmwareEvent) -> Option<&'static str> {
    let (name, inside) = PHASES.into_iter().find(|(name, _)| *name == event.text)?;
    let measured_as = if inside.is_empty() { FirmwareWork::CrossModule } else { FirmwareWork::InModule };
    (event.work == measured_as).then_some(name)
}

/// Marks the pieces that are phases, and adds those of which one end was not measured.
pub(super) fn mark(paired: &mut Paired<'_>, times: Option<&FirmwareCheckpoints>) {
    for piece in &mut paired.pieces {
        piece.phase = phase_of(piece.event);
    }
    let has = |paired: &Paired<'_>, name| paired.pieces.iter().any(|piece| piece.phase == Some(name));
    let reset_end_ns = times.and_then(|times| times.reset_end_ns);
    // EDK II marks the end of SEC with a point, because no code that could measure runs at its begin.
    let sec_end = paired.points.iter().copied().find(|event| event.work == FirmwareWork::Point && event.text == "SEC");
    let mut inferred = Vec::new();
    let mut add = |name, event, start_ns: Option<i64>, end_ns: Option<i64>| {
        if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns)
            && start_ns < end_ns
        {
            inferred.push(Piece { event, start_ns, end_ns, phase: Some(name), inferred: true });
        }
    };
    if !has(paired, "SEC")
        && let Some(event) = sec_end
    {
        add("SEC", event, reset_end_ns, Some(event.time_ns));
    }
    // A phase follows the one before it: where only one of its ends was measured, its neighbor tells the other.
    let first_begin = |name: &str| {
        let measured = paired.pieces.iter().filter(|piece| piece.phase == Some(name)).map(|piece| piece.start_ns);
        let left = paired.begins_left.iter().filter(|event| phase_of(event) == Some(name)).map(|event| event.time_ns);
        measured.chain(left).min()
    };
    if !has(paired, "PEI")
        && let Some(event) = paired.ends_left.iter().copied().find(|event| phase_of(event) == Some("PEI"))
    {
        let start_ns = sec_end.map(|event| event.time_ns).or(reset_end_ns);
        add("PEI", event, start_ns, Some(event.time_ns));
    }
    for (name, next) in [("PEI", "DXE"), ("DXE", "BDS"), ("BDS", "")] {
        if has(paired, name) {
            continue;
        }
        let begin = paired.begins_left.iter().copied().find(|event| phase_of(event) == Some(name));
        if let Some(event) = begin {
            let end_ns = match next {
                "" => times.and_then(|times| times.loader_start_ns),
                next => first_begin(next),
            };
            add(name, event, Some(event.time_ns), end_ns);
        }
    }
    paired.pieces.extend(inferred);
}

/// The phases, from the pieces that are some.
pub(super) fn phases(pieces: &[Piece<'_>], shares: &[Share]) -> Vec<FirmwarePhase> {
    let described = PHASES.into_iter().filter_map(|(name, inside)| {
        let all: Vec<usize> = (0..pieces.len()).filter(|&at| pieces[at].phase == Some(name)).collect();
        // One that runs inside itself is measured once.
        let outer = all.iter().filter(|&&at| !inside_another(at, name, pieces, shares));
        let inferred = all.iter().any(|&at| pieces[at].inferred);
        let start_ns = all.iter().map(|&at| pieces[at].start_ns).min()?;
        let end_ns = all.iter().map(|&at| pieces[at].end_ns).max()?;
        Some(FirmwarePhase {
            name: name.to_owned(),
            inside: inside.to_owned(),
            start_ns,
            end_ns,
            duration_ns: outer.map(|&at| pieces[at].end_ns - pieces[at].start_ns).fold(0, i64::saturating_add),
            self_ns: all.iter().map(|&at| shares[at].self_ns).sum(),
            rule: rule(name, inferred, all.first().map(|&at| &pieces[at])),
            certainty: if inferred { Certainty::Inferred } else { Certainty::Measured },
        })
    });
    described.collect()
}

fn inside_another(at: usize, name: &str, pieces: &[Piece<'_>], shares: &[Share]) -> bool {
    let mut above = shares[at].parent;
    while let Some(parent) = above {
        if pieces[parent].phase == Some(name) {
            return true;
        }
        above = shares[parent].parent;
    }
    false
}

fn rule(name: &str, inferred: bool, piece: Option<&Piece<'_>>) -> Rule {
    if !inferred {
        return Rule::FirmwareMeasurement { name: name.to_owned() };
    }
    let begin_measured = piece.is_some_and(|piece| piece.event.time_ns == piece.start_ns);
    match (name, begin_measured) {
        ("SEC", _) => Rule::FromResetToSec,
        (_, true) => Rule::FirmwarePhaseStart { name: name.to_owned() },
        (_, false) => Rule::FirmwarePhaseEnd { name: name.to_owned() },
    }
}
