//! TFTP transfers between a client and a server with given response times and losses.

use std::net::SocketAddr;

use super::{CaptureWriter, Link, udp};

/// A planned transfer. Times are in ns.
#[derive(Clone, Debug)]
pub struct TftpTransfer {
    pub client: SocketAddr,
    pub client_mac: [u8; 6],
    /// The server's address, and the port it responds from.
    pub server: SocketAddr,
    pub file: String,
    pub bytes: u64,
    /// Bytes per block; 512 requests no option.
    pub block_size: u32,
    /// Blocks per acknowledgment; 1 requests no option.
    pub window: u32,
    /// Time from an acknowledgment to the next block.
    pub server_response_ns: u64,
    /// Time from the last block of a window to its acknowledgment.
    pub client_response_ns: u64,
    /// Time between the blocks of a window.
    pub gap_ns: u64,
    /// Numbers of blocks (from 1) that are lost once on their way to the client, after the capture point. Each must be
    /// the last of its window.
    pub lost_blocks: Vec<u64>,
    /// Time before the client repeats its last acknowledgment.
    pub timeout_ns: u64,
    /// From this block on, every block and acknowledgment is sent twice.
    pub duplicated_from: Option<u64>,
    /// The block number after 65,535: 0 or 1.
    pub number_after_rollover: u16,
}

impl Default for TftpTransfer {
    /// Returns a transfer of 2 MB in blocks that fill a frame, windows of 8 blocks, and fast peers.
    fn default() -> Self {
        Self {
            client: ([10, 0, 0, 50], 1789).into(),
            client_mac: [0x52, 0x54, 0, 0x77, 0, 1],
            server: ([10, 0, 0, 1], 40_000).into(),
            file: "boot.efi".into(),
            bytes: 2_000_000,
            block_size: 1468,
            window: 8,
            server_response_ns: 50_000,
            client_response_ns: 100_000,
            gap_ns: 12_300,
            lost_blocks: Vec::new(),
            timeout_ns: 1_000_000_000,
            duplicated_from: None,
            number_after_rollover: 0,
        }
    }
}

/// Writes the frames of a server to a capture.
#[derive(Clone, Copy, Debug)]
pub struct TftpServer {
    pub link: Link,
    pub mac: [u8; 6],
}

impl TftpServer {
    /// Writes a transfer that starts at `start_ns`; returns the time of the last acknowledgment.
    pub fn write_transfer(&self, transfer: &TftpTransfer, start_ns: u64, capture: &mut CaptureWriter) -> u64 {
        let mut run = TransferRun { server: *self, transfer, capture, now_ns: start_ns };
        run.run();
        run.now_ns
    }
}

struct TransferRun<'a> {
    server: TftpServer,
    transfer: &'a TftpTransfer,
    capture: &'a mut CaptureWriter,
    now_ns: u64,
}

impl TransferRun<'_> {
    fn send_to_client(&mut self, payload: &[u8]) {
        let packet = udp(self.transfer.server, self.transfer.client, payload);
        let frame = self.server.link.wrap(self.server.mac, self.transfer.client_mac, &packet);
        self.capture.write_frame(self.now_ns, &frame);
    }

    fn send_to_server(&mut self, port: u16, payload: &[u8]) {
        let server = SocketAddr::new(self.transfer.server.ip(), port);
        let packet = udp(self.transfer.client, server, payload);
        let frame = self.server.link.wrap(self.transfer.client_mac, self.server.mac, &packet);
        self.capture.write_frame(self.now_ns, &frame);
    }

    fn wire_number(&self, block: u64) -> u16 {
        if self.transfer.number_after_rollover == 0 { block as u16 } else { ((block + 65_534) % 65_535 + 1) as u16 }
    }

    fn run(&mut self) {
        let transfer = self.transfer;
        let mut request = vec![0, 1];
        request.extend(transfer.file.as_bytes());
        request.extend(b"\0octet\0");
        let mut options = Vec::new();
        if transfer.block_size != 512 {
            options.extend(format!("blksize\0{}\0", transfer.block_size).bytes());
        }
        if transfer.window != 1 {
            options.extend(format!("windowsize\0{}\0", transfer.window).bytes());
        }
        request.extend(&options);
        self.send_to_server(69, &request);
        self.now_ns += transfer.server_response_ns;
        if !options.is_empty() {
            let answer = [&[0, 6][..], &options].concat();
            self.send_to_client(&answer);
            self.now_ns += transfer.client_response_ns;
            self.acknowledge(0);
            self.now_ns += transfer.server_response_ns;
        }
        let last_block = transfer.bytes / u64::from(transfer.block_size) + 1;
        let mut block = 1;
        while block <= last_block {
            let end = (block + u64::from(transfer.window) - 1).min(last_block);
            self.send_window(block, end, last_block);
            self.now_ns += transfer.client_response_ns;
            if transfer.lost_blocks.contains(&end) {
                // The client times out on the last block and repeats its previous acknowledgment; the server resends
                // the rest.
                self.now_ns += transfer.timeout_ns - transfer.client_response_ns;
                self.acknowledge(end - 1);
                self.now_ns += transfer.server_response_ns;
                self.send_window(end, end, last_block);
                self.now_ns += transfer.client_response_ns;
            }
            self.acknowledge(end);
            block = end + 1;
            if block <= last_block {
                self.now_ns += transfer.server_response_ns;
            }
        }
    }

    fn send_window(&mut self, first: u64, window_end: u64, last_block: u64) {
        for block in first..=window_end {
            if block > first {
                self.now_ns += self.transfer.gap_ns;
            }
            let bytes = if block == last_block {
                self.transfer.bytes % u64::from(self.transfer.block_size)
            } else {
                self.transfer.block_size.into()
            };
            let number = self.wire_number(block).to_be_bytes();
            let payload = [&[0, 3, number[0], number[1]], &vec![0xA5; bytes as usize][..]].concat();
            for _ in 0..self.copies(block) {
                self.send_to_client(&payload);
            }
        }
    }

    fn acknowledge(&mut self, block: u64) {
        let number = if block == 0 { 0 } else { self.wire_number(block) }.to_be_bytes();
        let port = self.transfer.server.port();
        for _ in 0..self.copies(block) {
            self.send_to_server(port, &[0, 4, number[0], number[1]]);
        }
    }

    fn copies(&self, block: u64) -> usize {
        let is_doubled = self.transfer.duplicated_from.is_some_and(|first_duplicated| block >= first_duplicated);
        if is_doubled { 2 } else { 1 }
    }
}
