//! Why a transition took as long as it did: wait chains, the critical path, and the time attributed to each subject.
//!
//! | module | answers |
//! | --- | --- |
//! | [`waits`] | walks back from the event that ended a phase: what each thread waited for, down to a timer, a disk or a device |
//! | [`account`] | divides that path among drivers, services, scripts and programs; the parts sum to the phase, to the nanosecond |
//! | [`why`] | the same path as a list of intervals, for any process, service or range |
//! | [`logged_facts`] | what event logs record about them, which have no path |
//!
//! Each module uses only those above it. `account` cuts a step where a request, service, script or prompt begins or
//! ends and gives each part to the innermost subject; `account::culprits` lists the subjects that made the phase long.

#![forbid(unsafe_code)]

pub mod account;
pub mod logged_facts;
mod question;
pub mod waits;
pub mod why;
