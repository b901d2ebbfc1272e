//! What was changed before a boot, and which changes the logs do not cover.

use onoff_trace::{CivilTime, SystemChangeKind};
use onoff_transitions::boot::BootReport;
use onoff_transitions::boot::changes::{ChangesBefore, NamedChange, UncoveredChanges};

use crate::text::quantity::{counted, second_or_dash};
use crate::text::style::QUIET;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Lists the changes, routine ones last.
pub(super) fn section(report: &BootReport, top: usize) -> Option<Section<'_>> {
    const TITLE: &str = "Changed before this boot";
    let before = report.details.changes.as_ref()?;
    let Some(since_unix_ns) = before.since_unix_ns else {
        let line = "Not known: the logs have no earlier boot of this computer.";
        return Some(Section::without_table("changes", TITLE).line(QUIET, line));
    };
    let changes = &before.changes;
    let section = Section::builder("changes", TITLE, changes)
        .note(format!("since the boot at {}", second_or_dash(Some(since_unix_ns))))
        .top_with_remainder(top)
        .name("kind", "kind", 16, |change| {
            Cell::with_display_text(Value::text(change.kind.as_str()), kind(change.kind))
        })
        .name("name", "name", 40, |change| Value::text(&change.name))
        .name("is", "now", 36, |change| Cell::with_display_text(Value::text(&change.is), state(change)))
        .data("was", |change| Value::text(&change.was))
        .data("records", |change| Value::Count(change.records))
        .data("devices", |change| Value::Count(change.devices))
        .name("last_unix_ns", "last (UTC)", 16, |change| {
            Cell::with_display_text(Value::Time(change.last_unix_ns), minute(change.last_unix_ns))
        })
        .data("first_unix_ns", |change| Value::Time(change.first_unix_ns))
        .data("other_boots", |change| Value::Count(change.other_boots.into()))
        .name("is_routine", "", 8, |change| {
            Cell::with_display_text(Value::Flag(change.is_routine), if change.is_routine { "routine" } else { "" })
                .with_style(QUIET)
        })
        .name("source", "publisher or program", 32, |change| Value::text(&change.source))
        .data("event", |change| Value::text(&change.event))
        .build_if_any()
        .unwrap_or_else(|| Section::without_table("changes", TITLE).line(QUIET, nothing_found(before)));
    Some(section.line_if(QUIET, not_covered(&before.not_covered)))
}

fn nothing_found(before: &ChangesBefore) -> String {
    match before.not_covered.is_empty() {
        true => "No change was recorded since the previous boot.".to_owned(),
        false => "No change was recorded in the channels that cover the time since the previous boot.".to_owned(),
    }
}

/// The state after the change, with the state before where both are known.
fn state(change: &NamedChange) -> String {
    if change.is.is_empty() && change.devices > 1 {
        return counted(change.devices, "device");
    }
    let code = change.error_code.map(|code| format!("error {code:#x}"));
    match (code, change.was.as_str(), change.is.as_str()) {
        (Some(code), _, "") => code,
        (_, "", is) => is.to_owned(),
        (_, was, "") => format!("was {was}"),
        (_, was, is) if was == is => is.to_owned(),
        (_, was, is) => format!("{is}, was {was}"),
    }
}

/// Names a kind of change.
pub(crate) fn kind(kind: SystemChangeKind) -> &'static str {
    match kind {
        SystemChangeKind::Build => "Windows build",
        SystemChangeKind::Update => "update",
        SystemChangeKind::UpdateStarted => "update started",
        SystemChangeKind::UpdateFailed => "update failed",
        SystemChangeKind::Package => "package",
        SystemChangeKind::Driver => "driver",
        SystemChangeKind::DeviceFailed => "device failed",
        SystemChangeKind::Service => "new service",
        SystemChangeKind::StartType => "start type",
        SystemChangeKind::Program => "program",
        SystemChangeKind::ProgramRemoved => "program removed",
    }
}

/// Formats a time to the minute.
fn minute(unix_ns: i64) -> String {
    let time = CivilTime::from_unix_ns(unix_ns);
    format!("{:04}-{:02}-{:02} {:02}:{:02}", time.year, time.month, time.day, time.hour, time.minute)
}

/// Names the changes that the logs do not cover; `None` if they cover all.
pub(crate) fn not_covered(uncovered: &[UncoveredChanges]) -> Option<String> {
    let reason = |uncovered: &UncoveredChanges| {
        let channel = uncovered.channel.trim_start_matches("Microsoft-Windows-");
        match (uncovered.first_unix_ns, uncovered.last_unix_ns) {
            (None, None) => format!("no {channel} log"),
            (Some(first_ns), _) => format!("{channel} log starts {}", minute(first_ns)),
            (None, Some(last_ns)) => format!("{channel} log ends {}", minute(last_ns)),
        }
    };
    let items: Vec<String> =
        uncovered.iter().map(|uncovered| format!("{} ({})", uncovered.changes, reason(uncovered))).collect();
    (!items.is_empty()).then(|| format!("Not covered by the logs: {}.", items.join(", ")))
}

/// Counts the routine changes, with the names of the first ones.
pub(crate) fn routine(names: &[&str]) -> Option<String> {
    const MAX_NAMES: usize = 3;
    let shown: Vec<&str> = names.iter().copied().take(MAX_NAMES).collect();
    let more = if names.len() > MAX_NAMES { ", …" } else { "" };
    let count = counted(names.len() as u64, "change");
    (!names.is_empty()).then(|| format!("Routine, so an unlikely cause: {count} ({}{more}).", shown.join(", ")))
}
