//! Services that failed or timed out during a boot, from event logs.

use onoff_trace::ServiceFailureKind as Kind;
use onoff_transitions::boot::BootReport;
use onoff_transitions::boot::service_failures::FailedService;

use crate::text::quantity::counted;
use crate::text::style::QUIET;
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

const TITLE: &str = "Failed services";

/// Lists the failures by time. Drivers that were not loaded are usual on healthy computers, so they are only named.
pub(super) fn section(report: &BootReport, top: usize) -> Option<Section<'_>> {
    let details = &report.details;
    let failures = &details.failed_services;
    let later = match details.later_service_failures {
        0 => None,
        count => Some(format!("{} after the boot, before the next one.", counted(count, "further failure"))),
    };
    let (drivers, services): (Vec<&FailedService>, Vec<&FailedService>) =
        failures.iter().partition(|failure| failure.kind == Kind::DriverNotLoaded);
    let names: Vec<&str> = drivers.iter().map(|driver| driver.service.as_str()).collect();
    let not_loaded = (!names.is_empty()).then(|| format!("Drivers that were not loaded: {}.", names.join(", ")));
    let section = Section::builder("failed_services", TITLE, services)
        .note(counted((failures.len() - names.len()) as u64, "failure"))
        .top_with_remainder(top)
        .name("service", "service", 32, |failure| Value::text(&failure.service))
        .name("kind", "what happened", 40, |failure| {
            Cell::with_display_text(Value::text(failure.kind.as_str()), what_happened(failure))
        })
        .quantity("wait_ns", "waited", |failure| match failure.wait_ns {
            Some(ns) => Value::Duration(ns).into(),
            None => Cell::with_display_text(Value::Unknown, ""),
        })
        .time("time_ns", "at", |failure| Cell::since(failure.time_ns, 0))
        .name("error_code", "error", 40, |failure| {
            Cell::with_display_text(
                Value::from_option(failure.error_code, |code| Value::Id(code.into())),
                failure.error_code.map(error).unwrap_or_default(),
            )
        })
        .name("display_name", "display name", 32, |failure| {
            let is_different = failure.display_name != failure.service;
            let shown = if is_different { failure.display_name.clone() } else { String::new() };
            Cell::with_display_text(Value::text(&failure.display_name), shown)
        })
        .data("dependency", |failure| Value::text(&failure.dependency))
        .data("event", |failure| Value::text(&failure.event))
        .build_if_any();
    let section = match (section, &not_loaded) {
        (Some(section), _) => section,
        (None, Some(_)) => Section::without_table("failed_services", TITLE),
        (None, None) => return None,
    };
    Some(section.line_if(QUIET, not_loaded).line_if(QUIET, later))
}

fn what_happened(failure: &FailedService) -> String {
    match failure.kind {
        Kind::StartFailed => "did not start".to_owned(),
        Kind::DependencyFailed if failure.dependency.is_empty() => "not started: a dependency failed".to_owned(),
        Kind::DependencyFailed => format!("not started: needs {}", failure.dependency),
        Kind::ConnectTimeout => "timed out at its start".to_owned(),
        Kind::ResponseTimeout => "did not respond to a request".to_owned(),
        Kind::StartHung => "did not finish starting".to_owned(),
        Kind::StoppedWithError => "stopped with an error".to_owned(),
        Kind::Terminated => "ended unexpectedly".to_owned(),
        Kind::StopTimeout => "did not stop in time".to_owned(),
        Kind::DriverNotLoaded => "driver was not loaded".to_owned(),
    }
}

/// Describes an error code. The names are from `winerror.h`.
fn error(code: u32) -> String {
    let meaning = match code {
        2 => "file not found",
        3 => "path not found",
        5 => "access denied",
        21 => "device not ready",
        577 => "signature not valid",
        1053 => "no response in time",
        1055 => "service database locked",
        1058 => "service disabled",
        1060 => "service does not exist",
        1067 => "process ended",
        1068 => "a dependency failed",
        1069 => "logon failed",
        1075 => "a dependency does not exist",
        _ => "",
    };
    match (meaning, code) {
        ("", 0x8000_0000..) => format!("{code:#x}"),
        ("", _) => code.to_string(),
        (meaning, _) => format!("{code}: {meaning}"),
    }
}
