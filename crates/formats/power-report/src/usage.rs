//! Recent usage in a battery report: a row for each change of state or power source, and a last row for the report
//! itself. A state ends where the next row starts.

use crate::{MAX_SESSIONS, Report, Session, SessionKind};

/// A row of the recent usage.
pub(crate) struct UsageRow {
    pub(crate) kind: SessionKind,
    pub(crate) start_unix_ns: Option<i64>,
    pub(crate) on_external_power: Option<bool>,
    pub(crate) capacity_mwh: Option<i64>,
    pub(crate) full_capacity_mwh: Option<i64>,
}

/// The rows of a report as far as they were read.
#[derive(Default)]
pub(crate) struct Usage {
    rows: Vec<UsageRow>,
    unreadable: u64,
}

impl Usage {
    pub(crate) fn push(&mut self, row: UsageRow) {
        // One more than the sessions, for the row of the report itself.
        if self.rows.len() > MAX_SESSIONS {
            self.unreadable += 1;
        } else {
            self.rows.push(row);
        }
    }

    /// Returns the number of rows that were kept.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if the states of all rows are unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        let states = self.rows.split_last().map(|(_, states)| states).unwrap_or_default();
        !states.is_empty() && states.iter().all(|row| row.kind == SessionKind::Unknown)
    }

    /// Adds a session for each state to `report`. A modern standby with several rows, because the power source changed,
    /// is one session.
    pub(crate) fn add_sessions(&self, report: &mut Report) {
        report.unreadable_sessions += self.unreadable;
        // True if the row before was read as a modern standby.
        let mut is_standby_open = false;
        for (number, (row, next)) in (1..).zip(self.rows.iter().zip(self.rows.iter().skip(1))) {
            let interval = row.start_unix_ns.zip(next.start_unix_ns).filter(|(start, end)| start <= end);
            let Some((start_ns, end_ns)) = interval else {
                report.unreadable_sessions += 1;
                is_standby_open = false;
                continue;
            };
            let duration_ns = end_ns.saturating_sub(start_ns);
            let is_standby = row.kind == SessionKind::ModernStandby;
            match report.sessions.last_mut().filter(|_| is_standby && is_standby_open) {
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
                    full_capacity_mwh: row.full_capacity_mwh,
                    ..Session::new(row.kind, start_ns, duration_ns)
                }),
            }
            is_standby_open = is_standby;
        }
    }
}
