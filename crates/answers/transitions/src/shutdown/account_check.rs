//! Compares the phases of a traced shutdown with Windows' own account of the same shutdown.
//!
//! The two divide the shutdown differently: the three parts of Windows' account add up to its total, so they include the
//! time between the phases of the trace. Windows does not document which part includes which interval, so a part that is
//! longer by the whole interval before or after it differs by definition. Any other difference beyond the tolerance is a
//! disagreement; which of the two is right is not known.

use onoff_trace::{AccountSearch, LoggedAccount, ShutdownAccount, Trace};

use super::report::ShutdownReport;
use crate::account_comparison::{AccountComparison, ComparedTime, Pair};
use crate::{PhaseName, Variant};

/// Maximum distance of the start of the shutdown in the logs from that in the trace, ns. The same as for boots; chosen,
/// not measured.
const MAX_START_DISTANCE_NS: i64 = 5_000_000_000;

const START: &str = "Windows and the trace place the start of the shutdown differently";
const BETWEEN_PHASES: &str = "Windows counts the time between the phases as part of one of them";
const TRACE_ENDS: &str = "the trace ends first";

/// Compares the report of a traced shutdown with the account of the logs that accompany the trace. Windows writes no
/// account of a logoff or of the shutdown before a fast startup.
pub(super) fn compare(trace: &Trace, report: &ShutdownReport) -> Option<AccountComparison> {
    if matches!(report.variant, Variant::FastStartup | Variant::Logoff) {
        return None;
    }
    let mut logs = trace.logged_shutdown.clone()?;
    match_start(&mut logs, report.start_ns.unwrap_or(0));
    let account = logs.end.as_ref().and_then(|end| end.account.as_ref());
    let times = account.map(|account| compared_times(report, account, logs.start_difference_ns.unwrap_or(0)));
    Some(AccountComparison::new(logs, times))
}

/// Measures the difference of the starts from the start of the shutdown, and drops a shutdown that starts elsewhere. The
/// first record of a shutdown without an account is later than its start.
fn match_start(logs: &mut LoggedAccount, start_ns: i64) {
    let Some(difference_ns) = logs.start_difference_ns.as_mut() else { return };
    *difference_ns = difference_ns.saturating_sub(start_ns);
    let is_too_late = logs.search == AccountSearch::Found && *difference_ns > MAX_START_DISTANCE_NS;
    if *difference_ns < -MAX_START_DISTANCE_NS || is_too_late {
        logs.search = AccountSearch::NoTransitionNear;
        logs.end = None;
    }
}

fn compared_times(report: &ShutdownReport, account: &ShutdownAccount, start_difference_ns: i64) -> Vec<ComparedTime> {
    let start_of = |name: PhaseName| report.phase(name).and_then(|phase| phase.start_ns);
    let end_of = |name: PhaseName| report.phase(name).and_then(|phase| phase.end_ns);
    let gap = |from_ns: Option<i64>, to_ns: Option<i64>| {
        from_ns.zip(to_ns).map_or(0, |(from_ns, to_ns)| to_ns.saturating_sub(from_ns).max(0))
    };
    let before_user_ns = gap(report.start_ns, start_of(PhaseName::UserSession));
    let before_system_ns = gap(end_of(PhaseName::UserSession), start_of(PhaseName::SystemSession));
    let before_kernel_ns = gap(end_of(PhaseName::SystemSession), start_of(PhaseName::KernelShutdown));
    // An earlier start makes the part and the sum that begin with it longer.
    let earlier_ns = start_difference_ns.saturating_neg();
    let with_gaps = |pair: Pair, before_ns: i64, after_ns: i64| {
        pair.or_by_definition(before_ns, BETWEEN_PHASES)
            .or_by_definition(after_ns, BETWEEN_PHASES)
            .or_by_definition(before_ns.saturating_add(after_ns), BETWEEN_PHASES)
    };
    let phase = |name: PhaseName, windows_ns: i64| {
        let phase = report.phase(name).filter(|phase| phase.start_ns.is_some());
        let certainty = phase.map_or(onoff_evidence::Certainty::Missing, |phase| phase.certainty);
        let pair = Pair::new(name.as_str(), phase.and_then(|phase| phase.duration_ns), Some(windows_ns), certainty);
        match phase {
            Some(phase) => with_recorded_part(pair, phase.recorded_ns),
            None => pair,
        }
    };
    let user = phase(PhaseName::UserSession, account.user_session_ns).or_by_definition(earlier_ns, START);
    let user = with_gaps(user, before_user_ns.saturating_add(earlier_ns), before_system_ns);
    let user = user.or_by_definition(earlier_ns.saturating_add(before_system_ns), BETWEEN_PHASES);
    let system = phase(PhaseName::SystemSession, account.system_session_ns);
    let system = with_gaps(system, before_system_ns, before_kernel_ns);
    let kernel = phase(PhaseName::KernelShutdown, account.kernel_ns);
    let kernel = kernel.or_by_definition(before_kernel_ns, BETWEEN_PHASES);
    let total = Pair::new("total", report.total_ns, Some(account.shutdown_ns), report.total_certainty);
    let total = with_recorded_part(total.or_by_definition(earlier_ns, START), report.total_at_least_ns);
    [user, system, kernel, total].into_iter().map(Pair::compare).collect()
}

/// Handles a time whose end the trace does not have. The recorded part is a lower bound, which only a shorter time of
/// Windows contradicts.
fn with_recorded_part(pair: Pair, recorded_ns: i64) -> Pair {
    if pair.trace_ns.is_some() {
        return pair;
    }
    let part = Pair { trace_ns: Some(recorded_ns), ..pair.clone() };
    if pair.windows_ns.is_some_and(|windows_ns| windows_ns < recorded_ns) && part.clone().compare().is_disagreement() {
        part
    } else {
        Pair { incomparable: Some(TRACE_ENDS), ..pair }
    }
}
