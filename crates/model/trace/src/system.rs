//! The machine and system that were recorded.

use serde::Serialize;

/// More logical processors than any machine has: what a recording states beyond this is not believed, for tables get a
/// column for each. Linux can be built for 8,192 (`NR_CPUS`), Windows uses 2,048.
pub const MAX_PROCESSORS: u32 = 8192;

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disk {
    /// Disk number.
    pub number: u32,
    /// Manufacturer and model as recorded.
    pub model: String,
    /// Capacity, bytes.
    pub size_bytes: u64,
    /// Bytes of a sector.
    pub sector_bytes: u32,
    /// Boot drive letter or similar, when recorded.
    pub boot_drive: String,
    /// Whether the device's write cache is on, when recorded.
    pub write_cache: Option<bool>,
}

/// A volume on a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Volume {
    /// Disk number.
    pub disk: u32,
    /// Partition number.
    pub partition: u32,
    /// Drive letter with colon, or mount point.
    pub drive: String,
    /// File system.
    pub file_system: String,
    /// First byte on the disk.
    pub offset: u64,
    /// Bytes.
    pub size_bytes: u64,
    /// Device path, e.g. `\Device\HarddiskVolume3`.
    pub device_path: String,
}

/// A network adapter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkAdapter {
    /// Description.
    pub description: String,
    /// Hardware address, hex digits with colons.
    pub physical_address: String,
    /// Addresses as text.
    pub addresses: String,
}

/// A display adapter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisplayAdapter {
    /// Chip or adapter name.
    pub name: String,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Horizontal resolution, pixels.
    pub width: u32,
    /// Vertical resolution, pixels.
    pub height: u32,
}

/// A service that ran when the configuration was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledService {
    /// Name.
    pub name: String,
    /// Display name.
    pub display_name: String,
    /// Host process.
    pub process: String,
    /// Host process id; 0 when it did not run.
    pub pid: u32,
    /// Tag that threads working for the service carry; 0 for none.
    pub tag: u32,
    /// Load-order group, when recorded.
    pub load_order_group: String,
    /// Container group (`svchost -k` group), when recorded.
    pub container_group: String,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledDevice {
    /// Instance path.
    pub instance: String,
    /// Description.
    pub description: String,
    /// Friendly name.
    pub friendly_name: String,
    /// Driver service.
    pub driver: String,
    /// Physical device object's name.
    pub physical_device_object: String,
    /// Class.
    pub class: String,
}

/// Which system was recorded. Analyses ask this where the same question has other landmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SystemKind {
    /// Windows.
    Windows,
    /// Linux with systemd.
    Linux,
    /// Not known.
    #[default]
    Unknown,
}

/// What the recording says about the machine. Unknown texts are empty, unknown numbers zero or `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemConfiguration {
    /// Which system it is.
    pub kind: SystemKind,
    /// Operating system's name and release as people know it, e.g. `Windows 11 24H2`, with the edition where the
    /// recording names it.
    pub os: String,
    /// Build number.
    pub os_build: u32,
    /// Build laboratory string or kernel release.
    pub os_build_text: String,
    /// Computer name.
    pub computer: String,
    /// Manufacturer and model of the machine.
    pub model: String,
    /// Bits of a pointer: 32 or 64; 0 when not known.
    pub pointer_bits: u32,
    /// Logical processors.
    pub processors: u32,
    /// Processor name.
    pub processor_name: String,
    /// Nominal processor speed, MHz.
    pub processor_mhz: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Firmware or BIOS vendor and version.
    pub firmware: String,
    /// Disks.
    pub disks: Vec<Disk>,
    /// Volumes.
    pub volumes: Vec<Volume>,
    /// Network adapters.
    pub network_adapters: Vec<NetworkAdapter>,
    /// Display adapters.
    pub display_adapters: Vec<DisplayAdapter>,
    /// Services.
    pub services: Vec<InstalledService>,
    /// Devices.
    pub devices: Vec<InstalledDevice>,
    /// The kernel's command line (Linux).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kernel_command_line: String,
    /// Sleep states the machine offers, e.g. `S3`.
    pub sleep_states: Vec<String>,
}
