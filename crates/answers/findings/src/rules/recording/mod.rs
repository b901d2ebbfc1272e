//! Rules about the limits of a recording.

pub(crate) mod analysis_level;
pub(crate) mod clock_set;
pub(crate) mod losses;
pub(crate) mod read_ahead_untrained;
pub(crate) mod started_late;
pub(crate) mod test_signed_drivers;
pub(crate) mod user_wait;
