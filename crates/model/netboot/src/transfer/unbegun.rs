//! Transfers that were under way before the capture began: their packets are there, their request is not.

use std::net::SocketAddr;

use hashbrown::HashMap;

use crate::frame::Datagram;
use crate::limits;
use crate::tftp::Message;

/// First port that is not reserved for well-known services.
const UNRESERVED: u16 = 1024;

/// Pairs of stations that talk as in a transfer, without a request that was seen.
///
/// Any datagram can look like a block of a file by chance. An acknowledgment of the very block, the other way
/// between the same ports, hardly can.
#[derive(Clone, Debug, Default)]
pub(super) struct Unbegun {
    /// By sender and receiver of the blocks: the last block, `None` once the pair is counted.
    pairs: HashMap<(SocketAddr, SocketAddr), Option<u16>>,
}

impl Unbegun {
    /// Looks at a datagram of no known transfer; answers whether it shows one that had begun before.
    pub(super) fn shows(&mut self, datagram: &Datagram<'_>) -> bool {
        let (source, destination) = (datagram.source, datagram.destination);
        // Clients choose their port themselves; a server may stay on its own, and then its blocks come from there and
        // the acknowledgments never reach this place.
        if source.port() < UNRESERVED || destination.port() < UNRESERVED {
            return false;
        }
        match Message::parse(datagram.payload, datagram.payload_bytes) {
            Ok(Message::Data { block, .. }) => {
                let room = self.pairs.len() < limits::OPEN_TRANSFERS;
                match self.pairs.get_mut(&(source, destination)) {
                    Some(last) => *last = last.map(|_| block),
                    None if room => {
                        self.pairs.insert((source, destination), Some(block));
                    }
                    None => {}
                }
                false
            }
            Ok(Message::Acknowledgment { block, .. }) => match self.pairs.get_mut(&(destination, source)) {
                Some(last) if *last == Some(block) => {
                    *last = None;
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }
}
