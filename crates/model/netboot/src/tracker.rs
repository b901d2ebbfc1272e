//! Dispatches frames to the trackers of transfers, connections and messages.

use std::net::{IpAddr, SocketAddr};

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

use crate::address::MacAddress;
use crate::capture::{AddressAnswer, AddressProbe, Capture, Presence, RouterMessage, UndeliveredPacket};
use crate::connection::ConnectionTable;
use crate::duplicates::DuplicateDetector;
use crate::frame::{Datagram, FragmentKey, Frame, Packet};
use crate::losses;
use crate::path::PacketMarks;
use crate::transfer::TransferTable;
use crate::{dhcp4, dhcp6, limits, lookup, storage, tftp};

const UDP_HEADER: u32 = 8;

/// Builds a [`Capture`] from frames.
#[derive(Debug, Default)]
pub struct CaptureBuilder {
    capture: Capture,
    transfers: TransferTable,
    connections: ConnectionTable,
    last_ns: i64,
    fragmented: HashMap<FragmentKey, FragmentedDatagram>,
    skipped: u64,
    /// Number of frames from machines beyond the limit.
    others_skipped: u64,
    /// Stations that requested a network boot.
    booting: HashSet<MacAddress>,
    duplicates: DuplicateDetector,
}

/// A datagram received in fragments.
#[derive(Clone, Copy, Debug, Default)]
struct FragmentedDatagram {
    client: Option<SocketAddr>,
    /// Wire sizes of fragments that arrived before the first one.
    early: [u32; 8],
    early_count: u8,
    last_ns: i64,
    expected_bytes: Option<u64>,
    bytes: u64,
}

impl CaptureBuilder {
    /// Returns a builder that also marks packets, to align the capture with another one.
    #[must_use]
    pub fn with_marks() -> Self {
        let capture = Capture { marks: Some(PacketMarks::default()), ..Capture::default() };
        Self { capture, ..Self::default() }
    }

    /// Processes the next frame.
    pub fn on_frame(&mut self, frame: &Frame<'_>) {
        let capture = &mut self.capture;
        capture.frames += 1;
        if self.duplicates.is_copy(frame) {
            capture.duplicate_frames += 1;
            capture.duration_ns = capture.duration_ns.max(frame.time_ns);
            return;
        }
        capture.wire_bytes += u64::from(frame.wire_bytes);
        if frame.time_ns < self.last_ns {
            let number = capture.frames;
            capture.losses.add_at(&losses::TIME_BACKWARDS, || format!("frame {number}"));
        }
        self.last_ns = frame.time_ns;
        capture.duration_ns = capture.duration_ns.max(frame.time_ns);
        if let Some(marks) = &mut capture.marks {
            marks.add(frame);
        }
        if let Some(mac) = frame.source {
            self.others_skipped += record_presence(&mut capture.stations, mac, frame.time_ns, None);
        }
        let is_at_boot_port =
            matches!(&frame.packet, Packet::Udp(datagram) if is_boot_port(datagram.source, datagram.destination));
        capture.frames_beyond_boot_ports += u64::from(!is_at_boot_port);
        match frame.packet {
            Packet::Udp(datagram) => self.on_datagram(frame, &datagram),
            Packet::Tcp(segment) => {
                self.record_address(segment.source.ip(), frame);
                self.connections.on_segment(frame, &segment, &self.booting);
            }
            Packet::Other => {}
            Packet::Router(kind) => {
                if self.capture.router_messages.len() < limits::MAX_ROUTER_MESSAGES {
                    let message = RouterMessage { time_ns: frame.time_ns, kind, sender: frame.source };
                    self.capture.router_messages.push(message);
                } else {
                    self.skipped += 1;
                }
            }
            Packet::LaterFragment { of: key, bytes, .. } => self.on_later_fragment(frame, key, bytes),
            Packet::AddressProbe { target } => {
                if self.capture.address_probes.len() < limits::MAX_STATIONS {
                    self.capture.address_probes.push(AddressProbe {
                        time_ns: frame.time_ns,
                        target,
                        prober: frame.source,
                    });
                } else {
                    self.skipped += 1;
                }
            }
            Packet::AddressAnswer { address } => self.on_address_answer(frame, address),
            Packet::Unreachable(packet) => {
                if self.capture.undelivered.len() < limits::MAX_UNDELIVERED {
                    self.capture.undelivered.push(UndeliveredPacket { time_ns: frame.time_ns, packet });
                } else {
                    self.skipped += 1;
                }
            }
        }
    }

    fn on_address_answer(&mut self, frame: &Frame<'_>, address: IpAddr) {
        self.record_address(address, frame);
        let capture = &mut self.capture;
        if capture.address_answers.len() >= limits::MAX_STATIONS {
            self.skipped += 1;
            return;
        }
        // A reply arrives soon or not at all, so only the latest probes are considered. With two probes, it may answer
        // the first.
        const MAX_PENDING: usize = 16;
        let is_addressed_to = |station: MacAddress| frame.destination.is_none_or(|destination| destination == station);
        let answered_ns = capture
            .address_answers
            .iter()
            .rev()
            .take(MAX_PENDING)
            .find(|answer| answer.address == address && answer.prober.is_some_and(is_addressed_to))
            .map_or(i64::MIN, |answer| answer.time_ns);
        let first_pending = capture.address_probes.len().saturating_sub(MAX_PENDING);
        let oldest_open_probe = capture.address_probes.iter().skip(first_pending).find(|probe| {
            let is_open = (answered_ns..=frame.time_ns).contains(&probe.time_ns);
            is_open && probe.target == address && probe.prober.is_some_and(is_addressed_to)
        });
        let response_time_ns = oldest_open_probe.map(|probe| frame.time_ns.saturating_sub(probe.time_ns));
        let prober = oldest_open_probe.and_then(|probe| probe.prober);
        capture.address_answers.push(AddressAnswer { time_ns: frame.time_ns, address, response_time_ns, prober });
    }

    /// Losses of the capture; readers of the container add theirs.
    pub fn losses(&mut self) -> &mut onoff_trace::Losses {
        &mut self.capture.losses
    }

    /// Closes everything that is open and returns the capture.
    #[must_use]
    pub fn finish(mut self) -> Capture {
        let incomplete = self.fragmented.values().filter(|datagram| !datagram.is_complete()).count();
        let mut capture = self.capture;
        capture.losses.add(&losses::FRAGMENTS_MISSING, incomplete as u64);
        capture.losses.add(&losses::LIMIT_REACHED, self.skipped);
        capture.losses.add(&losses::OTHER_MACHINES_SKIPPED, self.others_skipped);
        capture.losses.add(&losses::DUPLICATE_FRAMES, capture.duplicate_frames);
        capture.connections = std::mem::take(&mut self.connections).finish(&self.booting, &mut capture.losses);
        capture.transfers = std::mem::take(&mut self.transfers).finish(&mut capture.losses);
        capture
    }

    fn on_datagram(&mut self, frame: &Frame<'_>, datagram: &Datagram<'_>) {
        let (source, destination) = (datagram.source, datagram.destination);
        self.record_address(source.ip(), frame);
        let is_full = self.capture.dhcp.len() >= limits::MAX_DHCP_MESSAGES;
        let message = if dhcp4::is_dhcp(source, destination) {
            // A message beyond the limit can only show that its station boots. Skip it if that is known.
            if is_full && dhcp4::client_mac(datagram).is_some_and(|station| self.booting.contains(&station)) {
                self.skipped += 1;
                return;
            }
            dhcp4::parse(frame.time_ns, datagram)
        } else if dhcp6::is_dhcp(source, destination) {
            let from_client = destination.port() == dhcp6::PORTS[1];
            let mac = if from_client { frame.source } else { frame.destination };
            dhcp6::parse(frame.time_ns, datagram, mac.filter(|mac| !mac.is_group_or_zero()))
        } else if lookup::PORT == source.port() || lookup::PORT == destination.port() {
            let lookups = &mut self.capture.lookups;
            self.skipped += u64::from(!lookup::record(lookups, frame.time_ns, datagram));
            return;
        } else if let Some(has_room) = storage::record(&mut self.capture.rpc_calls, frame.time_ns, datagram) {
            self.skipped += u64::from(!has_room);
            return;
        } else {
            let losses = &mut self.capture.losses;
            let client = self.transfers.on_datagram(frame, datagram, losses);
            if client == Some(source) && destination.port() == tftp::PORT {
                self.add_booting(frame.source);
            }
            if let Some((key, bytes)) = datagram.fragment {
                let full_bytes = datagram.payload_bytes.saturating_add(UDP_HEADER);
                self.on_first_fragment(frame.time_ns, key, (bytes, full_bytes), client);
            }
            return;
        };
        let Some(message) = message else { return };
        let losses = &mut self.capture.losses;
        losses.add(&losses::OPTIONS_TRUNCATED, u64::from(message.truncated));
        losses.add(&losses::MESSAGES_MALFORMED, u64::from(message.malformed));
        if message.is_network_boot() {
            self.add_booting(message.client_mac);
        }
        if is_full {
            self.skipped += 1;
        } else {
            self.capture.dhcp.push(message);
        }
    }

    fn add_booting(&mut self, station: Option<MacAddress>) {
        if let Some(mac) = station
            && self.booting.len() < limits::MAX_BOOTING_STATIONS
        {
            self.booting.insert(mac);
        }
    }

    fn on_first_fragment(
        &mut self,
        time_ns: i64,
        key: FragmentKey,
        (bytes, full_bytes): (u32, u32),
        client: Option<SocketAddr>,
    ) {
        self.make_room();
        let entry = self.fragmented.entry(key).or_default();
        if entry.expected_bytes.is_some() {
            // The identification was reused: the old datagram is complete or never will be.
            if !entry.is_complete() {
                self.capture.losses.add(&losses::FRAGMENTS_MISSING, 1);
            }
            *entry = FragmentedDatagram::default();
        }
        entry.client = client;
        entry.expected_bytes = Some(u64::from(full_bytes));
        entry.bytes += u64::from(bytes);
        entry.last_ns = time_ns;
        let early = entry.early;
        let count = usize::from(entry.early_count);
        entry.early_count = 0;
        let is_complete = entry.is_complete();
        if let Some(client) = client {
            for wire_bytes in early.iter().take(count) {
                self.transfers.later_fragment(client, time_ns, *wire_bytes);
            }
            if is_complete {
                self.transfers.on_reassembled(client);
            }
        }
    }

    fn on_later_fragment(&mut self, frame: &Frame<'_>, key: FragmentKey, bytes: u32) {
        self.make_room();
        let entry = self.fragmented.entry(key).or_default();
        entry.last_ns = frame.time_ns;
        entry.bytes += u64::from(bytes);
        if entry.expected_bytes.is_none() {
            if let Some(slot) = entry.early.get_mut(usize::from(entry.early_count)) {
                *slot = frame.wire_bytes;
                entry.early_count += 1;
            }
        } else if let Some(client) = entry.client {
            self.transfers.later_fragment(client, frame.time_ns, frame.wire_bytes);
            if entry.is_complete() {
                self.transfers.on_reassembled(client);
            }
        }
    }

    fn make_room(&mut self) {
        if self.fragmented.len() < limits::MAX_FRAGMENTED {
            return;
        }
        // Remove half of the entries at once, so that this is rare.
        let mut times: Vec<i64> = self.fragmented.values().map(|entry| entry.last_ns).collect();
        times.sort_unstable();
        let middle = times.get(times.len() / 2).copied().unwrap_or(i64::MAX);
        let old_len = self.fragmented.len();
        let mut incomplete = 0;
        self.fragmented.retain(|_, entry| {
            let is_recent = entry.last_ns > middle;
            incomplete += u64::from(!is_recent && !entry.is_complete());
            is_recent
        });
        debug_assert!(self.fragmented.len() < old_len);
        self.capture.losses.add(&losses::FRAGMENTS_MISSING, incomplete);
    }

    fn record_address(&mut self, address: IpAddr, frame: &Frame<'_>) {
        if !address.is_unspecified() {
            let presences = &mut self.capture.addresses;
            self.others_skipped += record_presence(presences, address, frame.time_ns, frame.source);
        }
    }
}

impl FragmentedDatagram {
    fn is_complete(&self) -> bool {
        self.expected_bytes.is_some_and(|expected| self.bytes >= expected)
    }
}

/// True if a datagram is one of DHCP, or from or to the port at which TFTP servers receive requests.
fn is_boot_port(source: SocketAddr, destination: SocketAddr) -> bool {
    let is_request = source.port() == tftp::PORT || destination.port() == tftp::PORT;
    is_request || dhcp4::is_dhcp(source, destination) || dhcp6::is_dhcp(source, destination)
}

fn record_presence<K: std::hash::Hash + Eq>(
    presences: &mut HashMap<K, Presence>,
    key: K,
    time_ns: i64,
    station: Option<MacAddress>,
) -> u64 {
    let is_full = presences.len() >= limits::MAX_STATIONS;
    match presences.entry(key) {
        Entry::Occupied(mut entry) => {
            let entry = entry.get_mut();
            entry.last_ns = entry.last_ns.max(time_ns);
            entry.station = entry.station.or(station);
        }
        Entry::Vacant(_) if is_full => return 1,
        Entry::Vacant(entry) => {
            entry.insert(Presence { first_ns: time_ns, last_ns: time_ns, station });
        }
    }
    0
}
