//! What a network boot asked for and got.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// How a file came.
    pub enum TransferProtocol {
        /// TFTP.
        Tftp = "tftp",
        /// HTTP.
        Http = "http",
        /// Inside TLS: one row for all that a connection carried.
        Tls = "tls",
    }
}

codes! {
    /// How a transfer ended.
    pub enum TransferOutcome {
        /// All of it came.
        Complete = "complete",
        /// The client asked for the file's size only.
        SizeProbe = "size_probe",
        /// The server refused.
        Refused = "refused",
        /// The client broke off.
        Aborted = "aborted",
        /// No more was captured.
        Unfinished = "unfinished",
    }
}

table! {
    /// A file requested over the network, and the outcome.
    NetworkTransfers of NetworkTransfer {
        /// How it came.
        protocol: TransferProtocol,
        /// The client: address and port.
        client: StringId,
        /// The client's address on the link; empty where the link does not say.
        client_mac: StringId,
        /// The server: address and port.
        server: StringId,
        /// The requested file; of TLS the server's name.
        file: StringId,
        /// First request, ns.
        start_ns: i64 as Start,
        /// First bytes of the answer, ns.
        first_data_ns: Option<i64> as Moment,
        /// Last byte received or acknowledged, ns; absent where the transfer did not end in the capture.
        end_ns: Option<i64> as End,
        /// Bytes of the file that came, each counted once.
        size: u64 as Bytes,
        /// How it ended.
        outcome: TransferOutcome,
        /// Status (HTTP) or error code (TFTP) of the answer.
        status: Option<u32>,
        /// Packets of the server whose data had come before; absent where a connection carried several files.
        repeated_packets: Option<u64>,
        /// Time spent in silences that only a repeated packet ended, ns; known of TFTP only.
        timeout_ns: Option<i64> as Duration,
    }
}

table! {
    /// A DHCP message, of either family.
    DhcpMessages of DhcpMessage {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Kind as in the standards, e.g. `DISCOVER`.
        kind: StringId,
        /// Whether a client sent it.
        from_client: bool,
        /// Sender: address and port.
        source: StringId,
        /// Receiver: address and port.
        destination: StringId,
        /// Bytes of the message.
        size: u64 as Bytes,
        /// Number that request and answer share.
        transaction: u32,
        /// The client's address on the link; empty where neither message nor link says.
        client_mac: StringId,
        /// Address offered, requested or given.
        address: StringId,
        /// Server to load from.
        boot_server: StringId,
        /// File or URL to load.
        boot_file: StringId,
        /// Client architecture (RFC 4578 and its registry).
        architecture: Option<u16>,
    }
}

table! {
    /// A name looked up.
    NameLookups of NameLookup {
        /// First question, ns.
        start_ns: i64 as Start,
        /// First answer, ns; absent where none was captured.
        end_ns: Option<i64> as End,
        /// The client: address.
        client: StringId,
        /// The name.
        name: StringId,
    }
}
