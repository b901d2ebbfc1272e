//! Why a transition took as long as it did: what each thread waited for, the critical path, and who accounts for it.

#![forbid(unsafe_code)]

pub mod account;
pub mod waits;
pub mod why;
