//! Loss counters for reading a capture.

use onoff_trace::counters;

counters! {
    /// The capture ends within a frame.
    pub CAPTURE_TRUNCATED = "capture_truncated", Warning, [],
        "The file ends within a frame or block: the capture was killed or copied incompletely. Later frames are missing.";
    /// The container is damaged beyond this point.
    pub CAPTURE_DAMAGED = "capture_damaged", Error, [],
        "The file is damaged; everything after this point is missing.";
    /// A damaged block of a pcapng file was skipped.
    pub BLOCKS_SKIPPED = "blocks_skipped", Warning, [],
        "Unreadable blocks of the capture file were skipped.";
    /// The recorder dropped frames.
    pub FRAMES_DROPPED = "frames_dropped_by_recorder", Warning, [],
        "The recorder dropped frames: counts are too low, and gaps may look like lost packets.";
    /// Frames were truncated by the snap length.
    pub FRAMES_TRUNCATED = "frames_truncated", Notice, [],
        "Frames were truncated (snap length). Times and sizes are correct; options and names beyond the captured part are unknown.";
    /// Windows logged only part of a packet.
    pub FRAMES_INCOMPLETE = "frames_incomplete", Warning, [],
        "Packets that Windows logged in fragments were skipped because the first or last fragment is missing: events were lost, or the recording starts or ends within the packet.";
    /// Windows dropped a packet.
    pub PACKETS_DROPPED_BY_WINDOWS = "packets_dropped_by_windows", Warning, [],
        "Packets that Windows dropped were skipped: a filter, a driver or the firewall discarded them ('pktmon stop' and 'pktmon counters' show where).";
    /// The lengths in a frame are inconsistent.
    pub FRAMES_MALFORMED = "frames_malformed", Notice, [],
        "Frames with inconsistent headers were skipped.";
    /// A frame with an unsupported link type.
    pub LINK_TYPE_UNSUPPORTED = "link_type_unknown", Error, [],
        "Frames with an unsupported link type were skipped. Supported are Ethernet, Linux cooked, PPP, 802.11, loopback and raw IP.";
    /// Timestamps went backwards.
    pub TIME_BACKWARDS = "time_went_backwards", Warning, [],
        "Frames have an earlier time than the previous frame: the clock was set, or several interfaces were merged. Times across these frames are not reliable.";
    /// Files of one capture overlap in time.
    pub FILES_OVERLAP = "files_overlap", Warning, [],
        "The files overlap in time and were read one after another, as parts of one capture. Two captures of one boot from different places are merged only if they have packets in common and their clocks were not set.";
    /// A malformed message.
    pub MESSAGES_MALFORMED = "messages_malformed", Notice, [],
        "Malformed DHCP or TFTP messages were read as far as they are valid.";
    /// Options of a message were truncated by the snap length.
    pub OPTIONS_TRUNCATED = "options_truncated", Warning, [],
        "DHCP or TFTP options are beyond the captured part: message types are inferred from their order; names and options are unknown. Capture whole frames (tcpdump -s 0).";
    /// Frames were captured more than once.
    pub DUPLICATE_FRAMES = "frames_captured_twice", Notice, [],
        "Frames were captured more than once: a mirror port of both directions, several pktmon components, or an interface with and without its VLAN. Each was counted once.";
    /// Acknowledged blocks are not in the capture.
    pub BLOCKS_NOT_CAPTURED = "blocks_not_captured", Warning, [],
        "The client acknowledged blocks that are not in the capture: the recorder missed them. Bytes, turnarounds and retransmissions of these transfers are too low.";
    /// Packets in an unsupported encapsulation.
    pub ENCAPSULATION_UNSUPPORTED = "encapsulation_unsupported", Warning, [],
        "Packets in GRE, VXLAN, IP-in-IP or encrypted wireless frames were skipped. Supported are PPPoE, PPP, MPLS, LLC/SNAP, VLAN and unencrypted wireless frames.";
    /// Datagrams with missing fragments.
    pub FRAGMENTS_MISSING = "fragments_missing", Notice, [],
        "Fragmented datagrams are incomplete: not every fragment was captured.";
    /// A limit was reached.
    pub LIMIT_REACHED = "limit_reached", Error, [],
        "The capture has too many transfers, messages or stations; later ones were skipped. Split it, or filter it to one client.";
    /// The limit for machines that do not boot was reached.
    pub OTHER_MACHINES_SKIPPED = "other_machines_skipped", Notice, [],
        "Frames and connections of other machines were skipped: too many machines. Machines that started a network boot in this capture are not affected.";
    /// Transfers whose request was not captured.
    pub TRANSFERS_WITHOUT_BEGIN = "transfers_without_begin", Warning, [],
        "Transfers were in progress when the capture started: their request, file name and options are unknown. Start the capture before the client.";
}
