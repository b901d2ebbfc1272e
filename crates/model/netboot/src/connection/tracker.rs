//! Tracks one TCP connection segment by segment.

use std::net::SocketAddr;

use super::{Connection, HttpRequest, Protocol, Reset, TlsAlert, http, tls};
use crate::address::MacAddress;
use crate::frame::Segment;
use crate::limits::MAX_REQUESTS;
use crate::storage::{StorageRefusal, StorageResponse, parse_response};
use crate::tftp::program_machine;

/// Largest frame, without checksum, with 1,500 bytes of payload and a VLAN tag.
const MAX_STANDARD_FRAME_SIZE: u32 = 1518;

/// A connection in progress.
#[derive(Clone, Debug)]
pub(super) struct ConnectionTracker {
    connection: Connection,
    /// Next new sequence number of the server.
    server_next: Option<u32>,
    client_next: Option<u32>,
    /// Index of the request whose response is expected or in progress.
    current_request: usize,
    zero_since_ns: Option<i64>,
}

impl ConnectionTracker {
    pub(super) fn new(time_ns: i64, client: SocketAddr, server: SocketAddr, mac: Option<MacAddress>) -> Self {
        Self {
            connection: Connection {
                client,
                client_mac: mac,
                server,
                opened_ns: None,
                syns: 0,
                accepted_ns: None,
                confirmed_ns: None,
                first_ns: time_ns,
                last_ns: time_ns,
                last_new_ns: time_ns,
                protocol: Protocol::Other,
                server_name: None,
                tls_start_ns: None,
                tls_ready_ns: None,
                requests: Vec::new(),
                requests_skipped: 0,
                server_bytes: 0,
                retransmitted_segments: 0,
                data_segments: 0,
                oversized_frames: 0,
                zero_windows: 0,
                zero_window_ns: 0,
                reset: None,
                refusal: None,
                storage_granted: false,
                tls_alert: None,
                closed: false,
            },
            server_next: None,
            client_next: None,
            current_request: 0,
            zero_since_ns: None,
        }
    }

    pub(super) fn last_ns(&self) -> i64 {
        self.connection.last_ns
    }

    /// True if a SYN with this sequence number opens a new connection between the same endpoints.
    pub(super) fn is_new_connection(&self, segment: &Segment<'_>) -> bool {
        self.client_next.is_some_and(|next| next != segment.sequence.wrapping_add(1))
    }

    pub(super) fn on_segment(&mut self, time_ns: i64, wire_bytes: u32, segment: &Segment<'_>) {
        let connection = &mut self.connection;
        connection.last_ns = connection.last_ns.max(time_ns);
        connection.closed |= segment.fin;
        let from_client = segment.source == connection.client;
        if segment.reset {
            connection.reset.get_or_insert(Reset { time_ns, from_client });
        }
        if connection.protocol == Protocol::Tls
            && let Some(code) = tls::fatal_alert_code(segment.payload)
        {
            connection.tls_alert.get_or_insert(TlsAlert { from_client, code, time_ns });
        }
        connection.oversized_frames += u64::from(wire_bytes > MAX_STANDARD_FRAME_SIZE);
        if from_client {
            self.on_client_segment(time_ns, segment);
        } else {
            self.on_server_segment(time_ns, segment);
        }
    }

    fn on_client_segment(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let connection = &mut self.connection;
        if segment.syn {
            connection.opened_ns = connection.opened_ns.or(Some(time_ns));
            connection.syns += 1;
            self.client_next = Some(segment.sequence.wrapping_add(1));
            return;
        }
        if segment.ack && !segment.reset && connection.accepted_ns.is_some() {
            connection.confirmed_ns = connection.confirmed_ns.or(Some(time_ns));
        }
        if segment.ack && !segment.reset && !segment.fin {
            match (segment.window, self.zero_since_ns) {
                (0, None) => {
                    connection.zero_windows += 1;
                    self.zero_since_ns = Some(time_ns);
                }
                (1.., Some(since_ns)) => {
                    let closed_ns = time_ns.saturating_sub(since_ns).max(0);
                    connection.zero_window_ns = connection.zero_window_ns.saturating_add(closed_ns);
                    self.zero_since_ns = None;
                }
                _ => {}
            }
        }
        if segment.payload_bytes == 0 || take_new_bytes(&mut self.client_next, segment) == 0 {
            return;
        }
        connection.last_new_ns = connection.last_new_ns.max(time_ns);
        if tls::starts_handshake(segment.payload) && connection.protocol == Protocol::Other {
            connection.protocol = Protocol::Tls;
            connection.tls_start_ns = Some(time_ns);
            connection.server_name = tls::server_name(segment.payload);
        } else if connection.protocol == Protocol::Tls {
            if tls::is_data(segment.payload) && connection.tls_ready_ns.is_none() {
                connection.tls_ready_ns = Some(time_ns);
                // The request is encrypted, but its time is known.
                let request = HttpRequest {
                    host: connection.server_name.clone().unwrap_or_default(),
                    sent_ns: time_ns,
                    ..HttpRequest::default()
                };
                connection.requests.push(request);
            }
        } else if let Some(head) = http::parse_request(segment.payload) {
            connection.protocol = Protocol::Http;
            if connection.requests.len() >= MAX_REQUESTS {
                connection.requests_skipped += 1;
                return;
            }
            connection.requests.push(HttpRequest {
                method: head.method,
                target: head.target,
                host: head.host,
                user_agent: head.user_agent,
                sent_ns: time_ns,
                ..HttpRequest::default()
            });
        }
    }

    fn on_server_segment(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let connection = &mut self.connection;
        if segment.syn {
            if connection.accepted_ns.is_none() {
                connection.accepted_ns = Some(time_ns);
                connection.last_new_ns = connection.last_new_ns.max(time_ns);
            }
            self.server_next = Some(segment.sequence.wrapping_add(1));
            return;
        }
        if segment.fin {
            self.end_response();
        }
        if segment.payload_bytes == 0 {
            return;
        }
        let connection = &mut self.connection;
        connection.data_segments += 1;
        let new_bytes = take_new_bytes(&mut self.server_next, segment);
        if new_bytes == 0 {
            connection.retransmitted_segments += 1;
            return;
        }
        connection.last_new_ns = connection.last_new_ns.max(time_ns);
        connection.server_bytes = connection.server_bytes.saturating_add(u64::from(new_bytes));
        if connection.protocol == Protocol::Tls && tls::is_alert(segment.payload, segment.payload_bytes) {
            // The server sends an alert when it closes the connection, possibly long after the last byte of a response.
            return;
        }
        let server_port = connection.server.port();
        let response = connection.storage().and_then(|service| parse_response(service, server_port, segment.payload));
        match response {
            Some(StorageResponse::Refused(answer)) => connection.refusal = Some(StorageRefusal { time_ns, answer }),
            Some(StorageResponse::Granted) => (connection.refusal, connection.storage_granted) = (None, true),
            None => {}
        }
        let head = http::parse_response(segment.payload);
        if let Some(head) = &head
            && head.status != 100
        {
            self.begin_response();
        }
        let is_encrypted = self.connection.protocol == Protocol::Tls;
        let Some(request) = self.connection.requests.get_mut(self.current_request) else { return };
        if request.body_bytes == 0 && !is_encrypted {
            let body_start = head.map_or(0, |head| head.bytes);
            request.program = segment.payload.get(body_start..).and_then(program_machine);
        }
        request.last_byte_ns = Some(time_ns);
        request.first_byte_ns = request.first_byte_ns.or(Some(time_ns));
        let mut body = u64::from(new_bytes);
        if let Some(head) = head {
            request.status = Some(head.status);
            request.announced_bytes = head.content_length;
            body = body.saturating_sub(head.bytes as u64);
        }
        request.body_bytes = request.body_bytes.saturating_add(body);
        let has_no_body = request.method == "HEAD" || matches!(request.status, Some(204 | 304));
        let has_whole_body = request.announced_bytes.is_some_and(|announced| request.body_bytes >= announced);
        request.complete |= !is_encrypted && request.status.is_some() && (has_no_body || has_whole_body);
    }

    /// Starts the next response; the previous one is complete unless its length was announced.
    fn begin_response(&mut self) {
        let requests = &mut self.connection.requests;
        if let Some(request) = requests.get_mut(self.current_request)
            && request.status.is_some()
        {
            request.complete |= request.announced_bytes.is_none();
            if self.current_request + 1 < requests.len() {
                self.current_request += 1;
            }
        }
    }

    /// Ends the response when the server closes: without an announced length, it is then complete.
    fn end_response(&mut self) {
        if let Some(request) = self.connection.requests.get_mut(self.current_request) {
            let has_response = request.first_byte_ns.is_some();
            request.complete |= has_response && request.announced_bytes.is_none();
        }
    }

    pub(super) fn finish(mut self) -> Connection {
        if let Some(since_ns) = self.zero_since_ns {
            let closed_ns = self.connection.last_ns.saturating_sub(since_ns).max(0);
            self.connection.zero_window_ns = self.connection.zero_window_ns.saturating_add(closed_ns);
        }
        self.connection
    }
}

/// Returns the number of new bytes in a segment; advances `next` past them.
fn take_new_bytes(next: &mut Option<u32>, segment: &Segment<'_>) -> u32 {
    let end = segment.sequence.wrapping_add(segment.payload_bytes);
    let expected = next.unwrap_or(segment.sequence);
    // Sequence numbers wrap: the sign of the difference shows which is ahead.
    let ahead = end.wrapping_sub(expected).cast_signed();
    if ahead <= 0 {
        return 0;
    }
    *next = Some(end);
    ahead.unsigned_abs().min(segment.payload_bytes)
}
