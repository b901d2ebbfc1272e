//! Detects transfers whose request was not captured: it was sent before the capture started, or the capture holds only
//! one direction.

use std::net::SocketAddr;

use hashbrown::HashMap;

use super::tracker::{Arrival, TransferTracker};
use super::{PacketKind, Transfer};
use crate::address::MacAddress;
use crate::frame::{Datagram, Frame};
use crate::limits;
use crate::tftp::Message;

/// First port that is not reserved for well-known services.
const MIN_CLIENT_PORT: u16 = 1024;
/// Minimum number of consecutive blocks without an acknowledgment that count as a transfer.
const MIN_BLOCKS: u64 = 4;

/// Detects pairs of ports that exchange TFTP packets without a captured request.
///
/// Any datagram may look like a block of a file by chance, but it is unlikely that another datagram also looks like the
/// acknowledgment of that block, or that several look like consecutive blocks of one size.
#[derive(Clone, Debug, Default)]
pub(super) struct MissedRequestDetector {
    /// The blocks by sender and receiver; `None` once the pair has been reported.
    pairs: HashMap<(SocketAddr, SocketAddr), Option<BlockSequence>>,
}

/// Blocks from one sender to one receiver.
#[derive(Clone, Copy, Debug)]
struct BlockSequence {
    first: Arrival,
    client_mac: Option<MacAddress>,
    last_block: u16,
    last_new_ns: i64,
    last_ns: i64,
    /// Size of full blocks, bytes.
    block_size: u32,
    blocks: u64,
    repeated: u64,
    bytes: u64,
    /// False after a block that does not follow the last one.
    is_consecutive: bool,
    /// True after a short block.
    has_end: bool,
}

impl MissedRequestDetector {
    /// Processes a datagram of no known transfer. Returns true if it reveals a transfer that started earlier.
    pub(super) fn is_missed_transfer(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>) -> bool {
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
                    Some(Some(sequence)) => sequence.on_block(frame.time_ns, block, datagram.payload_bytes),
                    Some(None) => {}
                    None if has_room => {
                        let sequence = BlockSequence::new(frame, datagram, block);
                        self.pairs.insert((source, destination), Some(sequence));
                    }
                    None => {}
                }
                false
            }
            Ok(Message::Acknowledgment { block, .. }) => match self.pairs.get_mut(&(destination, source)) {
                Some(pair) if pair.is_some_and(|sequence| sequence.last_block == block) => {
                    *pair = None;
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns the transfers of which only the server's direction was captured.
    pub(super) fn unacknowledged_transfers(self) -> impl Iterator<Item = Transfer> {
        self.pairs.into_iter().filter_map(|((server, client), sequence)| {
            let sequence = sequence.filter(|sequence| sequence.is_consecutive && sequence.blocks >= MIN_BLOCKS)?;
            Some(sequence.transfer(client, server))
        })
    }
}

impl BlockSequence {
    fn new(frame: &Frame<'_>, datagram: &Datagram<'_>, block: u16) -> Self {
        let bytes = data_bytes(datagram.payload_bytes);
        let first = Arrival {
            time_ns: frame.time_ns,
            wire_bytes: frame.wire_bytes,
            from_client: false,
            payload_bytes: datagram.payload_bytes,
            fragmented: datagram.fragment.is_some(),
        };
        Self {
            first,
            client_mac: frame.destination.filter(|mac| !mac.is_group_or_zero()),
            last_block: block,
            last_new_ns: frame.time_ns,
            last_ns: frame.time_ns,
            block_size: bytes,
            blocks: 1,
            repeated: 0,
            bytes: bytes.into(),
            is_consecutive: true,
            has_end: false,
        }
    }

    fn on_block(&mut self, time_ns: i64, block: u16, payload_bytes: u32) {
        let bytes = data_bytes(payload_bytes);
        let ahead = block.wrapping_sub(self.last_block);
        self.last_ns = time_ns;
        match ahead {
            1 if !self.has_end && bytes <= self.block_size => {
                self.last_block = block;
                self.last_new_ns = time_ns;
                self.blocks += 1;
                self.bytes += u64::from(bytes);
                self.has_end = bytes < self.block_size;
            }
            // An earlier block is sent again.
            0 | 0x8000.. => self.repeated += 1,
            _ => self.is_consecutive = false,
        }
    }

    fn transfer(&self, client: SocketAddr, server: SocketAddr) -> Transfer {
        let tracker = TransferTracker::without_request(&self.first, (client, server), self.client_mac);
        let mut transfer = tracker.finish();
        transfer.last_ns = self.last_ns;
        transfer.first_data_ns = Some(self.first.time_ns);
        transfer.answer_ns = Some(self.first.time_ns);
        transfer.last_new_ns = self.last_new_ns;
        transfer.last_new_packet = PacketKind::Data;
        transfer.highest_block = self.last_block.into();
        transfer.server_only = true;
        transfer.has_last_block = self.has_end;
        transfer.counts.blocks = self.blocks;
        transfer.counts.bytes = self.bytes;
        transfer.counts.data_packets = self.blocks + self.repeated;
        transfer.counts.repeated_data = self.repeated;
        transfer
    }
}

fn data_bytes(payload_bytes: u32) -> u32 {
    /// Opcode and block number.
    const DATA_HEADER: u32 = 4;
    payload_bytes.saturating_sub(DATA_HEADER)
}
