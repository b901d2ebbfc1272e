//! The battery report: pages of `powercfg /batteryreport`.
//!
//! The CSS class of a row of the table "Recent usage" shows that the computer was suspended or on battery, in every
//! language. Only its English label distinguishes modern standby from use.

use crate::fields::{LocalClock, mwh};
use crate::page_head::PageHead;
use crate::rows::{Part, Row, parts};
use crate::usage::{Usage, UsageRow};
use crate::{Error, Report, ReportKind, SessionKind};

/// English labels of states without a CSS class.
const LABELS: [(&str, SessionKind); 2] =
    [("Active", SessionKind::Active), ("Connected standby", SessionKind::ModernStandby)];

#[derive(Default)]
struct Page {
    head: PageHead,
    /// True if the last row separates the design capacity from the full charge capacity.
    is_before_full_capacity: bool,
    full_capacity_mwh: Option<i64>,
    usage: Usage,
    clock: LocalClock,
}

/// Reads a page.
pub(crate) fn read(text: &str) -> Result<Report, Error> {
    let mut page = Page::default();
    for part in parts(text) {
        match part {
            Part::Tag(tag) => page.head.on_tag(tag),
            Part::Heading(_) => {}
            Part::Row(row) => page.on_row(&row),
        }
    }
    if page.usage.len() == 0 {
        return Err(Error::NotAPowerReport);
    }
    if page.usage.is_unknown() {
        return Err(Error::UnknownLanguage);
    }
    let mut report = page.head.report(ReportKind::Battery);
    page.usage.add_sessions(&mut report);
    Ok(report)
}

impl Page {
    fn on_row(&mut self, row: &Row<'_>) {
        if let (Some(state), Some(source)) = (row.text_of("state"), row.text_of("acdc")) {
            let is_suspended = row.has_class("suspend");
            let label = LABELS.iter().find(|(label, _)| *label == state);
            let start_local_ns = row.text_of("dateTime").and_then(|time| self.clock.time_ns(time));
            self.usage.push(UsageRow {
                kind: match label {
                    _ if is_suspended => SessionKind::Suspended,
                    Some(&(_, kind)) => kind,
                    None => SessionKind::Unknown,
                },
                start_unix_ns: start_local_ns.map(|time| self.head.unix_ns(time)),
                on_external_power: (!is_suspended && !source.is_empty()).then(|| !row.has_class("dc")),
                // 0 stands for a capacity that was not read: such a computer would be off.
                capacity_mwh: row.text_of("mw").and_then(mwh).filter(|&mwh| mwh > 0),
                full_capacity_mwh: self.full_capacity_mwh,
            });
        } else if self.usage.len() > 0 {
            // The tables after this one repeat its intervals, or count months.
        } else if !self.head.on_row(row) {
            if self.is_before_full_capacity {
                let capacities = row.cells.iter().skip(1).map(|cell| mwh(&cell.text));
                self.full_capacity_mwh = capacities
                    .reduce(|sum, capacity| sum?.checked_add(capacity?))
                    .flatten()
                    .filter(|&capacity| capacity > 0);
            }
            self.is_before_full_capacity = row.cells.is_empty() && row.tag.attribute("style").is_some();
        }
    }
}
