//! The system sleep diagnostics: pages of `powercfg /systemsleepdiagnostics`.
//!
//! The page lists intervals without user input, and in each the sleeps of the computer. Only the sleeps are read. Their
//! table is recognized by its eight columns: start, duration, state, action, reason, number, status, success.

use crate::fields::{LocalClock, hours_ns, local_ns, text_or_empty, utc_offset_minutes};
use crate::rows::{Part, Row, parts};
use crate::{MAX_SESSIONS, Report, ReportKind, Session, SessionKind};

/// Number of columns of the table of sleeps.
const COLUMNS: usize = 8;

/// Names of `SYSTEM_POWER_STATE` in the page, with the values of sleeps.
const STATES: [(&str, SessionKind, Option<i64>); 5] = [
    ("Sleeping1", SessionKind::Sleep, Some(2)),
    ("Sleeping2", SessionKind::Sleep, Some(3)),
    ("Sleeping3", SessionKind::Sleep, Some(4)),
    ("Hibernate", SessionKind::Hibernate, Some(5)),
    ("Shutdown", SessionKind::Shutdown, None),
];

/// Reads a page.
pub(crate) fn read(text: &str) -> Report {
    let mut report = Report { kind: ReportKind::SleepDiagnostics, is_local_time: true, ..Report::default() };
    let mut created_local_ns = None;
    for part in parts(text) {
        match part {
            Part::Tag(tag) if tag.name == "meta" && tag.attribute("name") == Some("ReportUtcOffset") => {
                report.utc_offset_minutes = tag.attribute("content").and_then(utc_offset_minutes);
            }
            Part::Tag(_) => {}
            Part::Row(row) if row.cells.len() == COLUMNS && row.text_of("percent").is_some() => match session(&row) {
                Some(session) if report.sessions.len() < MAX_SESSIONS => report.sessions.push(session),
                _ => report.unreadable_sessions += 1,
            },
            Part::Row(row) => {
                let time = row.labeled_value().and_then(|time| LocalClock::default().time_ns(time));
                created_local_ns = created_local_ns.or(time);
            }
        }
    }
    let offset_ns = i64::from(report.utc_offset_minutes.unwrap_or(0)) * 60_000_000_000;
    report.is_local_time = report.utc_offset_minutes.is_none();
    report.created_unix_ns = created_local_ns.and_then(|time| time.checked_sub(offset_ns));
    for session in &mut report.sessions {
        session.start_unix_ns = session.start_unix_ns.saturating_sub(offset_ns);
    }
    report
}

/// Reads a row of the table of sleeps; its time is that of the local clock.
fn session(row: &Row<'_>) -> Option<Session> {
    let text = |index: usize| row.cells.get(index).map(|cell| cell.text.trim());
    let (date, time) = text(0)?.split_once('T')?;
    let state = text(2)?;
    // A computer that did not enter the state was not asleep.
    let is_successful = text(7)? == "1";
    let known = STATES.iter().find(|(name, ..)| *name == state).filter(|_| is_successful);
    let (kind, target_state) = known.map_or((SessionKind::Unknown, None), |&(_, kind, target)| (kind, target));
    Some(Session {
        number: text(5)?.parse().ok()?,
        enter_reason: text_or_empty(text(4)?),
        target_state,
        ..Session::new(kind, local_ns(date, time)?, hours_ns(text(1)?)?)
    })
}
