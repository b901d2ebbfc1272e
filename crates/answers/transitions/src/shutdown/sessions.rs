//! Sessions and their applications: notifications, durations and time-outs.
//!
//! A time-out is not recorded as such. It is *measured* if its consequence was recorded (the process is terminated, or
//! the request is repeated), otherwise *inferred* from the duration.

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, Notification, NotificationKind, Trace};

use super::report::{ApplicationEnd, EndRequest, ProgramKind, SessionEnd, WindowThreadRequest};
use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_usage::owners::file_name;
use onoff_usage::processes::Images;
use onoff_usage::units::{TimeOut, TimeOutKind};

/// Time-out for a GUI or console application to respond, ns (source: the Microsoft paper "Windows On/Off Transition
/// Performance Analysis").
pub const APPLICATION_TIME_OUT_NS: i64 = 5_000_000_000;

/// Time-out for a window to respond to the query in a forced shutdown, ns (same source).
pub const FORCED_QUESTION_NS: i64 = 250_000_000;

/// Time-out for a window to end its session in a forced shutdown, ns (same source).
pub const FORCED_ORDER_NS: i64 = 500_000_000;

/// Resolution of the clock that measures time-outs: a response this much before the time-out still counts as a
/// time-out.
pub(super) const CLOCK_RESOLUTION_NS: i64 = 16_000_000;

/// `STATUS_TIMEOUT`.
const STATUS_TIME_OUT: u32 = 0x102;

/// Maximum number of threads or terminations considered per application; no program has as many windows.
const MAX_ROWS_PER_APPLICATION: usize = 1_024;

/// The process that a row is about: named in the row, or the process that the notifying thread is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Recipient {
    Process(u32),
    NotifiedBy(Option<u32>, Option<u32>),
}

/// Rows of one kind by recipient, ordered by start.
type ByRecipient = HashMap<Recipient, Vec<Notification>>;

/// The rows from which a session's applications are built.
struct Rows {
    /// Notified applications, ordered by start.
    applications: Vec<Notification>,
    /// Requests to GUI threads.
    threads: ByRecipient,
    /// Terminations of processes.
    terminations: ByRecipient,
}

impl Rows {
    fn of(trace: &Trace, from_ns: i64) -> Self {
        let rows = |kind: NotificationKind| -> Vec<Notification> {
            let mut rows: Vec<Notification> =
                trace.notifications.iter().filter(|row| row.kind == kind && row.start_ns >= from_ns).collect();
            rows.sort_by_key(|row| row.start_ns);
            rows
        };
        let by_recipient = |kind| {
            let mut groups = ByRecipient::new();
            for row in rows(kind) {
                let recipient =
                    row.pid.map_or(Recipient::NotifiedBy(row.sender_pid, row.sender_tid), Recipient::Process);
                groups.entry(recipient).or_default().push(row);
            }
            groups
        };
        Self {
            applications: rows(NotificationKind::ApplicationShutdown),
            threads: by_recipient(NotificationKind::ThreadShutdown),
            terminations: by_recipient(NotificationKind::Termination),
        }
    }
}

/// The sessions that ended at or after `from_ns`, ordered by start.
pub(super) fn sessions(trace: &Trace, from_ns: i64) -> Vec<SessionEnd> {
    let rows = Rows::of(trace, from_ns);
    let images = Images::of(trace);
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
    let reported = sessions.len();
    for row in &rows.applications {
        let application = application(trace, &images, &rows, row);
        let of_session = |session: &SessionEnd| session.session == row.session;
        let at = sessions
            .iter()
            .rposition(|session| of_session(session) && session.start_ns <= row.start_ns)
            .or_else(|| sessions.iter().position(of_session));
        let at = at.unwrap_or_else(|| {
            // The session's own records are missing: derive the session from its applications.
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
        if let Some(session) = sessions.get_mut(at) {
            session.applications.push(application);
        }
    }
    for (at, session) in sessions.iter_mut().enumerate() {
        set_totals(trace, session, at >= reported);
    }
    sessions.sort_by_key(|session| session.start_ns);
    sessions
}

/// Sets the fields that are derived from a session's applications.
fn set_totals(trace: &Trace, session: &mut SessionEnd, by_applications: bool) {
    let ends = session.applications.iter().map(|row| row.end_ns);
    if by_applications {
        session.end_ns = ends.max().flatten();
        session.duration_ns = session.end_ns.map(|end| end.saturating_sub(session.start_ns));
    }
    let until = session.end_ns.unwrap_or(trace.duration_ns);
    let mut covered = session.start_ns;
    let mut sum = 0_i64;
    for application in &session.applications {
        let start = application.start_ns.max(covered);
        let end = application.end_ns.unwrap_or(until).min(until);
        if end > start {
            sum = sum.saturating_add(end.saturating_sub(start));
            covered = end;
        }
    }
    session.applications_ns = sum;
    session.other_ns = session.duration_ns.map(|length| length.saturating_sub(sum).max(0));
}

fn application(trace: &Trace, images: &Images<'_>, rows: &Rows, row: &Notification) -> ApplicationEnd {
    let process = row.pid.and_then(|pid| images.row_at(pid, row.start_ns)).and_then(|at| trace.processes.get(at));
    let until = row.end_ns.unwrap_or(i64::MAX);
    let inside = |rows: &ByRecipient| -> Vec<Notification> {
        let groups = [row.pid.map(Recipient::Process), Some(Recipient::NotifiedBy(row.sender_pid, row.sender_tid))];
        let mut found = Vec::new();
        for rows in groups.into_iter().flatten().filter_map(|key| rows.get(&key)) {
            let first = rows.partition_point(|inner| inner.start_ns < row.start_ns);
            let rows = rows.get(first..).unwrap_or_default().iter();
            found.extend(rows.take(MAX_ROWS_PER_APPLICATION).take_while(|inner| inner.start_ns <= until));
        }
        found.sort_by_key(|inner: &Notification| inner.start_ns);
        found
    };
    let requests = inside(&rows.threads);
    let termination = inside(&rows.terminations).first().copied();
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
            time_outs: time_outs(trace, row, program, &requests, termination),
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

/// The time-outs that an application exceeded.
fn time_outs(
    trace: &Trace,
    row: &Notification,
    program: ProgramKind,
    requests: &[Notification],
    termination: Option<Notification>,
) -> Vec<TimeOut> {
    let length = |from: i64, to: Option<i64>| to.unwrap_or(trace.duration_ns).saturating_sub(from);
    let terminated_at = termination.map(|row| row.start_ns);
    let mut found = Vec::new();
    let mut add = |kind, from: i64, limit_ns: i64, certainty, evidence: Reason| {
        found.push(TimeOut {
            kind,
            at_ns: Some(from.saturating_add(limit_ns)),
            limit_ns: Some(limit_ns),
            certainty,
            evidence,
        });
    };
    let mut waited_for_a_window = false;
    for (at, thread) in requests.iter().enumerate() {
        let took = length(thread.start_ns, thread.end_ns);
        let again = requests.iter().skip(at + 1).any(|later| later.tid == thread.tid);
        let forced = waited_for_a_window && requests.iter().take(at).any(|earlier| earlier.tid == thread.tid);
        let timed_out = took >= APPLICATION_TIME_OUT_NS - CLOCK_RESOLUTION_NS;
        if forced && !timed_out {
            let both = FORCED_QUESTION_NS + FORCED_ORDER_NS;
            let limit = [both, FORCED_ORDER_NS, FORCED_QUESTION_NS]
                .into_iter()
                .find(|limit| took >= limit - CLOCK_RESOLUTION_NS);
            if let Some(limit) = limit {
                let (certainty, evidence) = match terminated_at {
                    Some(_) => (Certainty::Measured, Reason::AskedAgainAndTerminated),
                    None => (Certainty::Inferred, Reason::AskedAgain),
                };
                add(TimeOutKind::Forced, thread.start_ns, limit, certainty, evidence);
            }
        } else if timed_out {
            waited_for_a_window = true;
            let (certainty, evidence) = match (again, terminated_at) {
                (true, _) => (Certainty::Measured, Reason::WindowUnresponsiveTwice),
                (false, Some(_)) => (Certainty::Measured, Reason::WindowUnresponsiveAndTerminated),
                _ => (Certainty::Inferred, Reason::WindowUnresponsive),
            };
            add(TimeOutKind::Window, thread.start_ns, APPLICATION_TIME_OUT_NS, certainty, evidence);
        }
    }
    if !waited_for_a_window && length(row.start_ns, row.end_ns) >= APPLICATION_TIME_OUT_NS - CLOCK_RESOLUTION_NS {
        let kind = match program {
            ProgramKind::Console => TimeOutKind::Console,
            _ => TimeOutKind::Application,
        };
        let (certainty, evidence) = match terminated_at {
            Some(at) if at.saturating_sub(row.start_ns) >= APPLICATION_TIME_OUT_NS - CLOCK_RESOLUTION_NS => {
                (Certainty::Measured, Reason::TerminatedAfterNotification)
            }
            _ if row.status == Some(STATUS_TIME_OUT) => (Certainty::Measured, Reason::TimeOutStatus),
            _ => (Certainty::Inferred, Reason::Unresponsive),
        };
        // Windows that respond slowly one after another do not exceed a time-out. In the system session, the service
        // manager responds when its services have stopped.
        let responds_late = program == ProgramKind::Window || row.session == Some(0);
        if !responds_late || certainty == Certainty::Measured {
            add(kind, row.start_ns, APPLICATION_TIME_OUT_NS, certainty, evidence);
        }
    }
    found
}
