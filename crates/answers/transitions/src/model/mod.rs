//! The parts of a transition that all systems share.

mod phase;
mod transition;

pub use onoff_evidence::missing_evidence::MissingSource;
pub use onoff_evidence::phase_name::{PhaseInterval, PhaseName, SuspendStage};
pub use onoff_evidence::transition_kind::TransitionKind;
pub use phase::{CallbackReason, CallbackStep, LastFinished, Phase, PhaseWork};
pub use transition::{Details, Transition, Transitions, TypedTransition, Variant};
pub(crate) use transition::{losses_affecting, total_of_halves};
