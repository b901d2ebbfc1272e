//! Why frames are left out.

use onoff_netboot::losses;
use onoff_trace::losses::Counter;

/// Why a frame is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Its headers contradict themselves.
    Malformed,
    /// Its link type is not read.
    UnknownLink,
    /// It carries packets inside an encapsulation that is not read.
    Encapsulated,
}

impl Fault {
    pub(super) fn counter(self) -> &'static Counter {
        match self {
            Self::Malformed => &losses::FRAMES_MALFORMED,
            Self::UnknownLink => &losses::LINK_UNKNOWN,
            Self::Encapsulated => &losses::ENCAPSULATION_UNREAD,
        }
    }
}
