//! Pages of Windows 10, and of Windows 11 before 24H2: the data is in tables.
//!
//! Cells are recognized by their CSS classes. The state of a session is taken from the fields of its events, which have
//! the same names in every language. A session without them is recognized by its English label; in other languages its
//! state is unknown. Energy and time in low power are not read: the pages round them.

use hashbrown::HashMap;

use crate::fields::{LocalClock, hours_ns, text_or_empty};
use crate::page_head::PageHead;
use crate::rows::{Part, Row, parts};
use crate::tables::Tag;
use crate::{KernelTimes, MAX_SESSIONS, Report, ReportKind, Session, SessionKind};

/// Maximum number of fields of a session; sleeps have 20.
const MAX_FIELDS: usize = 256;
/// Prefix of the names of anchors in front of the details of a session.
const ANCHOR: &str = "connected-standby-session-";

/// English labels of states without events.
pub(crate) const LABELS: [(&str, SessionKind); 8] = [
    ("Active", SessionKind::Active),
    ("Screen Off", SessionKind::ScreenOff),
    ("Sleep", SessionKind::ModernStandby),
    ("Hibernate", SessionKind::Hibernate),
    ("Shutdown", SessionKind::Shutdown),
    ("Abnormal Shutdown", SessionKind::AbnormalShutdown),
    ("Bugcheck", SessionKind::Crash),
    ("Bug Check", SessionKind::Crash),
];

/// A row of the table of sessions.
struct SessionRow {
    number: u64,
    start_unix_ns: i64,
    duration_ns: i64,
    label: String,
}

/// What the section of a session adds.
#[derive(Default)]
struct Details {
    enter_reason: String,
    exit_reason: String,
    fields: HashMap<String, String>,
}

#[derive(Default)]
struct Page {
    head: PageHead,
    has_sessions_table: bool,
    rows: Vec<SessionRow>,
    details: HashMap<u64, Details>,
    unreadable: u64,
    clock: LocalClock,
    /// The session whose section is being read.
    current: Option<u64>,
}

/// Reads a page; `None` if it has no table of sessions.
pub(crate) fn read(text: &str) -> Option<Report> {
    let mut page = Page::default();
    for part in parts(text) {
        match part {
            Part::Tag(tag) => page.on_open(tag),
            Part::Heading(_) => {}
            Part::Row(row) => page.on_row(&row),
        }
    }
    page.has_sessions_table.then(|| page.report())
}

impl Page {
    fn on_open(&mut self, tag: Tag<'_>) {
        self.head.on_tag(tag);
        match tag.name {
            "table" if tag.attribute("id") == Some("summary-table") => self.has_sessions_table = true,
            "a" => {
                let number = tag.attribute("name").and_then(|name| name.strip_prefix(ANCHOR)?.parse().ok());
                self.current = number.or(self.current);
            }
            _ => {}
        }
    }

    fn on_row(&mut self, row: &Row<'_>) {
        if let Some(label) = row.text_of("state") {
            match self.session_row(row, label) {
                Some(row) if self.rows.len() < MAX_SESSIONS => self.rows.push(row),
                _ => self.unreadable += 1,
            }
        } else if let (Some(enter), Some(exit), Some(current)) =
            (row.text_of("EntryReason"), row.text_of("ExitReason"), self.current)
        {
            let details = self.details.entry(current).or_default();
            (details.enter_reason, details.exit_reason) = (text_or_empty(enter), text_or_empty(exit));
        } else if let ([name, value], Some(current)) = (&row.cells[..], self.current) {
            let name = name.text.trim();
            let is_field = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let details = self.details.entry(current).or_default();
            if is_field && details.fields.len() < MAX_FIELDS {
                details.fields.entry(name.to_owned()).or_insert_with(|| value.text.trim().to_owned());
            }
        } else if !self.has_sessions_table {
            self.head.on_row(row);
        }
    }

    fn session_row(&mut self, row: &Row<'_>, label: &str) -> Option<SessionRow> {
        Some(SessionRow {
            start_unix_ns: self.head.unix_ns(self.clock.time_ns(row.text_of("dateTime")?)?),
            number: row.cells.first()?.text.trim().parse().ok()?,
            duration_ns: hours_ns(row.text_of("hms")?)?,
            label: label.to_owned(),
        })
    }

    fn report(mut self) -> Report {
        // The last row is the moment of the report.
        if self.rows.last().is_some_and(|row| row.duration_ns == 0) {
            self.rows.pop();
        }
        let mut report = self.head.report(ReportKind::SleepStudy);
        report.unreadable_sessions = self.unreadable;
        for row in &self.rows {
            let details = self.details.remove(&row.number).unwrap_or_default();
            report.sessions.push(session(row, details));
        }
        report
    }
}

fn session(row: &SessionRow, details: Details) -> Session {
    let field = |name: &str| details.fields.get(name).and_then(|value| value.parse::<i64>().ok());
    let (target, effective) = (field("TargetState"), field("EffectiveState"));
    let label = LABELS.iter().find(|(label, _)| *label == row.label).map(|&(_, kind)| kind);
    let kind = SessionKind::from_states(target, effective).or(label).unwrap_or(SessionKind::Unknown);
    let mut session = Session::new(kind, row.start_unix_ns, row.duration_ns);
    session.number = row.number;
    session.target_state = target;
    session.effective_state = effective;
    session.kernel_times = KernelTimes::from_fields(field);
    session.wake_source = details.fields.get("WakeSourceText").map(|text| text_or_empty(text)).unwrap_or_default();
    session.enter_reason = details.enter_reason;
    session.exit_reason = details.exit_reason;
    session
}
