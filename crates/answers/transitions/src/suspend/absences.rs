//! Intervals in which no user was present, and the availability requests that kept the computer from sleeping in them.

use std::cmp::Reverse;

use hashbrown::HashMap;
use onoff_evidence::interval::union;
use onoff_trace::{AbsenceOutcome, AvailabilityRequestKind, PowerSession, PowerSessionKind, StringId, Trace};
use serde::Serialize;

use super::power_report::is_sleep;

/// Maximum number of programs and devices; those with the longest requests are kept. Reports have about ten.
const MAX_REQUESTERS: usize = 1000;

/// An interval in which no user was present.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserAbsence {
    /// What the computer did.
    pub outcome: AbsenceOutcome,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Wall-clock start, ns since 1970-01-01 UTC; `None` if the zone is not recorded.
    pub start_unix_ns: Option<i64>,
    /// Duration, ns.
    pub duration_ns: i64,
    /// Time until the computer slept, hibernated or shut down, ns; the whole interval if it stayed on. `None` if it
    /// slept and the time is not recorded.
    pub awake_ns: Option<i64>,
    /// Programs and devices with requests that keep a computer from sleeping, longest first.
    pub requesters: Vec<AwakeRequester>,
}

/// A program or device that kept the computer from sleeping while no user was present.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AwakeRequester {
    /// Path of the program, or name of the device.
    pub name: String,
    /// Time with an active request before the computer slept, ns.
    pub active_ns: i64,
    /// Its share of the time before the computer slept, percent.
    pub active_percent: f64,
}

impl AwakeRequester {
    /// True if the requester is a program, not a device or a driver.
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.name.to_ascii_lowercase().ends_with(".exe")
    }
}

/// Returns the intervals without a user in `trace`, by start. Only system sleep diagnostics have them.
#[must_use]
pub fn user_absences(trace: &Trace) -> Vec<UserAbsence> {
    let mut rows: Vec<onoff_trace::UserAbsence> = trace.user_absences.iter().collect();
    rows.sort_by_key(|row| (row.start_ns, row.end_ns));
    // No user is absent twice at a time: of overlapping intervals, the first is kept.
    let mut last_end_ns = i64::MIN;
    rows.retain(|row| {
        let is_new = row.start_ns >= last_end_ns;
        last_end_ns = last_end_ns.max(row.end_ns);
        is_new
    });
    let mut sleeps: Vec<PowerSession> = trace.power_sessions.iter().filter(is_off).collect();
    sleeps.sort_by_key(|session| session.start_ns);
    let mut absences: Vec<UserAbsence> = rows
        .iter()
        .map(|row| {
            let duration_ns = row.end_ns.saturating_sub(row.start_ns);
            let awake_ns = match row.outcome {
                AbsenceOutcome::StayedOn => Some(duration_ns),
                _ => first_sleep_ns(&sleeps, row).map(|start_ns| start_ns.saturating_sub(row.start_ns).max(0)),
            };
            UserAbsence {
                outcome: row.outcome,
                start_ns: row.start_ns,
                end_ns: row.end_ns,
                start_unix_ns: trace.clock.unix_ns(row.start_ns),
                duration_ns,
                awake_ns,
                requesters: Vec::new(),
            }
        })
        .collect();
    for (requester, intervals) in requests_by_requester(trace) {
        add_requester(trace.text(requester), &intervals, &mut absences);
    }
    for absence in &mut absences {
        absence.requesters.sort_by(|a, b| (Reverse(a.active_ns), &a.name).cmp(&(Reverse(b.active_ns), &b.name)));
    }
    absences
}

/// True if the computer did not run in the session.
fn is_off(session: &PowerSession) -> bool {
    is_sleep(session.kind)
        || matches!(
            session.kind,
            PowerSessionKind::Shutdown | PowerSessionKind::AbnormalShutdown | PowerSessionKind::Crash
        )
}

/// Returns the start of the first of `sleeps` that overlaps the interval.
fn first_sleep_ns(sleeps: &[PowerSession], row: &onoff_trace::UserAbsence) -> Option<i64> {
    let first_index = sleeps.partition_point(|session| session.start_ns < row.start_ns);
    let before = first_index.checked_sub(1).and_then(|index| sleeps.get(index));
    let overlapping = before.filter(|session| session.end_ns > row.start_ns);
    let next = sleeps.get(first_index).filter(|session| session.start_ns < row.end_ns);
    overlapping.or(next).map(|session| session.start_ns)
}

/// Returns when each requester had a request that keeps a computer from sleeping. A request to keep the display on is
/// not among them.
fn requests_by_requester(trace: &Trace) -> Vec<(StringId, Vec<(i64, i64)>)> {
    let mut requests: HashMap<StringId, Vec<(i64, i64)>> = HashMap::new();
    for request in trace.availability_requests.iter() {
        if matches!(request.kind, AvailabilityRequestKind::System | AvailabilityRequestKind::Execution) {
            requests.entry(request.requester).or_default().push((request.start_ns, request.end_ns));
        }
    }
    let mut requests: Vec<_> =
        requests.into_iter().map(|(requester, intervals)| (requester, union(intervals))).collect();
    requests.sort_by_cached_key(|(requester, intervals)| {
        let length = |&(start, end): &(i64, i64)| end.saturating_sub(start);
        (Reverse(intervals.iter().map(length).fold(0, i64::saturating_add)), trace.text(*requester).to_owned())
    });
    requests.truncate(MAX_REQUESTERS);
    requests
}

/// Adds a requester, active in the sorted and separate `intervals`, to each of the sorted and separate `absences`.
fn add_requester(name: &str, intervals: &[(i64, i64)], absences: &mut [UserAbsence]) {
    let mut first_index = 0;
    for absence in absences {
        let awake_ns = absence.awake_ns.unwrap_or(absence.duration_ns);
        let until_ns = absence.start_ns.saturating_add(awake_ns);
        while intervals.get(first_index).is_some_and(|&(_, end_ns)| end_ns <= absence.start_ns) {
            first_index += 1;
        }
        let active_ns = intervals
            .iter()
            .skip(first_index)
            .take_while(|&&(start_ns, _)| start_ns < until_ns)
            .map(|&(start_ns, end_ns)| end_ns.min(until_ns).saturating_sub(start_ns.max(absence.start_ns)).max(0))
            .fold(0, i64::saturating_add);
        if active_ns > 0 {
            absence.requesters.push(AwakeRequester {
                name: name.to_owned(),
                active_ns,
                active_percent: active_ns as f64 * 100.0 / awake_ns.max(1) as f64,
            });
        }
    }
}
