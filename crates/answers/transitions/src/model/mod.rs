//! The parts of a transition that all systems share.

mod phase;
mod transition;

pub use onoff_evidence::missing_evidence::MissingEvidence;
pub use onoff_evidence::phase_name::{Half, PhaseName, PhaseSpan};
pub use onoff_evidence::transition_kind::TransitionKind;
pub use phase::{CallbackReason, CallbackStep, LastEnded, Phase, PhaseWork};
pub use transition::{Details, Transition, Transitions, TypedTransition, Variant};
pub(crate) use transition::{losses_touching, total_of_halves};
