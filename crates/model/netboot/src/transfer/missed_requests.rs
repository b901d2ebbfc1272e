//! Detects transfers whose request was sent before the capture started.

use std::net::SocketAddr;

use hashbrown::HashMap;

use crate::frame::Datagram;
use crate::limits;
use crate::tftp::Message;

/// First port that is not reserved for well-known services.
const MIN_CLIENT_PORT: u16 = 1024;

/// Detects pairs of ports that exchange TFTP packets without a captured request.
///
/// Any datagram may look like a block of a file by chance, but it is unlikely that another datagram also looks like the
/// acknowledgment of that block.
#[derive(Clone, Debug, Default)]
pub(super) struct MissedRequestDetector {
    /// The last block by sender and receiver; `None` once the pair has been reported.
    pairs: HashMap<(SocketAddr, SocketAddr), Option<u16>>,
}

impl MissedRequestDetector {
    /// Processes a datagram of no known transfer. Returns true if it reveals a transfer that started earlier.
    pub(super) fn is_missed_transfer(&mut self, datagram: &Datagram<'_>) -> bool {
        let (source, destination) = (datagram.source, datagram.destination);
        // Clients choose their own port. A server may keep port 69; then its blocks come from there, and
        // acknowledgments are handled elsewhere.
        if source.port() < MIN_CLIENT_PORT || destination.port() < MIN_CLIENT_PORT {
            return false;
        }
        match Message::parse(datagram.payload, datagram.payload_bytes) {
            Ok(Message::Data { block, .. }) => {
                let has_room = self.pairs.len() < limits::MAX_OPEN_TRANSFERS;
                match self.pairs.get_mut(&(source, destination)) {
                    Some(last_block) => *last_block = last_block.map(|_| block),
                    None if has_room => {
                        self.pairs.insert((source, destination), Some(block));
                    }
                    None => {}
                }
                false
            }
            Ok(Message::Acknowledgment { block, .. }) => match self.pairs.get_mut(&(destination, source)) {
                Some(last_block) if *last_block == Some(block) => {
                    *last_block = None;
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }
}
