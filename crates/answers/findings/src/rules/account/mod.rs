//! Rules for any transition, based on the account of its phases.

pub(crate) mod critical_path_time;
