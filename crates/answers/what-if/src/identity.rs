//! The identity check: a replay without a change must reproduce the recording.

use onoff_evidence::transition_kind::TransitionKind;
use serde::Serialize;

use crate::model::{Model, ModelPhase, signal_time};
use crate::replay::{ExternalRule, Replay};

/// Tolerance of a phase end: this share of the time from the start of its transition, percent.
pub const MAX_ERROR_PERCENT: i64 = 1;
/// Tolerance of a phase end, ns: 20 ms. The larger tolerance applies.
pub const MAX_ERROR_NS: i64 = 20_000_000;
/// Services that started within this time of each other may change their order, ns: 1 ms.
const MAX_ORDER_GAP_NS: i64 = 1_000_000;

/// How well a replay reproduces the end of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseIdentity {
    /// Kind of transition, e.g. `boot`.
    pub transition: String,
    /// Name of the phase.
    pub phase: String,
    /// End of the phase in the recording, ns without time asleep.
    pub measured_end_ns: i64,
    /// End of the phase in the replay, ns without time asleep; `None` if the replay did not reach it.
    pub replayed_end_ns: Option<i64>,
    /// Difference, ns; `None` if the replay did not reach the end.
    pub error_ns: Option<i64>,
    /// Whether the difference is within the tolerance.
    pub holds: bool,
}

/// How well a replay without a change reproduces the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// The phases, in order.
    pub phases: Vec<PhaseIdentity>,
    /// Largest difference, ns; `None` if the replay did not reach the end of a phase.
    pub max_error_ns: Option<i64>,
    /// Number of services or units that started in another order than recorded, or units that did not end in time.
    pub services_out_of_order: u64,
    /// Largest difference, ns, if ready threads run in the order in which they became ready, not in recorded order as
    /// on Linux; `None` if the replay does not use the recorded order, or did not reach the end of a phase.
    pub free_running_error_ns: Option<i64>,
    /// Whether all phases are within the tolerance and the services start in the recorded order.
    pub holds: bool,
}

impl Identity {
    /// Judges the phases and the order of services.
    #[must_use]
    pub(crate) fn new(phases: Vec<PhaseIdentity>, services_out_of_order: u64) -> Self {
        let errors: Option<Vec<i64>> = phases.iter().map(|phase| phase.error_ns.map(i64::abs)).collect();
        Self {
            max_error_ns: errors.map(|errors| errors.into_iter().max().unwrap_or(0)),
            holds: services_out_of_order == 0 && phases.iter().all(|phase| phase.holds),
            phases,
            services_out_of_order,
            free_running_error_ns: None,
        }
    }
}

/// Returns whether an end is close enough to the recorded one, `length_ns` after the start of the transition.
pub(crate) fn is_within_tolerance(error_ns: i64, length_ns: i64) -> bool {
    error_ns.saturating_abs() <= (length_ns / 100 * MAX_ERROR_PERCENT).max(MAX_ERROR_NS)
}

impl Model<'_, '_> {
    /// Replays the recording without a change and compares all phases.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let phases: Vec<&ModelPhase> = self.phases.iter().collect();
        self.identity_of_phases(&phases).0
    }

    /// Replays the recording without a change up to the end of some phases, and compares them.
    pub(crate) fn identity_of_phases(&self, phases: &[&ModelPhase]) -> (Identity, Replay) {
        let mut horizon = self.horizon(phases);
        horizon.signals.extend(self.service_starts(end_of(phases)));
        let replay = self.replay(&self.graph, ExternalRule::Delay, &horizon);
        (self.identity_of(&replay, phases), replay)
    }

    /// Compares some phases of a replay without a change with the recording.
    #[must_use]
    pub(crate) fn identity_of(&self, replay: &Replay, compared: &[&ModelPhase]) -> Identity {
        let mut transition: Option<(TransitionKind, i64, i64)> = None;
        let phases: Vec<PhaseIdentity> = self
            .phases
            .iter()
            .filter_map(|phase| {
                let (kind, range) = (phase.phase.transition, phase.phase.range);
                // The phases of a transition follow each other without a gap.
                let (first_ns, last_ns) = match transition {
                    Some((same_kind, first_ns, last_ns)) if same_kind == kind && range.start_ns <= last_ns => {
                        (first_ns, last_ns.max(range.end_ns))
                    }
                    _ => (range.start_ns, range.end_ns),
                };
                transition = Some((kind, first_ns, last_ns));
                if !compared.iter().any(|compared| std::ptr::eq(*compared, phase)) {
                    return None;
                }
                let measured_end_ns = self.clock.awake(phase.phase.range.end_ns);
                let replayed_end_ns = self.replayed_phase(phase, &self.graph, replay).end_ns;
                let error_ns = replayed_end_ns.map(|replayed_ns| replayed_ns.saturating_sub(measured_end_ns));
                let length_ns = measured_end_ns.saturating_sub(self.clock.awake(first_ns)).max(0);
                Some(PhaseIdentity {
                    transition: phase.phase.transition.as_str().to_owned(),
                    phase: phase.phase.name.clone(),
                    measured_end_ns,
                    replayed_end_ns,
                    error_ns,
                    holds: error_ns.is_some_and(|error_ns| is_within_tolerance(error_ns, length_ns)),
                })
            })
            .collect();
        Identity::new(phases, self.services_out_of_order(replay, end_of(compared)))
    }

    fn services_out_of_order(&self, replay: &Replay, end_ns: i64) -> u64 {
        let mut latest_ns = i64::MIN;
        let mut out_of_order = 0;
        for signal in self.service_starts(end_ns) {
            let Some(time_ns) = signal_time(replay, signal) else {
                out_of_order += 1;
                continue;
            };
            out_of_order += u64::from(time_ns < latest_ns.saturating_sub(MAX_ORDER_GAP_NS));
            latest_ns = latest_ns.max(time_ns);
        }
        out_of_order
    }
}

/// Returns the recorded end of the last phase, ns.
fn end_of(phases: &[&ModelPhase]) -> i64 {
    phases.iter().map(|phase| phase.phase.range.end_ns).max().unwrap_or(i64::MIN)
}
