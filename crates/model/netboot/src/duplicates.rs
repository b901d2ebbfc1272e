//! Detects frames captured more than once: by a mirror port of both directions, by several components of a network
//! stack, or on an interface with and without its VLAN.
//!
//! A copy has the same IP packet in a possibly different link-layer frame. A sender that retransmits creates a new
//! packet with another identification, and not within a millisecond. IPv6 and some IPv4 senders write no
//! identification: such a packet counts as a copy only if the capture has also duplicated a request, which no sender
//! sends twice at once.

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::SocketAddr;

use hashbrown::DefaultHashBuilder;

use crate::frame::{Datagram, Frame, Packet, Segment};
use crate::tftp;
use crate::{dhcp4, dhcp6};

/// Number of frames remembered.
const SLOTS: usize = 1 << 13;
/// Maximum interval between copies with the same identification, ns.
const MAX_INTERVAL_NS: i64 = 10_000_000;
/// Maximum interval between copies without an identification, ns; no client retries that soon.
const MAX_UNNUMBERED_INTERVAL_NS: i64 = 1_000_000;
/// Number of payload bytes compared.
const COMPARED_LEN: usize = 96;

/// The frames of the last milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct DuplicateDetector {
    /// Digest and time of the first copy, indexed by the low bits of the digest.
    seen: Box<[(u64, i64)]>,
    /// True if a request was duplicated.
    has_duplicated_requests: bool,
    hash_builder: DefaultHashBuilder,
}

impl Default for DuplicateDetector {
    fn default() -> Self {
        Self {
            seen: vec![(0, i64::MIN); SLOTS].into_boxed_slice(),
            has_duplicated_requests: false,
            hash_builder: DefaultHashBuilder::default(),
        }
    }
}

impl DuplicateDetector {
    /// True if the same packet was captured a moment ago.
    pub(crate) fn is_copy(&mut self, frame: &Frame<'_>) -> bool {
        let (digest, is_request) = match &frame.packet {
            Packet::Udp(datagram) => (
                digest_datagram(self.header_hasher(frame, datagram.source, datagram.destination), datagram),
                is_request(datagram),
            ),
            // Fragments share an identification and differ by their offset.
            Packet::LaterFragment { of, offset, bytes } => (self.hash_builder.hash_one((of, offset, bytes)), false),
            Packet::Tcp(segment) => (
                digest_segment(self.header_hasher(frame, segment.source, segment.destination), segment),
                segment.syn && !segment.ack,
            ),
            _ => return false,
        };
        let slot = &mut self.seen[digest as usize % SLOTS];
        let (seen_digest, seen_ns) = *slot;
        let interval_ns = frame.time_ns.saturating_sub(seen_ns);
        if seen_digest != digest || !(0..=MAX_INTERVAL_NS).contains(&interval_ns) {
            *slot = (digest, frame.time_ns);
            return false;
        }
        let is_immediate = interval_ns <= MAX_UNNUMBERED_INTERVAL_NS;
        self.has_duplicated_requests |= is_request && is_immediate;
        let is_fragment = match &frame.packet {
            Packet::Udp(datagram) => datagram.fragment.is_some(),
            packet => matches!(packet, Packet::LaterFragment { .. }),
        };
        frame.identification.is_some() || is_fragment || (is_immediate && self.has_duplicated_requests)
    }

    fn header_hasher(&self, frame: &Frame<'_>, source: SocketAddr, destination: SocketAddr) -> impl Hasher + use<> {
        let mut hasher = self.hash_builder.build_hasher();
        (source, destination, frame.identification).hash(&mut hasher);
        hasher
    }
}

fn is_request(datagram: &Datagram<'_>) -> bool {
    let (source, destination) = (datagram.source, datagram.destination);
    destination.port() == tftp::PORT
        || (dhcp4::is_dhcp(source, destination) && datagram.payload.first() == Some(&1))
        || (dhcp6::is_dhcp(source, destination) && destination.port() == dhcp6::PORTS[1])
}

fn digest_datagram(mut hasher: impl Hasher, datagram: &Datagram<'_>) -> u64 {
    (datagram.payload_bytes, datagram.fragment).hash(&mut hasher);
    compared_part(datagram.payload).hash(&mut hasher);
    hasher.finish()
}

fn digest_segment(mut hasher: impl Hasher, segment: &Segment<'_>) -> u64 {
    let numbers = (segment.sequence, segment.acknowledgment, segment.window, segment.payload_bytes);
    (numbers, [segment.syn, segment.ack, segment.fin, segment.reset]).hash(&mut hasher);
    compared_part(segment.payload).hash(&mut hasher);
    hasher.finish()
}

fn compared_part(payload: &[u8]) -> &[u8] {
    payload.get(..COMPARED_LEN).unwrap_or(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame<'a>(time_ns: i64, port: u16, payload: &'a [u8], identification: Option<u16>) -> Frame<'a> {
        Frame {
            time_ns,
            wire_bytes: 60,
            source: None,
            destination: None,
            identification,
            packet: Packet::Udp(Datagram {
                source: "10.0.0.2:1789".parse().unwrap(),
                destination: SocketAddr::new("10.0.0.1".parse().unwrap(), port),
                payload,
                payload_bytes: payload.len() as u32,
                fragment: None,
            }),
        }
    }

    #[test]
    fn same_identification_is_a_copy() {
        let mut duplicates = DuplicateDetector::default();
        assert!(!duplicates.is_copy(&frame(0, 40_000, b"\0\x04\0\x01", Some(7))));
        assert!(duplicates.is_copy(&frame(40_000, 40_000, b"\0\x04\0\x01", Some(7))));
        // A retransmission has another identification.
        assert!(!duplicates.is_copy(&frame(80_000, 40_000, b"\0\x04\0\x01", Some(8))));
        // The identification was reused.
        assert!(!duplicates.is_copy(&frame(90_000_000, 40_000, b"\0\x04\0\x01", Some(7))));
    }

    #[test]
    fn without_identification_requires_duplicated_request() {
        let mut duplicates = DuplicateDetector::default();
        // The Sorcerer's Apprentice bug duplicates blocks and acknowledgments.
        assert!(!duplicates.is_copy(&frame(0, 69, b"\0\x01a\0octet\0", None)));
        assert!(!duplicates.is_copy(&frame(1_000, 40_000, b"\0\x04\0\x01", None)));
        assert!(!duplicates.is_copy(&frame(2_000, 40_000, b"\0\x04\0\x01", None)));
        // The capture also duplicates requests; a retry after a second is not a copy.
        assert!(!duplicates.is_copy(&frame(1_000_000_000, 69, b"\0\x01a\0octet\0", None)));
        assert!(duplicates.is_copy(&frame(1_000_020_000, 69, b"\0\x01a\0octet\0", None)));
        assert!(!duplicates.is_copy(&frame(1_000_030_000, 40_000, b"\0\x04\0\x02", None)));
        assert!(duplicates.is_copy(&frame(1_000_050_000, 40_000, b"\0\x04\0\x02", None)));
        assert!(!duplicates.is_copy(&frame(2_000_000_000, 69, b"\0\x01a\0octet\0", None)));
    }
}
