//! The list of Group Policy steps.

use std::io::{self, Write};

use onoff_evidence::activity::NamedActivity;
use onoff_lists::policy::PolicyList;
use onoff_trace::ActivityKind;

use super::{headline, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, duration};

impl TableReport for PolicyList {
    type Row = NamedActivity;

    fn columns(&self) -> Vec<Column<NamedActivity>> {
        let new = Column::<NamedActivity>::new;
        vec![
            new("kind", "what", Kind::Name, |row| Value::text(kind(row.kind))),
            new("name", "name", Kind::Name, |row| Value::text(&row.name)).with_width(48),
            new("start_ns", "start", Kind::Time, |row| Value::Time(row.start_ns)),
            new("duration_ns", "duration", Kind::Quantity, |row| Value::from_option(row.duration_ns, Value::Duration)),
            new("end_ns", "", Kind::Time, |row| Value::from_option(row.end_ns, Value::Time)),
            new("session", "session", Kind::Id, |row| Value::id(row.session)),
            new("pid", "pid", Kind::Id, |row| Value::id(row.pid)),
            new("detail", "detail", Kind::Name, |row| Value::text(&row.detail)),
            new("event", "", Kind::Name, |row| Value::text(&row.event)),
        ]
    }

    fn rows(&self) -> &[NamedActivity] {
        &self.work
    }

    fn rows_mut(&mut self) -> &mut Vec<NamedActivity> {
        &mut self.work
    }

    fn empty_message_on_linux(&self) -> Option<&'static str> {
        (true).then_some("Group Policy exists only on Windows; this is a Linux recording")
    }

    fn empty_message(&self) -> String {
        match self.recorded {
            0 => "no Group Policy was recorded; record the provider Microsoft-Windows-GroupPolicy".to_owned(),
            recorded => {
                format!("no Group Policy step matches (the recording has {})", count(recorded))
            }
        }
    }

    fn write_headline(&self, _: usize, out: &mut dyn Write) -> io::Result<()> {
        let applied: Vec<String> = self
            .work
            .iter()
            .filter(|step| step.kind == ActivityKind::GroupPolicy)
            .map(|step| match step.duration_ns {
                Some(ns) => format!("{} {}", step.name, duration(ns)),
                None => format!("{} unfinished", step.name),
            })
            .collect();
        let answer = if applied.is_empty() {
            "Group Policy".to_owned()
        } else {
            format!("Group Policy: {}", applied.join(", "))
        };
        headline(&answer, self.range, out)
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

fn kind(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::GroupPolicy => "policy",
        ActivityKind::GroupPolicyExtension => "extension",
        ActivityKind::GroupPolicyScript => "script",
        ActivityKind::GroupPolicyNetworkWait => "network wait",
        kind => kind.as_str(),
    }
}
