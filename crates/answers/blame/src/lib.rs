//! Why a transition took as long as it did: wait chains, the critical path, and the time attributed to each subject.

#![forbid(unsafe_code)]

pub mod account;
pub mod waits;
pub mod why;
