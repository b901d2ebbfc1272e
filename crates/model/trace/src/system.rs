//! Configuration of the recorded computer.

use serde::Serialize;

use crate::drive_paths::DrivePaths;

/// Maximum number of logical processors. A larger number in a recording is treated as damage, because tables get a
/// column per processor. Linux supports 8,192 (`NR_CPUS`), Windows 2,048.
pub const MAX_PROCESSORS: u32 = 8192;

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disk {
    /// Disk number.
    pub number: u32,
    /// Manufacturer and model, as recorded.
    pub model: String,
    /// Capacity, bytes.
    pub size_bytes: u64,
    /// Sector size, bytes.
    pub sector_bytes: u32,
    /// Boot drive letter or similar, where recorded.
    pub boot_drive: String,
    /// Whether the device's write cache is on, where recorded.
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
    /// Size, bytes.
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
    /// Hardware address, hexadecimal with colons.
    pub physical_address: String,
    /// IP addresses, as text.
    pub addresses: String,
}

/// A display adapter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisplayAdapter {
    /// Chip or adapter name.
    pub name: String,
    /// Video memory, bytes.
    pub memory_bytes: u64,
    /// Horizontal resolution, pixels.
    pub width: u32,
    /// Vertical resolution, pixels.
    pub height: u32,
}

/// A service that was running when the configuration was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledService {
    /// Name.
    pub name: String,
    /// Display name.
    pub display_name: String,
    /// Name of the host process.
    pub process: String,
    /// Id of the host process; 0 if the service was not running.
    pub pid: u32,
    /// Service tag of the threads that work for the service; 0 for none.
    pub tag: u32,
    /// Load-order group, where recorded.
    pub load_order_group: String,
    /// Host process group (`svchost -k`), where recorded.
    pub container_group: String,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstalledDevice {
    /// Instance ID.
    pub instance: String,
    /// Description.
    pub description: String,
    /// Friendly name.
    pub friendly_name: String,
    /// Driver service.
    pub driver: String,
    /// Name of the physical device object.
    pub physical_device_object: String,
    /// Device class.
    pub class: String,
}

/// The recorded operating system.
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

/// Configuration from the recording. Unknown texts are empty, unknown numbers are zero or `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemConfiguration {
    /// Operating system.
    pub kind: SystemKind,
    /// Product name and release, e.g. `Windows 11 24H2`, with the edition where recorded.
    pub os: String,
    /// Build number.
    pub os_build: u32,
    /// Build lab string (Windows) or kernel release (Linux).
    pub os_build_text: String,
    /// Computer name.
    pub computer: String,
    /// Manufacturer and model of the computer.
    pub model: String,
    /// Size of a pointer in bits: 32 or 64; 0 when not known.
    pub pointer_bits: u32,
    /// Number of logical processors.
    pub processors: u32,
    /// Interval between profile samples, ns, as recorded (Windows); `None` if it is unknown or changed.
    #[serde(skip)]
    pub sampling_interval_ns: Option<i64>,
    /// Processor name.
    pub processor_name: String,
    /// Nominal processor speed, MHz.
    pub processor_mhz: u32,
    /// Physical memory, bytes.
    pub memory_bytes: u64,
    /// Firmware or BIOS vendor and version.
    pub firmware: String,
    /// Disks.
    pub disks: Vec<Disk>,
    /// Volumes.
    pub volumes: Vec<Volume>,
    /// Kernel paths and their drive letters.
    #[serde(skip)]
    pub drive_paths: DrivePaths,
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
    /// Sleep states supported by the computer, e.g. `S3`.
    pub sleep_states: Vec<String>,
}
