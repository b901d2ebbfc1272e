//! TCP connections, as far as a network boot uses them: HTTP and HTTPS boot, and the first steps of an operating
//! system.

mod follow;
mod http;
mod table;
mod tls;

use std::net::SocketAddr;

use serde::Serialize;

use crate::address::MacAddress;

pub use table::Connections;

/// A connection, followed to its end.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Who opened it.
    pub client: SocketAddr,
    /// The client's station address, where the link tells.
    pub client_mac: Option<MacAddress>,
    /// Whom it was opened to.
    pub server: SocketAddr,
    /// Time of the first SYN, ns; `None` when it was open before the capture began.
    pub opened_ns: Option<i64>,
    /// SYNs, repeated ones included.
    pub syns: u64,
    /// Time of the server's SYN, ns.
    pub accepted_ns: Option<i64>,
    /// Time of the client's first answer to it, ns: then the connection is open.
    pub confirmed_ns: Option<i64>,
    /// Time of the first packet that was captured, ns.
    pub first_ns: i64,
    /// Time of the last one, ns.
    pub last_ns: i64,
    /// Time of the last packet that brought something new, ns: bytes, or a connection's first SYN of either end.
    pub last_new_ns: i64,
    /// What it speaks.
    pub protocol: Protocol,
    /// Name of the server that the client asks TLS for.
    pub server_name: Option<String>,
    /// Time of TLS's first message, ns.
    pub tls_ns: Option<i64>,
    /// Time of the client's first encrypted data, ns.
    pub tls_ready_ns: Option<i64>,
    /// Requests, by time. With TLS one that stands for all of the connection's.
    pub requests: Vec<HttpRequest>,
    /// Requests that were not kept.
    pub requests_left_out: u64,
    /// Bytes from the server, each counted once.
    pub server_bytes: u64,
    /// Segments of the server with bytes that had come before.
    pub repeated_segments: u64,
    /// Segments of the server with data.
    pub data_segments: u64,
    /// Frames larger than an Ethernet frame of 1,500 bytes payload can be.
    pub oversized_frames: u64,
    /// How often the client's window closed.
    pub zero_windows: u64,
    /// How long it was closed, ns.
    pub zero_window_ns: i64,
    /// Whether it was broken off.
    pub reset: bool,
    /// Why the TLS handshake was broken off, if an end said so before it was encrypted.
    pub tls_alert: Option<TlsAlert>,
    /// Whether an end closed it.
    pub closed: bool,
}

/// A fatal alert of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsAlert {
    /// Whether the client sent it.
    pub from_client: bool,
    /// Its code (RFC 8446, 6).
    pub code: u8,
    /// When, ns.
    pub time_ns: i64,
}

impl TlsAlert {
    /// Its name in RFC 8446, or in the earlier one that had it.
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
            _ => "another alert",
        }
    }

    /// Whether it is about the certificate that the other end showed.
    #[must_use]
    pub const fn of_certificate(self) -> bool {
        matches!(self.code, 42..=46 | 48 | 113)
    }
}

/// Ports that boots use: HTTP and HTTPS with their usual others, and file servers.
const PORTS_OF_BOOTS: [u16; 5] = [80, 443, 445, 8080, 8443];

impl Connection {
    /// Whether it may be part of a boot: it carried HTTP or TLS, or was opened to a port that boots use.
    pub(crate) fn is_of_boots(&self) -> bool {
        self.protocol != Protocol::Other || PORTS_OF_BOOTS.contains(&self.server.port())
    }
}

/// What a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP.
    Http,
    /// TLS, with HTTP or something else inside.
    Tls,
    /// Something else, or nothing.
    #[default]
    Other,
}

/// A request and its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpRequest {
    /// Method; empty with TLS.
    pub method: String,
    /// Path; empty with TLS.
    pub target: String,
    /// Host that the request names.
    pub host: String,
    /// Program that asks, as it names itself.
    pub user_agent: String,
    /// Time of the request, ns.
    pub sent_ns: i64,
    /// Time of the answer's first byte, ns.
    pub first_byte_ns: Option<i64>,
    /// Time of its last byte, ns.
    pub last_byte_ns: Option<i64>,
    /// Status; with TLS never known.
    pub status: Option<u16>,
    /// Bytes of the body, as the answer announces them.
    pub announced_bytes: Option<u64>,
    /// Bytes of the body that came.
    pub body_bytes: u64,
    /// Whether all of it came.
    pub complete: bool,
}
