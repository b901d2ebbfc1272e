//! Describes how sessions and their applications ended: notifications, durations and timeouts.
//!
//! Timeouts are not recorded as events. A timeout is *measured* if its consequence was recorded (the process was
//! terminated, or the request was repeated), otherwise *inferred* from the duration.

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, Notification, NotificationKind, Trace};

use super::report::{ApplicationEnd, EndRequest, ProgramKind, SessionEnd, WindowThreadRequest};
use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_usage::owners::file_name;
use onoff_usage::processes::Images;
use onoff_usage::units::{TimeOut, TimeOutKind};

/// Timeout for a GUI or console application to respond, ns (source: the Microsoft paper "Windows On/Off Transition
/// Performance Analysis").
pub const APPLICATION_TIME_OUT_NS: i64 = 5_000_000_000;

/// Timeout for a window to respond to the query in a forced shutdown, ns (same source).
pub const FORCED_QUERY_TIME_OUT_NS: i64 = 250_000_000;

/// Timeout for a window to end its session in a forced shutdown, ns (same source).
pub const FORCED_END_TIME_OUT_NS: i64 = 500_000_000;

/// Resolution of the clock that measures timeouts: a response this much before the timeout still counts as a
/// timeout.
pub(super) const CLOCK_RESOLUTION_NS: i64 = 16_000_000;

/// `STATUS_TIMEOUT`.
const STATUS_TIME_OUT: u32 = 0x102;

/// Maximum number of threads or terminations considered per application; no program has as many windows.
const MAX_ROWS_PER_APPLICATION: usize = 1_024;

/// The process that a row is about: either recorded in the row, or the process that the sending thread is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Recipient {
    Process(u32),
    /// Process id and thread id of the sender.
    NotifiedBy(Option<u32>, Option<u32>),
}

/// A row with its index in the table, which is in the order of events, also of those with the same time.
type IndexedRow = (usize, Notification);

/// Rows of one kind by recipient, ordered by start.
type ByRecipient = HashMap<Recipient, Vec<IndexedRow>>;

/// The rows from which a session's applications are built.
struct Rows {
    /// Notified applications, ordered by start.
    applications: Vec<IndexedRow>,
    /// Row indexes of the notified applications by process and by sender, in ascending order.
    application_indexes: HashMap<Recipient, Vec<usize>>,
    /// Requests to GUI threads.
    threads: ByRecipient,
    /// Terminations of processes.
    terminations: ByRecipient,
}

impl Rows {
    fn from_trace(trace: &Trace, from_ns: i64) -> Self {
        let rows = |kind: NotificationKind| -> Vec<IndexedRow> {
            let is_selected = |(_, row): &IndexedRow| row.kind == kind && row.start_ns >= from_ns;
            let mut rows: Vec<IndexedRow> = trace.notifications.iter().enumerate().filter(is_selected).collect();
            rows.sort_by_key(|(_, row)| row.start_ns);
            rows
        };
        let by_recipient = |kind| {
            let mut groups = ByRecipient::new();
            for (index, row) in rows(kind) {
                let recipient =
                    row.pid.map_or(Recipient::NotifiedBy(row.sender_pid, row.sender_tid), Recipient::Process);
                groups.entry(recipient).or_default().push((index, row));
            }
            groups
        };
        let applications = rows(NotificationKind::ApplicationShutdown);
        let mut application_indexes: HashMap<Recipient, Vec<usize>> = HashMap::new();
        for (index, row) in &applications {
            for recipient in recipients(row) {
                application_indexes.entry(recipient).or_default().push(*index);
            }
        }
        for indexes in application_indexes.values_mut() {
            indexes.sort_unstable();
        }
        Self {
            applications,
            application_indexes,
            threads: by_recipient(NotificationKind::ThreadShutdown),
            terminations: by_recipient(NotificationKind::Termination),
        }
    }

    /// Returns the rows about an application, ordered by start.
    fn during(&self, (index, row): &IndexedRow, rows: &ByRecipient) -> Vec<Notification> {
        let end_ns = row.end_ns.unwrap_or(i64::MAX);
        let mut matching_rows = Vec::new();
        for recipient in recipients(row) {
            let Some(rows) = rows.get(&recipient) else { continue };
            let first_index = rows.partition_point(|(_, inner)| inner.start_ns < row.start_ns);
            let later_rows = rows.get(first_index..).unwrap_or_default().iter();
            let started_rows =
                later_rows.take(MAX_ROWS_PER_APPLICATION).take_while(|(_, inner)| inner.start_ns <= end_ns);
            let own_rows = started_rows.filter(|(inner_index, inner)| {
                // One application is notified when the previous one has responded, possibly at the same time.
                let is_at_boundary = inner.start_ns == row.start_ns || inner.start_ns == end_ns;
                match inner.end_ns.filter(|&end_ns| end_ns > inner.start_ns) {
                    Some(_) => inner.start_ns < end_ns,
                    None => !is_at_boundary || self.last_before(recipient, *inner_index) == Some(*index),
                }
            });
            matching_rows.extend(own_rows.map(|(_, inner)| *inner));
        }
        matching_rows.sort_by_key(|inner: &Notification| inner.start_ns);
        matching_rows
    }

    /// Returns when an application responded at the latest: a sender notifies one application after the other.
    fn latest_end_ns(&self, trace: &Trace, (index, row): &IndexedRow) -> i64 {
        row.end_ns.unwrap_or_else(|| {
            let sender = Recipient::NotifiedBy(row.sender_pid, row.sender_tid);
            let indexes = self.application_indexes.get(&sender).map_or(&[][..], Vec::as_slice);
            let next = indexes.get(indexes.partition_point(|application| application <= index));
            let next = next.filter(|_| row.sender_tid.is_some()).and_then(|&next| trace.notifications.get(next));
            next.map_or(trace.duration_ns, |next| next.start_ns)
        })
    }

    /// Returns the index of the application that was notified last before a row.
    fn last_before(&self, recipient: Recipient, index: usize) -> Option<usize> {
        let indexes = self.application_indexes.get(&recipient)?;
        let count = indexes.partition_point(|&application| application < index);
        indexes.get(count.checked_sub(1)?).copied()
    }
}

/// Returns how rows about an application may refer to it.
fn recipients(row: &Notification) -> impl Iterator<Item = Recipient> + use<> {
    let notified_by = Recipient::NotifiedBy(row.sender_pid, row.sender_tid);
    row.pid.map(Recipient::Process).into_iter().chain([notified_by])
}

/// Returns the sessions that ended at or after `from_ns`, ordered by start.
pub(super) fn sessions(trace: &Trace, from_ns: i64) -> Vec<SessionEnd> {
    let rows = Rows::from_trace(trace, from_ns);
    let images = Images::new(trace);
    let mut sessions: Vec<SessionEnd> = trace
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::SessionShutdown && row.start_ns >= from_ns)
        .map(|row| SessionEnd {
            session: row.session,
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
            applications_ns: 0,
            other_ns: None,
            applications: Vec::new(),
            event: trace.text(row.event).to_owned(),
        })
        .collect();
    sessions.sort_by_key(|session| session.start_ns);
    let recorded_count = sessions.len();
    for indexed_row in &rows.applications {
        let (_, row) = indexed_row;
        let application = application(trace, &images, &rows, indexed_row);
        let is_same_session = |session: &SessionEnd| session.session == row.session;
        let latest_index = sessions
            .iter()
            .rposition(|session| is_same_session(session) && session.start_ns <= row.start_ns)
            .or_else(|| sessions.iter().position(is_same_session));
        let index = latest_index.unwrap_or_else(|| {
            // No event of this session was recorded: derive the session from its applications.
            sessions.push(SessionEnd {
                session: row.session,
                start_ns: row.start_ns,
                end_ns: None,
                duration_ns: None,
                applications_ns: 0,
                other_ns: None,
                applications: Vec::new(),
                event: String::new(),
            });
            sessions.len() - 1
        });
        if let Some(session) = sessions.get_mut(index) {
            session.applications.push(application);
        }
    }
    for (index, session) in sessions.iter_mut().enumerate() {
        set_totals(trace, session, index >= recorded_count);
    }
    sessions.sort_by_key(|session| session.start_ns);
    sessions
}

/// Sets the fields that are derived from a session's applications.
fn set_totals(trace: &Trace, session: &mut SessionEnd, is_derived: bool) {
    let ends = session.applications.iter().map(|row| row.end_ns);
    if is_derived {
        session.end_ns = ends.max().flatten();
        session.duration_ns = session.end_ns.map(|end| end.saturating_sub(session.start_ns));
    }
    let end_ns = session.end_ns.unwrap_or(trace.duration_ns);
    let mut covered_until_ns = session.start_ns;
    let mut sum = 0_i64;
    for application in &session.applications {
        let start = application.start_ns.max(covered_until_ns);
        let end = application.end_ns.unwrap_or(end_ns).min(end_ns);
        if end > start {
            sum = sum.saturating_add(end.saturating_sub(start));
            covered_until_ns = end;
        }
    }
    session.applications_ns = sum;
    session.other_ns = session.duration_ns.map(|length| length.saturating_sub(sum).max(0));
}

fn application(trace: &Trace, images: &Images<'_>, rows: &Rows, indexed_row: &IndexedRow) -> ApplicationEnd {
    let (_, row) = indexed_row;
    let process = row.pid.and_then(|pid| images.row_at(pid, row.start_ns)).and_then(|index| trace.processes.get(index));
    let requests = rows.during(indexed_row, &rows.threads);
    let termination = rows.during(indexed_row, &rows.terminations).first().copied();
    let program = match (rows.threads.is_empty(), requests.is_empty()) {
        (_, false) => ProgramKind::Window,
        (true, true) => ProgramKind::Unknown,
        (false, true) => ProgramKind::Console,
    };
    ApplicationEnd {
        name: match process {
            Some(process) => file_name(trace.text(process.image)),
            None => file_name(trace.text(row.name)),
        }
        .to_owned(),
        path: trace.text(row.name).to_owned(),
        pid: row.pid,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
        status: row.status,
        event: trace.text(row.event).to_owned(),
        details: EndRequest {
            process_end_ns: process.and_then(|process| process.end_ns),
            level: row.level,
            flags: row.flags,
            program,
            terminated: termination.is_some(),
            time_outs: time_outs(row, rows.latest_end_ns(trace, indexed_row), program, &requests, termination),
            threads: requests
                .iter()
                .map(|thread| WindowThreadRequest {
                    tid: thread.tid,
                    start_ns: thread.start_ns,
                    end_ns: thread.end_ns,
                    duration_ns: thread.end_ns.map(|end| end.saturating_sub(thread.start_ns)),
                    flags: thread.flags,
                })
                .collect(),
        },
    }
}

/// Returns the timeouts that an application exceeded, which had responded by `latest_end_ns` or never did.
fn time_outs(
    row: &Notification,
    latest_end_ns: i64,
    program: ProgramKind,
    requests: &[Notification],
    termination: Option<Notification>,
) -> Vec<TimeOut> {
    let duration_ns = |start_ns: i64, end_ns: Option<i64>| end_ns.unwrap_or(latest_end_ns).saturating_sub(start_ns);
    let terminated_ns = termination.map(|row| row.start_ns);
    let mut time_outs = Vec::new();
    let mut add = |kind, start_ns: i64, limit_ns: i64, certainty, evidence: Reason| {
        time_outs.push(TimeOut {
            kind,
            at_ns: Some(start_ns.saturating_add(limit_ns)),
            limit_ns: Some(limit_ns),
            certainty,
            evidence,
        });
    };
    let mut window_timed_out = false;
    for (index, thread) in requests.iter().enumerate() {
        let took_ns = duration_ns(thread.start_ns, thread.end_ns);
        let is_asked_again = requests.iter().skip(index + 1).any(|later| later.tid == thread.tid);
        let is_forced = window_timed_out && requests.iter().take(index).any(|earlier| earlier.tid == thread.tid);
        let timed_out = took_ns >= APPLICATION_TIME_OUT_NS - CLOCK_RESOLUTION_NS;
        if is_forced && !timed_out {
            let forced_total_ns = FORCED_QUERY_TIME_OUT_NS + FORCED_END_TIME_OUT_NS;
            let limit = [forced_total_ns, FORCED_END_TIME_OUT_NS, FORCED_QUERY_TIME_OUT_NS]
                .into_iter()
                .find(|limit| took_ns >= limit - CLOCK_RESOLUTION_NS);
            if let Some(limit) = limit {
                let (certainty, evidence) = match terminated_ns {
                    Some(_) => (Certainty::Measured, Reason::AskedAgainAndTerminated),
                    None => (Certainty::Inferred, Reason::AskedAgain),
                };
                add(TimeOutKind::Forced, thread.start_ns, limit, certainty, evidence);
            }
        } else if timed_out {
            window_timed_out = true;
            let (certainty, evidence) = match (is_asked_again, terminated_ns) {
                (true, _) => (Certainty::Measured, Reason::WindowUnresponsiveTwice),
                (false, Some(_)) => (Certainty::Measured, Reason::WindowUnresponsiveAndTerminated),
                _ => (Certainty::Inferred, Reason::WindowUnresponsive),
            };
            add(TimeOutKind::Window, thread.start_ns, APPLICATION_TIME_OUT_NS, certainty, evidence);
        }
    }
    if !window_timed_out && duration_ns(row.start_ns, row.end_ns) >= APPLICATION_TIME_OUT_NS - CLOCK_RESOLUTION_NS {
        let kind = match program {
            ProgramKind::Console => TimeOutKind::Console,
            _ => TimeOutKind::Application,
        };
        let (certainty, evidence) = match terminated_ns {
            Some(time_ns) if time_ns.saturating_sub(row.start_ns) >= APPLICATION_TIME_OUT_NS - CLOCK_RESOLUTION_NS => {
                (Certainty::Measured, Reason::TerminatedAfterNotification)
            }
            _ if row.status == Some(STATUS_TIME_OUT) => (Certainty::Measured, Reason::TimeOutStatus),
            _ => (Certainty::Inferred, Reason::Unresponsive),
        };
        // Several windows that respond slowly in turn do not exceed a timeout. In the system session, the service
        // control manager responds only after its services have stopped.
        let may_respond_late = program == ProgramKind::Window || row.session == Some(0);
        if !may_respond_late || certainty == Certainty::Measured {
            add(kind, row.start_ns, APPLICATION_TIME_OUT_NS, certainty, evidence);
        }
    }
    time_outs
}
