//! `xperf -a sysconfig`: the machine that was recorded, as text or XML.

use std::io::{self, Write};

use onoff_trace::{SystemConfiguration, Trace};

use onoff_report::text::printable::printable;

/// A part of the configuration, as xperf's switches name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The computer's name on the network.
    NetworkIdentity,
    /// Processors.
    Cpu,
    /// Memory.
    Memory,
    /// The operating system's build.
    Build,
    /// The recorder.
    Etw,
    /// Sleep states.
    Power,
    /// Disks and their volumes.
    Disk,
    /// IDE channels; the model does not keep them.
    IdeChannel,
    /// Display adapters.
    Video,
    /// Network adapters.
    Nic,
    /// Interrupts of devices; the model does not keep them.
    Irq,
    /// Services.
    Services,
    /// Devices.
    Pnp,
}

impl Section {
    /// Every section, in the order in which they are written.
    pub const ALL: [Self; 13] = [
        Self::NetworkIdentity,
        Self::Cpu,
        Self::Memory,
        Self::Build,
        Self::Etw,
        Self::Power,
        Self::Disk,
        Self::IdeChannel,
        Self::Video,
        Self::Nic,
        Self::Irq,
        Self::Services,
        Self::Pnp,
    ];

    /// The switch that asks for it.
    #[must_use]
    pub const fn switch(self) -> &'static str {
        match self {
            Self::NetworkIdentity => "netidentity",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Build => "build",
            Self::Etw => "etw",
            Self::Power => "power",
            Self::Disk => "disk",
            Self::IdeChannel => "idechannel",
            Self::Video => "video",
            Self::Nic => "nic",
            Self::Irq => "irq",
            Self::Services => "services",
            Self::Pnp => "pnp",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::NetworkIdentity => "Network identity",
            Self::Cpu => "Processors",
            Self::Memory => "Memory",
            Self::Build => "Operating system",
            Self::Etw => "Recorder",
            Self::Power => "Power",
            Self::Disk => "Disk",
            Self::IdeChannel => "IDE channel",
            Self::Video => "Video",
            Self::Nic => "Network adapter",
            Self::Irq => "Interrupts",
            Self::Services => "Service",
            Self::Pnp => "Device",
        }
    }
}

/// One thing of a section: names and values.
type Item = Vec<(&'static str, String)>;

/// What a section holds.
fn items(trace: &Trace, section: Section) -> Vec<Item> {
    let system = &trace.system;
    match section {
        Section::NetworkIdentity => vec![vec![("ComputerName", system.computer.clone())]],
        Section::Cpu => vec![vec![
            ("NumberOfProcessors", number(system.processors)),
            ("ProcessorName", system.processor_name.clone()),
            ("SpeedMHz", number(system.processor_mhz)),
        ]],
        Section::Memory => vec![vec![("SizeMB", number(system.memory_bytes >> 20))]],
        Section::Build => vec![vec![
            ("Name", system.os.clone()),
            ("Build", number(system.os_build)),
            ("BuildLab", system.os_build_text.clone()),
            ("PointerSize", number(system.pointer_bits / 8)),
            ("Model", system.model.clone()),
            ("Firmware", system.firmware.clone()),
        ]],
        Section::Etw => vec![vec![
            ("Session", trace.recorder.clone()),
            ("Clock", trace.clock.source.to_owned()),
            ("TicksPerSecond", number(trace.clock.ticks_per_second)),
            ("EventsLost", trace.events_lost.to_string()),
            ("BuffersLost", trace.buffers_lost.to_string()),
        ]],
        Section::Power if system.sleep_states.is_empty() => Vec::new(),
        Section::Power => vec![vec![("SleepStates", system.sleep_states.join(" "))]],
        Section::Disk => disks(system),
        Section::Video => system
            .display_adapters
            .iter()
            .map(|adapter| {
                vec![
                    ("Name", adapter.name.clone()),
                    ("MemoryMB", number(adapter.memory_bytes >> 20)),
                    ("Width", number(adapter.width)),
                    ("Height", number(adapter.height)),
                ]
            })
            .collect(),
        Section::Nic => system
            .network_adapters
            .iter()
            .map(|adapter| {
                vec![
                    ("Name", adapter.description.clone()),
                    ("PhysicalAddress", adapter.physical_address.clone()),
                    ("Addresses", adapter.addresses.clone()),
                ]
            })
            .collect(),
        Section::Services => system
            .services
            .iter()
            .map(|service| {
                vec![
                    ("Name", service.name.clone()),
                    ("DisplayName", service.display_name.clone()),
                    ("ProcessName", service.process.clone()),
                    ("ProcessId", number(service.pid)),
                    ("Tag", number(service.tag)),
                    ("Group", service.load_order_group.clone()),
                    ("Container", service.container_group.clone()),
                ]
            })
            .collect(),
        Section::Pnp => system
            .devices
            .iter()
            .map(|device| {
                vec![
                    ("Instance", device.instance.clone()),
                    ("Description", device.description.clone()),
                    ("FriendlyName", device.friendly_name.clone()),
                    ("Service", device.driver.clone()),
                    ("Object", device.physical_device_object.clone()),
                    ("Class", device.class.clone()),
                ]
            })
            .collect(),
        Section::IdeChannel | Section::Irq => Vec::new(),
    }
}

/// Zero is what nobody recorded.
fn number(number: impl Into<u64>) -> String {
    match number.into() {
        0 => String::new(),
        number => number.to_string(),
    }
}

fn disks(system: &SystemConfiguration) -> Vec<Item> {
    let mut items: Vec<Item> = system
        .disks
        .iter()
        .map(|disk| {
            vec![
                ("Disk", disk.number.to_string()),
                ("Model", disk.model.clone()),
                ("SizeMB", number(disk.size_bytes >> 20)),
                ("BytesPerSector", number(disk.sector_bytes)),
                ("BootDrive", disk.boot_drive.clone()),
                ("WriteCache", disk.write_cache.map_or("", |on| if on { "on" } else { "off" }).to_owned()),
            ]
        })
        .collect();
    items.extend(system.volumes.iter().map(|volume| {
        vec![
            ("Volume", volume.drive.clone()),
            ("OnDisk", volume.disk.to_string()),
            ("Partition", number(volume.partition)),
            ("FileSystem", volume.file_system.clone()),
            ("StartOffset", volume.offset.to_string()),
            ("SizeMB", number(volume.size_bytes >> 20)),
            ("DevicePath", volume.device_path.clone()),
        ]
    }));
    items
}

/// Writes sections as text: a title, then one line for each name that has a value, things apart by a blank line.
///
/// # Errors
/// What `out` answers.
pub fn write_text(trace: &Trace, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    for &section in sections {
        let items = items(trace, section);
        writeln!(out, "[{}]", section.title())?;
        if items.is_empty() {
            writeln!(out, "not recorded")?;
        }
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            for (name, value) in item.iter().filter(|(_, value)| !value.is_empty()) {
                writeln!(out, "{name:<20}: {}", printable(value))?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes sections as XML: an element for each section, in it an `item` for each thing, its values as attributes.
///
/// # Errors
/// What `out` answers.
pub fn write_xml(trace: &Trace, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<results>")?;
    writeln!(out, "<sysConfig>")?;
    for &section in sections {
        let items = items(trace, section);
        writeln!(out, "<{}>", section.switch())?;
        for item in items {
            write!(out, "<item")?;
            for (name, value) in item {
                let value = quick_xml::escape::escape(printable(&value)).into_owned();
                write!(out, " {name}=\"{value}\"")?;
            }
            writeln!(out, "/>")?;
        }
        writeln!(out, "</{}>", section.switch())?;
    }
    writeln!(out, "</sysConfig>")?;
    writeln!(out, "</results>")
}
