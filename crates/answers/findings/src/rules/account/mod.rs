//! Any transition, by its account.

pub(crate) mod time_on_path;
