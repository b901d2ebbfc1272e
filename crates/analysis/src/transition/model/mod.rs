//! What every transition is made of, whatever system recorded it.

mod kind;
mod missing;
mod phase;
mod transition;

pub use crate::phase_name::{Half, PhaseName};
pub use kind::TransitionKind;
pub use missing::MissingEvidence;
pub use phase::{CallbackReason, CallbackStep, LastEnded, Phase, PhaseSpan, PhaseWork};
pub use transition::{Details, Transition, Transitions, TypedTransition, Variant};
pub(crate) use transition::{losses_touching, total_of_halves};
