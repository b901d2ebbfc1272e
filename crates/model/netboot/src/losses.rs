//! What following a capture can lose.

use onoff_trace::counters;

counters! {
    /// The capture ends inside a frame.
    pub CAPTURE_CUT = "capture_cut", Warning, [],
        "The file ends inside a frame or block: the capture was stopped hard or copied in part. What came later is missing.";
    /// The container is damaged; what follows cannot be found.
    pub CAPTURE_DAMAGED = "capture_damaged", Error, [],
        "The file is damaged; everything after this place is missing.";
    /// A damaged block of a pcapng file was stepped over.
    pub BLOCKS_SKIPPED = "blocks_skipped", Warning, [],
        "Blocks of the capture file could not be read and were stepped over.";
    /// The recorder says it dropped frames.
    pub FRAMES_DROPPED = "frames_dropped_by_recorder", Warning, [],
        "The recorder says that it dropped these frames: counts are low, and gaps may look like lost packets.";
    /// Frames were cut by the capture's snap length.
    pub FRAMES_CUT = "frames_cut", Notice, [],
        "Frames were captured in part (snap length). Times and sizes are right; options and names past the cut are unknown.";
    /// Windows logged only a part of a packet.
    pub FRAMES_INCOMPLETE = "frames_incomplete", Warning, [],
        "Windows logged these packets in fragments, and the first or the last fragment is missing: events were lost, or the recording starts or ends inside. They were left out.";
    /// Windows dropped a packet.
    pub PACKETS_DROPPED_BY_WINDOWS = "packets_dropped_by_windows", Warning, [],
        "pktmon says that Windows dropped these packets. They were left out: a filter, a driver or the firewall threw them away ('pktmon stop' and 'pktmon counters' name where).";
    /// A frame's own lengths contradict each other.
    pub FRAMES_MALFORMED = "frames_malformed", Notice, [],
        "Frames whose headers contradict themselves were left out.";
    /// A frame of a link type that is not known.
    pub LINK_UNKNOWN = "link_type_unknown", Error, [],
        "Frames of a link type that onoff does not read were left out. Ethernet, Linux cooked, PPP, 802.11, loopback and raw IP are read.";
    /// Time went backwards.
    pub TIME_BACKWARDS = "time_went_backwards", Warning, [],
        "Frames carry an earlier time than the frame before: the clock was set, or several interfaces were merged. Times across these places are not reliable.";
    /// Files of one capture overlap in time.
    pub FILES_OVERLAP = "files_overlap", Warning, [],
        "The files overlap in time: they are read one after the other, as parts of one capture. Analyze captures of different places one by one.";
    /// A message that its own format does not allow.
    pub MESSAGES_MALFORMED = "messages_malformed", Notice, [],
        "DHCP or TFTP messages that break their own format were read as far as they make sense.";
    /// Options of a message were cut off by the snap length.
    pub OPTIONS_CUT = "options_cut", Warning, [],
        "DHCP or TFTP options are past the end of the captured part: kinds are inferred from the order, names and options are unknown. Capture whole frames (tcpdump -s 0).";
    /// The capture holds frames twice.
    pub CAPTURED_TWICE = "frames_captured_twice", Notice, [],
        "The capture holds these frames a second time: a mirror port of both directions, several components of pktmon, or an interface with and without its VLAN. Each was counted once.";
    /// Blocks that were acknowledged but are not in the capture.
    pub BLOCKS_NOT_CAPTURED = "blocks_not_captured", Warning, [],
        "The client acknowledged blocks that the capture does not hold: the recorder missed them. Bytes, turns and repeats of these transfers are too low.";
    /// Packets inside an encapsulation that is not read.
    pub ENCAPSULATION_UNREAD = "encapsulation_not_read", Warning, [],
        "Packets inside GRE, VXLAN, IP in IP or an encrypted wireless frame were left out. PPPoE, PPP, MPLS, LLC/SNAP, VLAN and plain wireless frames are read.";
    /// Datagrams some of whose fragments were not captured.
    pub FRAGMENTS_MISSING = "fragments_missing", Notice, [],
        "Fragmented datagrams of which not every fragment was captured.";
    /// A table is full.
    pub LEFT_OUT = "left_out", Error, [],
        "The capture holds more transfers, messages or stations than are kept; later ones were left out. Cut it, or filter it to one client.";
    /// Other machines than those that boot.
    pub OTHERS_LEFT_OUT = "others_left_out", Notice, [],
        "Frames and connections of more other machines than are remembered. Machines that started a network boot in this capture are followed whatever the others do.";
    /// Blocks and their acknowledgments of a transfer whose request was not captured.
    pub TRANSFERS_WITHOUT_BEGIN = "transfers_without_begin", Warning, [],
        "Transfers that were under way when the capture began: their request, name and options are unknown. Start the capture before the client.";
}
