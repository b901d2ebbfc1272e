//! The battery report: pages of `powercfg /batteryreport`.
//!
//! The table "Recent usage" has a row for each change of state or power source, and a last row for the report itself. A
//! state ends where the next row starts. The CSS class of a row shows that the computer was suspended or on battery, in
//! every language. Only its English label distinguishes modern standby from use.

use crate::fields::{LocalClock, mwh, utc_offset_minutes};
use crate::page_tables::MAX_HEADER;
use crate::rows::{Part, Row, parts};
use crate::{Error, MAX_SESSIONS, Report, ReportKind, Session, SessionKind};

/// English labels of states without a CSS class.
const LABELS: [(&str, SessionKind); 2] =
    [("Active", SessionKind::Active), ("Connected standby", SessionKind::ModernStandby)];

/// A row of the table "Recent usage".
struct UsageRow {
    kind: SessionKind,
    start_local_ns: Option<i64>,
    on_external_power: Option<bool>,
    capacity_mwh: Option<i64>,
}

#[derive(Default)]
struct Page {
    utc_offset_minutes: Option<i32>,
    /// Values of the table at the start: computer, model, firmware, build, role, modern standby, time of the report.
    header: Vec<String>,
    /// True if the last row separates the design capacity from the full charge capacity.
    is_before_full_capacity: bool,
    full_capacity_mwh: Option<i64>,
    rows: Vec<UsageRow>,
    clock: LocalClock,
    unreadable: u64,
}

/// Reads a page.
pub(crate) fn read(text: &str) -> Result<Report, Error> {
    let mut page = Page::default();
    for part in parts(text) {
        match part {
            Part::Tag(tag) if tag.name == "meta" && tag.attribute("name") == Some("ReportUtcOffset") => {
                page.utc_offset_minutes = tag.attribute("content").and_then(utc_offset_minutes);
            }
            Part::Tag(_) => {}
            Part::Row(row) => page.on_row(&row),
        }
    }
    if page.rows.is_empty() {
        return Err(Error::NotAPowerReport);
    }
    let states = page.rows.split_last().map(|(_, rows)| rows).unwrap_or_default();
    if !states.is_empty() && states.iter().all(|row| row.kind == SessionKind::Unknown) {
        return Err(Error::UnknownLanguage);
    }
    Ok(page.report())
}

impl Page {
    fn on_row(&mut self, row: &Row<'_>) {
        if let (Some(state), Some(source)) = (row.text_of("state"), row.text_of("acdc")) {
            if self.rows.len() > MAX_SESSIONS {
                self.unreadable += 1;
                return;
            }
            let is_suspended = row.has_class("suspend");
            let label = LABELS.iter().find(|(label, _)| *label == state);
            self.rows.push(UsageRow {
                kind: match label {
                    _ if is_suspended => SessionKind::Suspended,
                    Some(&(_, kind)) => kind,
                    None => SessionKind::Unknown,
                },
                start_local_ns: row.text_of("dateTime").and_then(|time| self.clock.time_ns(time)),
                on_external_power: (!is_suspended && !source.is_empty()).then(|| !row.has_class("dc")),
                // 0 stands for a capacity that was not read: such a computer would be off.
                capacity_mwh: row.text_of("mw").and_then(mwh).filter(|&mwh| mwh > 0),
            });
        } else if !self.rows.is_empty() {
            // The tables after this one repeat its intervals, or count months.
        } else if let Some(value) = row.labeled_value() {
            if self.header.len() < MAX_HEADER {
                self.header.push(value.to_owned());
            }
        } else {
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

    fn report(self) -> Report {
        let offset_ns = i64::from(self.utc_offset_minutes.unwrap_or(0)) * 60_000_000_000;
        let header = |index: usize| self.header.get(index).cloned().unwrap_or_default();
        let created = self.header.last().and_then(|time| LocalClock::default().time_ns(time)?.checked_sub(offset_ns));
        let mut report = Report {
            kind: ReportKind::Battery,
            created_unix_ns: created,
            utc_offset_minutes: self.utc_offset_minutes,
            is_local_time: self.utc_offset_minutes.is_none(),
            computer: header(0),
            model: header(1),
            firmware: header(2),
            os_build: header(3),
            unreadable_sessions: self.unreadable,
            ..Report::default()
        };
        // True if the row before was read as a modern standby.
        let mut is_standby_open = false;
        for (number, (row, next)) in (1..).zip(self.rows.iter().zip(self.rows.iter().skip(1))) {
            let interval = row.start_local_ns.zip(next.start_local_ns).filter(|(start, end)| start <= end);
            let Some((start_ns, end_ns)) = interval else {
                report.unreadable_sessions += 1;
                is_standby_open = false;
                continue;
            };
            let duration_ns = end_ns.saturating_sub(start_ns);
            let is_standby = row.kind == SessionKind::ModernStandby;
            match report.sessions.last_mut().filter(|_| is_standby && is_standby_open) {
                // The power source changed during the standby.
                Some(standby) => {
                    standby.duration_ns = standby.duration_ns.saturating_add(duration_ns);
                    standby.end_capacity_mwh = next.capacity_mwh;
                    standby.on_external_power =
                        standby.on_external_power.filter(|_| standby.on_external_power == row.on_external_power);
                }
                None => report.sessions.push(Session {
                    number,
                    on_external_power: row.on_external_power,
                    start_capacity_mwh: row.capacity_mwh,
                    end_capacity_mwh: next.capacity_mwh,
                    full_capacity_mwh: self.full_capacity_mwh,
                    ..Session::new(row.kind, start_ns.saturating_sub(offset_ns), duration_ns)
                }),
            }
            is_standby_open = is_standby;
        }
        report
    }
}
