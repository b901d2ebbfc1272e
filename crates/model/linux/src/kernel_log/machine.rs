//! Reads the kernel version, the machine and the first program.

use onoff_trace::milestone;
use onoff_trace::system::{MAX_PROCESSORS, NetworkAdapter};

use crate::assembly::Assembly;
use crate::machine::set;

/// Maximum number of network adapters.
const MAX_ADAPTERS: usize = 64;

/// Infers the start of the first program for kernels that do not log it (before 4.20).
#[derive(Debug, Default)]
pub(super) struct FirstProgram {
    is_logged: bool,
    has_initramfs: bool,
    /// Time at which the kernel freed its initialization memory, its last step before the first program.
    init_memory_freed_ns: Option<i64>,
}

impl FirstProgram {
    fn on_message(&mut self, time_ns: i64, text: &str) {
        self.is_logged |= text.starts_with("Run ") && text.ends_with(" as init process");
        self.has_initramfs |= is_unpacking(text);
        // "Freeing init memory: 200K" on ARM before 3.10 (`free_initmem`).
        if text.starts_with("Freeing unused kernel ") || text.starts_with("Freeing init memory: ") {
            self.init_memory_freed_ns = Some(time_ns);
        }
    }

    pub(super) fn finish(self, assembly: &mut Assembly) {
        if let Some(time_ns) = self.init_memory_freed_ns.filter(|_| !self.is_logged) {
            let name = if self.has_initramfs { milestone::INITRD_BEGIN } else { milestone::USER_SPACE_BEGIN };
            assembly.add_milestone(time_ns, name, "", None, "kernel log/Freeing unused kernel memory");
        }
    }
}

/// True if the kernel starts to unpack the initramfs.
fn is_unpacking(text: &str) -> bool {
    text.starts_with("Trying to unpack rootfs image") || text.starts_with("Unpacking initramfs")
}

/// Processes a message that no other module handles.
pub(super) fn on_message(time_ns: i64, text: &str, program: &mut FirstProgram, assembly: &mut Assembly) {
    program.on_message(time_ns, text);
    let system = &mut assembly.system;
    if let Some(version_line) = text.strip_prefix("Linux version ") {
        let version = version_line.split(' ').next();
        set(&mut system.os_build_text, version);
        let version = version.unwrap_or_default();
        assembly.add_milestone(0, milestone::KERNEL_BEGIN, version, None, "kernel log/Linux version");
    } else if let Some(command_line) = text.strip_prefix("Command line: ") {
        set(&mut system.kernel_command_line, Some(command_line));
    } else if let Some(machine) = text.strip_prefix("DMI: ") {
        // `QEMU Standard PC (Q35 + ICH9, 2009), BIOS 0.0.0 02/06/2015`
        match machine.split_once(", BIOS ") {
            Some((model, firmware)) => {
                set(&mut system.model, Some(model));
                set(&mut system.firmware, Some(firmware));
            }
            None => set(&mut system.model, Some(machine)),
        }
    } else if let Some(counts) = text.strip_prefix("smp: Brought up ") {
        let processors = counts.rsplit(", ").next().and_then(|count| count.split(' ').next()?.parse().ok());
        if let (Some(processors @ 1..=MAX_PROCESSORS), 0) = (processors, system.processors) {
            system.processors = processors;
        }
    } else if let Some(frequency) = text.strip_prefix("tsc: Detected ")
        && let Some((megahertz, _)) = frequency.split_once('.')
        && system.processor_mhz == 0
    {
        system.processor_mhz = megahertz.parse().unwrap_or(0);
    } else if let Some(name) = text.strip_prefix("systemd[1]: Hostname set to <") {
        set(&mut system.computer, name.split('>').next());
    } else if is_unpacking(text) {
        assembly.add_milestone(time_ns, milestone::INITRD_UNPACK_BEGIN, "", None, "kernel log/unpack rootfs image");
    } else if let Some(size) = text.strip_prefix("Freeing initrd memory: ") {
        // `29256K`, `29256k freed`
        let digits = size.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let kib = digits.parse().ok();
        assembly.add_milestone(time_ns, milestone::INITRD_UNPACK_END, "", kib, "kernel log/Freeing initrd memory");
    } else if let Some(program) = text.strip_prefix("Run ").and_then(|text| text.strip_suffix(" as init process")) {
        // `/init` is the program of the initramfs; any other program is the service manager.
        let name = if program == "/init" { milestone::INITRD_BEGIN } else { milestone::USER_SPACE_BEGIN };
        assembly.add_milestone(time_ns, name, program, None, "kernel log/Run … as init process");
    } else {
        network_adapter_message(text, &mut system.network_adapters);
    }
}

/// Adds the adapter that a message announces. An adapter that is only renamed has no known address.
fn network_adapter_message(text: &str, adapters: &mut Vec<NetworkAdapter>) {
    let adapter = |description: &str, address: String| NetworkAdapter {
        description: description.to_owned(),
        physical_address: address,
        addresses: String::new(),
    };
    let added = if let Some((left, old_name)) = text.split_once(": renamed from ") {
        if !is_interface(old_name) {
            return;
        }
        let name = left.rsplit(' ').next().unwrap_or_default();
        match adapters.iter_mut().find(|adapter| adapter.description == old_name) {
            Some(renamed) => return name.clone_into(&mut renamed.description),
            None => adapter(name, String::new()),
        }
    } else if let Some((name, address)) = network_adapter(text) {
        if adapters.iter().any(|adapter| adapter.physical_address == address) {
            return;
        }
        adapter(&name, address)
    } else {
        return;
    };
    if adapters.len() < MAX_ADAPTERS {
        adapters.push(added);
    }
}

/// Returns the interface and the hardware address of an adapter that its driver announces, such as
/// `e1000e 0000:00:1f.6 eth0: (PCI Express:2.5GT/s:Width x1) 02:00:5e:10:20:30`. Addresses in other messages may be of
/// other machines.
fn network_adapter(text: &str) -> Option<(String, String)> {
    let interface = text.split([' ', ':']).find(|word| is_interface(word))?;
    let (_, announcement) = text.split_once(interface)?;
    let announcement = announcement.strip_prefix(':')?;
    let mut addresses = announcement.split([' ', ',', '(', ')']).filter(|word| is_hardware_address(word));
    let address = addresses.next().filter(|_| addresses.next().is_none())?;
    Some((interface.to_owned(), address.to_ascii_lowercase()))
}

/// True for the kernel's own names of Ethernet interfaces, which drivers use before they are renamed.
fn is_interface(word: &str) -> bool {
    word.strip_prefix("eth").is_some_and(|digits| (1..=3).contains(&digits.len()) && digits.parse::<u16>().is_ok())
}

fn is_hardware_address(word: &str) -> bool {
    let mut bytes = 0;
    let is_valid = word.split(':').all(|byte| {
        bytes += 1;
        byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    is_valid && bytes == 6 && word != "00:00:00:00:00:00"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_adapters_without_announcement_have_no_address() {
        let mut adapters = Vec::new();
        for text in [
            "e1000 0000:00:03.0 eth0: (PCI:33MHz:32-bit) 02:00:5e:10:20:30",
            "e1000 0000:00:03.0 enp0s3: renamed from eth0",
            "virtio_net virtio0 enp0s4: renamed from eth0",
            "iwlwifi 0000:00:14.3 wlp0s20f3: renamed from wlan0",
        ] {
            network_adapter_message(text, &mut adapters);
        }
        let names: Vec<(&str, &str)> =
            adapters.iter().map(|adapter| (adapter.description.as_str(), adapter.physical_address.as_str())).collect();
        assert_eq!(names, [("enp0s3", "02:00:5e:10:20:30"), ("enp0s4", "")]);
    }

    #[test]
    fn drivers_announce_addresses() {
        let address = |text: &str| network_adapter(text).map(|(name, address)| format!("{name} {address}"));
        for (text, expected) in [
            ("e1000e 0000:00:1f.6 eth0: (PCI Express:2.5GT/s:Width x1) 02:00:5e:10:20:30", "eth0 02:00:5e:10:20:30"),
            ("r8169 0000:03:00.0 eth0: RTL8168h/8111h, 02:00:5E:10:20:31, XID 541, IRQ 35", "eth0 02:00:5e:10:20:31"),
            (
                "tg3 0000:02:00.0 eth1: Tigon3 [partno(x) rev 1] (PCI Express) MAC address 02:00:5e:10:20:32",
                "eth1 02:00:5e:10:20:32",
            ),
            ("igb 0000:01:00.0: eth2: (PCIe:5.0Gb/s:Width x4) 02:00:5e:10:20:33", "eth2 02:00:5e:10:20:33"),
        ] {
            assert_eq!(address(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "IPv6: ADDRCONF(NETDEV_UP): eth0: link is not ready",
            "e1000e 0000:00:1f.6 eth0: NIC Link is Up 1000 Mbps Full Duplex",
            "device with address 02:00:5e:10:20:30 received packet with own address as source address",
            "br0: received packet on eth0 with own address as source address (addr:02:00:5e:10:20:30, vlan:0)",
            "IN=eth0 OUT= MAC=02:00:5e:10:20:30:02:00:5e:10:20:31:08:00 SRC=10.0.0.1",
            "eth0: 02:00:5e:10:20:30 is now known as 02:00:5e:10:20:31",
        ] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
