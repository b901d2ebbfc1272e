//! Logon, Group Policy, startup programs, processes and the state of ReadyBoot.

use onoff_evidence::DerivedInterval;
use onoff_evidence::activity::NamedActivity;
use onoff_trace::ActivityKind;
use onoff_transitions::boot::{BootReport, TrainingState};

use crate::text::quantity::{count, duration};
use crate::text::style::QUIET;
use crate::text::usage::ProcessNames;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Minimum duration of work that gets a row, ns.
const NOTABLE_NS: i64 = 1_000_000;

pub(super) fn sections<'a>(report: &'a BootReport, top: usize, reported_losses: &[String]) -> Vec<Section<'a>> {
    let sections =
        [logon(report, top), startup_programs(report, top), processes(report, reported_losses), read_ahead(report)];
    sections.into_iter().flatten().collect()
}

/// Work around a logon, or the video start of a session.
struct Row<'a> {
    what: &'static str,
    name: &'a str,
    took_ns: Option<i64>,
    start_ns: i64,
    detail: String,
}

fn logon(report: &BootReport, top: usize) -> Option<Section<'_>> {
    let policy = &report.details.group_policy;
    let logon = &report.details.logon;
    let mut rows = Vec::new();
    for (category, activities) in [
        ("Group Policy", &policy.applications),
        ("policy extension", &policy.extensions),
        ("policy script", &policy.scripts),
        ("wait for network", &policy.network_waits),
        ("authentication", &logon.authentications),
        ("user profile", &logon.user_profiles),
        ("session subscriber", &logon.notification_subscribers),
    ] {
        let notable = activities.iter().filter(|activity| activity.duration_ns.is_none_or(|ns| ns >= NOTABLE_NS));
        rows.extend(notable.take(top).map(|activity| row(category, activity)));
    }
    rows.extend(logon.user_input_requests().take(top).map(|activity| row("wait for user", activity)));
    let video = &report.details.video;
    rows.extend(video_row("video, system", &video.system_session));
    rows.extend(video_row("video, user", &video.user_session));
    Section::builder("logon", "Logon and Group Policy", rows)
        .name("what", "what", 20, |row| Value::text(row.what))
        .name("name", "name", 60, |row| Value::text(row.name))
        .quantity("duration_ns", "duration", |row| match row.took_ns {
            None => Cell::text_only(anstyle::Style::new(), "unfinished"),
            duration_ns => Cell::duration_or_unfinished(duration_ns),
        })
        .time("start_ns", "start", |row| Cell::since(row.start_ns, 0))
        .name("detail", "", 110, |row| Value::Text(row.detail.clone().into()).styled(QUIET))
        .build_if_any()
}

fn row<'a>(category: &'static str, activity: &'a NamedActivity) -> Row<'a> {
    // The detail of a subscriber is the number of its notification.
    let detail = match activity.kind {
        ActivityKind::NotificationSubscriber => format!("notification {}", activity.detail),
        _ => activity.detail.clone(),
    };
    Row { what: category, name: &activity.name, took_ns: activity.duration_ns, start_ns: activity.start_ns, detail }
}

fn video_row<'a>(category: &'static str, interval: &'a DerivedInterval) -> Option<Row<'a>> {
    let (start_ns, duration_ns) = interval.start_ns.zip(interval.duration_ns)?;
    let detail = interval.rule.to_string();
    Some(Row { what: category, name: "driver initialization", took_ns: Some(duration_ns), start_ns, detail })
}

fn startup_programs(report: &BootReport, top: usize) -> Option<Section<'_>> {
    let programs = &report.details.startup_applications.programs;
    let names = ProcessNames::new(programs.iter().map(|program| (program.image.as_str(), program.process_pid)));
    let has_costs = programs.iter().any(|program| program.cpu_ns.is_some() || program.disk_service_ns.is_some());
    let has_processes = report.details.process_summary.total > 0;
    let order = if has_costs { "most expensive first" } else { "by start" };
    Section::builder("startup_programs", "Startup programs", programs)
        .note(format!("{}, {order}", count(programs.len() as u64)))
        .top(top)
        .name("name", "program", 80, |program| Value::text(&program.name))
        .quantity("cpu_ns", "CPU", |program| Cell::duration_or_dash(program.cpu_ns))
        .quantity("disk_service_ns", "disk", |program| Cell::duration_or_dash(program.disk_service_ns))
        .time("start_ns", "start", |program| Cell::since(program.start_ns, 0))
        .data("process_pid", |program| Value::id(program.process_pid))
        // The process differs from the program where a command starts another one.
        .name("image", "", 40, |program| {
            let process = match program.process_pid {
                Some(pid) => names.name(&program.image, Some(pid)),
                None if has_processes => "no process found".to_owned(),
                None => String::new(),
            };
            Cell::with_display_text(Value::text(&program.image), process).with_style(QUIET)
        })
        .build_if_any()
}

fn processes(report: &BootReport, reported_losses: &[String]) -> Option<Section<'static>> {
    let summary = &report.details.process_summary;
    if summary.total == 0 {
        return None;
    }
    let mut section = Section::without_table("processes", "Processes");
    section.note = format!(
        "{}: {} expected, {} long-lived, {} short-lived, {} lived less than {}",
        count(summary.total),
        count(summary.expected),
        count(summary.long_lived),
        count(summary.short_lived),
        count(summary.very_short_lived),
        duration(summary.very_short_lived_below_ns),
    );
    Some(section.affected_by(&report.details.losses_affecting_processes, reported_losses))
}

fn read_ahead(report: &BootReport) -> Option<Section<'static>> {
    let advice = match report.details.read_ahead.state {
        TrainingState::Untrained => "Not trained yet; expect the next boots to be faster.",
        TrainingState::Training => "Still training; measure after the third boot.",
        TrainingState::Trained | TrainingState::Unknown => return None,
    };
    Some(Section::without_table("read_ahead", "Boot read-ahead (ReadyBoot)").line(QUIET, advice))
}
