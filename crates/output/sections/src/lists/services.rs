//! The list of service starts and stops.

use std::io::{self, Write};

use onoff_lists::services::ServiceList;
use onoff_usage::units::Unit;

use super::{headline, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, counted};

impl TableReport for ServiceList {
    type Row = Unit;

    fn columns(&self) -> Vec<Column<Unit>> {
        let new = Column::<Unit>::new;
        vec![
            new("name", "service", Kind::Name, |row| Value::text(&row.name)).with_width(32),
            new("kind", "change", Kind::Name, |row| Value::text(row.kind.as_str())),
            new("start_ns", "start", Kind::Time, |row| Value::Time(row.start_ns)),
            new("duration_ns", "duration", Kind::Quantity, |row| Value::from_option(row.duration_ns, Value::Duration)),
            new("container_ns", "host process", Kind::Quantity, |row| {
                Value::from_option(row.container_ns, Value::Duration)
            }),
            new("image_load_ns", "image load", Kind::Quantity, |row| {
                Value::from_option(row.image_load_ns, Value::Duration)
            }),
            new("initialization_ns", "initialization", Kind::Quantity, |row| {
                Value::from_option(row.initialization_ns, Value::Duration)
            }),
            new("end_ns", "", Kind::Time, |row| Value::from_option(row.end_ns, Value::Time)),
            new("outcome", "outcome", Kind::Name, |row| Value::text(row.outcome.as_str())),
            new("held_up_total", "blocked", Kind::Quantity, |row| Value::Count(row.held_up_total)),
            new("waited_for", "waited for", Kind::Name, |row| {
                Value::from_option(row.notable_wait(), |dependency| Value::text(&dependency.name))
            })
            .with_width(24),
            new("group", "group", Kind::Name, |row| Value::text(&row.group)).with_width(28),
            new("image", "process", Kind::Name, |row| Value::text(&row.image)).with_width(24),
            new("pid", "pid", Kind::Id, |row| Value::id(row.pid)),
            new("command", "", Kind::Name, |row| Value::text(&row.command)),
        ]
    }

    fn rows(&self) -> &[Unit] {
        &self.services
    }

    fn rows_mut(&mut self) -> &mut Vec<Unit> {
        &mut self.services
    }

    fn empty_message(&self) -> String {
        match self.recorded {
            0 => "no service events were recorded; record the provider Microsoft-Windows-Services".to_owned(),
            recorded => {
                format!("no service start or stop matches (the recording has {})", count(recorded))
            }
        }
    }

    fn write_headline(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let answer = format!("Services: {}", counted(rows as u64, "change"));
        headline(&answer, self.range, out)
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}
