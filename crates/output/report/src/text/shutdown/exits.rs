//! Process exits: a substitute for recordings without the shutdown providers.

use onoff_transitions::shutdown::{ProcessExit, ShutdownReport};

use crate::text::quantity::{count, duration};
use crate::text::style::{DOUBT, QUIET};
use crate::text::usage::ProcessNames;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

pub(super) fn section<'a>(report: &'a ShutdownReport, top: usize, reported_losses: &[String]) -> Option<Section<'a>> {
    let exits = &report.details.exits;
    let (last, length) = exits.processes.last().zip(exits.duration_ns)?;
    let names = ProcessNames::new(exits.processes.iter().map(|exit| (exit.image.as_str(), Some(exit.pid))));
    let note = format!(
        "{} exited within {}; last: {}; {} still running at the end of the recording",
        count(exits.processes.len() as u64),
        duration(length),
        names.name(&last.image, Some(last.pid)),
        count(exits.still_running),
    );
    let mut rows: Vec<&ProcessExit> = exits.processes.iter().collect();
    rows.sort_by_key(|exit| (std::cmp::Reverse(exit.since_previous_ns), exit.end_ns));
    // The sections for applications and services are better if these were recorded.
    let is_only_evidence = report.details.sessions.is_empty();
    let section = Section::builder("exits", "Process exits", rows)
        .note(note)
        .top(if is_only_evidence { top } else { 0 })
        .name("image", "process", 40, |exit| {
            Cell::with_display_text(Value::text(&exit.image), names.name(&exit.image, Some(exit.pid)))
        })
        .data("pid", |exit| Value::Id(exit.pid.into()))
        .data("session", |exit| Value::id(exit.session))
        .data("end_ns", |exit| Value::Time(exit.end_ns))
        .quantity("since_previous_ns", "after previous", |exit| Value::Duration(exit.since_previous_ns))
        .quantity("since_first_ns", "after first", |exit| Value::Duration(exit.since_first_ns))
        .quantity("dying_ns", "exit time", |exit| Cell::duration_or_dash(exit.dying_ns))
        .quantity("threads_ended", "threads", |exit| Value::Count(exit.threads_ended))
        .quantity("images_unloaded", "modules", |exit| Value::Count(exit.images_unloaded))
        .name("", "", 30, |exit| {
            let owner = match (exit.is_service_host, exit.session) {
                (true, _) => "service host".to_owned(),
                (false, Some(session)) => format!("session {session}"),
                (false, None) => String::new(),
            };
            Cell::text_only(QUIET, owner)
        })
        .build();
    if !is_only_evidence {
        return Some(section);
    }
    let inferred = "Inferred from process exits, because notifications were not recorded. The longest gaps between two exits come first.";
    Some(section.line(DOUBT, inferred).affected_by(&exits.affecting_losses, reported_losses))
}
