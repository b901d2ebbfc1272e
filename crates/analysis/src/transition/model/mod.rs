//! What every transition is made of, whatever system recorded it.

mod kind;
mod missing;
mod phase;

pub use kind::TransitionKind;
pub use missing::MissingEvidence;
pub use phase::{CallbackReason, CallbackStep, Half, LastEnded, Phase, PhaseName, PhaseWork};
