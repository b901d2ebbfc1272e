//! Rules about the limits of a recording.

pub(crate) mod analysis_level;
pub(crate) mod losses;
pub(crate) mod person_waited_for;
pub(crate) mod read_ahead_untrained;
pub(crate) mod test_signed_drivers;
