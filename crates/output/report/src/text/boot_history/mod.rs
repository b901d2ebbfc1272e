//! The history of the boots in one journal or in event logs: what changed when, and which units explain it.

mod logged_changes;

use std::io::{self, Write};

use onoff_compare::boot_history::{BootChange, BootHistory, ChangedUnit, HistoricBoot, SystemUpdate, UpdateKind};
use onoff_trace::{CivilTime, SystemKind};
use onoff_transitions::PhaseName;

use crate::text::printable::printable;
use crate::text::quantity::{counted, duration, second_or_dash};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// Maximum number of updates named per change.
const MAX_UPDATES_NAMED: usize = 6;

/// Writes the changes between boots, then the boots.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(history: &BootHistory, top: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", styled(HEADLINE, printable(&headline(history))))?;
    for change in &history.changes {
        write_change(change, history, out)?;
    }
    for note in notes(history) {
        writeln!(out, "{}", styled(QUIET, printable(&note)))?;
    }
    section::text::write(&boots(history, top), out)
}

/// Formats the date of a time, e.g. `2026-05-12`.
pub(super) fn day(unix_ns: Option<i64>) -> Option<String> {
    let text = CivilTime::from_unix_ns(unix_ns?).to_string();
    Some(text.split('T').next().unwrap_or_default().to_owned())
}

fn compared_count(history: &BootHistory) -> usize {
    history.boots.iter().filter(|boot| boot.startup_ns.is_some()).count()
}

fn headline(history: &BootHistory) -> String {
    let of_host = match history.host.as_str() {
        "" => String::new(),
        host => format!(" of {host}"),
    };
    let kind = match history.system {
        SystemKind::Windows => "measured boot",
        _ => "finished boot",
    };
    let boots = match compared_count(history) {
        0 => format!("No {kind}{of_host}"),
        1 => format!("Only one {kind}{of_host}"),
        number => format!("The last {}{of_host}", counted(number as u64, kind)),
    };
    // The largest change comes first; of equal ones the latest.
    let largest = history.changes.iter().max_by_key(|change| (change.difference_ns.abs(), change.first_boot_after));
    let Some(change) = largest else {
        return match compared_count(history) >= MIN_BOOTS {
            true => format!("{boots}: no part of the boot changed significantly."),
            false => format!("{boots}: too few to separate a change from noise (at least {MIN_BOOTS} are needed)."),
        };
    };
    let is_update = |update: &&SystemUpdate| {
        let is_of_windows = matches!(update.kind, UpdateKind::Update | UpdateKind::UpdateStarted | UpdateKind::Package);
        !update.is_routine
            && (is_of_windows || update.kind == UpdateKind::Kernel || history.system != SystemKind::Windows)
    };
    let updated = change.updates.iter().rev().filter(is_update).find_map(|update| day(update.unix_ns));
    let since = match (updated, day(change.first_boot_after_unix_ns)) {
        (Some(day), _) => format!("since the update on {day}"),
        (None, Some(day)) => format!("since {day}"),
        (None, None) => format!("since boot {}", change.first_boot_after),
    };
    let explained: Vec<&str> =
        change.units.iter().filter(|unit| unit.explains).map(|unit| unit.name.as_str()).take(1).collect();
    let explanation = match explained.first() {
        Some(name) => format!(": {name}"),
        None => String::new(),
    };
    format!(
        "{boots}: {since}, {} takes {}{explanation}.",
        phase_phrase(&change.phase),
        more_or_less(change.difference_ns)
    )
}

/// Minimum number of boots needed to detect a change. With 5 boots on each side, 1 of the 252 possible splits looks
/// as clear by chance.
pub(super) const MIN_BOOTS: usize = 12;

pub(super) fn phase_phrase(phase: &str) -> String {
    match PhaseName::parse(phase) {
        Some(name) => name.display_name(),
        None => "the boot".to_owned(),
    }
}

pub(super) fn more_or_less(ns: i64) -> String {
    let word = if ns < 0 { "less" } else { "more" };
    format!("{} {word}", duration(ns.saturating_abs()))
}

fn write_change(change: &BootChange, history: &BootHistory, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    let title = format!(
        "From boot {} on, {} takes {}: {} instead of {}.",
        change.first_boot_after,
        phase_phrase(&change.phase),
        more_or_less(change.difference_ns),
        duration(change.after_ns),
        duration(change.before_ns)
    );
    writeln!(out, "{}", styled(WORST, printable(&title)))?;
    let mut lines = vec![format!(
        "{} before, {} since; difference {} to {} (95 % confidence); p = {:.4} (permutation test, {} random orders of these boots).",
        counted(change.boots_before, "boot"),
        counted(change.boots_after, "boot"),
        duration(change.low_ns),
        duration(change.high_ns),
        change.p_value,
        history.permutations
    )];
    lines.extend(change.units.iter().map(|unit| subject_line(unit, &change.phase)));
    if !change.units.iter().any(|unit| unit.explains) {
        lines.push(format!(
            "No single unit explains the change; use 'onoff compare' on boot {} and boot {}.",
            change.last_boot_before, change.first_boot_after
        ));
    }
    lines.extend(update_lines(change, history));
    for line in lines {
        writeln!(out, "  {}", printable(&line))?;
    }
    Ok(())
}

/// Describes the change of a unit, driver or device beside the change of a part.
pub(super) fn subject_line(unit: &ChangedUnit, phase: &str) -> String {
    let change_text = match (unit.before_ns, unit.after_ns) {
        (0, is) => format!("{} is new and takes {}", unit.name, duration(is)),
        (was, 0) => format!("{} is gone and took {}", unit.name, duration(was)),
        (was, is) => format!("{} takes {} instead of {}", unit.name, duration(is), duration(was)),
    };
    let remaining = duration(unit.remaining_ns.saturating_abs());
    match unit.explains {
        true => format!(
            "{change_text}, which explains the change. The rest of {} changed by {remaining}.",
            phase_phrase(phase)
        ),
        false => format!("{change_text}; {remaining} of the change remains without it."),
    }
}

/// Lists the updates before a change, running versions first.
fn update_lines(change: &BootChange, history: &BootHistory) -> Vec<String> {
    if history.system != SystemKind::Windows {
        return linux_update_lines(&change.updates, change.omitted_updates);
    }
    let builds = change.updates.iter().filter(|update| update.kind == UpdateKind::Kernel);
    let mut lines: Vec<String> =
        builds.map(|update| format!("Changed in between: Windows build {} → {}", update.was, update.is)).collect();
    lines.extend(logged_changes::lines(change));
    lines
}

/// Lists the updates of a Linux computer before a change, running versions first.
pub(super) fn linux_update_lines(updates: &[SystemUpdate], omitted_updates: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let version =
        |update: &SystemUpdate, name: &str| format!("Changed in between: {name} {} → {}", update.was, update.is);
    for update in updates {
        match update.kind {
            UpdateKind::Kernel => lines.push(version(update, "kernel")),
            UpdateKind::ServiceManager => lines.push(version(update, "systemd")),
            _ => {}
        }
    }
    let packages: Vec<String> = updates
        .iter()
        .filter(|update| update.kind == UpdateKind::Package)
        .map(|update| match (update.was.as_str(), update.is.as_str()) {
            ("", "") => update.name.clone(),
            ("", is) => format!("{} {is}", update.name),
            (was, "") => format!("{} {was} removed", update.name),
            (was, is) => format!("{} {was} → {is}", update.name),
        })
        .collect();
    if !packages.is_empty() {
        let unnamed = (packages.len().saturating_sub(MAX_UPDATES_NAMED) as u64).saturating_add(omitted_updates);
        let names = packages.iter().take(MAX_UPDATES_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let suffix = if unnamed > 0 { format!(", and {unnamed} more") } else { String::new() };
        lines.push(format!("Packages changed in between: {names}{suffix}."));
    }
    for update in updates {
        let date = day(update.unix_ns).map_or_else(String::new, |day| format!(" on {day}"));
        match update.kind {
            UpdateKind::Command => lines.push(format!("Command run in between{date}: {}.", update.name)),
            UpdateKind::AutomaticUpgrade => lines.push(format!("Automatic upgrade in between{date}: {}.", update.name)),
            _ => {}
        }
    }
    if lines.is_empty() {
        lines.push("The journal has no update in between; check the log of the package manager.".to_owned());
    }
    lines.truncate(MAX_UPDATES_NAMED);
    lines
}

/// The parts of a boot, each with its column.
const PARTS: [(&str, &str, PhaseName); 10] = [
    ("firmware_ns", "firmware", PhaseName::Firmware),
    ("loader_ns", "loader", PhaseName::Loader),
    ("kernel_ns", "kernel", PhaseName::Kernel),
    ("initrd_ns", "initrd", PhaseName::Initrd),
    ("user_space_ns", "user space", PhaseName::UserSpace),
    ("pre_smss_ns", "PreSMSS", PhaseName::PreSmss),
    ("smss_init_ns", "SMSSInit", PhaseName::SmssInit),
    ("winlogon_init_ns", "WinLogonInit", PhaseName::WinLogonInit),
    ("explorer_init_ns", "ExplorerInit", PhaseName::ExplorerInit),
    ("post_boot_ns", "PostBoot", PhaseName::PostBoot),
];

fn notes(history: &BootHistory) -> Vec<String> {
    let mut notes = Vec::new();
    if history.system == SystemKind::Windows && history.changes.iter().any(logged_changes::has_candidate) {
        notes.push("What was changed in between is a possible cause, not a proven one.".to_owned());
    }
    let unfinished = (history.boots.len() - compared_count(history)) as u64;
    if unfinished > 0 {
        let reason = match history.system {
            SystemKind::Windows => {
                "of which Windows wrote no account (it writes none of fast startups), or after an installation"
            }
            _ => "that did not finish",
        };
        notes.push(format!("Not compared: {} {reason}.", counted(unfinished, "boot")));
    }
    if history.other_machine_boots > 0 {
        notes.push(format!(
            "Not compared: {} of other computers, or of text logs beside journals.",
            counted(history.other_machine_boots, "boot")
        ));
    }
    notes
}

/// Lists the boots with their parts.
#[must_use]
pub fn boots(history: &BootHistory, top: usize) -> Section<'_> {
    let skipped = history.boots.len().saturating_sub(top);
    let shown_boots = history.boots.get(skipped..).unwrap_or_default();
    let duration_value = |ns: Option<i64>| Value::from_option(ns, Value::Duration);
    let mut section = Section::builder("boots", "Boots", shown_boots)
        .id("number", "boot", |boot: &&HistoricBoot| Value::Id(boot.number))
        .name("first_unix_ns", "first entry (UTC)", 24, |boot| {
            Cell::with_display_text(
                Value::from_option(boot.first_unix_ns, Value::Time),
                second_or_dash(boot.first_unix_ns),
            )
        })
        .name("kernel", if history.system == SystemKind::Windows { "build" } else { "kernel" }, 32, |boot| {
            Value::text(&boot.kernel)
        })
        .quantity("startup_ns", if history.system == SystemKind::Windows { "to desktop" } else { "total" }, |boot| {
            duration_value(boot.startup_ns)
        });
    for (name, title, phase) in PARTS {
        let phase_ns = move |boot: &HistoricBoot| {
            boot.phases.iter().find(|part| part.phase == phase.as_str()).map(|part| part.duration_ns)
        };
        let is_known = shown_boots.iter().any(|boot| phase_ns(boot).is_some());
        section = section
            .column(Heading::quantity(name, title).in_text_if(is_known), move |boot| duration_value(phase_ns(boot)));
    }
    section
        .name("", "", 60, |boot| {
            let starts = history.changes.iter().find(|change| change.first_boot_after == boot.number);
            Cell::text_only(
                QUIET,
                match (starts, boot.startup_ns) {
                    (Some(change), _) => {
                        format!(
                            "from this boot on, {} takes {}",
                            phase_phrase(&change.phase),
                            more_or_less(change.difference_ns)
                        )
                    }
                    (None, None) if history.system == SystemKind::Windows => "not measured".to_owned(),
                    (None, None) => "did not finish".to_owned(),
                    (None, Some(_)) => String::new(),
                },
            )
        })
        .build()
}
