//! Marks of packets, by which two captures recognize the same packet.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use hashbrown::HashMap;

use crate::frame::{Frame, Packet};
use crate::{dhcp4, dhcp6, limits, tftp};

/// Number of payload bytes compared: both captures must contain them, whatever their snap lengths.
const COMPARED_LEN: usize = 24;

/// A unicast packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMark {
    /// Capture time, ns since the first frame.
    pub time_ns: i64,
    /// Digest of the packet, equal in all captures of it.
    pub digest: u64,
    /// Digest without the identification, equal for a retransmission.
    pub content: u64,
    /// Digest of the endpoints with their ports.
    pub flow: u64,
    /// Index of the sender in [`PacketMarks::addresses`].
    pub source: u32,
    /// Index of the receiver.
    pub destination: u32,
    /// True for the request of a file, or of a connection.
    pub is_request: bool,
}

impl PacketMark {
    /// Returns the client's end and the other end of a packet from the client, or to it.
    pub(super) fn ends(&self, from_client: bool) -> (u32, u32) {
        if from_client { (self.source, self.destination) } else { (self.destination, self.source) }
    }
}

/// The marks of a capture, in time order.
#[derive(Clone, Debug, Default)]
pub struct PacketMarks {
    pub marks: Vec<PacketMark>,
    pub addresses: Vec<IpAddr>,
    index_by_address: HashMap<IpAddr, u32>,
    /// True if the capture has more packets than are marked.
    pub is_truncated: bool,
}

impl PacketMarks {
    /// Marks a packet, unless routers rewrite it or it is sent to a group.
    pub(crate) fn add(&mut self, frame: &Frame<'_>) {
        let (source, destination, content, is_request) = match &frame.packet {
            Packet::Udp(datagram) => {
                let (source, destination) = (datagram.source, datagram.destination);
                // Relay agents rewrite DHCP messages.
                if dhcp4::is_dhcp(source, destination) || dhcp6::is_dhcp(source, destination) {
                    return;
                }
                let content = digest((source, destination, datagram.payload_bytes, start(datagram.payload)));
                (source, destination, content, destination.port() == tftp::PORT)
            }
            // A retransmission may have another length. An acknowledgment without data is never sent again.
            Packet::Tcp(segment) if segment.payload_bytes > 0 || segment.syn => {
                let content = digest((segment.source, segment.destination, segment.sequence, segment.syn));
                (segment.source, segment.destination, content, segment.syn && !segment.ack)
            }
            Packet::LaterFragment { of, offset, bytes } => {
                let (source, destination) = (SocketAddr::new(of.source, 0), SocketAddr::new(of.destination, 0));
                (source, destination, digest((of, offset, bytes)), false)
            }
            _ => return,
        };
        if is_group(source.ip()) || is_group(destination.ip()) {
            return;
        }
        if self.marks.len() >= limits::MAX_MARKS {
            self.is_truncated = true;
            return;
        }
        let (Some(source_index), Some(destination_index)) = (self.index(source.ip()), self.index(destination.ip()))
        else {
            self.is_truncated = true;
            return;
        };
        self.marks.push(PacketMark {
            time_ns: frame.time_ns,
            digest: digest((content, frame.identification)),
            content,
            flow: digest((source, destination)),
            source: source_index,
            destination: destination_index,
            is_request,
        });
    }

    fn index(&mut self, address: IpAddr) -> Option<u32> {
        if let Some(index) = self.index_by_address.get(&address) {
            return Some(*index);
        }
        let index = u32::try_from(self.addresses.len()).ok().filter(|_| self.addresses.len() < limits::MAX_STATIONS)?;
        self.addresses.push(address);
        self.index_by_address.insert(address, index);
        Some(index)
    }

    /// Returns the index of an address; `None` if it is in no mark.
    pub(super) fn index_of(&self, address: IpAddr) -> Option<u32> {
        self.index_by_address.get(&address).copied()
    }
}

fn is_group(address: IpAddr) -> bool {
    address.is_multicast()
        || address.is_unspecified()
        || matches!(address, IpAddr::V4(address) if address.is_broadcast())
}

fn start(payload: &[u8]) -> &[u8] {
    payload.get(..COMPARED_LEN).unwrap_or(payload)
}

/// Returns the same digest for the same values in every capture.
fn digest(values: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    values.hash(&mut hasher);
    hasher.finish()
}
