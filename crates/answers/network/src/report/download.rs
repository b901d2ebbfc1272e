//! A file over HTTP or HTTPS, and where its time went.

use serde::Serialize;

/// A request over HTTP, or all that one HTTPS connection carried.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Download {
    /// What was requested, e.g. `http://10.0.0.1/boot.efi`; for HTTPS, the server's name.
    pub url: String,
    /// Method, e.g. `GET`; empty for HTTPS.
    pub method: String,
    /// Program that asked, as it names itself; empty when it does not.
    pub user_agent: String,
    /// Address and port of the server.
    pub server: String,
    /// Whether the connection had carried a request before.
    pub reused: bool,
    /// Begin: of the connection for its first request, else of the request, ns.
    pub start_ns: i64,
    /// Last byte of the answer; without one, last packet, ns.
    pub end_ns: i64,
    /// From begin to end, ns.
    pub duration_ns: i64,
    /// Looking up the server's name before, ns; `None` when it was not seen.
    pub lookup_ns: Option<i64>,
    /// From the first SYN to the server's, ns; `None` for reused connections.
    pub connect_ns: Option<i64>,
    /// From TLS's first message to the first encrypted data, ns.
    pub tls_ns: Option<i64>,
    /// From the request to the answer's first byte, ns.
    pub first_byte_ns: Option<i64>,
    /// From the answer's first byte to its last, ns.
    pub body_ns: Option<i64>,
    /// Status; for HTTPS never known.
    pub status: Option<u16>,
    /// Bytes of the body that came; for HTTPS, of everything encrypted.
    pub bytes: u64,
    /// Bytes of the body, as announced.
    pub announced_bytes: Option<u64>,
    /// Bytes per second, first byte to last.
    pub bytes_per_s: Option<f64>,
    /// Whether all of it came; for HTTPS never known.
    pub complete: bool,
    /// How often the client's receive window closed on this connection.
    pub zero_windows: u64,
    /// How long it was closed, ns.
    pub zero_window_ns: i64,
    /// Segments of the server on this connection that had come before.
    pub repeated_segments: u64,
    /// Segments of the server with data on this connection.
    pub data_segments: u64,
}
