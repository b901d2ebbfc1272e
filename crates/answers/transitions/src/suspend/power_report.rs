//! What a power report says about a sleep: reasons, energy, and what kept the computer out of its low-power state.

use onoff_trace::{PowerSession, PowerSessionKind, Trace};

use super::report::{LowPowerBlocker, SleepEnergy};
use onoff_usage::asleep::cycles::Cycle;

/// The sleeps in a power report, by start.
pub(super) struct PowerReport {
    sleeps: Vec<PowerSession>,
    blockers: Vec<onoff_trace::LowPowerBlocker>,
}

/// What the report says about one sleep.
#[derive(Default)]
pub(super) struct ReportedSleep {
    pub enter_reason: String,
    pub exit_reason: String,
    pub energy: Option<SleepEnergy>,
    pub blockers: Vec<LowPowerBlocker>,
    /// Wall-clock start and end of the session, ns since 1970-01-01 UTC.
    pub interval: Option<(i64, i64)>,
}

/// True if the computer slept or hibernated in a session of this kind, also for a fast startup.
pub(super) const fn is_sleep(kind: PowerSessionKind) -> bool {
    matches!(
        kind,
        PowerSessionKind::ModernStandby
            | PowerSessionKind::Sleep
            | PowerSessionKind::HybridSleep
            | PowerSessionKind::Hibernate
            | PowerSessionKind::Suspended
            | PowerSessionKind::HybridShutdown
    )
}

impl PowerReport {
    pub(super) fn from_trace(trace: &Trace) -> Self {
        let mut sleeps: Vec<PowerSession> =
            trace.power_sessions.iter().filter(|session| is_sleep(session.kind)).collect();
        sleeps.sort_by_key(|session| session.start_ns);
        let mut blockers: Vec<_> = trace.low_power_blockers.iter().collect();
        blockers.sort_by_key(|blocker| (blocker.session_start_ns, std::cmp::Reverse(blocker.active_ns)));
        Self { sleeps, blockers }
    }

    /// Returns what the report says about the sleep that starts with `cycle`.
    pub(super) fn sleep(&self, trace: &Trace, cycle: &Cycle) -> ReportedSleep {
        let first_index = self.sleeps.partition_point(|session| session.start_ns < cycle.first_ns);
        let session = self
            .sleeps
            .iter()
            .skip(first_index)
            .take_while(|session| session.start_ns == cycle.first_ns)
            .find(|session| (session.kind == PowerSessionKind::ModernStandby) == cycle.standby.is_some());
        let Some(session) = session else { return ReportedSleep::default() };
        let length_ns = session.end_ns.saturating_sub(session.start_ns);
        let first_index = self.blockers.partition_point(|blocker| blocker.session_start_ns < session.start_ns);
        let blockers = self
            .blockers
            .iter()
            .skip(first_index)
            .take_while(|blocker| blocker.session_start_ns == session.start_ns)
            .filter(|_| cycle.standby.is_some());
        ReportedSleep {
            enter_reason: trace.text(session.enter_reason).to_owned(),
            exit_reason: trace.text(session.exit_reason).to_owned(),
            energy: energy(session),
            interval: trace.clock.unix_ns(session.start_ns).zip(trace.clock.unix_ns(session.end_ns)),
            blockers: blockers
                .map(|blocker| LowPowerBlocker {
                    name: trace.text(blocker.name).to_owned(),
                    kind: blocker.kind,
                    active_ns: blocker.active_ns,
                    active_percent: percent(blocker.active_ns, length_ns),
                })
                .collect(),
        }
    }
}

fn percent(part: i64, total: i64) -> f64 {
    if total > 0 { part as f64 / total as f64 * 100.0 } else { 0.0 }
}

fn energy(session: &PowerSession) -> Option<SleepEnergy> {
    const HOUR_NS: f64 = 3_600e9;
    /// Minimum time for an average power, ns. Many batteries report their charge in steps of 1 %.
    const MIN_RATE_NS: i64 = 600_000_000_000;
    let (start, end, full) = (session.start_capacity_mwh?, session.end_capacity_mwh?, session.full_capacity_mwh?);
    let change_mwh = end.saturating_sub(start);
    let length_ns = session.end_ns.saturating_sub(session.start_ns);
    Some(SleepEnergy {
        power_source: session.power_source,
        start_capacity_mwh: start,
        end_capacity_mwh: end,
        full_capacity_mwh: full,
        change_mwh,
        change_percent: percent(change_mwh, full),
        rate_mw: (length_ns >= MIN_RATE_NS && change_mwh != 0)
            .then(|| change_mwh as f64 / (length_ns as f64 / HOUR_NS)),
    })
}
