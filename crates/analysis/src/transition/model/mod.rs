//! What every transition is made of, whatever system recorded it.

mod phase;

pub use phase::{CallbackReason, CallbackStep, Half, LastEnded, Phase, PhaseName, PhaseWork};
