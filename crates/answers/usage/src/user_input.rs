//! Time spent waiting for user input: credential requests, by session. Durations in onoff never include this time.

use onoff_trace::{Activity, ActivityKind, Lifetimes, Trace};

use crate::processes::runs;
use onoff_evidence::interval::covered_ns;

/// Minimum duration of a request that a person responded to, ns: 500 ms. An onoff choice: automatic logon responds
/// within milliseconds, and nobody can read a welcome screen and type in less.
pub(crate) const MIN_USER_RESPONSE_NS: i64 = 500_000_000;

/// Start and end of a credential request, ns, and its session if known.
pub type CredentialRequest = (i64, i64, Option<u32>);

/// Whether a credential request with this start and end waited for a person.
pub const fn waited_for_user(start_ns: i64, end_ns: Option<i64>) -> bool {
    match end_ns {
        Some(end_ns) => end_ns.saturating_sub(start_ns) >= MIN_USER_RESPONSE_NS,
        None => true,
    }
}

/// The credential requests that waited for a person, ordered by start; one without a response lasts until the end of
/// the recording.
pub fn credential_requests(trace: &Trace) -> Vec<CredentialRequest> {
    requests(trace, |row| waited_for_user(row.start_ns, row.end_ns))
}

/// The requests that match `wanted`, ordered by start.
fn requests(trace: &Trace, wanted: impl Fn(&Activity) -> bool) -> Vec<CredentialRequest> {
    let lives = trace.lifetimes();
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

/// The requests in the session whose desktop appears between two times; `shell` is the image name of its shell. If that
/// session is unknown, all requests.
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

/// When the last credential request before a desktop was answered, by a person or automatically, ns.
pub fn logged_on_ns(trace: &Trace, shell: &str, window: (i64, i64)) -> Option<i64> {
    let answered = requests(trace, |row| row.end_ns.is_some());
    let of_session = in_session_of_desktop(trace, answered, shell, window).into_iter();
    of_session
        .filter(|&(start, ..)| start < window.1)
        .map(|(_, end, _)| end.min(window.1))
        .filter(|&end| end > window.0)
        .max()
}

/// The session of an activity, as recorded, otherwise that of its process.
fn session(trace: &Trace, lives: &Lifetimes, row: &Activity) -> Option<u32> {
    let process = row.pid.and_then(|pid| lives.process(pid, row.start_ns));
    row.session.or_else(|| trace.processes.get(process?.row())?.session)
}

/// The intervals in which a transition waited for user input.
#[derive(Clone, Debug, Default)]
pub struct UserInputTime {
    intervals: Vec<(i64, i64)>,
}

impl UserInputTime {
    /// The credential requests in the session whose desktop appears between `window.0` and `window.1` ns, clipped to
    /// that window.
    pub fn before_desktop(trace: &Trace, shell: &str, window: (i64, i64)) -> Self {
        let of_session = in_session_of_desktop(trace, credential_requests(trace), shell, window).into_iter();
        let within = of_session.map(|(start, end, _)| (start.max(window.0), end.min(window.1)));
        Self { intervals: within.filter(|(start, end)| start < end).collect() }
    }

    /// Total time spent waiting for user input, ns; overlaps count once.
    pub fn ns(&self) -> i64 {
        self.within((i64::MIN, i64::MAX))
    }

    /// Time spent waiting for user input between two times, ns.
    pub fn within(&self, window: (i64, i64)) -> i64 {
        covered_ns(self.intervals.clone(), window)
    }
}

/// A duration without the time spent waiting for user input, ns.
pub fn without_user_input(ns: i64, user_input_ns: i64) -> i64 {
    ns.saturating_sub(user_input_ns).max(0)
}
