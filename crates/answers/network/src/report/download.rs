//! The timing of a download over HTTP or HTTPS.

use onoff_netboot::tftp::ProgramMachine;
use serde::Serialize;

/// An HTTP request, or everything on one HTTPS connection.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Download {
    /// URL, e.g. `http://10.0.0.1/boot.efi`; for HTTPS, the host with an ellipsis.
    pub url: String,
    /// Method, e.g. `GET`; empty for HTTPS.
    pub method: String,
    /// User agent; empty if none was sent.
    pub user_agent: String,
    /// Address and port of the server.
    pub server: String,
    /// True if the connection carried an earlier request.
    pub reused: bool,
    /// Start of the connection for its first request, otherwise of the request, ns.
    pub start_ns: i64,
    /// Last byte of the response, or last packet without a response, ns.
    pub end_ns: i64,
    pub duration_ns: i64,
    /// Preceding DNS lookup, ns; `None` if it was not captured.
    pub lookup_ns: Option<i64>,
    /// From the first SYN to the SYN-ACK, ns; `None` for reused connections.
    pub connect_ns: Option<i64>,
    /// From the first TLS message to the first encrypted data, ns.
    pub tls_ns: Option<i64>,
    /// From the request to the first byte of the response, ns.
    pub first_byte_ns: Option<i64>,
    /// From the first to the last byte of the response, ns.
    pub body_ns: Option<i64>,
    /// HTTP status; never known for HTTPS.
    pub status: Option<u16>,
    /// Received bytes of the body; for HTTPS, of all encrypted data.
    pub bytes: u64,
    /// Bytes of the body according to its headers.
    pub announced_bytes: Option<u64>,
    /// Bytes per second between the first and the last byte.
    pub bytes_per_s: Option<f64>,
    /// True if the whole body was received; never known for HTTPS.
    pub complete: bool,
    /// Target architecture of a UEFI program whose first bytes were captured.
    pub program: Option<ProgramMachine>,
    /// Number of times the client closed its receive window on this connection.
    pub zero_windows: u64,
    /// Total time with a closed receive window, ns.
    pub zero_window_ns: i64,
    /// Retransmitted segments from the server on this connection.
    pub repeated_segments: u64,
    /// Data segments from the server on this connection.
    pub data_segments: u64,
}
