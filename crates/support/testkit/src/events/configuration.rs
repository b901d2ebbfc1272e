//! System configuration (group 0x0B), header extensions, and records of merge tools.

use uuid::Uuid;

use crate::assemble::{ClassHeader, Payload, Record};

/// Thread and process of configuration records: none.
const NO_CONTEXT: u32 = u32::MAX;

/// Processors and memory (hook 0x0B0A, version 3).
#[must_use]
pub fn cpu(ticks: u64, mhz: u32, processors: u32, memory_mib: u32, computer: &str) -> Record<'static> {
    let payload = Payload::wide()
        .u32(mhz)
        .u32(processors)
        .u32(memory_mib)
        .u32(4096)
        .u32(0x1_0000)
        .fixed_text(computer, 256)
        .fixed_text("WORKGROUP", 134)
        .pointer(0)
        .pointer(0x7FFF_FFFE_FFFF)
        .u16(9)
        .u16(6)
        .u16(0x9E0A)
        .u8(1)
        .u8(1)
        .u32(0);
    Record::system(0x0B0A, 3, ticks, NO_CONTEXT, NO_CONTEXT, payload)
}

/// A physical disk (hook 0x0B0B, version 2).
#[must_use]
pub fn physical_disk(ticks: u64, number: u32, size_bytes: u64, model: &str, boot_drive: &str) -> Record<'static> {
    // Readers compute the capacity from the geometry: 512 * 63 * 255 bytes per cylinder.
    let payload = Payload::wide()
        .u32(number)
        .u32(512)
        .u32(63)
        .u32(255)
        .u64(size_bytes / (512 * 63 * 255))
        .u32(0)
        .u32(0)
        .u32(number)
        .u32(0)
        .fixed_text(model, 256)
        .u32(1)
        .u8(1)
        .u8(0)
        .fixed_text(boot_drive, 3)
        .fixed_text("", 2);
    Record::system(0x0B0B, 2, ticks, NO_CONTEXT, NO_CONTEXT, payload)
}

/// A network adapter (hook 0x0B0D, version 2).
#[must_use]
pub fn network_adapter(ticks: u64, description: &str, address: [u8; 6]) -> Record<'static> {
    let payload = Payload::wide()
        .bytes(&address)
        .u16(0)
        .u32(6)
        .u32(1)
        .u32(0)
        .text(description)
        .text("10.0.0.50;")
        .text("10.0.0.1;");
    Record::system(0x0B0D, 2, ticks, NO_CONTEXT, NO_CONTEXT, payload)
}

/// A volume (hook 0x0B0C, version 2).
#[must_use]
pub fn logical_disk(ticks: u64, disk: u32, offset: u64, size_bytes: u64, drive: &str) -> Record<'static> {
    let clusters = (size_bytes / 4096) as i64;
    let payload = Payload::wide()
        .u64(offset)
        .u64(size_bytes)
        .u32(disk)
        .u32(0)
        .u32(1)
        .fixed_text(drive, 4)
        .u32(0)
        .u32(1)
        .u32(8)
        .u32(512)
        .u32(0)
        .i64(clusters / 2)
        .i64(clusters)
        .fixed_text("NTFS", 16)
        .u32(0)
        .u32(0);
    Record::system(0x0B0C, 2, ticks, NO_CONTEXT, NO_CONTEXT, payload)
}

/// A service running when the session stops (hook 0x0B0F, version 3).
#[derive(Clone, Debug)]
pub struct RunningService<'a> {
    pub process: u32,
    /// Service tag of its threads.
    pub tag: u32,
    pub name: &'a str,
    pub display_name: &'a str,
    pub image: &'a str,
    pub load_order_group: &'a str,
    /// `svchost -k` group.
    pub svchost_group: &'a str,
}

impl RunningService<'_> {
    #[must_use]
    pub fn record(&self, ticks: u64) -> Record<'static> {
        let payload = Payload::wide()
            .u32(self.process)
            .u32(super::service::state::RUNNING)
            .u32(self.tag)
            .text(self.name)
            .text(self.display_name)
            .text(self.image)
            .text(self.load_order_group)
            .text(self.svchost_group);
        Record::system(0x0B0F, 3, ticks, NO_CONTEXT, NO_CONTEXT, payload)
    }
}

/// A device (hook 0x0B16, version 5).
#[must_use]
pub fn device(ticks: u64, instance: &str, description: &str, friendly_name: &str, driver: &str) -> Record<'static> {
    let payload = Payload::wide()
        .guid(&Uuid::from_u128(0x4d36e97d_e325_11ce_bfc1_08002be10318))
        .u32(0)
        .u32(0)
        .u32(0x0180_200A)
        .u32(0)
        .text(instance)
        .text(description)
        .text(friendly_name)
        .text("\\Device\\00000001")
        .text(driver);
    Record::system(0x0B16, 5, ticks, NO_CONTEXT, NO_CONTEXT, payload)
}

/// Manufacturer, model and firmware (hook 0x0B19, version 2).
#[must_use]
pub fn platform(ticks: u64, manufacturer: &str, product: &str, firmware_date: &str, firmware: &str) -> Record<'static> {
    let payload = Payload::wide().text(manufacturer).text(product).text(firmware_date).text(firmware);
    Record::system(0x0B19, 2, ticks, NO_CONTEXT, NO_CONTEXT, payload)
}

/// Sleep states (hook 0x0B10, version 2): S3, S4, S5.
#[must_use]
pub fn power(ticks: u64) -> Record<'static> {
    let payload = Payload::wide().bytes(&[0, 0, 1, 1, 1, 0, 0, 0]);
    Record::system(0x0B10, 2, ticks, NO_CONTEXT, NO_CONTEXT, payload)
}

/// Header extension (hook 0x0005) or end extension (0x0020), version 2: group masks and the kernel's event version.
#[must_use]
pub fn extension(end: bool, ticks: u64, masks: [u32; 8]) -> Record<'static> {
    let payload = masks.iter().fold(Payload::wide(), |payload, &mask| payload.u32(mask));
    let hook = if end { 0x0020 } else { 0x0005 };
    Record::system(hook, 2, ticks, 4, 4, payload.u32(70))
}

/// The kernel's build string (hook 0x0042, version 2).
#[must_use]
pub fn build_info(ticks: u64, build: &str) -> Record<'static> {
    Record::system(0x0042, 2, ticks, 4, 4, Payload::wide().ansi(build))
}

/// The start rundown is complete (hook 0x0008, version 2).
#[must_use]
pub fn rundown_complete(ticks: u64) -> Record<'static> {
    Record::system(0x0008, 2, ticks, 4, 4, Payload::wide())
}

/// NT and DOS path of a volume, as merge tools add them (SystemConfigEx, opcode 35).
#[must_use]
pub fn volume_mapping(ticks: u64, nt_path: &str, dos_path: &str) -> Record<'static> {
    let event = ClassHeader {
        class: Uuid::from_u128(0x9b79ee91_b5fd_41c0_a243_4248e266e9d0),
        opcode: 35,
        thread: NO_CONTEXT,
        process: NO_CONTEXT,
        ..ClassHeader::default()
    };
    Record::full(event, ticks, Payload::wide().text(nt_path).text(dos_path))
}
