//! The system sleep diagnostics: pages of `powercfg /systemsleepdiagnostics`.
//!
//! The page lists intervals in which no user was present. The section of each interval has the availability requests
//! that were active in it, below a heading that names the program or device, and the sleeps of the computer. Sleeps are
//! rows of eight columns: start, duration, state, action, reason, number, status, success. Requests are rows of four
//! columns: start, duration, type, token.

use crate::fields::{LocalClock, hours_ns, local_time_ns, text_or_empty};
use crate::page_head::PageHead;
use crate::rows::{Part, Row, parts};
use crate::{
    AbsenceOutcome, AvailabilityRequest, MAX_ABSENCES, MAX_REQUESTS, MAX_SESSIONS, Report, ReportKind, RequestKind,
    Session, SessionKind, UserAbsence,
};

/// Number of columns of the table of sleeps.
const SLEEP_COLUMNS: usize = 8;
/// Number of columns of the tables of requests, and of the table of intervals.
const REQUEST_COLUMNS: usize = 4;

/// Names of `SYSTEM_POWER_STATE` in the page, with the values of sleeps.
const STATES: [(&str, SessionKind, Option<i64>); 5] = [
    ("Sleeping1", SessionKind::Sleep, Some(2)),
    ("Sleeping2", SessionKind::Sleep, Some(3)),
    ("Sleeping3", SessionKind::Sleep, Some(4)),
    ("Hibernate", SessionKind::Hibernate, Some(5)),
    ("Shutdown", SessionKind::Shutdown, None),
];
/// Name of the state of a computer that stayed on.
const WORKING: &str = "Working";

/// Names of the types of requests.
const REQUEST_KINDS: [(&str, RequestKind); 3] =
    [("Display", RequestKind::Display), ("System", RequestKind::System), ("Execution", RequestKind::Execution)];

#[derive(Default)]
struct Page {
    head: PageHead,
    clock: LocalClock,
    /// True after the table of intervals, which the sections of the intervals repeat.
    is_in_sections: bool,
    /// The heading above the current table.
    heading: String,
    sessions: Vec<Session>,
    unreadable_sessions: u64,
    absences: Vec<UserAbsence>,
    requests: Vec<AvailabilityRequest>,
    unreadable_absences: u64,
}

/// Reads a page.
pub(crate) fn read(text: &str) -> Report {
    let mut page = Page::default();
    for part in parts(text) {
        match part {
            Part::Tag(tag) => {
                page.head.on_tag(tag);
                // Sections start with an anchor; the table of intervals has links.
                page.is_in_sections |= tag.name == "a" && tag.attribute("name").is_some();
            }
            Part::Heading(heading) => heading.trim().trim_start_matches('+').trim_start().clone_into(&mut page.heading),
            Part::Row(row) => page.on_row(&row),
        }
    }
    Report {
        sessions: page.sessions,
        unreadable_sessions: page.unreadable_sessions,
        absences: page.absences,
        requests: page.requests,
        unreadable_absences: page.unreadable_absences,
        ..page.head.report(ReportKind::SleepDiagnostics)
    }
}

impl Page {
    fn on_row(&mut self, row: &Row<'_>) {
        let is_timed = row.text_of("percent").is_some();
        match row.cells.len() {
            SLEEP_COLUMNS if is_timed => match self.session(row) {
                Some(session) if self.sessions.len() < MAX_SESSIONS => self.sessions.push(session),
                _ => self.unreadable_sessions += 1,
            },
            REQUEST_COLUMNS if is_timed => match self.request(row) {
                Some(request) if self.requests.len() < MAX_REQUESTS => self.requests.push(request),
                _ => self.unreadable_absences += 1,
            },
            REQUEST_COLUMNS if row.text_of("dateTime").is_some() && !self.is_in_sections => match self.absence(row) {
                Some(absence) if self.absences.len() < MAX_ABSENCES => self.absences.push(absence),
                _ => self.unreadable_absences += 1,
            },
            _ => {
                self.head.on_row(row);
            }
        }
    }

    /// Reads the time that a row of a section starts with.
    fn start_unix_ns(&self, row: &Row<'_>) -> Option<i64> {
        Some(self.head.unix_ns(local_time_ns(row.cells.first()?.text.trim())?))
    }

    /// Reads a row of a table of sleeps.
    fn session(&self, row: &Row<'_>) -> Option<Session> {
        let text = |index: usize| row.cells.get(index).map(|cell| cell.text.trim());
        let state = text(2)?;
        // A computer that did not enter the state was not asleep.
        let is_successful = text(7)? == "1";
        let known = STATES.iter().find(|(name, ..)| *name == state).filter(|_| is_successful);
        let (kind, target_state) = known.map_or((SessionKind::Unknown, None), |&(_, kind, target)| (kind, target));
        Some(Session {
            number: text(5)?.parse().ok()?,
            enter_reason: text_or_empty(text(4)?),
            target_state,
            ..Session::new(kind, self.start_unix_ns(row)?, hours_ns(text(1)?)?)
        })
    }

    /// Reads a row of a table of requests.
    fn request(&self, row: &Row<'_>) -> Option<AvailabilityRequest> {
        let text = |index: usize| row.cells.get(index).map(|cell| cell.text.trim());
        let name = text(2)?;
        let known = REQUEST_KINDS.iter().find(|(known, _)| *known == name);
        Some(AvailabilityRequest {
            requester: self.heading.clone(),
            kind: known.map_or(RequestKind::Other, |&(_, kind)| kind),
            start_unix_ns: self.start_unix_ns(row)?,
            duration_ns: hours_ns(text(1)?)?,
        })
    }

    /// Reads a row of the table of intervals.
    fn absence(&mut self, row: &Row<'_>) -> Option<UserAbsence> {
        let state = row.cells.last()?.text.trim();
        let start_local_ns = self.clock.time_ns(row.text_of("dateTime")?)?;
        Some(UserAbsence {
            start_unix_ns: self.head.unix_ns(start_local_ns),
            duration_ns: hours_ns(row.text_of("hms")?)?,
            outcome: match state {
                WORKING => AbsenceOutcome::StayedOn,
                _ if STATES.iter().any(|(name, ..)| *name == state) => AbsenceOutcome::Slept,
                _ => AbsenceOutcome::Unknown,
            },
        })
    }
}
