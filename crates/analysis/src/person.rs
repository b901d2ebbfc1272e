//! When the computer waited for a person: requests for credentials, each in its session.

use onoff_order::InOrder;
use onoff_trace::{Activity, ActivityKind, Lives, Trace};

use crate::interval::covered_ns;
use crate::processes::runs;

/// Start and end of a request for credentials that ended, ns, and its session where that is known.
pub(crate) type CredentialRequest = (i64, i64, Option<u32>);

/// The requests that ended, by start.
pub(crate) fn credential_requests(trace: &Trace) -> Vec<CredentialRequest> {
    let lives = trace.lives();
    let mut requests: Vec<CredentialRequest> = trace
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::CredentialRequest)
        .filter_map(|row| Some((row.start_ns, row.end_ns?, session(trace, &lives, &row))))
        .filter(|(start, end, _)| start < end)
        .collect();
    requests.order();
    requests
}

/// The session of an activity: as recorded, else that of its process.
fn session(trace: &Trace, lives: &Lives, row: &Activity) -> Option<u32> {
    let process = row.pid.and_then(|pid| lives.process(pid, row.start_ns));
    row.session.or_else(|| trace.processes.get(process?.row())?.session)
}

/// The requests in the session that gets its desktop in a stretch, from `window.0` to `window.1` ns, as far as they lie in it: `shell` is
/// the image name of its shell. Where nothing says which session that is, all count.
pub(crate) fn before_desktop(trace: &Trace, shell: &str, window: (i64, i64)) -> Vec<(i64, i64)> {
    let shells = trace.processes.iter().filter(|process| runs(trace, process, shell));
    let started = shells.filter_map(|process| Some((process.start_ns?, process.session)));
    let first = started.filter(|&(start, _)| start >= window.0 && start <= window.1).min_by_key(|&(start, _)| start);
    let desktop = first.and_then(|(_, session)| session);
    let is_its = |request: &CredentialRequest| desktop.is_none() || request.2.is_none() || request.2 == desktop;
    let its = credential_requests(trace).into_iter().filter(is_its);
    its.map(|(start, end, _)| (start.max(window.0), end.min(window.1))).filter(|(start, end)| start < end).collect()
}

/// How long a person was waited for in these requests, ns, counted once where they overlap.
pub(crate) fn waited_ns(requests: &[(i64, i64)]) -> i64 {
    covered_ns(requests.to_vec(), (i64::MIN, i64::MAX))
}
