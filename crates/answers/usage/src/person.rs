//! When the computer waited for a person: requests for credentials, each in its session. The rule of every length is here: it is what
//! the computer took, so the time in which a person was waited for is in none of them.

use onoff_trace::{Activity, ActivityKind, Lives, Trace};

use crate::processes::runs;
use onoff_evidence::interval::covered_ns;

/// A request that was answered sooner was answered by nobody, ns: 500 ms. Chosen: automatic logon answers within milliseconds, and no
/// person sees a welcome screen and has typed by then.
pub(crate) const MIN_ANSWER_NS: i64 = 500_000_000;

/// Start and end of a request for credentials, ns, and its session where that is known.
pub type CredentialRequest = (i64, i64, Option<u32>);

/// Whether a request for credentials, from one time to another, waited for a person.
pub const fn is_answered_by_a_person(start_ns: i64, end_ns: Option<i64>) -> bool {
    match end_ns {
        Some(end_ns) => end_ns.saturating_sub(start_ns) >= MIN_ANSWER_NS,
        None => true,
    }
}

/// The requests that waited for a person, by start; one that nobody answered lasts as long as the recording.
pub fn credential_requests(trace: &Trace) -> Vec<CredentialRequest> {
    requests(trace, |row| is_answered_by_a_person(row.start_ns, row.end_ns))
}

/// The wanted requests, by start.
fn requests(trace: &Trace, wanted: impl Fn(&Activity) -> bool) -> Vec<CredentialRequest> {
    let lives = trace.lives();
    let mut requests: Vec<CredentialRequest> = trace
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::CredentialRequest && wanted(row))
        .map(|row| (row.start_ns, row.end_ns.unwrap_or(trace.duration_ns), session(trace, &lives, &row)))
        .filter(|(start, end, _)| start < end)
        .collect();
    requests.sort();
    requests
}

/// Those in the session that gets its desktop between two times: `shell` is the image name of its shell. Where nothing says which session
/// that is, all are.
fn in_session_of_desktop(
    trace: &Trace,
    mut requests: Vec<CredentialRequest>,
    shell: &str,
    window: (i64, i64),
) -> Vec<CredentialRequest> {
    let shells = trace.processes.iter().filter(|process| runs(trace, process, shell));
    let started = shells.filter_map(|process| Some((process.start_ns?, process.session)));
    let first = started.filter(|&(start, _)| start >= window.0 && start <= window.1).min_by_key(|&(start, _)| start);
    let desktop = first.and_then(|(_, session)| session);
    requests.retain(|request| desktop.is_none() || request.2.is_none() || request.2 == desktop);
    requests
}

/// When the last request before a desktop was answered, by a person or by itself, ns.
pub fn logged_on_ns(trace: &Trace, shell: &str, window: (i64, i64)) -> Option<i64> {
    let answered = requests(trace, |row| row.end_ns.is_some());
    let its = in_session_of_desktop(trace, answered, shell, window).into_iter();
    its.filter(|&(start, ..)| start < window.1).map(|(_, end, _)| end.min(window.1)).filter(|&end| end > window.0).max()
}

/// The session of an activity: as recorded, else that of its process.
fn session(trace: &Trace, lives: &Lives, row: &Activity) -> Option<u32> {
    let process = row.pid.and_then(|pid| lives.process(pid, row.start_ns));
    row.session.or_else(|| trace.processes.get(process?.row())?.session)
}

/// The times in which a transition waited for a person.
#[derive(Clone, Debug, Default)]
pub struct PersonTime {
    stretches: Vec<(i64, i64)>,
}

impl PersonTime {
    /// The requests in the session that gets its desktop in a stretch, from `window.0` to `window.1` ns, as far as they lie in it.
    pub fn before_desktop(trace: &Trace, shell: &str, window: (i64, i64)) -> Self {
        let its = in_session_of_desktop(trace, credential_requests(trace), shell, window).into_iter();
        let within = its.map(|(start, end, _)| (start.max(window.0), end.min(window.1)));
        Self { stretches: within.filter(|(start, end)| start < end).collect() }
    }

    /// How long a person was waited for, ns, counted once where requests overlap.
    pub fn ns(&self) -> i64 {
        self.within((i64::MIN, i64::MAX))
    }

    /// The same between two times.
    pub fn within(&self, window: (i64, i64)) -> i64 {
        covered_ns(self.stretches.clone(), window)
    }
}

/// What the computer took of a time in which a person was waited for, ns.
pub fn without_person(ns: i64, person_ns: i64) -> i64 {
    ns.saturating_sub(person_ns).max(0)
}
