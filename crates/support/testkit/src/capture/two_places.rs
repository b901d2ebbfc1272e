//! One network boot, captured at the client's port and at the server's port, with a known path in between.

use std::net::SocketAddr;

use super::capture_builder::{CAPTURE_START_NS, CaptureBuilder, DhcpFields};
use super::{CaptureWriter, Container, Link, ethernet, udp};

const CLIENT_MAC: [u8; 6] = [0x52, 0x54, 0, 0x77, 0, 1];
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Time of the request for the file, ns since the start.
const REQUEST_NS: i64 = 1_000_000_000;

/// A boot of one file, block by block, over a path with delays and losses. Times are in ns.
#[derive(Clone, Debug)]
pub struct TwoPlaces {
    /// Blocks of 512 bytes; the last one is short.
    pub blocks: u64,
    pub to_server_ns: i64,
    pub to_client_ns: i64,
    /// Maximum additional delay.
    pub jitter_ns: i64,
    /// Time of each end to answer.
    pub response_ns: i64,
    /// Blocks that are lost once.
    pub lost_blocks: Vec<u64>,
    /// Acknowledgments that are lost once.
    pub lost_acknowledgments: Vec<u64>,
    /// Time before the server sends a block again.
    pub timeout_ns: i64,
    /// Blocks that the capture at the client misses, although they arrive.
    pub uncaptured_blocks: Vec<u64>,
    /// Clock of the server's capture minus clock of the client's capture.
    pub clock_offset_ns: i64,
    pub clock_drift_ppm: f64,
    /// First identification and port of this boot: another boot has others.
    pub first_number: u16,
}

impl Default for TwoPlaces {
    fn default() -> Self {
        Self {
            blocks: 2_000,
            to_server_ns: 2_000_000,
            to_client_ns: 2_000_000,
            jitter_ns: 0,
            response_ns: 200_000,
            lost_blocks: Vec::new(),
            lost_acknowledgments: Vec::new(),
            timeout_ns: 1_000_000_000,
            uncaptured_blocks: Vec::new(),
            clock_offset_ns: 0,
            clock_drift_ppm: 0.0,
            first_number: 1,
        }
    }
}

impl TwoPlaces {
    /// Returns the captures at the client's port and at the server's port.
    #[must_use]
    pub fn captures(&self) -> (Vec<u8>, Vec<u8>) {
        let writer = || Container::Pcapng.writer(Link::Ethernet.number(), 262_144);
        let mut run = Run {
            path: self,
            client: writer(),
            server: writer(),
            now_ns: 0,
            numbers: [self.first_number; 2],
            random: 12_345 + u64::from(self.first_number),
        };
        run.run();
        (run.client.bytes, run.server.bytes)
    }
}

/// Whether a packet arrives, and whether the capture at its receiver has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    Uncaptured,
    Lost,
}

struct Run<'a> {
    path: &'a TwoPlaces,
    client: CaptureWriter,
    server: CaptureWriter,
    now_ns: i64,
    /// The next identifications of client and server.
    numbers: [u16; 2],
    random: u64,
}

impl Run<'_> {
    fn run(&mut self) {
        for (unix_ns, frame) in CaptureBuilder::default().lease(&DhcpFields::default()).frames() {
            self.now_ns = self.now_ns.max((unix_ns - CAPTURE_START_NS) as i64);
            let from_client = frame[6..12] == CLIENT_MAC;
            self.pass(from_client, &frame, Fate::Arrives);
        }
        self.now_ns = REQUEST_NS;
        self.send(true, 69, b"\0\x01boot.efi\0octet\0", Fate::Arrives);
        let last = self.path.blocks;
        for block in 1..=last {
            let number = (block as u16).to_be_bytes();
            let data = vec![0xA5; if block == last { 100 } else { 512 }];
            let data = [&[0, 3, number[0], number[1]], data.as_slice()].concat();
            let mut block_fates = vec![Fate::Arrives];
            if self.path.uncaptured_blocks.contains(&block) {
                block_fates = vec![Fate::Uncaptured];
            } else if self.path.lost_blocks.contains(&block) {
                block_fates = vec![Fate::Lost, Fate::Arrives];
            }
            let acknowledgment_lost = self.path.lost_acknowledgments.contains(&block);
            if acknowledgment_lost {
                block_fates.push(Fate::Arrives);
            }
            let mut is_first_acknowledgment = true;
            for fate in block_fates {
                self.now_ns += self.path.response_ns;
                let sent_ns = self.now_ns;
                self.send(false, 40_000, &data, fate);
                if fate == Fate::Lost {
                    self.now_ns = sent_ns + self.path.timeout_ns;
                    continue;
                }
                self.now_ns += self.path.response_ns;
                let is_lost = acknowledgment_lost && is_first_acknowledgment;
                is_first_acknowledgment = false;
                let fate = if is_lost { Fate::Lost } else { Fate::Arrives };
                self.send(true, 40_000, &[0, 4, number[0], number[1]], fate);
                if is_lost {
                    self.now_ns = sent_ns + self.path.timeout_ns;
                }
            }
        }
    }

    /// Sends a datagram at the current time, and moves on to its arrival.
    fn send(&mut self, from_client: bool, server_port: u16, payload: &[u8], fate: Fate) {
        let client: SocketAddr = ([10, 0, 0, 50], 2_000 + self.path.first_number).into();
        let server: SocketAddr =
            ([10, 0, 0, 1], server_port + u16::from(server_port > 69) * self.path.first_number).into();
        let mut packet = if from_client { udp(client, server, payload) } else { udp(server, client, payload) };
        let number = &mut self.numbers[usize::from(from_client)];
        packet[4..6].copy_from_slice(&number.to_be_bytes());
        *number = number.checked_add(1).unwrap_or(1);
        let (source, destination) = if from_client { (CLIENT_MAC, SERVER_MAC) } else { (SERVER_MAC, CLIENT_MAC) };
        self.pass(from_client, &ethernet(source, destination, 0x0800, &packet), fate);
    }

    fn pass(&mut self, from_client: bool, frame: &[u8], fate: Fate) {
        self.write(from_client, frame);
        let delay_ns = if from_client { self.path.to_server_ns } else { self.path.to_client_ns };
        self.now_ns += delay_ns + self.jitter_ns();
        if fate == Fate::Arrives {
            self.write(!from_client, frame);
        }
    }

    /// Writes a frame to one of the captures, with the time of its clock.
    fn write(&mut self, at_client: bool, frame: &[u8]) {
        let start_ns = CAPTURE_START_NS as i64;
        if at_client {
            self.client.write_frame((start_ns + self.now_ns) as u64, frame);
        } else {
            let drift_ns = (self.now_ns as f64 * self.path.clock_drift_ppm / 1e6) as i64;
            let unix_ns = start_ns + self.path.clock_offset_ns + self.now_ns + drift_ns;
            self.server.write_frame(unix_ns as u64, frame);
        }
    }

    fn jitter_ns(&mut self) -> i64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if self.path.jitter_ns == 0 { 0 } else { (self.random >> 33) as i64 % self.path.jitter_ns }
    }
}
