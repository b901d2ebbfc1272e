//! What was changed before a boot of Windows from which a part takes longer.

use onoff_compare::boot_history::{BootChange, SystemUpdate, UpdateKind};

use crate::text::boot::changes::{not_covered, routine};
use crate::text::quantity::counted;

/// Maximum number of names per kind of change.
const MAX_NAMED: usize = 4;

/// The kinds in the order of the text, with the start of their line.
const KINDS: [(UpdateKind, &str); 9] = [
    (UpdateKind::Update, "Updates installed in between"),
    (UpdateKind::UpdateStarted, "Updates started in between, finished by the restart"),
    (UpdateKind::Package, "Packages changed in between"),
    (UpdateKind::Driver, "Drivers installed in between"),
    (UpdateKind::DeviceFailed, "Devices that did not start in between"),
    (UpdateKind::Service, "Services installed in between"),
    (UpdateKind::StartType, "Start types changed in between"),
    (UpdateKind::Program, "Programs installed in between"),
    (UpdateKind::ProgramRemoved, "Programs removed in between"),
];

/// True if the change has a possible cause in the logs.
pub(super) fn has_candidate(change: &BootChange) -> bool {
    change.updates.iter().any(|update| !update.is_routine)
}

/// Lists the changes between the two boots: possible causes by kind, then routine changes and what is not covered.
pub(super) fn lines(change: &BootChange) -> Vec<String> {
    let mut lines = Vec::new();
    for (kind, title) in KINDS {
        let names: Vec<String> = change
            .updates
            .iter()
            .filter(|update| update.kind == kind && !update.is_routine)
            .map(name_with_versions)
            .collect();
        if !names.is_empty() {
            let shown: Vec<&str> = names.iter().map(String::as_str).take(MAX_NAMED).collect();
            let more = match names.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            lines.push(format!("{title}: {}{more}.", shown.join(", ")));
        }
    }
    if !has_candidate(change) {
        lines.push("The logs name no possible cause between the two boots.".to_owned());
    }
    let routine_names: Vec<&str> =
        change.updates.iter().filter(|update| update.is_routine).map(|update| update.name.as_str()).collect();
    lines.extend(routine(&routine_names));
    if change.omitted_updates > 0 {
        lines.push(format!("{} not listed.", counted(change.omitted_updates, "later change")));
    }
    if let Some(uncovered) = not_covered(&change.not_covered) {
        lines.push(format!("{uncovered} Check the update history of Windows for those."));
    }
    lines
}

fn name_with_versions(update: &SystemUpdate) -> String {
    match (update.was.as_str(), update.is.as_str()) {
        ("", "") => update.name.clone(),
        ("", is) => format!("{} {is}", update.name),
        (was, "") => format!("{} {was}", update.name),
        (was, is) if was == is => format!("{} {is}", update.name),
        (was, is) => format!("{} {was} → {is}", update.name),
    }
}
