//! Names of systemd's own units by description. Before version 249, systemd printed only the descriptions of units.
//!
//! Source: the unit files and generators of systemd 215 to 258.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Kind of unit, from the words before the description: only targets are reached, only mounts are mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribedKind {
    Target,
    Mount,
    Swap,
    Device,
    /// A service, socket, path, timer or slice.
    Other,
}

impl DescribedKind {
    /// Returns the kind for the beginning of a message.
    pub fn from_prefix(prefix: &str) -> Self {
        match prefix {
            "Reached target " | "Stopped target " => Self::Target,
            _ if prefix.to_ascii_lowercase().contains("mount") && !prefix.contains("automount") => Self::Mount,
            _ if prefix.contains("swap ") => Self::Swap,
            _ if prefix.contains("device ") => Self::Device,
            _ => Self::Other,
        }
    }
}

/// Returns the name of the unit with this description, or the description if it is not of systemd.
pub fn unit_or_description(description: &str, kind: DescribedKind) -> Cow<'_, str> {
    let known_name = |units: &[(&str, &'static str)]| {
        units.iter().find(|(known, _)| *known == description).map(|(_, unit)| Cow::Borrowed(*unit))
    };
    let known = match kind {
        DescribedKind::Target => known_name(TARGETS),
        DescribedKind::Mount if description.starts_with('/') => Some(path_unit(description, ".mount").into()),
        DescribedKind::Mount => known_name(MOUNTS),
        DescribedKind::Swap if description.starts_with('/') => Some(path_unit(description, ".swap").into()),
        DescribedKind::Device if description.starts_with("/dev/") || description.starts_with("/sys/") => {
            Some(path_unit(description, ".device").into())
        }
        DescribedKind::Swap | DescribedKind::Device => None,
        DescribedKind::Other => {
            // A mount is described by its place, a swap by its device.
            let mount = || {
                let is_place = description.starts_with('/') && !description.starts_with("/dev/");
                is_place.then(|| path_unit(description, ".mount").into())
            };
            known_name(OTHERS)
                .or_else(|| known_name(MOUNTS))
                .or_else(|| instance(description).map(Cow::Owned))
                .or_else(mount)
        }
    };
    // "Dependency failed for" and "Failed to start" do not show the kind.
    let known = known.or_else(|| if kind == DescribedKind::Other { known_name(TARGETS) } else { None });
    known.unwrap_or(Cow::Borrowed(description))
}

/// Returns the name of an instance of one of systemd's templates.
fn instance(description: &str) -> Option<String> {
    TEMPLATES.iter().find_map(|(before, after, template, instance)| {
        let name = description.strip_prefix(before)?.strip_suffix(after).filter(|name| !name.is_empty())?;
        let (stem, suffix) = template.split_once('@')?;
        let is_one_word = !name.contains(char::is_whitespace);
        is_one_word.then(|| match instance {
            Instance::Text => format!("{stem}@{name}{suffix}"),
            Instance::Name => format!("{stem}@{}{suffix}", escaped(name)),
            Instance::Path => format!("{stem}@{}{suffix}", escaped(name.trim_matches('/'))),
        })
    })
}

/// Returns the name of the unit for a path, as `systemd-escape --path --suffix` does.
fn path_unit(path: &str, suffix: &str) -> String {
    match path.trim_matches('/') {
        "" => format!("-{suffix}"),
        path => escaped(path) + suffix,
    }
}

/// Escapes a name as `systemd-escape` does.
fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for (index, byte) in name.bytes().enumerate() {
        match byte {
            b'/' => escaped.push('-'),
            b'.' if index == 0 => escaped.push_str("\\x2e"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => escaped.push(char::from(byte)),
            byte => _ = write!(escaped, "\\x{byte:02x}"),
        }
    }
    escaped
}

/// How the instance is printed in the description of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instance {
    /// As in the unit's name (`%i`).
    Text,
    /// Unescaped (`%I`).
    Name,
    /// As a path (`%f`).
    Path,
}

/// Text before and after the instance, the template, and how the instance is printed.
const TEMPLATES: &[(&str, &str, &str, Instance)] = &[
    ("Cryptography Setup for ", "", "systemd-cryptsetup@.service", Instance::Name),
    ("File System Check on ", "", "systemd-fsck@.service", Instance::Path),
    ("Resume from hibernation using device ", "", "systemd-hibernate-resume@.service", Instance::Path),
    ("Load/Save Screen Backlight Brightness of ", "", "systemd-backlight@.service", Instance::Text),
    ("Load Kernel Module ", "", "modprobe@.service", Instance::Text),
    ("Wait for Network Interface ", " to be Configured", "systemd-networkd-wait-online@.service", Instance::Text),
    ("User Manager for UID ", "", "user@.service", Instance::Text),
    ("User Runtime Directory /run/user/", "", "user-runtime-dir@.service", Instance::Text),
    ("User runtime directory /run/user/", "", "user-runtime-dir@.service", Instance::Text),
    ("Getty on ", "", "getty@.service", Instance::Name),
    ("Serial Getty on ", "", "serial-getty@.service", Instance::Name),
    ("Integrity Setup for ", "", "systemd-integritysetup@.service", Instance::Name),
    ("Integrity Protection Setup for ", "", "systemd-veritysetup@.service", Instance::Name),
];

const TARGETS: &[(&str, &str)] = &[
    ("Basic System", "basic.target"),
    ("Bluetooth", "bluetooth.target"),
    ("Bluetooth Support", "bluetooth.target"),
    ("Boot Completion Check", "boot-complete.target"),
    ("Emergency Mode", "emergency.target"),
    ("Encrypted Volumes", "cryptsetup.target"),
    ("Final Step", "final.target"),
    ("First Boot Complete", "first-boot-complete.target"),
    ("Graphical Interface", "graphical.target"),
    ("Halt", "halt.target"),
    ("Hibernate", "hibernate.target"),
    ("Host and Network Name Lookups", "nss-lookup.target"),
    ("Initrd /usr File System", "initrd-usr-fs.target"),
    ("Initrd Default Target", "initrd.target"),
    ("Initrd File Systems", "initrd-fs.target"),
    ("Initrd Root Device", "initrd-root-device.target"),
    ("Initrd Root File System", "initrd-root-fs.target"),
    ("Late Shutdown Services", "final.target"),
    ("Local Encrypted Volumes", "cryptsetup.target"),
    ("Local Encrypted Volumes (Pre)", "cryptsetup-pre.target"),
    ("Local File Systems", "local-fs.target"),
    ("Local File Systems (Pre)", "local-fs-pre.target"),
    ("Local Integrity Protected Volumes", "integritysetup.target"),
    ("Local Verity Integrity Protected Volumes", "veritysetup.target"),
    ("Local Verity Protected Volumes", "veritysetup.target"),
    ("Login Prompts", "getty.target"),
    ("Login Prompts (Pre)", "getty-pre.target"),
    ("Multi-User", "multi-user.target"),
    ("Multi-User System", "multi-user.target"),
    ("NFS client services", "nfs-client.target"),
    ("Network", "network.target"),
    ("Network (Pre)", "network-pre.target"),
    ("Network is Online", "network-online.target"),
    ("Path Units", "paths.target"),
    ("Paths", "paths.target"),
    ("Power-Off", "poweroff.target"),
    ("Preparation for Local File Systems", "local-fs-pre.target"),
    ("Preparation for Logins", "getty-pre.target"),
    ("Preparation for Network", "network-pre.target"),
    ("Preparation for Remote File Systems", "remote-fs-pre.target"),
    ("Printer", "printer.target"),
    ("Printer Support", "printer.target"),
    ("RPC Port Mapper", "rpcbind.target"),
    ("Reboot", "reboot.target"),
    ("Remote Encrypted Volumes", "remote-cryptsetup.target"),
    ("Remote File Systems", "remote-fs.target"),
    ("Remote File Systems (Pre)", "remote-fs-pre.target"),
    ("Rescue Mode", "rescue.target"),
    ("Shutdown", "shutdown.target"),
    ("Sleep", "sleep.target"),
    ("Slice Units", "slices.target"),
    ("Slices", "slices.target"),
    ("Smart Card", "smartcard.target"),
    ("Socket Units", "sockets.target"),
    ("Sockets", "sockets.target"),
    ("Sound Card", "sound.target"),
    ("Suspend", "suspend.target"),
    ("Swap", "swap.target"),
    ("Swaps", "swap.target"),
    ("Switch Root", "initrd-switch-root.target"),
    ("System Halt", "halt.target"),
    ("System Initialization", "sysinit.target"),
    ("System Power Off", "poweroff.target"),
    ("System Reboot", "reboot.target"),
    ("System Shutdown", "shutdown.target"),
    ("System Time Set", "time-set.target"),
    ("System Time Synchronized", "time-sync.target"),
    ("Timer Units", "timers.target"),
    ("Timers", "timers.target"),
    ("Unmount All Filesystems", "umount.target"),
    ("User and Group Name Lookups", "nss-user-lookup.target"),
];

const MOUNTS: &[(&str, &str)] = &[
    ("Arbitrary Executable File Formats File System", "proc-sys-fs-binfmt_misc.mount"),
    ("Arbitrary Executable File Formats File System Automount Point", "proc-sys-fs-binfmt_misc.automount"),
    ("Configuration File System", "sys-kernel-config.mount"),
    ("Debug File System", "sys-kernel-debug.mount"),
    ("FUSE Control File System", "sys-fs-fuse-connections.mount"),
    ("Huge Pages File System", "dev-hugepages.mount"),
    ("Kernel Configuration File System", "sys-kernel-config.mount"),
    ("Kernel Debug File System", "sys-kernel-debug.mount"),
    ("Kernel Trace File System", "sys-kernel-tracing.mount"),
    ("POSIX Message Queue File System", "dev-mqueue.mount"),
    ("Root Mount", "-.mount"),
    ("Temporary Directory", "tmp.mount"),
    ("Temporary Directory (/tmp)", "tmp.mount"),
];

const OTHERS: &[(&str, &str)] = &[
    ("Apply Kernel Variables", "systemd-sysctl.service"),
    ("Cleaning Up and Shutting Down Daemons", "initrd-cleanup.service"),
    ("Cleanup of Temporary Directories", "systemd-tmpfiles-clean.service"),
    ("Coldplug All udev Devices", "systemd-udev-trigger.service"),
    ("Commit a transient machine-id on disk", "systemd-machine-id-commit.service"),
    ("Console Getty", "console-getty.service"),
    ("Create List of Static Device Nodes", "kmod-static-nodes.service"),
    ("Create Static Device Nodes in /dev", "systemd-tmpfiles-setup-dev.service"),
    ("Create System Files and Directories", "systemd-tmpfiles-setup.service"),
    ("Create System Users", "systemd-sysusers.service"),
    ("Create Volatile Files and Directories", "systemd-tmpfiles-setup.service"),
    ("Create list of required static device nodes for the current kernel", "kmod-static-nodes.service"),
    ("Create list of static device nodes for the current kernel", "kmod-static-nodes.service"),
    ("D-Bus System Message Bus", "dbus.service"),
    ("D-Bus System Message Bus Socket", "dbus.socket"),
    ("Daily Cleanup of Temporary Directories", "systemd-tmpfiles-clean.timer"),
    ("Dispatch Password Requests to Console", "systemd-ask-password-console.service"),
    ("Dispatch Password Requests to Console Directory Watch", "systemd-ask-password-console.path"),
    ("Emergency Shell", "emergency.service"),
    ("File System Check on Root Device", "systemd-fsck-root.service"),
    ("First Boot Wizard", "systemd-firstboot.service"),
    ("Flush Journal to Persistent Storage", "systemd-journal-flush.service"),
    ("Forward Password Requests to Plymouth", "systemd-ask-password-plymouth.service"),
    ("Forward Password Requests to Plymouth Directory Watch", "systemd-ask-password-plymouth.path"),
    ("Forward Password Requests to Wall", "systemd-ask-password-wall.service"),
    ("Forward Password Requests to Wall Directory Watch", "systemd-ask-password-wall.path"),
    ("Hibernate", "systemd-hibernate.service"),
    ("Hold until boot process finishes up", "plymouth-quit-wait.service"),
    ("Hostname Service", "systemd-hostnamed.service"),
    ("Journal Audit Socket", "systemd-journald-audit.socket"),
    ("Journal Service", "systemd-journald.service"),
    ("Journal Socket", "systemd-journald.socket"),
    ("Journal Socket (/dev/log)", "systemd-journald-dev-log.socket"),
    ("Load Kernel Modules", "systemd-modules-load.service"),
    ("Load/Save RF Kill Switch Status", "systemd-rfkill.service"),
    ("Load/Save RF Kill Switch Status /dev/rfkill Watch", "systemd-rfkill.socket"),
    ("Load/Save Random Seed", "systemd-random-seed.service"),
    ("Locale Service", "systemd-localed.service"),
    ("Login Service", "systemd-logind.service"),
    ("Mountpoints Configured in the Real Root", "initrd-parse-etc.service"),
    ("Network Configuration", "systemd-networkd.service"),
    ("Network Manager", "NetworkManager.service"),
    ("Network Manager Wait Online", "NetworkManager-wait-online.service"),
    ("Network Name Resolution", "systemd-resolved.service"),
    ("Network Service", "systemd-networkd.service"),
    ("Network Service Netlink Socket", "systemd-networkd.socket"),
    ("Network Time Synchronization", "systemd-timesyncd.service"),
    ("Permit User Sessions", "systemd-user-sessions.service"),
    ("Platform Persistent Storage Archival", "systemd-pstore.service"),
    ("Power-Off", "systemd-poweroff.service"),
    ("Process Core Dump Socket", "systemd-coredump.socket"),
    ("Rebuild Dynamic Linker Cache", "ldconfig.service"),
    ("Rebuild Hardware Database", "systemd-hwdb-update.service"),
    ("Rebuild Journal Catalog", "systemd-journal-catalog-update.service"),
    ("Record Runlevel Change in UTMP", "systemd-update-utmp-runlevel.service"),
    ("Record System Boot/Shutdown in UTMP", "systemd-update-utmp.service"),
    ("Reload Configuration from the Real Root", "initrd-parse-etc.service"),
    ("Remount Root and Kernel File Systems", "systemd-remount-fs.service"),
    ("Repartition Root Disk", "systemd-repart.service"),
    ("Rescue Shell", "rescue.service"),
    ("Rule-based Manager for Device Events and Files", "systemd-udevd.service"),
    ("Set Up Additional Binary Formats", "systemd-binfmt.service"),
    ("Setup Virtual Console", "systemd-vconsole-setup.service"),
    ("Show Plymouth Boot Screen", "plymouth-start.service"),
    ("Suspend", "systemd-suspend.service"),
    ("Switch Root", "initrd-switch-root.service"),
    ("Syslog Socket", "syslog.socket"),
    ("System Hibernate", "systemd-hibernate.service"),
    ("System Power Off", "systemd-poweroff.service"),
    ("System Reboot", "systemd-reboot.service"),
    ("System Slice", "system.slice"),
    ("System Suspend", "systemd-suspend.service"),
    ("Tell Plymouth To Write Out Runtime Data", "plymouth-read-write.service"),
    ("Terminate Plymouth Boot Screen", "plymouth-quit.service"),
    ("Time & Date Service", "systemd-timedated.service"),
    ("Update UTMP about System Boot/Shutdown", "systemd-update-utmp.service"),
    ("Update UTMP about System Runlevel Changes", "systemd-update-utmp-runlevel.service"),
    ("Update is Completed", "systemd-update-done.service"),
    ("User Database Manager", "systemd-userdbd.service"),
    ("User Login Management", "systemd-logind.service"),
    ("User and Session Slice", "user.slice"),
    ("Virtual Console Setup", "systemd-vconsole-setup.service"),
    ("Wait Until Kernel Time Synchronized", "systemd-time-wait-sync.service"),
    ("Wait for Network to be Configured", "systemd-networkd-wait-online.service"),
    ("Wait for udev To Complete Device Initialization", "systemd-udev-settle.service"),
    ("udev Coldplug all Devices", "systemd-udev-trigger.service"),
    ("udev Control Socket", "systemd-udevd-control.socket"),
    ("udev Kernel Device Manager", "systemd-udevd.service"),
    ("udev Kernel Socket", "systemd-udevd-kernel.socket"),
    ("udev Wait for Complete Device Initialization", "systemd-udev-settle.service"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_units_of_systemd() {
        for (prefix, description, unit) in [
            ("Starting ", "Cryptography Setup for luks-12-ab", r"systemd-cryptsetup@luks\x2d12\x2dab.service"),
            (
                "Starting ",
                "File System Check on /dev/disk/by-uuid/AB-C1",
                r"systemd-fsck@dev-disk-by\x2duuid-AB\x2dC1.service",
            ),
            ("Starting ", "File System Check on Root Device", "systemd-fsck-root.service"),
            ("Started ", "User Manager for UID 1000", "user@1000.service"),
            ("Started ", "Getty on tty1", "getty@tty1.service"),
            ("Starting ", "Wait for Network to be Configured", "systemd-networkd-wait-online.service"),
            ("Starting ", "Switch Root", "initrd-switch-root.service"),
            ("Reached target ", "Switch Root", "initrd-switch-root.target"),
            ("Starting ", "Suspend", "systemd-suspend.service"),
            ("Reached target ", "Shutdown", "shutdown.target"),
            ("Dependency failed for ", "Local File Systems", "local-fs.target"),
            ("Mounted ", "/boot/efi", "boot-efi.mount"),
            ("Mounting ", "/", "-.mount"),
            ("Mounted ", "Temporary Directory", "tmp.mount"),
            ("Activating swap ", "/dev/dm-1", r"dev-dm\x2d1.swap"),
            ("Found device ", "/dev/ttyS0", "dev-ttyS0.device"),
        ] {
            let kind = DescribedKind::from_prefix(prefix);
            assert_eq!(unit_or_description(description, kind), unit, "{prefix}{description}");
        }
        // Units of others keep their descriptions, even if they look similar.
        for (prefix, description) in [
            ("Starting ", "Cryptography Setup for the night of a user"),
            ("Starting ", "File System Check on "),
            ("Started ", "Journal Servicing"),
            ("Mounted ", "My data"),
            ("Found device ", "SAMSUNG MZVLB512"),
            ("Reached target ", "Journal Service"),
        ] {
            let kind = DescribedKind::from_prefix(prefix);
            assert_eq!(unit_or_description(description, kind), description, "{prefix}");
        }
    }

    #[test]
    fn every_name_is_a_unit() {
        let units = TARGETS.iter().chain(MOUNTS).chain(OTHERS).map(|(_, unit)| *unit);
        let templates = TEMPLATES.iter().map(|(_, _, template, _)| *template);
        for unit in units.chain(templates) {
            assert!(crate::unit_names::is_unit(unit), "{unit}");
        }
    }
}
