//! Reasons for skipping frames.

use onoff_netboot::losses;
use onoff_trace::losses::Counter;

/// Reason for skipping a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The headers are inconsistent.
    Malformed,
    /// The link type is not supported.
    UnknownLink,
    /// The packets are in an unsupported encapsulation.
    Encapsulated,
}

impl Fault {
    pub(super) fn counter(self) -> &'static Counter {
        match self {
            Self::Malformed => &losses::FRAMES_MALFORMED,
            Self::UnknownLink => &losses::LINK_TYPE_UNSUPPORTED,
            Self::Encapsulated => &losses::ENCAPSULATION_UNSUPPORTED,
        }
    }
}
