//! The head of a page: what identifies the report, and the zone of its times.

use crate::fields::{LocalClock, utc_offset_minutes};
use crate::rows::Row;
use crate::tables::Tag;
use crate::{Report, ReportKind};

/// Maximum number of values in the table at the start of a page; it has up to seven.
const MAX_VALUES: usize = 64;

/// The head of a page as far as it was read.
#[derive(Default)]
pub(crate) struct PageHead {
    utc_offset_minutes: Option<i32>,
    /// Values of the table at the start: computer, model, firmware, build, role, and at the end the time of the report.
    values: Vec<String>,
}

impl PageHead {
    /// Reads the zone from the tag that has it.
    pub(crate) fn on_tag(&mut self, tag: Tag<'_>) {
        if tag.name == "meta" && tag.attribute("name") == Some("ReportUtcOffset") {
            self.utc_offset_minutes = tag.attribute("content").and_then(utc_offset_minutes);
        }
    }

    /// Reads a row of the table at the start; false if the row has no label.
    pub(crate) fn on_row(&mut self, row: &Row<'_>) -> bool {
        let value = row.labeled_value();
        if let Some(value) = value
            && self.values.len() < MAX_VALUES
        {
            self.values.push(value.to_owned());
        }
        value.is_some()
    }

    /// Converts a time of the local clock to ns since 1970-01-01 UTC, if the page has its zone.
    pub(crate) fn unix_ns(&self, local_ns: i64) -> i64 {
        local_ns.saturating_sub(i64::from(self.utc_offset_minutes.unwrap_or(0)) * 60_000_000_000)
    }

    /// Returns a report without sessions. System sleep diagnostics have only the time.
    pub(crate) fn report(&self, kind: ReportKind) -> Report {
        let created_local_ns = self.values.last().and_then(|time| LocalClock::default().time_ns(time));
        let has_system = self.values.len() > 1;
        let value = |index: usize| self.values.get(index).filter(|_| has_system).cloned().unwrap_or_default();
        Report {
            kind,
            created_unix_ns: created_local_ns.map(|time| self.unix_ns(time)),
            utc_offset_minutes: self.utc_offset_minutes,
            is_local_time: self.utc_offset_minutes.is_none(),
            computer: value(0),
            model: value(1),
            firmware: value(2),
            os_build: self.values.iter().find(|value| value.contains("fre.")).cloned().unwrap_or_default(),
            ..Report::default()
        }
    }
}
