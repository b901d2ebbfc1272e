//! Words for subjects of the account, and the findings about subjects that no other rule covers.

use onoff_blame::account::{AccountAction, AccountEntry, AccountMeasure, AccountSubjectKind, Culprit, CulpritPhase};
use onoff_transitions::PhaseName;

use super::MAX_ACTIVITIES;
use crate::cost::Cost;
use crate::finding::{FindingSubject, FindingSubjectKind, RuleFinding};
use crate::quantities::time;

pub(super) fn subject(entry: &AccountEntry) -> FindingSubject {
    let kind = match entry.kind {
        AccountSubjectKind::Service | AccountSubjectKind::Unit => FindingSubjectKind::Service,
        AccountSubjectKind::Driver => FindingSubjectKind::Driver,
        AccountSubjectKind::Process => FindingSubjectKind::Process,
        AccountSubjectKind::File => FindingSubjectKind::File,
        AccountSubjectKind::Disk => FindingSubjectKind::Disk,
        _ => FindingSubjectKind::Work,
    };
    FindingSubject::new(kind, entry.name.clone()).with_pid(entry.pid)
}

pub(super) fn display_name(phase: &str) -> String {
    PhaseName::parse(phase).map_or_else(|| phase.to_owned(), PhaseName::display_name)
}

/// Names the phases of a culprit, with its time in each if there are several.
pub(super) fn phase_names(phases: &[CulpritPhase]) -> String {
    if let [only] = phases {
        return display_name(&only.phase);
    }
    let parts: Vec<String> =
        phases.iter().map(|part| format!("{} {}", display_name(&part.phase), time(part.ns))).collect();
    parts.join(", ")
}

/// Lists what a subject did, longest first.
pub(super) fn activities(entry: &AccountEntry) -> String {
    if !entry.read_by.is_empty() {
        let readers = entry.read_by.iter().take(MAX_ACTIVITIES);
        let parts: Vec<String> =
            readers.map(|reader| format!("{} waited {} for it", reader.name, time(reader.ns))).collect();
        return parts.join(", ");
    }
    let parts: Vec<String> = entry
        .actions
        .iter()
        .filter(|share| share.action != AccountAction::Nothing && share.ns.saturating_mul(100) >= entry.ns)
        .take(MAX_ACTIVITIES)
        .map(|share| {
            let phrase = share.action.phrase_for(entry.kind);
            match phrase.strip_suffix(')') {
                Some(phrase) => format!("{phrase}, {})", time(share.ns)),
                None => format!("{phrase} ({})", time(share.ns)),
            }
        })
        .collect();
    if parts.is_empty() { entry.name.clone() } else { format!("{} {}", entry.name, parts.join(", ")) }
}

/// Advice about a subject that no other rule covers.
pub(super) fn advice(entry: &AccountEntry) -> String {
    let main_action = entry.actions.first().map(|share| share.action);
    let text = match (entry.kind, main_action) {
        (_, Some(AccountAction::OccupiedCpu)) => "lower its priority, start it later, or reduce its work",
        (AccountSubjectKind::File, _) => {
            "find out why it takes so long to read: its size, the health of its disk, or what scans it"
        }
        (AccountSubjectKind::Disk, _) => "check the disk's health and what is read from it; consider a faster disk",
        (AccountSubjectKind::Driver, _) => "look for a newer driver; remove the device if it is not needed",
        (_, Some(AccountAction::WaitedForDisk | AccountAction::OccupiedDisk)) => {
            "check which files it reads and writes, and whether it can do that later"
        }
        (_, Some(AccountAction::WaitedForTimer)) => "find out which timeout or delay it waited for",
        _ => "find out what it does, and whether it can do that later",
    };
    text.to_owned()
}

/// Creates the finding about a subject that no other rule covers.
pub(crate) fn critical_path_time(culprit: &Culprit) -> RuleFinding {
    let entry = &culprit.entry;
    let phase = phase_names(&culprit.phases);
    if entry.kind == AccountSubjectKind::Cpu {
        return cpu_bound(culprit, &phase);
    }
    let cost = match culprit.measure {
        // A component of every transition cannot be removed.
        _ if culprit.is_system => Cost::UNKNOWN,
        AccountMeasure::CriticalPath => Cost::on_path(entry.ns),
        _ => Cost::at_most(entry.ns),
    };
    let title = match entry.read_by.first() {
        Some(reader) => format!("{} waited {} for {} during {phase}", reader.name, time(entry.ns), entry.name),
        None => format!("{} was on the critical path for {} ({phase})", entry.name, time(entry.ns)),
    };
    let mut finding = RuleFinding::new(subject(entry), title)
        .cost(cost)
        .certainty(entry.certainty)
        .evidence(entry.intervals.first().map(|interval| interval.start_ns), activities(entry))
        .advice(format!("{} ('onoff why FILE --phase {}' shows the critical path)", advice(entry), culprit.phase))
        .members(culprit.members.iter().cloned());
    finding.phase = Some(culprit.phase.clone());
    finding
}

/// Creates the finding about a phase without a single cause: more threads were ready than CPUs available.
fn cpu_bound(culprit: &Culprit, phase: &str) -> RuleFinding {
    let entry = &culprit.entry;
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, entry.name.clone()),
        format!("no CPU was free for {} ({phase})", time(entry.ns)),
    )
    .cost(Cost::at_most(entry.ns))
    .certainty(entry.certainty)
    .evidence(
        entry.intervals.first().map(|interval| interval.start_ns),
        format!("mostly used by {}", culprit.members.join(", ")),
    )
    .advice(format!(
        "start fewer programs at once, or use a computer with more CPUs ('onoff why FILE --phase {}' shows what used them)",
        culprit.phase
    ));
    finding.phase = Some(culprit.phase.clone());
    finding
}
