//! Builds captures of network boots, message by message.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{
    CaptureWriter, Container, Link, TcpFlags, TftpServer, TftpTransfer, arp_reply, arp_request, ethernet, fragments,
    ipv4, ipv6, tcp, udp,
};

/// Time of the first frame, ns since 1970.
pub const CAPTURE_START_NS: u64 = 1_700_000_000_000_000_000;
/// Time between frames.
const FRAME_NS: u64 = 50_000;
const CLIENT_MAC: [u8; 6] = [0x52, 0x54, 0, 0x77, 0, 1];
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 50);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// DHCP message type (option 53).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DhcpMessageType {
    Discover = 1,
    Offer = 2,
    Request = 3,
    Decline = 4,
    Ack = 5,
    Nak = 6,
}

/// Fields of a DHCP message other than its type.
#[derive(Clone, Debug)]
pub struct DhcpFields {
    /// Client architecture; only in messages from the client.
    pub architecture: u16,
    pub vendor_class: String,
    /// The server that sends the message.
    pub server: Ipv4Addr,
    /// The message offers or assigns an address.
    pub has_address: bool,
    /// File to load.
    pub boot_file: Option<String>,
    pub boot_server: Ipv4Addr,
    /// Transaction id.
    pub transaction: u32,
    /// User class (option 77); empty for none.
    pub user_class: String,
    /// Raw PXE options (option 43).
    pub pxe_options: Vec<u8>,
    /// Use a boot server's port 4011.
    pub uses_boot_server_port: bool,
    /// Plain BOOTP, without option 53.
    pub is_bootp: bool,
}

impl Default for DhcpFields {
    fn default() -> Self {
        Self {
            architecture: 7,
            vendor_class: "PXEClient:Arch:00007:UNDI:003016".into(),
            server: SERVER,
            has_address: true,
            boot_file: Some("boot.efi".into()),
            boot_server: SERVER,
            transaction: 0x1234_5678,
            user_class: String::new(),
            pxe_options: Vec::new(),
            uses_boot_server_port: false,
            is_bootp: false,
        }
    }
}

/// Builds a capture frame by frame.
#[derive(Clone, Debug)]
pub struct CaptureBuilder {
    writer: CaptureWriter,
    now_ns: u64,
    client_port: u16,
    server_port: u16,
    /// Address that the TFTP server answers from.
    answer_address: Ipv4Addr,
    identification: u16,
    /// Number of times each frame is captured, 3 µs apart.
    copies: usize,
    /// The capture misses every n-th DATA packet; 0 for none.
    missed_every: u64,
    /// Receive window of TCP segments.
    receive_window: u16,
    /// The server's port of TCP segments.
    tcp_port: u16,
}

impl Default for CaptureBuilder {
    fn default() -> Self {
        Self {
            writer: Container::Pcapng.writer(Link::Ethernet.number(), 262_144),
            now_ns: CAPTURE_START_NS,
            client_port: 2000,
            server_port: 40_000,
            answer_address: SERVER,
            identification: 0,
            copies: 1,
            missed_every: 0,
            receive_window: 60_000,
            tcp_port: 80,
        }
    }
}

impl CaptureBuilder {
    #[must_use]
    pub fn bytes(self) -> Vec<u8> {
        self.writer.bytes
    }

    /// Returns the frames and their times, ns since 1970.
    #[must_use]
    pub fn frames(self) -> Vec<(u64, Vec<u8>)> {
        super::read_frames(&self.bytes())
    }

    /// Adds the operating system's DISCOVER.
    #[must_use]
    pub fn os_discover(self, number: u32) -> Self {
        let fields = DhcpFields { transaction: !number, ..system_fields() };
        self.dhcp(DhcpMessageType::Discover, &fields)
    }

    /// Sets the time of the next frame, ns since 1970.
    #[must_use]
    pub fn at_unix_ns(mut self, unix_ns: u64) -> Self {
        self.now_ns = unix_ns;
        self
    }

    #[must_use]
    pub fn wait_ms(mut self, ms: u64) -> Self {
        self.now_ns += ms * 1_000_000;
        self
    }

    #[must_use]
    pub fn set_clock_back_ms(mut self, ms: u64) -> Self {
        self.now_ns -= ms * 1_000_000;
        self
    }

    /// Captures every following frame `copies` times.
    #[must_use]
    pub fn duplicate_frames(mut self, copies: usize) -> Self {
        self.copies = copies;
        self
    }

    /// Misses every `nth` following block.
    #[must_use]
    pub fn miss_every(mut self, nth: u64) -> Self {
        self.missed_every = nth;
        self
    }

    fn frame(&mut self, frame: &[u8]) {
        for copy in 0..self.copies as u64 {
            self.writer.write_frame(self.now_ns + copy * 3_000, frame);
        }
        self.now_ns += FRAME_NS;
    }

    /// Uses the next client and server ports, wrapping around.
    fn next_ports(&mut self) {
        const MAX: u16 = 20_000;
        self.client_port = 2_000 + (self.client_port - 2_000 + 1) % MAX;
        self.server_port = 40_000 + (self.server_port - 40_000 + 1) % MAX;
    }

    fn next_identification(&mut self) -> u16 {
        // Zero means that the sender does not number its packets.
        self.identification = self.identification.checked_add(1).unwrap_or(1);
        self.identification
    }

    fn packet(&mut self, from_client: bool, mut packet: Vec<u8>) {
        let number = self.next_identification().to_be_bytes();
        packet[4..6].copy_from_slice(&number);
        let (source, destination) = if from_client { (CLIENT_MAC, SERVER_MAC) } else { (SERVER_MAC, CLIENT_MAC) };
        let frame = ethernet(source, destination, 0x0800, &packet);
        self.frame(&frame);
    }

    #[must_use]
    pub fn dhcp(mut self, kind: DhcpMessageType, fields: &DhcpFields) -> Self {
        let from_client =
            matches!(kind, DhcpMessageType::Discover | DhcpMessageType::Request | DhcpMessageType::Decline);
        let mut message = vec![0; 236];
        message[0] = if from_client { 1 } else { 2 };
        (message[1], message[2]) = (1, 6);
        message[4..8].copy_from_slice(&fields.transaction.to_be_bytes());
        message[28..34].copy_from_slice(&CLIENT_MAC);
        if !from_client && fields.has_address && kind != DhcpMessageType::Nak {
            message[16..20].copy_from_slice(&CLIENT.octets());
        }
        if !from_client && let Some(file) = &fields.boot_file {
            message[20..24].copy_from_slice(&fields.boot_server.octets());
            message[108..108 + file.len()].copy_from_slice(file.as_bytes());
        }
        message.extend([99, 130, 83, 99]);
        let mut option = |code: u8, data: &[u8]| {
            message.extend([code, data.len() as u8]);
            message.extend(data);
        };
        if !fields.is_bootp {
            option(53, &[kind as u8]);
            if !fields.vendor_class.is_empty() {
                option(60, fields.vendor_class.as_bytes());
            }
            if from_client && fields.vendor_class.contains("Client") {
                option(93, &fields.architecture.to_be_bytes());
            }
            if from_client && !fields.user_class.is_empty() {
                option(77, fields.user_class.as_bytes());
            }
            if !from_client {
                option(54, &fields.server.octets());
            }
            if kind == DhcpMessageType::Decline {
                option(50, &CLIENT.octets());
            }
            if !fields.pxe_options.is_empty() {
                option(43, &fields.pxe_options);
            }
        }
        message.push(255);
        let port = if fields.uses_boot_server_port { 4011 } else { 67 };
        let (client, server): (SocketAddr, SocketAddr) = if fields.uses_boot_server_port {
            ((CLIENT, 68).into(), (SERVER, port).into())
        } else if from_client {
            ((Ipv4Addr::UNSPECIFIED, 68).into(), (Ipv4Addr::BROADCAST, port).into())
        } else {
            ((Ipv4Addr::BROADCAST, 68).into(), (fields.server, port).into())
        };
        let packet = if from_client { udp(client, server, &message) } else { udp(server, client, &message) };
        self.packet(from_client, packet);
        self
    }

    /// Adds DISCOVER, OFFER, REQUEST and ACK.
    #[must_use]
    pub fn lease(self, fields: &DhcpFields) -> Self {
        let builder =
            self.dhcp(DhcpMessageType::Discover, fields).wait_ms(2).dhcp(DhcpMessageType::Offer, fields).wait_ms(900);
        builder.dhcp(DhcpMessageType::Request, fields).wait_ms(3).dhcp(DhcpMessageType::Ack, fields).wait_ms(10)
    }

    fn tftp(&mut self, from_client: bool, port: u16, payload: &[u8]) {
        let address = if port == 69 { SERVER } else { self.answer_address };
        let (client, server): (SocketAddr, SocketAddr) = ((CLIENT, self.client_port).into(), (address, port).into());
        let packet = if from_client { udp(client, server, payload) } else { udp(server, client, payload) };
        self.packet(from_client, packet);
    }

    /// Sets the address that the TFTP server answers from.
    #[must_use]
    pub fn answer_address(mut self, address: Ipv4Addr) -> Self {
        self.answer_address = address;
        self
    }

    /// Adds a read request from a new client port; `options` are names and values.
    #[must_use]
    pub fn request(mut self, file: &str, options: &[(&str, &str)]) -> Self {
        self.next_ports();
        self.request_again(file, options)
    }

    /// Repeats a read request.
    #[must_use]
    pub fn request_again(mut self, file: &str, options: &[(&str, &str)]) -> Self {
        let mut payload = vec![0, 1];
        payload.extend(encode_strings(&[(file, "octet")]));
        payload.extend(encode_strings(options));
        self.tftp(true, 69, &payload);
        self
    }

    /// Adds a write request.
    #[must_use]
    pub fn upload(mut self, file: &str) -> Self {
        self.client_port += 1;
        let mut payload = vec![0, 2];
        payload.extend(encode_strings(&[(file, "octet")]));
        self.tftp(true, 69, &payload);
        self
    }

    /// Adds an OACK from the server.
    #[must_use]
    pub fn oack(mut self, options: &[(&str, &str)]) -> Self {
        let mut payload = vec![0, 6];
        payload.extend(encode_strings(options));
        self.tftp(false, self.server_port, &payload);
        self
    }

    /// Adds a block from the server.
    #[must_use]
    pub fn data(mut self, block: u64, data: &[u8]) -> Self {
        if self.missed_every > 0 && block.is_multiple_of(self.missed_every) {
            self.now_ns += 50_000;
            return self;
        }
        let number = (block as u16).to_be_bytes();
        self.tftp(false, self.server_port, &[&[0, 3, number[0], number[1]], data].concat());
        self
    }

    /// Adds an acknowledgment from the client.
    #[must_use]
    pub fn acknowledge(mut self, block: u64) -> Self {
        let number = (block as u16).to_be_bytes();
        self.tftp(true, self.server_port, &[0, 4, number[0], number[1]]);
        self
    }

    /// Adds an error from the client or the server.
    #[must_use]
    pub fn error(mut self, from_client: bool, code: u16, text: &str) -> Self {
        let number = code.to_be_bytes();
        let payload = [&[0, 5, number[0], number[1]], text.as_bytes(), &[0]].concat();
        self.tftp(from_client, self.server_port, &payload);
        self
    }

    /// Adds acknowledged blocks of a file, without its last block.
    #[must_use]
    pub fn blocks(mut self, blocks: std::ops::Range<u64>, first_bytes: &[u8]) -> Self {
        let mut block_data = vec![0xA5; 512];
        for block in blocks {
            if block == 1 {
                block_data[..first_bytes.len()].copy_from_slice(first_bytes);
            }
            self = self.data(block, &block_data).acknowledge(block);
        }
        self
    }

    /// Adds a complete transfer of `blocks` blocks of 512 bytes, the last one short; the first block starts with
    /// `first_bytes`.
    #[must_use]
    pub fn file(self, name: &str, blocks: u64, first_bytes: &[u8]) -> Self {
        self.request(name, &[]).blocks(1..blocks, first_bytes).data(blocks, b"end").acknowledge(blocks)
    }

    /// Returns the first bytes of a UEFI program for a PE/COFF machine number.
    #[must_use]
    pub fn uefi_program(machine: u16) -> Vec<u8> {
        let mut program = vec![0; 134];
        program[..2].copy_from_slice(b"MZ");
        program[60] = 128;
        program[128..132].copy_from_slice(b"PE\0\0");
        program[132..].copy_from_slice(&machine.to_le_bytes());
        program
    }

    /// Adds an ICMP "destination unreachable" from the server; code 3 means that no process listens on the port.
    #[must_use]
    pub fn icmp_unreachable(mut self, code: u8) -> Self {
        let quoted = udp((CLIENT, self.client_port).into(), (SERVER, 69).into(), &[0, 1]);
        let message = [&[3, code, 0, 0, 0, 0, 0, 0], &quoted[..28]].concat();
        let packet = ipv4(SERVER, CLIENT, 1, &message, None);
        self.packet(false, packet);
        self
    }

    /// Adds an ICMP message of a type and code about a packet of the current transfer: from the client about a packet of
    /// the server, or the other way around.
    #[must_use]
    pub fn icmp_within_transfer(mut self, from_client: bool, kind: u8, code: u8) -> Self {
        let (client, server): (SocketAddr, SocketAddr) =
            ((CLIENT, self.client_port).into(), (SERVER, self.server_port).into());
        let quoted = if from_client { udp(server, client, &[0, 3]) } else { udp(client, server, &[0, 4]) };
        let message = [&[kind, code, 0, 0, 0, 0, 0, 0], &quoted[..28]].concat();
        let (source, destination) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        self.packet(from_client, ipv4(source, destination, 1, &message, None));
        self
    }

    /// Adds an ICMPv6 router solicitation from the client, or an advertisement from the server.
    #[must_use]
    pub fn router_message(mut self, from_client: bool) -> Self {
        let (kind, source, station) = if from_client { (133, 1, CLIENT_MAC) } else { (134, 2, SERVER_MAC) };
        let source = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, source);
        let group = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, if from_client { 2 } else { 1 });
        let packet = ipv6(source, group, 58, &[kind, 0, 0, 0, 0, 0, 0, 0], None);
        self.frame(&ethernet(station, [0x33, 0x33, 0, 0, 0, 1], 0x86DD, &packet));
        self
    }

    /// Adds a UDP datagram between ports of the client and the server.
    #[must_use]
    pub fn datagram(mut self, from_client: bool, ports: (u16, u16), payload: &[u8]) -> Self {
        let (client, server): (SocketAddr, SocketAddr) = ((CLIENT, ports.0).into(), (SERVER, ports.1).into());
        let packet = if from_client { udp(client, server, payload) } else { udp(server, client, payload) };
        self.packet(from_client, packet);
        self
    }

    /// Adds the first fragment of a block that does not fit into a frame.
    #[must_use]
    pub fn first_fragment(mut self, block: u16, block_size: usize) -> Self {
        let number = block.to_be_bytes();
        let payload = [&[0, 3, number[0], number[1]][..], &vec![0xA5; block_size]].concat();
        let (client, server): (SocketAddr, SocketAddr) =
            ((CLIENT, self.client_port).into(), (SERVER, self.server_port).into());
        let identification = self.next_identification();
        if let Some(packet) = fragments(server, client, &payload, identification, 1480).first() {
            self.frame(&ethernet(SERVER_MAC, CLIENT_MAC, 0x0800, packet));
        }
        self
    }

    /// Keeps only the frames that the client sent, or only the frames of other stations.
    #[must_use]
    pub fn one_direction(self, from_client: bool) -> Self {
        let mut writer = Container::Pcapng.writer(Link::Ethernet.number(), 262_144);
        let frames = super::read_frames(&self.writer.bytes);
        for (time_ns, frame) in frames.iter().filter(|(_, frame)| (frame[6..12] == CLIENT_MAC) == from_client) {
            writer.write_frame(*time_ns, frame);
        }
        Self { writer, ..self }
    }

    /// Keeps only the UDP datagrams over IPv4 from or to these ports, like a filter of the capture.
    #[must_use]
    pub fn only_ports(self, ports: &[u16]) -> Self {
        let mut writer = Container::Pcapng.writer(Link::Ethernet.number(), 262_144);
        let port = |frame: &[u8], at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
        let is_kept = |frame: &[u8]| {
            let is_udp = frame.get(12..14) == Some(&[8, 0]) && frame.get(23) == Some(&17);
            is_udp && [34, 36].iter().any(|&at| port(frame, at).is_some_and(|port| ports.contains(&port)))
        };
        for (time_ns, frame) in super::read_frames(&self.writer.bytes).iter().filter(|(_, frame)| is_kept(frame)) {
            writer.write_frame(*time_ns, frame);
        }
        Self { writer, ..self }
    }

    /// Adds an ARP request from the client for `target`.
    #[must_use]
    pub fn arp_request(mut self, target: Ipv4Addr) -> Self {
        let frame = arp_request(CLIENT_MAC, CLIENT, target);
        self.frame(&frame);
        self
    }

    /// Adds an ARP request from the server, which the client answers after `response_ns`.
    #[must_use]
    pub fn arp_for_client(mut self, response_ns: u64) -> Self {
        let request = arp_request(SERVER_MAC, SERVER, CLIENT);
        self.writer.write_frame(self.now_ns, &request);
        self.now_ns += response_ns;
        self.frame(&arp_reply(CLIENT_MAC, CLIENT, (SERVER_MAC, SERVER)));
        self
    }

    /// Adds an ARP request from the client, which the server answers after `response_ns`.
    #[must_use]
    pub fn arp_for_server(mut self, response_ns: u64) -> Self {
        let request = arp_request(CLIENT_MAC, CLIENT, SERVER);
        self.writer.write_frame(self.now_ns, &request);
        self.now_ns += response_ns;
        self.frame(&arp_reply(SERVER_MAC, SERVER, (CLIENT_MAC, CLIENT)));
        self
    }

    /// Adds an ARP request from a third station, which the client answers after `response_ns`.
    #[must_use]
    pub fn arp_for_client_from_third_station(mut self, response_ns: u64) -> Self {
        let (station, address) = ([2, 9, 9, 9, 9, 9], Ipv4Addr::new(10, 0, 0, 99));
        self.writer.write_frame(self.now_ns, &arp_request(station, address, CLIENT));
        self.now_ns += response_ns;
        self.frame(&arp_reply(CLIENT_MAC, CLIENT, (station, address)));
        self
    }

    /// Adds an ICMP echo request, which the peer answers after `response_ns`.
    #[must_use]
    pub fn ping(mut self, from_client: bool, response_ns: u64) -> Self {
        let (requester, responder) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        self.packet(from_client, ipv4(requester, responder, 1, &[8, 0, 0, 0, 0, 1, 0, 1], None));
        self.now_ns = (self.now_ns + response_ns).saturating_sub(FRAME_NS);
        self.packet(!from_client, ipv4(responder, requester, 1, &[0, 0, 0, 0, 0, 1, 0, 1], None));
        self
    }

    /// Sets the port the server responds from.
    #[must_use]
    pub fn server_port(mut self, port: u16) -> Self {
        self.server_port = port;
        self
    }

    /// Adds a DHCPv6 SOLICIT from the client's firmware.
    #[must_use]
    pub fn dhcpv6_solicit(self, transaction: u8) -> Self {
        self.solicit_as(transaction, true)
    }

    /// Adds a DHCPv6 SOLICIT from an operating system that does not identify itself.
    #[must_use]
    pub fn dhcpv6_solicit_anonymous(self, transaction: u8) -> Self {
        self.solicit_as(transaction, false)
    }

    fn solicit_as(mut self, transaction: u8, is_firmware: bool) -> Self {
        let client = Ipv6Addr::new(0xFE80, 0, 0, 0, 0x5054, 0xFF, 0xFE77, 1);
        let all_servers = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 1, 2);
        let mut message = vec![1, 0, 0, transaction];
        // The client identifier (its MAC address), architecture and vendor class.
        for (code, data) in [
            (1_u16, [&[0, 3, 0, 1][..], &CLIENT_MAC].concat()),
            (61, vec![0, 7]),
            (16, [&[0, 0, 1, 0x57, 0, 32][..], b"PXEClient:Arch:00007:UNDI:003016"].concat()),
        ]
        .into_iter()
        .take(if is_firmware { 3 } else { 1 })
        {
            message.extend(code.to_be_bytes());
            message.extend((data.len() as u16).to_be_bytes());
            message.extend(data);
        }
        let packet = udp((client, 546).into(), (all_servers, 547).into(), &message);
        let frame = ethernet(CLIENT_MAC, [0x33, 0x33, 0, 1, 0, 2], 0x86DD, &packet);
        self.frame(&frame);
        self
    }

    /// Adds a complete transfer in blocks of `block_size` bytes, split into IP fragments that fit a frame.
    #[must_use]
    pub fn fragmented_file(self, name: &str, blocks: u64, block_size: usize) -> Self {
        let size = block_size.to_string();
        let mut builder = self.request(name, &[("blksize", &size)]).oack(&[("blksize", &size)]).acknowledge(0);
        for block in 1..=blocks {
            let bytes = if block == blocks { 10 } else { block_size };
            let number = (block as u16).to_be_bytes();
            let payload = [&[0, 3, number[0], number[1]][..], &vec![0xA5; bytes]].concat();
            let (client, server): (SocketAddr, SocketAddr) =
                ((CLIENT, builder.client_port).into(), (SERVER, builder.server_port).into());
            let identification = builder.next_identification();
            for packet in fragments(server, client, &payload, identification, 1480) {
                builder.frame(&ethernet(SERVER_MAC, CLIENT_MAC, 0x0800, &packet));
            }
            builder = builder.acknowledge(block);
        }
        builder
    }

    /// Adds a complete transfer with the options, response times and losses of `transfer`; its addresses and ports are
    /// ignored.
    #[must_use]
    pub fn transfer(mut self, transfer: &TftpTransfer) -> Self {
        self.next_ports();
        let transfer = TftpTransfer {
            client: (CLIENT, self.client_port).into(),
            client_mac: CLIENT_MAC,
            server: (SERVER, self.server_port).into(),
            ..transfer.clone()
        };
        let server = TftpServer { link: Link::Ethernet, mac: SERVER_MAC };
        self.now_ns = server.write_transfer(&transfer, self.now_ns, &mut self.writer) + 50_000;
        self
    }

    /// Sets the server's port of following TCP segments, and uses the next client port.
    #[must_use]
    pub fn tcp_port(mut self, port: u16) -> Self {
        self.next_ports();
        self.tcp_port = port;
        self
    }

    /// Adds a TCP segment between the client and a port of the server: 80 unless another was set.
    #[must_use]
    pub fn tcp_segment(mut self, from_client: bool, numbers: (u32, u32), flags: TcpFlags, payload: &[u8]) -> Self {
        let (client, server): (SocketAddr, SocketAddr) =
            ((CLIENT, self.client_port).into(), (SERVER, self.tcp_port).into());
        let endpoints = if from_client { (client, server) } else { (server, client) };
        let packet = tcp(endpoints, numbers, flags, self.receive_window, payload);
        self.packet(from_client, packet);
        self
    }

    /// Opens or closes the receive window of following TCP segments.
    #[must_use]
    pub fn receive_window_open(mut self, open: bool) -> Self {
        self.receive_window = if open { 60_000 } else { 0 };
        self
    }

    /// Adds an HTTP request on a new connection, and the response with `body`.
    #[must_use]
    pub fn http(mut self, target: &str, status: &str, body: &[u8]) -> Self {
        self.client_port += 1;
        let request = format!("GET {target} HTTP/1.1\r\nHost: boot\r\nUser-Agent: UefiHttpBoot/1.0\r\n\r\n");
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        let (syn, ack) = (TcpFlags { syn: true, ..TcpFlags::default() }, TcpFlags { ack: true, ..TcpFlags::default() });
        let syn_ack = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
        let next_sequence = 1 + request.len() as u32;
        self.tcp_segment(true, (0, 0), syn, b"")
            .tcp_segment(false, (0, 1), syn_ack, b"")
            .tcp_segment(true, (1, 1), ack, request.as_bytes())
            .tcp_segment(false, (1, next_sequence), ack, &[answer.as_bytes(), body].concat())
    }

    /// Adds a DNS query with id `number`; `answer` is the response code and the number of records, if the server
    /// responds.
    #[must_use]
    pub fn dns_query(mut self, host: &str, number: u8, answer: Option<(u8, u8)>) -> Self {
        let mut name: Vec<u8> = Vec::new();
        for label in host.split('.') {
            name.push(label.len() as u8);
            name.extend(label.as_bytes());
        }
        name.extend([0, 0, 1, 0, 1]);
        let (client, server): (SocketAddr, SocketAddr) = ((CLIENT, 1_053).into(), (SERVER, 53).into());
        let message = |head: [u8; 12]| [&head[..], &name].concat();
        let request = udp(client, server, &message([0, number, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        self.frame(&ethernet(CLIENT_MAC, SERVER_MAC, 0x0800, &request));
        self.now_ns += 1_000_000;
        if let Some((code, records)) = answer {
            let mut body = message([0, number, 0x81, 0x80 | code, 0, 1, 0, records, 0, 0, 0, 0]);
            for _ in 0..records {
                body.extend([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 1]);
            }
            self.frame(&ethernet(SERVER_MAC, CLIENT_MAC, 0x0800, &udp(server, client, &body)));
            self.now_ns += 1_000_000;
        }
        self
    }

    /// Adds another machine's frame, which shows that the capture continues.
    #[must_use]
    pub fn unrelated_frame(mut self) -> Self {
        let other_station: IpAddr = [10, 0, 0, 99].into();
        let packet =
            udp(SocketAddr::new(other_station, 5353), SocketAddr::new([224, 0, 0, 251].into(), 5353), b"hello");
        let frame = ethernet([2, 9, 9, 9, 9, 9], [1, 0, 0x5E, 0, 0, 0xFB], 0x0800, &packet);
        self.frame(&frame);
        self
    }

    /// Adds a lease of an operating system that does not identify itself, as most except Windows do.
    #[must_use]
    pub fn anonymous_os_lease(self) -> Self {
        self.lease(&DhcpFields { vendor_class: String::new(), transaction: 0x7777_0002, ..system_fields() })
    }

    /// Adds the operating system's lease.
    #[must_use]
    pub fn os_lease(self) -> Self {
        self.lease(&system_fields())
    }
}

fn system_fields() -> DhcpFields {
    DhcpFields { vendor_class: "MSFT 5.0".into(), transaction: 0x7777_0001, boot_file: None, ..DhcpFields::default() }
}

fn encode_strings(pairs: &[(&str, &str)]) -> Vec<u8> {
    pairs.iter().flat_map(|(name, value)| [name.as_bytes(), &[0], value.as_bytes(), &[0]].concat()).collect()
}
