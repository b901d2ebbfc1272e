//! `xperf -a sysconfig`: configuration of the recorded computer, as text or XML.

use std::io::{self, Write};

use onoff_trace::system::{DisplayAdapter, InstalledDevice, InstalledService, NetworkAdapter};
use onoff_trace::{SystemConfiguration, Trace};

use onoff_report::text::printable::printable;

#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The option that selects the section.
    pub switch: &'static str,
    title: &'static str,
    items: fn(&Trace) -> Vec<Item>,
}

/// An item of a section, as pairs of name and value.
type Item = Vec<(&'static str, String)>;

const fn section(switch: &'static str, title: &'static str, items: fn(&Trace) -> Vec<Item>) -> Section {
    Section { switch, title, items }
}

/// All sections in output order. IDE channels and device interrupts are empty because the model does not have them.
pub const SECTIONS: [Section; 13] = [
    section("netidentity", "Network identity", |trace| vec![vec![("ComputerName", trace.system.computer.clone())]]),
    section("cpu", "Processors", |trace| {
        vec![vec![
            ("NumberOfProcessors", number(trace.system.processors)),
            ("ProcessorName", trace.system.processor_name.clone()),
            ("SpeedMHz", number(trace.system.processor_mhz)),
        ]]
    }),
    section("memory", "Memory", |trace| vec![vec![("SizeMB", number(trace.system.memory_bytes >> 20))]]),
    section("build", "Operating system", |Trace { system, .. }| {
        vec![vec![
            ("Name", system.os.clone()),
            ("Build", number(system.os_build)),
            ("BuildLab", system.os_build_text.clone()),
            ("PointerSize", number(system.pointer_bits / 8)),
            ("Model", system.model.clone()),
            ("Firmware", system.firmware.clone()),
        ]]
    }),
    section("etw", "Recorder", |trace| {
        vec![vec![
            ("Session", trace.recorder.clone()),
            ("Clock", trace.clock.source.to_owned()),
            ("TicksPerSecond", number(trace.clock.ticks_per_second)),
            ("EventsLost", trace.events_lost.to_string()),
            ("BuffersLost", trace.buffers_lost.to_string()),
        ]]
    }),
    section("power", "Power", |trace| match trace.system.sleep_states.as_slice() {
        [] => Vec::new(),
        states => vec![vec![("SleepStates", states.join(" "))]],
    }),
    section("disk", "Disk", |trace| disks(&trace.system)),
    section("idechannel", "IDE channel", |_| Vec::new()),
    section("video", "Video", |trace| {
        let item = |adapter: &DisplayAdapter| {
            vec![
                ("Name", adapter.name.clone()),
                ("MemoryMB", number(adapter.memory_bytes >> 20)),
                ("Width", number(adapter.width)),
                ("Height", number(adapter.height)),
            ]
        };
        trace.system.display_adapters.iter().map(item).collect()
    }),
    section("nic", "Network adapter", |trace| {
        let item = |adapter: &NetworkAdapter| {
            vec![
                ("Name", adapter.description.clone()),
                ("PhysicalAddress", adapter.physical_address.clone()),
                ("Addresses", adapter.addresses.clone()),
            ]
        };
        trace.system.network_adapters.iter().map(item).collect()
    }),
    section("irq", "Interrupts", |_| Vec::new()),
    section("services", "Service", |trace| {
        let item = |service: &InstalledService| {
            vec![
                ("Name", service.name.clone()),
                ("DisplayName", service.display_name.clone()),
                ("ProcessName", service.process.clone()),
                ("ProcessId", number(service.pid)),
                ("Tag", number(service.tag)),
                ("Group", service.load_order_group.clone()),
                ("Container", service.container_group.clone()),
            ]
        };
        trace.system.services.iter().map(item).collect()
    }),
    section("pnp", "Device", |trace| {
        let item = |device: &InstalledDevice| {
            vec![
                ("Instance", device.instance.clone()),
                ("Description", device.description.clone()),
                ("FriendlyName", device.friendly_name.clone()),
                ("Service", device.driver.clone()),
                ("Object", device.physical_device_object.clone()),
                ("Class", device.class.clone()),
            ]
        };
        trace.system.devices.iter().map(item).collect()
    }),
];

/// Formats a number; empty for zero, which means that the number was not recorded.
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
                ("WriteCache", disk.write_cache.map_or("", |enabled| if enabled { "on" } else { "off" }).to_owned()),
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

/// Writes sections as text: a title, then one line for each name with a value, with a blank line between items.
pub fn write_text(trace: &Trace, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    for section in sections {
        let items = (section.items)(trace);
        writeln!(out, "[{}]", section.title)?;
        if items.is_empty() {
            writeln!(out, "not recorded")?;
        }
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
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

/// Writes sections as XML: one element per section, with one `item` element per item and the values as attributes.
pub fn write_xml(trace: &Trace, sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<results>")?;
    writeln!(out, "<sysConfig>")?;
    for section in sections {
        let items = (section.items)(trace);
        writeln!(out, "<{}>", section.switch)?;
        for item in items {
            write!(out, "<item")?;
            for (name, value) in item {
                let value = quick_xml::escape::escape(printable(&value)).into_owned();
                write!(out, " {name}=\"{value}\"")?;
            }
            writeln!(out, "/>")?;
        }
        writeln!(out, "</{}>", section.switch)?;
    }
    writeln!(out, "</sysConfig>")?;
    writeln!(out, "</results>")
}
