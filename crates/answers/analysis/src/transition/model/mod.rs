//! What every transition is made of, whatever system recorded it.

mod phase;
mod transition;

pub use crate::lacking::MissingEvidence;
pub use crate::phase_name::{Half, PhaseName, PhaseSpan};
pub use crate::transition_kind::TransitionKind;
pub use phase::{CallbackReason, CallbackStep, LastEnded, Phase, PhaseWork};
pub use transition::{Details, Transition, Transitions, TypedTransition, Variant};
pub(crate) use transition::{losses_touching, total_of_halves};
