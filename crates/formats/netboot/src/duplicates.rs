//! Frames that one capture holds twice: a mirror of both directions, several components of one machine's network stack,
//! an interface with and without its VLAN.
//!
//! A copy has the same packet inside, whatever the link around it says. A sender that repeats itself makes a new
//! packet, with another identification, and not within a millisecond. IPv6 and some IPv4 senders write no
//! identification: there a twin counts as a copy only when the capture has been seen to double what no sender doubles
//! at once, a request.

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::SocketAddr;

use hashbrown::DefaultHashBuilder;

use crate::frame::{Datagram, Frame, Packet, Segment};
use crate::tftp;
use crate::{dhcp4, dhcp6};

/// Frames remembered.
const SLOTS: usize = 1 << 13;
/// Copies with the same identification are no further apart, ns.
const APART_NS: i64 = 10_000_000;
/// Copies without an identification are no further apart, ns: no client asks again so soon.
const APART_UNNUMBERED_NS: i64 = 1_000_000;
/// Bytes of a payload that are compared.
const COMPARED: usize = 96;

/// The frames of the last milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Duplicates {
    /// By the low bits of the digest: the digest, and when it was first seen.
    seen: Box<[(u64, i64)]>,
    /// Whether requests were doubled.
    doubles_requests: bool,
    hashes: DefaultHashBuilder,
}

impl Default for Duplicates {
    fn default() -> Self {
        Self {
            seen: vec![(0, i64::MIN); SLOTS].into_boxed_slice(),
            doubles_requests: false,
            hashes: DefaultHashBuilder::default(),
        }
    }
}

impl Duplicates {
    /// Whether the packet was there already, a moment ago.
    pub(crate) fn is_copy(&mut self, frame: &Frame<'_>) -> bool {
        let (digest, request) = match &frame.packet {
            Packet::Udp(datagram) => {
                (of_datagram(self.start(frame, datagram.source, datagram.destination), datagram), is_request(datagram))
            }
            // Fragments share an identification and are told apart by their place.
            Packet::LaterFragment { of, offset, bytes } => (self.hashes.hash_one((of, offset, bytes)), false),
            Packet::Tcp(segment) => (
                of_segment(self.start(frame, segment.source, segment.destination), segment),
                segment.syn && !segment.ack,
            ),
            _ => return false,
        };
        let slot = &mut self.seen[digest as usize % SLOTS];
        let (seen, time_ns) = *slot;
        let apart = frame.time_ns.saturating_sub(time_ns);
        if seen != digest || !(0..=APART_NS).contains(&apart) {
            *slot = (digest, frame.time_ns);
            return false;
        }
        let soon = apart <= APART_UNNUMBERED_NS;
        self.doubles_requests |= request && soon;
        let fragment = match &frame.packet {
            Packet::Udp(datagram) => datagram.fragment.is_some(),
            packet => matches!(packet, Packet::LaterFragment { .. }),
        };
        frame.identification.is_some() || fragment || (soon && self.doubles_requests)
    }

    fn start(&self, frame: &Frame<'_>, source: SocketAddr, destination: SocketAddr) -> impl Hasher + use<> {
        let mut hasher = self.hashes.build_hasher();
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

fn of_datagram(mut hasher: impl Hasher, datagram: &Datagram<'_>) -> u64 {
    (datagram.payload_bytes, datagram.fragment).hash(&mut hasher);
    compared(datagram.payload).hash(&mut hasher);
    hasher.finish()
}

fn of_segment(mut hasher: impl Hasher, segment: &Segment<'_>) -> u64 {
    let numbers = (segment.sequence, segment.acknowledgment, segment.window, segment.payload_bytes);
    (numbers, [segment.syn, segment.ack, segment.fin, segment.reset]).hash(&mut hasher);
    compared(segment.payload).hash(&mut hasher);
    hasher.finish()
}

fn compared(payload: &[u8]) -> &[u8] {
    payload.get(..COMPARED).unwrap_or(payload)
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
    fn numbered_packets_are_copies_at_once_and_repeats_are_not() {
        let mut duplicates = Duplicates::default();
        assert!(!duplicates.is_copy(&frame(0, 40_000, b"\0\x04\0\x01", Some(7))));
        assert!(duplicates.is_copy(&frame(40_000, 40_000, b"\0\x04\0\x01", Some(7))));
        // Sent again: another number.
        assert!(!duplicates.is_copy(&frame(80_000, 40_000, b"\0\x04\0\x01", Some(8))));
        // The number came round.
        assert!(!duplicates.is_copy(&frame(90_000_000, 40_000, b"\0\x04\0\x01", Some(7))));
    }

    #[test]
    fn unnumbered_twins_are_copies_only_where_requests_are_doubled_too() {
        let mut duplicates = Duplicates::default();
        // The Sorcerer's Apprentice doubles blocks and acknowledgments.
        assert!(!duplicates.is_copy(&frame(0, 69, b"\0\x01a\0octet\0", None)));
        assert!(!duplicates.is_copy(&frame(1_000, 40_000, b"\0\x04\0\x01", None)));
        assert!(!duplicates.is_copy(&frame(2_000, 40_000, b"\0\x04\0\x01", None)));
        // A capture doubles requests as well; asked again after a second is no copy.
        assert!(!duplicates.is_copy(&frame(1_000_000_000, 69, b"\0\x01a\0octet\0", None)));
        assert!(duplicates.is_copy(&frame(1_000_020_000, 69, b"\0\x01a\0octet\0", None)));
        assert!(!duplicates.is_copy(&frame(1_000_030_000, 40_000, b"\0\x04\0\x02", None)));
        assert!(duplicates.is_copy(&frame(1_000_050_000, 40_000, b"\0\x04\0\x02", None)));
        assert!(!duplicates.is_copy(&frame(2_000_000_000, 69, b"\0\x01a\0octet\0", None)));
    }
}
