//! Measures the time spent waiting for user input: credential requests, by session. Durations in onoff never include
//! this time.

use onoff_trace::{Activity, ActivityKind, Lifetimes, Trace};

use crate::processes::has_image_name;
use onoff_evidence::interval::covered_ns;

/// Minimum duration of a request that a user responded to, ns: 500 ms. This is onoff's choice: automatic logon responds
/// within milliseconds, and nobody can read a welcome screen and type in less time.
pub(crate) const MIN_USER_RESPONSE_NS: i64 = 500_000_000;

/// Start and end of a credential request, ns, and its session if known.
pub type CredentialRequest = (i64, i64, Option<u32>);

/// Returns whether a credential request with this start and end waited for a user.
pub const fn waited_for_user(start_ns: i64, end_ns: Option<i64>) -> bool {
    match end_ns {
        Some(end_ns) => end_ns.saturating_sub(start_ns) >= MIN_USER_RESPONSE_NS,
        None => true,
    }
}

/// Returns the credential requests that waited for a user, ordered by start. A request without a response lasts until
/// the end of the recording.
pub fn credential_requests(trace: &Trace) -> Vec<CredentialRequest> {
    matching_requests(trace, |row| waited_for_user(row.start_ns, row.end_ns))
}

/// Returns the credential requests that match `is_selected`, ordered by start.
fn matching_requests(trace: &Trace, is_selected: impl Fn(&Activity) -> bool) -> Vec<CredentialRequest> {
    let lives = trace.lifetimes();
    let mut requests: Vec<CredentialRequest> = trace
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::CredentialRequest && is_selected(row))
        .map(|row| (row.start_ns, row.end_ns.unwrap_or(trace.duration_ns), session(trace, &lives, &row)))
        .filter(|(start, end, _)| start < end)
        .collect();
    requests.sort();
    requests
}

/// Returns the requests in the session whose desktop appears in a window of time, or all requests if that session is
/// unknown. `shell` is the image name of the session's shell.
fn in_session_of_desktop(
    trace: &Trace,
    mut requests: Vec<CredentialRequest>,
    shell: &str,
    (window_start_ns, window_end_ns): (i64, i64),
) -> Vec<CredentialRequest> {
    let shells = trace.processes.iter().filter(|process| has_image_name(trace, process, shell));
    let starts = shells.filter_map(|process| Some((process.start_ns?, process.session)));
    let first_start =
        starts.filter(|&(start, _)| start >= window_start_ns && start <= window_end_ns).min_by_key(|&(start, _)| start);
    let desktop_session = first_start.and_then(|(_, session)| session);
    requests.retain(|&(_, _, session)| desktop_session.is_none() || session.is_none() || session == desktop_session);
    requests
}

/// Returns when the last credential request before a desktop was answered, by a user or automatically, in ns.
pub fn logon_ns(trace: &Trace, shell: &str, window: (i64, i64)) -> Option<i64> {
    let (window_start_ns, window_end_ns) = window;
    let answered = matching_requests(trace, |row| row.end_ns.is_some());
    let session_requests = in_session_of_desktop(trace, answered, shell, window).into_iter();
    session_requests
        .filter(|&(start, ..)| start < window_end_ns)
        .map(|(_, end, _)| end.min(window_end_ns))
        .filter(|&end| end > window_start_ns)
        .max()
}

/// Returns the recorded session of an activity, otherwise the session of its process.
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
    /// Finds the credential requests in the session whose desktop appears in `window` (start and end, ns), clipped to
    /// the window.
    pub fn before_desktop(trace: &Trace, shell: &str, window: (i64, i64)) -> Self {
        let session_requests = in_session_of_desktop(trace, credential_requests(trace), shell, window).into_iter();
        let (window_start_ns, window_end_ns) = window;
        let clipped = session_requests.map(|(start, end, _)| (start.max(window_start_ns), end.min(window_end_ns)));
        Self { intervals: clipped.filter(|(start, end)| start < end).collect() }
    }

    /// Returns the total time spent waiting for user input, in ns. Overlaps count once.
    pub fn total_ns(&self) -> i64 {
        self.ns_in((i64::MIN, i64::MAX))
    }

    /// Returns the time spent waiting for user input in a window, in ns.
    pub fn ns_in(&self, window: (i64, i64)) -> i64 {
        covered_ns(self.intervals.clone(), window)
    }
}

/// Returns a duration without the time spent waiting for user input, in ns.
pub fn without_user_input(ns: i64, user_input_ns: i64) -> i64 {
    ns.saturating_sub(user_input_ns).max(0)
}
