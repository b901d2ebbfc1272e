//! Time accounts: divides each phase, without gap or overlap, among the subjects that took the time.
//!
//! A phase with a critical path is divided along it: every moment belongs to the innermost subject in the chain of
//! waits, i.e. a driver with its request, a service, a script, a program, or whatever occupied the processors. The time
//! after the desktop or a resume has no path; there the load measured by the idle rule is divided, slice by slice.
//! Entries sum to the phase to the nanosecond; unattributed time is an entry with the reason.
//!
//! ```
//! use onoff_blame::account::AccountBuilder;
//! use onoff_blame::waits::Waits;
//! use onoff_evidence::Interval;
//! use onoff_trace::Trace;
//!
//! let trace = Trace { duration_ns: 12_000_000, ..Trace::default() };
//! let waits = Waits::new(&trace);
//! let account = AccountBuilder::new(&waits).path(Interval::new(0, 12_000_000), None);
//! assert_eq!(account.entries.iter().map(|entry| entry.ns).sum::<i64>(), account.duration_ns);
//! assert_eq!(account.unknown_ns, 12_000_000);
//! ```

mod culprits;
mod disks;
mod ledger;
mod path;
mod processors;
mod recorded;
mod slices;
mod subject_resolver;
#[cfg(test)]
mod tests;
mod work;

use onoff_trace::{StringId, SystemKind, Trace};
use serde::Serialize;

pub use culprits::{
    MAX_NORMAL_PHASE_NS, MAX_NORMAL_SETTLING_NS, MIN_DISK_CULPRIT_NS, MIN_SLEEP_CULPRIT_NS, SubjectTime, VIDEO_DRIVERS,
    culprits, culprits_of, is_system_component, is_system_component_name, subject_times,
};
pub use processors::silent_intervals;
pub use work::{Interruption, NamedSubject, ThreadWork, WorkSubject};

use crate::waits::{self, EndThread, RawStep, RecordedPhases, TransitionPhase, Waits, WalkResult};
use ledger::{Attribution, Ledger, Part, Subject};
use onoff_evidence::Certainty;
pub use onoff_evidence::account_model::{
    AccountAction, AccountEntry, AccountInterval, AccountMeasure, AccountSubjectKind, ActionShare, Culprit,
    CulpritPhase, DriverRequests, FileReader, FixFirst, PhaseAccount, UnknownReason,
};
use onoff_evidence::interval::Interval;
use onoff_evidence::phase_name::SETTLING_PHASES;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_usage::cpu;
use onoff_usage::devices;
use onoff_usage::idle::{self, IdleMetric, Settling};
use onoff_usage::owners::Owners;
use path::PathDivider;
use recorded::RecordedWork;
use subject_resolver::SubjectResolver;

/// Computes accounts for one recording. Build it once and reuse it.
#[derive(Debug)]
pub struct AccountBuilder<'w, 't> {
    trace: &'t Trace,
    waits: &'w Waits<'t>,
    resolver: SubjectResolver<'t>,
    divider: PathDivider<'t>,
    owners: Owners,
    recorded: Option<RecordedWork>,
}

impl<'w, 't> AccountBuilder<'w, 't> {
    /// Creates a builder. `waits` should be built from [`crate::waits::TABLES`].
    #[must_use]
    pub fn new(waits: &'w Waits<'t>) -> Self {
        let trace = waits.trace();
        Self {
            trace,
            waits,
            resolver: SubjectResolver::new(trace),
            divider: PathDivider::new(trace),
            owners: Owners::from_trace(trace),
            recorded: None,
        }
    }

    /// Returns the account of `range` along its critical path from `end`, by default the thread that logged the record
    /// at the end of the range. Time without context switches is divided by recorded work.
    pub fn path(&mut self, range: Interval, end: Option<&EndThread>) -> PhaseAccount {
        let recording_ns = self.trace.duration_ns.max(0);
        let start_ns = range.start_ns.clamp(0, recording_ns);
        let end_ns = range.end_ns.clamp(start_ns, recording_ns);
        let mut ledger = Ledger::default();
        let switch_interval = match self.trace.system.kind {
            // On Linux the kernel is known to run before its first switch.
            SystemKind::Linux => Some((start_ns, end_ns)).filter(|&interval| self.waits.has_switches(interval)),
            _ => switch_interval(self.trace)
                .map(|(path_start_ns, path_end_ns)| (path_start_ns.max(start_ns), path_end_ns.min(end_ns)))
                .filter(|(path_start_ns, path_end_ns)| path_start_ns < path_end_ns),
        };
        let (path_start_ns, path_end_ns) = switch_interval.unwrap_or((end_ns, end_ns));
        self.recorded_work((path_end_ns, end_ns), &mut ledger);
        if path_start_ns < path_end_ns {
            let default_end;
            let end = match end {
                Some(end) => end,
                None => {
                    default_end = self.waits.end_at(path_end_ns);
                    &default_end
                }
            };
            if end.tid.is_some() {
                let walk = self.waits.walk_back((path_start_ns, path_end_ns), end);
                let waits = self.waits;
                let blocking_service = |step: &RawStep| waits.blocking_service(step);
                self.divider.divide(self.waits, &mut self.resolver, &walk, &blocking_service, &mut ledger);
            } else {
                self.recorded_work((path_start_ns, path_end_ns), &mut ledger);
            }
        }
        self.recorded_work((start_ns, path_start_ns), &mut ledger);
        let measure =
            if path_start_ns < path_end_ns { AccountMeasure::CriticalPath } else { AccountMeasure::RecordedWork };
        self.with_requests(ledger.finish(&self.resolver.subjects, (start_ns, end_ns), measure))
    }

    /// Returns the account of an existing walk; `blocking_service` returns the service that a step waited for.
    pub(crate) fn walk_account(
        &mut self,
        walk: &WalkResult,
        interval: (i64, i64),
        blocking_service: &dyn Fn(&RawStep) -> Option<StringId>,
    ) -> PhaseAccount {
        let mut ledger = Ledger::default();
        self.divider.divide(self.waits, &mut self.resolver, walk, blocking_service, &mut ledger);
        self.with_requests(ledger.finish(&self.resolver.subjects, interval, AccountMeasure::CriticalPath))
    }

    /// Adds the request counts of the account's drivers.
    fn with_requests(&self, mut account: PhaseAccount) -> PhaseAccount {
        // Linux calls driver functions; nothing can be pended there.
        if self.trace.system.kind == SystemKind::Linux {
            return account;
        }
        for entry in account.entries.iter_mut().filter(|entry| entry.kind == AccountSubjectKind::Driver) {
            let mut requests = DriverRequests::default();
            for row in self.trace.device_operations.iter() {
                // A request blocks others until it is pended.
                let end_ns = row.pend_ns.or(row.end_ns).unwrap_or(i64::MAX);
                let is_in_flight =
                    entry.intervals.iter().any(|interval| row.start_ns < interval.end_ns && interval.start_ns < end_ns);
                let is_same_driver =
                    || waits::driver_name(self.trace.text(devices::owner(&row))).eq_ignore_ascii_case(&entry.name);
                if is_in_flight && is_same_driver() {
                    requests.count += 1;
                    requests.not_pended += u64::from(row.pend_ns.is_none());
                }
            }
            entry.requests = (requests.count > 0).then_some(requests);
        }
        account
    }

    /// Returns the account of a settling phase, up to `end_ns`: what kept the computer from being idle.
    pub fn settling(&mut self, settling: &Settling) -> Option<PhaseAccount> {
        let start_ns = settling.start_ns?;
        let slice_ns = settling.metric.slice_ns.max(1);
        let end_ns = settling.slices.last()?.start_ns.saturating_add(slice_ns);
        let mut ledger = Ledger::default();
        slices::divide(self.trace, &mut self.owners, settling, &mut self.resolver, self.waits.modules(), &mut ledger);
        Some(ledger.finish(&self.resolver.subjects, (start_ns, end_ns), AccountMeasure::BusySlices))
    }

    /// Returns the account of a phase, by the measure that suits it.
    pub fn phase(&mut self, phase: &TransitionPhase) -> PhaseAccount {
        if let Some(account) = self.without_path(phase) {
            return account;
        }
        match self.waits.walk_units(phase) {
            Some((walk, _)) => self.phase_of_walk(phase, &walk),
            None => self.path(phase.range, None),
        }
    }

    /// Like [`Self::phase`], for an existing walk.
    pub(crate) fn phase_of_walk(&mut self, phase: &TransitionPhase, walk: &WalkResult) -> PhaseAccount {
        self.without_path(phase).unwrap_or_else(|| {
            if !self.waits.has_switches((phase.range.start_ns, phase.range.end_ns)) {
                return self.path(phase.range, None);
            }
            let interval = (phase.range.start_ns, phase.range.end_ns.max(phase.range.start_ns));
            {
                let waits = self.waits;
                self.walk_account(walk, interval, &|step| waits.blocking_service(step))
            }
        })
    }

    /// Returns the account of a phase without a critical path; `None` for other phases.
    fn without_path(&mut self, phase: &TransitionPhase) -> Option<PhaseAccount> {
        if ASLEEP_PHASES.contains(&phase.name.as_str()) {
            return Some(self.asleep(phase.range));
        }
        if PRE_KERNEL_PHASES.contains(&phase.name.as_str()) {
            return Some(self.before_kernel(phase));
        }
        if SETTLING_PHASES.contains(&phase.name.as_str()) {
            let settling = idle::find_settling_before(
                self.trace,
                &mut self.owners,
                phase.range.start_ns,
                phase.range.end_ns,
                IdleMetric::XPERF,
            );
            let account = self.settling(&settling)?;
            // Not settled when the recording ended: divides what was recorded, up to the last whole slice.
            if settling.end_ns.is_none() && phase.range.end_ns >= self.trace.duration_ns {
                return Some(PhaseAccount { is_truncated: true, ..account });
            }
            return Some(account).filter(|account| account.end_ns == phase.range.end_ns);
        }
        None
    }

    /// Returns the account of an interval in which the computer was off or asleep.
    fn asleep(&self, range: Interval) -> PhaseAccount {
        let mut ledger = Ledger::default();
        let (start_ns, end_ns) = (range.start_ns, range.end_ns.max(range.start_ns));
        let certainty = Certainty::Measured;
        ledger.add(Part {
            start_ns,
            end_ns,
            attribution: Attribution::Idle,
            action: AccountAction::Nothing,
            certainty,
        });
        ledger.finish(&self.resolver.subjects, (start_ns, end_ns), AccountMeasure::None)
    }

    /// Returns the account of a firmware or loader phase, which has a single entry.
    fn before_kernel(&mut self, phase: &TransitionPhase) -> PhaseAccount {
        let mut ledger = Ledger::default();
        let (start_ns, end_ns) = (phase.range.start_ns, phase.range.end_ns.max(phase.range.start_ns));
        let id = self.resolver.subjects.id(Subject::new(AccountSubjectKind::Firmware, phase.name.as_str()));
        let (attribution, certainty) = (Attribution::Subject(id), Certainty::Measured);
        ledger.add(Part { start_ns, end_ns, attribution, action: AccountAction::Ran, certainty });
        ledger.finish(&self.resolver.subjects, (start_ns, end_ns), AccountMeasure::RecordedWork)
    }

    fn recorded_work(&mut self, interval: (i64, i64), ledger: &mut Ledger) {
        if interval.0 < interval.1 {
            let resolver = &mut self.resolver;
            let recorded_work = self.recorded.get_or_insert_with(|| RecordedWork::new(self.trace, resolver));
            recorded_work.divide(interval, ledger);
        }
    }
}

/// Phases before the kernel clock starts.
const PRE_KERNEL_PHASES: [&str; 2] = ["firmware", "loader"];
/// Phases in which the computer is asleep or off.
const ASLEEP_PHASES: [&str; 3] = ["Asleep", "Standby", "machine"];
/// True if a phase with this name has no critical path.
#[must_use]
pub fn has_no_path(phase: &str) -> bool {
    ASLEEP_PHASES.contains(&phase) || SETTLING_PHASES.contains(&phase)
}

/// A phase of a transition and its account.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountedPhase {
    pub transition: &'static str,
    /// Phase name, as in the transition's report.
    pub phase: String,
    /// The phase's time, divided by subject.
    pub account: PhaseAccount,
}

/// Returns the accounts of all phases of the transitions in `trace` (optionally of one kind) with a known start and
/// end, and of settling phases that had not ended when the recording did.
#[must_use]
pub fn accounts(trace: &Trace, kind: Option<TransitionKind>) -> Vec<AccountedPhase> {
    let phases = RecordedPhases::new(trace).of_kind(kind);
    if phases.is_empty() { Vec::new() } else { accounts_of(&Waits::new(trace), &phases) }
}

/// Like [`accounts`], for an existing index of the waits.
#[must_use]
pub fn accounts_from_waits(waits: &Waits<'_>, kind: Option<TransitionKind>) -> Vec<AccountedPhase> {
    accounts_of(waits, &waits.recorded_phases().clone().of_kind(kind))
}

fn accounts_of(waits: &Waits<'_>, phases: &RecordedPhases) -> Vec<AccountedPhase> {
    let mut builder = AccountBuilder::new(waits);
    let accounted_phase = |phase: &TransitionPhase, account| AccountedPhase {
        transition: phase.transition.as_str(),
        phase: phase.name.clone(),
        account,
    };
    let mut accounts: Vec<AccountedPhase> =
        phases.complete.iter().map(|phase| accounted_phase(phase, builder.phase(phase))).collect();
    let unsettled = phases.unsettled.iter();
    let truncated = unsettled.filter_map(|phase| Some(accounted_phase(phase, builder.without_path(phase)?)));
    accounts.extend(truncated);
    accounts
}

/// Returns the interval with recorded context switches, ns.
fn switch_interval(trace: &Trace) -> Option<(i64, i64)> {
    if trace.context_switches.is_empty() { None } else { cpu::recorded_interval(trace) }
}
