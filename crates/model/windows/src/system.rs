//! Builds the system configuration from the log file header and the SystemConfig records.

use std::fmt::Write as _;

use onoff_etl::{LogfileHeader, Record, Recording};
use onoff_etw::kernel::{
    BuildLab, LogicalDisk, NetworkAdapter, PhysicalDisk, Platform, PlugAndPlayDevice, PowerConfiguration,
    ProcessorConfiguration, ProcessorDescription, ProfileInterval, ServiceConfiguration, SystemConfigEx, VideoAdapter,
};
use onoff_trace::system::{self, Disk, DisplayAdapter, InstalledDevice, InstalledService, Volume};
use onoff_trace::{Losses, SystemConfiguration, SystemKind, windows_release};

use super::counters;
use super::kernel_events::Subject;

/// Collects the configuration. Merging repeats records, so duplicates are ignored.
#[derive(Debug, Default)]
pub(super) struct SystemTracker {
    system: SystemConfiguration,
    product: String,
    /// NT paths and DOS paths of volumes.
    mappings: Vec<(String, String)>,
    omitted: u64,
    /// Interval between samples of the timer in units of 100 ns; 0 if it changed.
    sampling_interval: Option<u32>,
    /// Number of processors with recorded buffers.
    seen_processors: u32,
}

/// Number of the timer as a source of samples.
const TIMER: u32 = 0;

/// Maximum number of processors in Windows: 2,048 since Windows Server 2016, which is also the limit of buffer headers.
const MAX_PROCESSORS: u32 = 2048;

impl SystemTracker {
    pub(super) fn new(recording: &Recording<'_>) -> Self {
        let header: &LogfileHeader = recording.header();
        let (major, minor) = header.os_version;
        let seen_counts = recording.buffers().iter().map(|buffer| u32::from(buffer.cpu) + 1);
        Self {
            system: SystemConfiguration {
                kind: SystemKind::Windows,
                os: format!("Windows {major}.{minor}"),
                os_build: header.os_build,
                pointer_bits: match header.pointer_size {
                    4 => 32,
                    8 => 64,
                    _ => 0,
                },
                processors: header.processors,
                processor_mhz: header.cpu_speed_mhz,
                ..SystemConfiguration::default()
            },
            seen_processors: seen_counts.max().unwrap_or(0),
            ..Self::default()
        }
    }

    /// Processes a record about the computer. Returns `None` if the record is too short.
    pub(super) fn on_record(&mut self, record: &Record<'_>) -> Option<()> {
        let system = &mut self.system;
        let omitted = &mut self.omitted;
        match record.hook() {
            Some(BuildLab::HOOK) => {
                set(&mut system.os_build_text, BuildLab::parse(record)?.build);
            }
            Some(ProcessorConfiguration::HOOK) => {
                let cpu = ProcessorConfiguration::parse(record)?;
                set(&mut system.computer, cpu.computer_name);
                if system.memory_bytes == 0 {
                    system.memory_bytes = u64::from(cpu.memory_mib) << 20;
                }
                // A session with a single stream for all processors reports one processor.
                system.processors = system.processors.max(cpu.processors);
                if system.processor_mhz == 0 {
                    system.processor_mhz = cpu.mhz;
                }
            }
            Some(hook) if Subject::from_hook(hook) == Subject::SamplingInterval => {
                let interval = ProfileInterval::parse(record)?;
                if interval.source == TIMER {
                    let known = self.sampling_interval.get_or_insert(interval.new_interval);
                    if *known != interval.new_interval {
                        *known = 0;
                    }
                }
            }
            Some(ProcessorDescription::HOOK) => {
                let cpu = ProcessorDescription::parse(record)?;
                set(&mut system.processor_name, cpu.name);
            }
            Some(Platform::HOOK) => {
                let platform = Platform::parse(record)?;
                set(&mut system.model, format_args!("{} {}", platform.manufacturer, platform.product_name));
                set(&mut system.firmware, format_args!("{} {}", platform.bios_version, platform.bios_date));
            }
            Some(PhysicalDisk::HOOK) => {
                let disk = PhysicalDisk::parse(record)?;
                let size_bytes = disk.size();
                add(
                    &mut system.disks,
                    Disk {
                        number: disk.disk_number,
                        model: text(disk.manufacturer),
                        size_bytes,
                        sector_bytes: disk.bytes_per_sector,
                        boot_drive: text(disk.boot_drive_letter),
                        write_cache: Some(disk.write_cache_enabled),
                    },
                    omitted,
                );
            }
            Some(LogicalDisk::HOOK) => {
                let disk = LogicalDisk::parse(record)?;
                add(
                    &mut system.volumes,
                    Volume {
                        disk: disk.disk_number,
                        partition: disk.partition_number,
                        drive: text(disk.drive_letter),
                        file_system: text(disk.file_system),
                        offset: disk.start_offset,
                        size_bytes: disk.partition_size,
                        device_path: String::new(),
                    },
                    omitted,
                );
            }
            Some(NetworkAdapter::HOOK) => {
                let adapter = NetworkAdapter::parse(record)?;
                let length = (adapter.physical_address_length as usize).min(8);
                let mut physical_address = String::new();
                for (index, byte) in adapter.physical_address[..length].iter().enumerate() {
                    let colon = if index == 0 { "" } else { ":" };
                    let _ = write!(physical_address, "{colon}{byte:02x}");
                }
                add(
                    &mut system.network_adapters,
                    system::NetworkAdapter {
                        description: text(adapter.description),
                        physical_address,
                        addresses: text(adapter.ip_addresses),
                    },
                    omitted,
                );
            }
            Some(VideoAdapter::HOOK) => {
                let adapter = VideoAdapter::parse(record)?;
                let name = match text(adapter.adapter) {
                    name if name.is_empty() => text(adapter.chip_type),
                    name => name,
                };
                add(
                    &mut system.display_adapters,
                    DisplayAdapter {
                        name,
                        memory_bytes: u64::from(adapter.memory_size),
                        width: adapter.width,
                        height: adapter.height,
                    },
                    omitted,
                );
            }
            Some(ServiceConfiguration::HOOK) => {
                let service = ServiceConfiguration::parse(record)?;
                add(
                    &mut system.services,
                    InstalledService {
                        name: text(service.service_name),
                        display_name: text(service.display_name),
                        process: text(service.process_name),
                        pid: service.process_id,
                        tag: service.sub_process_tag.unwrap_or(0),
                        load_order_group: text(service.load_order_group),
                        container_group: text(service.svchost_group),
                    },
                    omitted,
                );
            }
            Some(PowerConfiguration::HOOK) => {
                let power = PowerConfiguration::parse(record)?;
                let states = [
                    (power.s1, "S1"),
                    (power.s2, "S2"),
                    (power.s3, "S3"),
                    (power.s4, "S4"),
                    (power.s5, "S5"),
                    (power.modern_standby, "S0 low power idle"),
                ];
                for (is_supported, name) in states {
                    if is_supported {
                        add(&mut system.sleep_states, name.into(), omitted);
                    }
                }
            }
            Some(PlugAndPlayDevice::HOOK) => {
                let device = PlugAndPlayDevice::parse(record)?;
                add(
                    &mut system.devices,
                    InstalledDevice {
                        instance: text(device.device_id),
                        description: text(device.description),
                        friendly_name: text(device.friendly_name),
                        driver: text(device.service_name),
                        physical_device_object: text(device.pdo_name),
                        class: device.class_guid.map_or_else(String::new, |class| class.to_string()),
                    },
                    omitted,
                );
            }
            _ => match SystemConfigEx::parse(record) {
                Some(SystemConfigEx::BuildInfo { build_lab, product_name, .. }) => {
                    set(&mut system.os_build_text, build_lab);
                    set(&mut self.product, product_name);
                }
                Some(SystemConfigEx::VolumeMapping { nt_path, dos_path }) => {
                    let mapping = (text(nt_path), text(dos_path));
                    add(&mut self.mappings, mapping, omitted);
                }
                _ => {}
            },
        }
        Some(())
    }

    pub(super) fn finish(self, losses: &mut Losses) -> SystemConfiguration {
        let Self { mut system, product, mappings, omitted, sampling_interval, seen_processors } = self;
        system.sampling_interval_ns = sampling_interval.filter(|&units| units > 0).map(|units| i64::from(units) * 100);
        if system.processors > MAX_PROCESSORS {
            // Tables have a column per processor, so a corrupt count must not decide their size.
            losses.add(&counters::PROCESSOR_COUNT, 1);
            system.processors = seen_processors;
        }
        losses.add(&counters::CONFIGURATION_LEFT_OUT, omitted);
        let release = windows_release(system.os_build, &product);
        if !release.is_empty() {
            system.os = release;
        }
        for (nt_path, dos_path) in mappings {
            system.drive_paths.add(&nt_path, &dos_path);
            let device_path = nt_path.trim_end_matches('\\');
            let drive = dos_path.trim_end_matches('\\');
            if !device_path.starts_with(r"\Device\") || drive.is_empty() {
                continue;
            }
            match system.volumes.iter_mut().find(|volume| volume.drive.eq_ignore_ascii_case(drive)) {
                Some(volume) => volume.device_path = device_path.into(),
                None => system.volumes.push(Volume {
                    drive: drive.into(),
                    device_path: device_path.into(),
                    ..Volume::default()
                }),
            }
        }
        system
    }
}

/// Maximum number of disks, services or devices, because duplicates are found by a linear search.
const MAX_ENTRIES: usize = 4 << 10;

fn add<T: PartialEq>(entries: &mut Vec<T>, entry: T, omitted: &mut u64) {
    if entries.len() >= MAX_ENTRIES {
        *omitted += 1;
    } else if !entries.contains(&entry) {
        entries.push(entry);
    }
}

fn set(field: &mut String, value: impl std::fmt::Display) {
    if field.is_empty() {
        *field = text(value);
    }
}

fn text(value: impl std::fmt::Display) -> String {
    let mut text = value.to_string();
    text.truncate(text.trim_end().len());
    text
}
