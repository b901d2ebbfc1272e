//! Writes pcap and pcapng files in memory.

/// Capture file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// pcap, microseconds, little-endian.
    Pcap,
    /// pcap, nanoseconds, big-endian.
    PcapBigEndianNs,
    /// pcapng, one section, nanoseconds, little-endian.
    Pcapng,
    /// pcapng, ticks of 2^-20 s, big-endian.
    PcapngBigEndian,
}

/// Writes a capture file.
#[derive(Clone, Debug)]
pub struct CaptureWriter {
    container: Container,
    snap_length: usize,
    pub bytes: Vec<u8>,
}

impl Container {
    pub const ALL: [Container; 4] = [Self::Pcap, Self::PcapBigEndianNs, Self::Pcapng, Self::PcapngBigEndian];

    /// Starts a file of frames of a link type, truncated to `snap_length` bytes.
    #[must_use]
    pub fn writer(self, link: u16, snap_length: usize) -> CaptureWriter {
        let mut writer = CaptureWriter { container: self, snap_length, bytes: Vec::new() };
        writer.header(link);
        writer
    }

    fn is_big_endian(self) -> bool {
        matches!(self, Self::PcapBigEndianNs | Self::PcapngBigEndian)
    }
}

impl CaptureWriter {
    fn u16(&mut self, value: u16) {
        let bytes = if self.container.is_big_endian() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes.extend(bytes);
    }

    fn u32(&mut self, value: u32) {
        let bytes = if self.container.is_big_endian() { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes.extend(bytes);
    }

    fn header(&mut self, link: u16) {
        let snap_length = self.snap_length as u32;
        match self.container {
            Container::Pcap | Container::PcapBigEndianNs => {
                let magic = if self.container == Container::Pcap { 0xA1B2_C3D4 } else { 0xA1B2_3C4D };
                self.u32(magic);
                self.u16(2);
                self.u16(4);
                self.u32(0);
                self.u32(0);
                self.u32(snap_length);
                self.u32(link.into());
            }
            Container::Pcapng | Container::PcapngBigEndian => {
                self.u32(0x0A0D_0D0A);
                self.u32(28);
                self.u32(0x1A2B_3C4D);
                self.u16(1);
                self.u16(0);
                self.u32(u32::MAX);
                self.u32(u32::MAX);
                self.u32(28);
                // Interface description block with the clock's resolution.
                self.u32(1);
                self.u32(32);
                self.u16(link);
                self.u16(0);
                self.u32(snap_length);
                self.u16(9);
                self.u16(1);
                let resolution = if self.container == Container::Pcapng { 9 } else { 0x80 | 20 };
                self.bytes.extend([resolution, 0, 0, 0]);
                self.u32(0);
                self.u32(32);
            }
        }
    }

    /// Appends a frame captured at `unix_ns`.
    pub fn write_frame(&mut self, unix_ns: u64, frame: &[u8]) -> &mut Self {
        let captured = &frame[..frame.len().min(self.snap_length)];
        let (seconds, ns) = (unix_ns / 1_000_000_000, unix_ns % 1_000_000_000);
        match self.container {
            Container::Pcap | Container::PcapBigEndianNs => {
                let fraction = if self.container == Container::Pcap { ns / 1000 } else { ns };
                self.u32(seconds as u32);
                self.u32(fraction as u32);
                self.u32(captured.len() as u32);
                self.u32(frame.len() as u32);
                self.bytes.extend(captured);
            }
            Container::Pcapng | Container::PcapngBigEndian => {
                let ticks = if self.container == Container::Pcapng {
                    unix_ns
                } else {
                    (seconds << 20) + ((ns << 20) + 500_000_000) / 1_000_000_000
                };
                let padding = captured.len().next_multiple_of(4) - captured.len();
                let length = (32 + captured.len() + padding) as u32;
                self.u32(6);
                self.u32(length);
                self.u32(0);
                self.u32((ticks >> 32) as u32);
                self.u32(ticks as u32);
                self.u32(captured.len() as u32);
                self.u32(frame.len() as u32);
                self.bytes.extend(captured);
                self.bytes.extend(&[0; 3][..padding]);
                self.u32(length);
            }
        }
        self
    }

    /// Appends a pcapng interface statistics block with the number of dropped frames.
    pub fn write_dropped_count(&mut self, frames: u64) -> &mut Self {
        self.u32(5);
        self.u32(40);
        self.u32(0);
        self.u32(0);
        self.u32(0);
        self.u16(5);
        self.u16(8);
        let bytes = if self.container.is_big_endian() { frames.to_be_bytes() } else { frames.to_le_bytes() };
        self.bytes.extend(bytes);
        self.u32(0);
        self.u32(40);
        self
    }
}
