//! What event logs record about the target of a question.

use std::io::{self, Write};

use onoff_blame::logged_facts::LoggedFact;

use crate::text::quantity::counted;
use crate::text::style::{HEADLINE, QUIET};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// Writes why there is no critical path, then the records.
pub(super) fn write(facts: &[LoggedFact], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}Event logs do not record threads, so there is no critical path.{HEADLINE:#}")?;
    writeln!(out, "{QUIET}To get one, record the boot: 'onoff record boot'.{QUIET:#}")?;
    section::text::write(&section(facts), out)
}

fn section(facts: &[LoggedFact]) -> Section<'_> {
    let duration = |ns: Option<i64>| match ns {
        Some(ns) => Value::Duration(ns).into(),
        None => Cell::with_display_text(Value::Unknown, ""),
    };
    Section::builder("logged_facts", "In the event logs", facts)
        .note(counted(facts.len() as u64, "record"))
        .name("kind", "what", 24, |fact| Cell::with_display_text(Value::text(fact.kind), what(fact.kind)))
        .name("name", "name", 48, |fact| Value::text(&fact.name))
        .quantity("duration_ns", "took", move |fact| duration(fact.duration_ns))
        .quantity("excess_ns", "over allowance", move |fact| duration(fact.excess_ns))
        .time("start_ns", "start", |fact| Cell::since_or_dash(fact.start_ns, 0))
        .name("detail", "detail", 32, |fact| Cell::with_display_text(Value::text(&fact.detail), detail(fact)))
        .data("event", |fact| Value::text(&fact.event))
        .build()
}

/// Returns the kind in the words of the boot's report.
fn what(kind: &str) -> String {
    match kind {
        "reported_delay" => "reported by Windows".to_owned(),
        "service_failure" => "failed service".to_owned(),
        "startup_application" => "startup program".to_owned(),
        "notification_subscriber" => "session subscriber".to_owned(),
        "group_policy" => "Group Policy".to_owned(),
        "group_policy_extension" => "policy extension".to_owned(),
        "group_policy_script" => "policy script".to_owned(),
        "group_policy_network_wait" => "wait for network".to_owned(),
        "credential_request" => "wait for user".to_owned(),
        kind => kind.replace('_', " "),
    }
}

fn detail(fact: &LoggedFact) -> String {
    match fact.kind {
        "notification_subscriber" => format!("notification {}", fact.detail),
        "reported_delay" | "service_failure" => fact.detail.replace('_', " "),
        _ => fact.detail.clone(),
    }
}
