//! Requests and responses of a network boot.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// Protocol of a file transfer.
    pub enum TransferProtocol {
        /// TFTP.
        Tftp = "tftp",
        /// HTTP.
        Http = "http",
        /// TLS: one row for everything that a connection carried.
        Tls = "tls",
    }
}

codes! {
    /// How a transfer ended.
    pub enum TransferOutcome {
        /// The whole file was received.
        Complete = "complete",
        /// The client requested only the file's size.
        SizeProbe = "size_probe",
        /// The server refused the request.
        Refused = "refused",
        /// The client aborted the transfer.
        Aborted = "aborted",
        /// The capture ended before the transfer did.
        Unfinished = "unfinished",
    }
}

table! {
    /// A file requested over the network, and the outcome.
    NetworkTransfers of NetworkTransfer {
        /// Protocol.
        protocol: TransferProtocol,
        /// Client address and port.
        client: StringId,
        /// Client's link-layer address; empty where not captured.
        client_mac: StringId,
        /// Server address and port.
        server: StringId,
        /// Requested file; for TLS, the server name.
        file: StringId,
        /// First request, ns.
        start_ns: i64 as Start,
        /// First data of the response, ns.
        first_data_ns: Option<i64> as OtherTime,
        /// Last byte received or acknowledged, ns; `None` when the transfer did not end in the capture.
        end_ns: Option<i64> as End,
        /// Bytes of the file received, each counted once.
        size: u64 as Bytes,
        /// Outcome of the transfer.
        outcome: TransferOutcome,
        /// Status (HTTP) or error code (TFTP) of the response.
        status: Option<u32>,
        /// Retransmitted packets from the server; `None` where a connection carried several files.
        repeated_packets: Option<u64>,
        /// Time lost to timeouts that ended with a retransmission, ns; TFTP only.
        timeout_ns: Option<i64> as Duration,
    }
}

table! {
    /// A DHCPv4 or DHCPv6 message.
    DhcpMessages of DhcpMessage {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Message type as named in the standards, e.g. `DISCOVER`.
        kind: StringId,
        /// True if a client sent it.
        from_client: bool,
        /// Source address and port.
        source: StringId,
        /// Destination address and port.
        destination: StringId,
        /// Size of the message, bytes.
        size: u64 as Bytes,
        /// Transaction ID shared by request and response.
        transaction: u32,
        /// Client's link-layer address; empty where neither the message nor the link has it.
        client_mac: StringId,
        /// Address offered, requested or assigned.
        address: StringId,
        /// Boot server.
        boot_server: StringId,
        /// Boot file or URL.
        boot_file: StringId,
        /// Client architecture (RFC 4578 and the IANA registry).
        architecture: Option<u16>,
    }
}

table! {
    /// A DNS lookup.
    NameLookups of NameLookup {
        /// First query, ns.
        start_ns: i64 as Start,
        /// First response, ns; `None` when none was captured.
        end_ns: Option<i64> as End,
        /// Client address.
        client: StringId,
        /// Name looked up.
        name: StringId,
    }
}
