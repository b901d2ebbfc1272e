//! What every transition is made of, whatever system recorded it.

mod kind;
mod missing;
mod phase;
mod transition;

pub use kind::TransitionKind;
pub use missing::MissingEvidence;
pub use phase::{CallbackReason, CallbackStep, Half, LastEnded, Phase, PhaseName, PhaseWork};
pub use transition::{Details, Transition, Transitions, TypedTransition, Variant};
pub(crate) use transition::{losses_touching, total_of_halves};
