//! Plug and Play devices, interrupt lines, display adapters and network adapters.

use onoff_etl::Guid;

use crate::kernel::{KernelPayload, events, parse_from_record};
use crate::reader::Reader;
use crate::text::Utf16;

/// A Plug and Play device. Hook 0x0B16.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlugAndPlayDevice<'b> {
    /// Device setup class; `None` before version 4.
    pub class_guid: Option<Guid>,
    /// Device instance path, such as `PCI\VEN_8086&…`.
    pub device_id: Utf16<'b>,
    pub description: Utf16<'b>,
    /// Often empty.
    pub friendly_name: Utf16<'b>,
    /// Physical device object; empty before version 3.
    pub pdo_name: Utf16<'b>,
    /// Service of the function driver; empty before version 4.
    pub service_name: Utf16<'b>,
    /// `DN_*` status; `None` before version 5.
    pub status: Option<u32>,
    /// `CM_PROB_*` problem; `None` before version 5.
    pub problem: Option<u32>,
    upper_filters: u32,
    lower_filters: u32,
    filters: &'b [u8],
}

impl<'b> PlugAndPlayDevice<'b> {
    pub const HOOK: u16 = 0x0b16;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let version = payload.version;
        let mut fields = payload.fields;
        let mut device = Self::default();
        if version >= 4 {
            device.class_guid = Some(fields.guid()?);
            device.upper_filters = fields.u32()?;
            device.lower_filters = fields.u32()?;
        } else {
            // Lengths of the three texts that follow, which are also terminated.
            fields.skip(12)?;
        }
        if version >= 5 {
            device.status = Some(fields.u32()?);
            device.problem = Some(fields.u32()?);
        }
        device.device_id = fields.utf16_z();
        device.description = fields.utf16_z();
        device.friendly_name = fields.utf16_z();
        if version >= 3 {
            device.pdo_name = fields.utf16_z();
        }
        if version >= 4 {
            device.service_name = fields.utf16_z();
            device.filters = fields.unread();
        }
        Some(device)
    }

    /// Iterates over the drivers above the function driver, in recorded order.
    pub fn upper_filters(&self) -> impl Iterator<Item = Utf16<'b>> + 'b {
        Self::read_texts(Reader::new(self.filters, 4), self.upper_filters)
    }

    /// Iterates over the drivers below the function driver, in recorded order.
    pub fn lower_filters(&self) -> impl Iterator<Item = Utf16<'b>> + 'b {
        let mut filters = Reader::new(self.filters, 4);
        for _ in Self::read_texts_from(&mut filters, self.upper_filters) {}
        Self::read_texts(filters, self.lower_filters)
    }

    fn read_texts(mut reader: Reader<'b>, count: u32) -> impl Iterator<Item = Utf16<'b>> + 'b {
        let mut remaining = count;
        std::iter::from_fn(move || Self::next_text(&mut reader, &mut remaining))
    }

    fn read_texts_from(reader: &mut Reader<'b>, count: u32) -> impl Iterator<Item = Utf16<'b>> {
        let mut remaining = count;
        std::iter::from_fn(move || Self::next_text(reader, &mut remaining))
    }

    /// Reads the next text. The count is untrusted, so the texts also end at the end of the payload.
    fn next_text(reader: &mut Reader<'b>, remaining: &mut u32) -> Option<Utf16<'b>> {
        if *remaining == 0 || reader.remaining() < 2 {
            return None;
        }
        *remaining -= 1;
        Some(reader.utf16_z())
    }
}
parse_from_record!(PlugAndPlayDevice<'b>);

/// The device of an interrupt line. Hook 0x0B15.
#[derive(Clone, Copy, Debug)]
pub struct InterruptLine<'b> {
    /// Bit mask of the processors that may handle the interrupt.
    pub affinity: u64,
    /// Processor group of `affinity`; 0 before version 3.
    pub group: u16,
    /// Interrupt line; message-signaled interrupts have large numbers.
    pub number: u32,
    pub device_description: Utf16<'b>,
}

impl<'b> InterruptLine<'b> {
    pub const HOOK: u16 = 0x0b15;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        let affinity = fields.u64()?;
        let group = if payload.version >= 3 {
            let group = fields.u16()?;
            fields.skip(2)?;
            group
        } else {
            0
        };
        let number = fields.u32()?;
        fields.skip(4)?;
        Some(Self { affinity, group, number, device_description: fields.utf16_z() })
    }
}
parse_from_record!(InterruptLine<'b>);

events! {
    /// A display adapter. Hook 0x0B0E.
    0x0b0e => VideoAdapter<'b> {
        /// Memory in bytes.
        memory_size: u32,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        bits_per_pixel: u32,
        refresh_hz: u32,
        chip_type: Utf16<'b> as utf16_array(256),
        /// Digital-to-analog converter.
        dac_type: Utf16<'b> as utf16_array(256),
        /// Name of the adapter.
        adapter: Utf16<'b> as utf16_array(256),
        /// Firmware of the adapter.
        bios: Utf16<'b> as utf16_array(256),
        device_id: Utf16<'b> as utf16_array(256),
        /// `DISPLAY_DEVICE_*` flags.
        state_flags: u32,
    }
}

/// A network adapter. Hook 0x0B0D.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkAdapter<'b> {
    /// Hardware address, in the first `physical_address_length` bytes.
    pub physical_address: [u8; 8],
    /// Length of the hardware address in bytes; only the first 8 are recorded.
    pub physical_address_length: u32,
    pub description: Utf16<'b>,
    /// Text; empty before version 2.
    pub ip_addresses: Utf16<'b>,
    /// Text; empty before version 2.
    pub dns_servers: Utf16<'b>,
}

impl<'b> NetworkAdapter<'b> {
    pub const HOOK: u16 = 0x0b0d;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        if payload.version < 2 {
            let description = fields.utf16_array(256)?;
            fields.skip(4)?;
            let physical_address_length = fields.u32()?;
            // Eight UTF-16 units whose low bytes are the address.
            let units: &[u8; 16] = fields.array()?;
            return Some(Self {
                physical_address: std::array::from_fn(|index| units[index * 2]),
                physical_address_length,
                description,
                ..Self::default()
            });
        }
        let physical_address = *fields.array()?;
        let physical_address_length = fields.u32()?;
        fields.skip(8)?;
        Some(Self {
            physical_address,
            physical_address_length,
            description: fields.utf16_z(),
            ip_addresses: fields.utf16_z(),
            dns_servers: fields.utf16_z(),
        })
    }
}
parse_from_record!(NetworkAdapter<'b>);

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_z(text: &str) -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn reads_device_filters() {
        let mut bytes = vec![7; 16];
        bytes.extend([2u32, 1, 0x180200a, 0].iter().flat_map(|v| v.to_le_bytes()));
        for text in ["PCI\\A", "Disk", "", "\\Device\\1", "disk", "up1", "up2", "low"] {
            bytes.extend(utf16_z(text));
        }
        let device = PlugAndPlayDevice::read(KernelPayload::new(0x0b16, 5, &bytes, 8)).unwrap();
        assert_eq!(device.service_name, "disk");
        assert_eq!(device.status, Some(0x180200a));
        let names = |filters: Vec<Utf16<'_>>| filters.iter().map(Utf16::to_string).collect::<Vec<_>>();
        assert_eq!(names(device.upper_filters().collect()), ["up1", "up2"]);
        assert_eq!(names(device.lower_filters().collect()), ["low"]);
    }

    #[test]
    fn filters_end_with_payload() {
        let mut bytes = vec![7; 16];
        bytes.extend([u32::MAX, u32::MAX].iter().flat_map(|v| v.to_le_bytes()));
        for text in ["a", "b", "c", "d", "e", "f"] {
            bytes.extend(utf16_z(text));
        }
        let device = PlugAndPlayDevice::read(KernelPayload::new(0x0b16, 4, &bytes, 8)).unwrap();
        assert_eq!(device.upper_filters().count(), 1);
        assert_eq!(device.lower_filters().count(), 0);
    }

    #[test]
    fn reads_interrupt_line_version_2() {
        let mut bytes = 3u64.to_le_bytes().to_vec();
        bytes.extend([9u32, 10].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(utf16_z("disk"));
        let line = InterruptLine::read(KernelPayload::new(0x0b15, 2, &bytes, 8)).unwrap();
        assert_eq!((line.number, line.group), (9, 0));
        assert_eq!(line.device_description, "disk");
    }
}
