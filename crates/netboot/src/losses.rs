//! What following a capture can lose.

use onoff_trace::losses::{Counter, Severity};

const ALL: &[onoff_trace::TableName] = &[];

/// The capture ends inside a frame.
pub const CAPTURE_CUT: Counter = Counter {
    name: "capture_cut",
    severity: Severity::Warning,
    help: "The file ends inside a frame or block: the capture was stopped hard or copied in part. What came later is missing.",
    touches: ALL,
};
/// The container is damaged; what follows cannot be found.
pub const CAPTURE_DAMAGED: Counter = Counter {
    name: "capture_damaged",
    severity: Severity::Error,
    help: "The file is damaged; everything after this place is missing.",
    touches: ALL,
};
/// A damaged block of a pcapng file was stepped over.
pub const BLOCKS_SKIPPED: Counter = Counter {
    name: "blocks_skipped",
    severity: Severity::Warning,
    help: "Blocks of the capture file could not be read and were stepped over.",
    touches: ALL,
};
/// The recorder says it dropped frames.
pub const FRAMES_DROPPED: Counter = Counter {
    name: "frames_dropped_by_recorder",
    severity: Severity::Warning,
    help: "The recorder says that it dropped these frames: counts are low, and gaps may look like lost packets.",
    touches: ALL,
};
/// Frames were cut by the capture's snap length.
pub const FRAMES_CUT: Counter = Counter {
    name: "frames_cut",
    severity: Severity::Notice,
    help: "Frames were captured in part (snap length). Times and sizes are right; options and names past the cut are unknown.",
    touches: ALL,
};
/// Windows logged only a part of a packet.
pub const FRAMES_INCOMPLETE: Counter = Counter {
    name: "frames_incomplete",
    severity: Severity::Warning,
    help: "Windows logged these packets in fragments, and the first or the last fragment is missing: events were lost, or the recording starts or ends inside. They were left out.",
    touches: ALL,
};
/// Windows dropped a packet.
pub const PACKETS_DROPPED_BY_WINDOWS: Counter = Counter {
    name: "packets_dropped_by_windows",
    severity: Severity::Warning,
    help: "pktmon says that Windows dropped these packets. They were left out: a filter, a driver or the firewall threw them away ('pktmon stop' and 'pktmon counters' name where).",
    touches: ALL,
};
/// A frame's own lengths contradict each other.
pub const FRAMES_MALFORMED: Counter = Counter {
    name: "frames_malformed",
    severity: Severity::Notice,
    help: "Frames whose headers contradict themselves were left out.",
    touches: ALL,
};
/// A frame of a link type that is not known.
pub const LINK_UNKNOWN: Counter = Counter {
    name: "link_type_unknown",
    severity: Severity::Error,
    help: "Frames of a link type that onoff does not read were left out. Ethernet, Linux cooked, PPP, 802.11, loopback and raw IP are read.",
    touches: ALL,
};
/// Time went backwards.
pub const TIME_BACKWARDS: Counter = Counter {
    name: "time_went_backwards",
    severity: Severity::Warning,
    help: "Frames carry an earlier time than the frame before: the clock was set, or several interfaces were merged. Times across these places are not reliable.",
    touches: ALL,
};
/// Files of one capture overlap in time.
pub const FILES_OVERLAP: Counter = Counter {
    name: "files_overlap",
    severity: Severity::Warning,
    help: "The files overlap in time: they are read one after the other, as parts of one capture. Analyse captures of different places one by one.",
    touches: ALL,
};
/// A message that its own format does not allow.
pub const MESSAGES_MALFORMED: Counter = Counter {
    name: "messages_malformed",
    severity: Severity::Notice,
    help: "DHCP or TFTP messages that break their own format were read as far as they make sense.",
    touches: ALL,
};
/// Options of a message were cut off by the snap length.
pub const OPTIONS_CUT: Counter = Counter {
    name: "options_cut",
    severity: Severity::Warning,
    help: "DHCP or TFTP options are past the end of the captured part: kinds are inferred from the order, names and options are unknown. Capture whole frames (tcpdump -s 0).",
    touches: ALL,
};
/// The capture holds frames twice.
pub const CAPTURED_TWICE: Counter = Counter {
    name: "frames_captured_twice",
    severity: Severity::Notice,
    help: "The capture holds these frames a second time: a mirror port of both directions, several components of pktmon, or an interface with and without its VLAN. Each was counted once.",
    touches: ALL,
};
/// Blocks that were acknowledged but are not in the capture.
pub const BLOCKS_NOT_CAPTURED: Counter = Counter {
    name: "blocks_not_captured",
    severity: Severity::Warning,
    help: "The client acknowledged blocks that the capture does not hold: the recorder missed them. Bytes, turns and repeats of these transfers are too low.",
    touches: ALL,
};
/// Packets inside an encapsulation that is not read.
pub const ENCAPSULATION_UNREAD: Counter = Counter {
    name: "encapsulation_not_read",
    severity: Severity::Warning,
    help: "Packets inside GRE, VXLAN, IP in IP or an encrypted wireless frame were left out. PPPoE, PPP, MPLS, LLC/SNAP, VLAN and plain wireless frames are read.",
    touches: ALL,
};
/// Datagrams some of whose fragments were not captured.
pub const FRAGMENTS_MISSING: Counter = Counter {
    name: "fragments_missing",
    severity: Severity::Notice,
    help: "Fragmented datagrams of which not every fragment was captured.",
    touches: ALL,
};
/// A table is full.
pub const LEFT_OUT: Counter = Counter {
    name: "left_out",
    severity: Severity::Error,
    help: "The capture holds more transfers, messages or stations than are kept; later ones were left out. Cut it, or filter it to one client.",
    touches: ALL,
};
/// Other machines than those that boot.
pub const OTHERS_LEFT_OUT: Counter = Counter {
    name: "others_left_out",
    severity: Severity::Notice,
    help: "Frames and connections of more other machines than are remembered. Machines that started a network boot in this capture are followed whatever the others do.",
    touches: ALL,
};
/// Blocks and their acknowledgments of a transfer whose request was not captured.
pub const TRANSFERS_WITHOUT_BEGIN: Counter = Counter {
    name: "transfers_without_begin",
    severity: Severity::Warning,
    help: "Transfers that were under way when the capture began: their request, name and options are unknown. Start the capture before the client.",
    touches: ALL,
};
