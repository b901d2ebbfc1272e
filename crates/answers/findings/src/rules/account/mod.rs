//! Rules for any transition, based on the account of its phases.

pub(crate) mod time_on_path;
