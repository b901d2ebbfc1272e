//! TCP connections of a network boot: HTTP and HTTPS boot, and the first connections of the operating system.

mod http;
mod table;
mod tls;
mod tracker;

use std::net::SocketAddr;

use serde::Serialize;

use crate::address::MacAddress;
use crate::storage::{StorageRefusal, StorageService};
use crate::tftp::ProgramMachine;

pub use table::ConnectionTable;

/// A TCP connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The endpoint that opened the connection.
    pub client: SocketAddr,
    /// The client's MAC address, if the link layer has one.
    pub client_mac: Option<MacAddress>,
    /// The other endpoint.
    pub server: SocketAddr,
    /// Time of the first SYN, ns; `None` if the connection was open before the capture started.
    pub opened_ns: Option<i64>,
    /// Number of SYNs, including retransmissions.
    pub syns: u64,
    /// Time of the server's SYN, ns.
    pub accepted_ns: Option<i64>,
    /// Time at which the client acknowledged the server's SYN, ns: the connection is established.
    pub confirmed_ns: Option<i64>,
    /// Time of the first captured packet, ns.
    pub first_ns: i64,
    /// Time of the last captured packet, ns.
    pub last_ns: i64,
    /// Time of the last packet with new data or with the first SYN of either end, ns.
    pub last_new_ns: i64,
    /// Application protocol.
    pub protocol: Protocol,
    /// Server name in the TLS handshake.
    pub server_name: Option<String>,
    /// Time of the first TLS message, ns.
    pub tls_start_ns: Option<i64>,
    /// Time of the client's first encrypted data, ns.
    pub tls_ready_ns: Option<i64>,
    /// Requests in time order. With TLS, a single entry covers all requests of the connection.
    pub requests: Vec<HttpRequest>,
    /// Number of requests beyond the limit.
    pub requests_skipped: u64,
    /// New bytes from the server.
    pub server_bytes: u64,
    /// Retransmitted data segments of the server.
    pub retransmitted_segments: u64,
    /// Data segments of the server.
    pub data_segments: u64,
    /// Frames larger than an Ethernet frame with 1,500 bytes of payload.
    pub oversized_frames: u64,
    /// Number of times the client's window closed.
    pub zero_windows: u64,
    /// Total time the client's window was closed, ns.
    pub zero_window_ns: i64,
    /// The first RST.
    pub reset: Option<Reset>,
    /// The storage service's refusal, if it refused the client's request.
    pub refusal: Option<StorageRefusal>,
    /// True if the storage service granted the client's request.
    pub storage_granted: bool,
    /// Reason of a failed TLS handshake, if an end sent an unencrypted alert.
    pub tls_alert: Option<TlsAlert>,
    /// True if an end sent a FIN.
    pub closed: bool,
}

/// A RST that ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Time, ns.
    pub time_ns: i64,
    pub from_client: bool,
}

/// A fatal TLS alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsAlert {
    pub from_client: bool,
    /// Alert code (RFC 8446, section 6).
    pub code: u8,
    /// Time, ns.
    pub time_ns: i64,
}

impl TlsAlert {
    /// Returns the name in RFC 8446 or an earlier TLS RFC.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.code {
            10 => "unexpected_message",
            20 => "bad_record_mac",
            40 => "handshake_failure",
            42 => "bad_certificate",
            43 => "unsupported_certificate",
            44 => "certificate_revoked",
            45 => "certificate_expired",
            46 => "certificate_unknown",
            47 => "illegal_parameter",
            48 => "unknown_ca",
            49 => "access_denied",
            50 => "decode_error",
            51 => "decrypt_error",
            70 => "protocol_version",
            71 => "insufficient_security",
            80 => "internal_error",
            86 => "inappropriate_fallback",
            109 => "missing_extension",
            112 => "unrecognized_name",
            113 => "bad_certificate_status_response",
            116 => "certificate_required",
            120 => "no_application_protocol",
            _ => "unknown alert",
        }
    }

    /// True if the peer's certificate was rejected.
    #[must_use]
    pub const fn is_about_certificate(self) -> bool {
        matches!(self.code, 42..=46 | 48 | 113)
    }
}

/// Ports used by network boots: HTTP, HTTPS and their usual alternatives.
const BOOT_PORTS: [u16; 4] = [80, 443, 8080, 8443];

impl Connection {
    /// Returns the storage service of the server's port.
    #[must_use]
    pub fn storage(&self) -> Option<StorageService> {
        StorageService::of_port(self.server.port())
    }

    /// True if the connection may be part of a boot: it carried HTTP or TLS, or uses a boot port.
    pub(crate) fn may_be_boot(&self) -> bool {
        self.protocol != Protocol::Other || BOOT_PORTS.contains(&self.server.port()) || self.storage().is_some()
    }
}

/// Application protocol of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP.
    Http,
    /// TLS, with any protocol inside.
    Tls,
    /// Another protocol, or no data.
    #[default]
    Other,
}

/// An HTTP request and its response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method; empty with TLS.
    pub method: String,
    /// Path; empty with TLS.
    pub target: String,
    /// Host name in the request.
    pub host: String,
    /// User agent.
    pub user_agent: String,
    /// Time of the request, ns.
    pub sent_ns: i64,
    /// Time of the first response byte, ns.
    pub first_byte_ns: Option<i64>,
    /// Time of the last response byte, ns.
    pub last_byte_ns: Option<i64>,
    /// Status code; unknown with TLS.
    pub status: Option<u16>,
    /// Announced size of the body, bytes.
    pub announced_bytes: Option<u64>,
    /// Received bytes of the body.
    pub body_bytes: u64,
    /// True if the whole response was received.
    pub complete: bool,
    /// Target machine, if the body starts with a UEFI program that was captured.
    pub program: Option<ProgramMachine>,
}
