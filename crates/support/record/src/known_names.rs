//! Learns the names that a Linux computer's configuration and devices have, for a redaction: its computers and domains,
//! users, wireless networks and serial numbers.

use std::fs;

use crate::machine::{Machine, MachineFiles};
use crate::redaction::Redaction;

/// Maximum number of entries of a folder; more are not learned.
const MAX_ENTRIES: usize = 1_000;

/// Files of sysfs and the device tree with a serial number or another id of the computer.
const COMPUTER_IDS: [&str; 5] = [
    "/sys/class/dmi/id/product_serial",
    "/sys/class/dmi/id/board_serial",
    "/sys/class/dmi/id/chassis_serial",
    "/sys/class/dmi/id/product_uuid",
    "/proc/device-tree/serial-number",
];

/// Folders of devices, with the file in each device's folder that has its serial number.
const DEVICE_IDS: [(&str, &str); 4] = [
    ("/sys/bus/usb/devices", "serial"),
    ("/sys/block", "device/serial"),
    ("/sys/block", "device/wwid"),
    ("/sys/class/power_supply", "serial_number"),
];

/// Creates a redaction with the names that this computer's configuration and devices have. The logs add more.
#[must_use]
pub fn redaction_for(machine: &dyn Machine) -> Redaction {
    let mut redaction = Redaction::for_linux();
    let text = |path: &str| machine.read_text(path).unwrap_or_default();
    redaction.add_users_from_passwd(&text("/etc/passwd"));
    for path in ["/etc/hostname", "/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname"] {
        let name = text(path);
        if name.trim() != "(none)" {
            redaction.add_host(&name);
        }
    }
    redaction.add_machine(&text("/etc/machine-id"));
    add_hosts(&text("/etc/hosts"), &mut redaction);
    add_search_domains(&text("/etc/resolv.conf"), &mut redaction);
    add_servers(&text("/etc/fstab"), &mut redaction);
    add_networks(machine, &mut redaction);
    for path in COMPUTER_IDS {
        redaction.add_serial_number(&text(path));
    }
    for (folder, file) in DEVICE_IDS {
        for device in names(machine, folder) {
            let id = text(&format!("{folder}/{device}/{file}"));
            // A world-wide id starts with its kind, and one in ASCII has the maker and the model before it.
            let id = id.trim().rsplit([' ', '.']).next().unwrap_or_default();
            redaction.add_serial_number(id);
        }
    }
    for interface in names(machine, "/sys/class/net") {
        redaction.learn(&text(&format!("/sys/class/net/{interface}/address")));
    }
    redaction
}

/// Adds the computers in `/etc/hosts` (hosts(5)), except the local names that every computer has.
fn add_hosts(hosts: &str, redaction: &mut Redaction) {
    // A list of blocked sites has other people's computers.
    for line in hosts.lines().filter(|line| !line.starts_with("0.0.0.0")).take(MAX_ENTRIES) {
        let line = line.split('#').next().unwrap_or_default();
        for name in line.split_whitespace().skip(1) {
            if !name.starts_with("ip6-") && !name.starts_with("localhost") {
                redaction.add_host(name);
            }
        }
    }
}

/// Adds the domains in `/etc/resolv.conf` (resolv.conf(5)).
fn add_search_domains(configuration: &str, redaction: &mut Redaction) {
    for line in configuration.lines() {
        let mut words = line.split_whitespace();
        if matches!(words.next(), Some("search" | "domain")) {
            for domain in words.filter(|domain| domain.contains('.')) {
                redaction.add_host(domain);
            }
        }
    }
}

/// Adds the file servers in `/etc/fstab` (fstab(5)): `server:/path` and `//server/share`.
fn add_servers(table: &str, redaction: &mut Redaction) {
    for line in table.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let source = line.split_whitespace().next().unwrap_or_default();
        let server = match source.strip_prefix("//") {
            Some(share) => share.split('/').next(),
            None => source.split_once(":/").map(|(server, _)| server),
        };
        redaction.add_host(server.unwrap_or_default());
    }
}

/// Adds the names of the wireless networks that NetworkManager, iwd and wpa_supplicant know.
fn add_networks(machine: &dyn Machine, redaction: &mut Redaction) {
    let folder = "/etc/NetworkManager/system-connections";
    for file in names(machine, folder) {
        let connection = machine.read_text(&format!("{folder}/{file}")).unwrap_or_default();
        for line in connection.lines() {
            if let Some(name) = line.strip_prefix("ssid=") {
                redaction.add_network(name);
            }
        }
        if connection.contains("type=wifi") {
            redaction.add_network(file.strip_suffix(".nmconnection").unwrap_or(&file));
        }
    }
    for file in names(machine, "/var/lib/iwd") {
        if let Some((name, "psk" | "open" | "8021x")) = file.rsplit_once('.') {
            redaction.add_network(name);
        }
    }
    let folder = "/etc/wpa_supplicant";
    for file in names(machine, folder) {
        let configuration = machine.read_text(&format!("{folder}/{file}")).unwrap_or_default();
        for line in configuration.lines() {
            if let Some(name) = line.trim().strip_prefix("ssid=") {
                redaction.add_network(name.trim_matches('"'));
            }
        }
    }
}

/// Returns the names of the entries of a folder, sorted.
fn names(machine: &dyn Machine, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(machine.host_path(folder)).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
