//! Detects what the kernel, systemd and the boot loader of this computer support.

use std::collections::BTreeSet;

use crate::grub::Grub;
use crate::machine::{Machine, MachineFiles};
use crate::recorded_boot::{LOADER_ENTRY, original_entry};
use crate::trace_group::TRACEFS;

/// Vendor GUID of the Boot Loader Interface's EFI variables.
const LOADER_GUID: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
/// Where the kernel exposes EFI variables.
pub const EFI_VARIABLES_FOLDER: &str = "/sys/firmware/efi/efivars";
/// Bit of `LoaderFeatures`: an entry can be selected for one boot.
const ENTRY_ONE_SHOT: u64 = 1 << 3;

/// A boot loader that can add kernel options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// systemd-boot and the entry of the current boot.
    SystemdBoot {
        /// Entry file of the current boot.
        entry: String,
        /// Folder of the entry file.
        folder: String,
        /// Contents of the entry file.
        text: String,
        /// True if an entry can be selected for one boot only.
        one_shot: bool,
    },
    /// GRUB and the entry of the current boot.
    Grub(Grub),
    /// No supported boot loader, with the reason.
    Unknown(String),
}

/// What this computer offers for recording.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// Mount point of tracefs; `None` if it is not visible.
    pub tracefs: Option<String>,
    /// Events the kernel can trace, as `system:event`; `None` if they are not visible.
    pub events: Option<BTreeSet<String>>,
    /// Trace clocks.
    pub clocks: Vec<String>,
    /// systemd's version as text; `None` if systemd is not process 1.
    pub systemd: Option<String>,
    /// The target that starts a service at every boot.
    pub default_target: String,
    /// True if systemd's folder of shutdown hooks exists.
    pub shutdown_hooks: bool,
    pub loader: Loader,
    /// True if EFI variables have the boot loader's times.
    pub loader_times: bool,
    /// True if the firmware has a performance table (FPDT).
    pub firmware_table: bool,
    /// Sleep states of the kernel (`/sys/power/state`).
    pub sleep_states: Vec<String>,
    /// Variants of suspend to RAM (`/sys/power/mem_sleep`).
    pub mem_sleep: Vec<String>,
    /// True if the real-time clock can wake the computer.
    pub wake_alarm: bool,
    /// True if there is swap to hibernate to.
    pub swap: bool,
    /// True if the kernel has a device to resume from.
    pub resume_device: bool,
    /// Kernel switches for more verbose suspend messages.
    pub power_values: Vec<String>,
    /// True if the journal is kept across restarts.
    pub persistent_journal: bool,
    pub processors: u32,
    pub memory_bytes: u64,
    /// Folder on the root file system that can keep a shutdown recording until the next boot.
    pub staging: Option<String>,
    /// True if system files can be changed.
    pub superuser: bool,
}

impl Capabilities {
    /// Inspects the machine.
    #[must_use]
    pub fn probe(machine: &mut dyn Machine) -> Self {
        let tracefs = TRACEFS.into_iter().find(|folder| machine.exists(&format!("{folder}/trace"))).map(str::to_owned);
        let events = tracefs.as_deref().and_then(|tracefs| {
            let text = machine.read_text(&format!("{tracefs}/available_events"))?;
            Some(text.lines().map(str::to_owned).collect())
        });
        let clocks = tracefs.as_deref().and_then(|tracefs| {
            let text = machine.read_text(&format!("{tracefs}/trace_clock"))?;
            Some(words(&text))
        });
        let systemd = machine
            .exists("/run/systemd/system")
            .then(|| systemd_version(machine).unwrap_or_else(|| "unknown version".to_owned()));
        let power_values = ["/sys/power/pm_print_times", "/sys/power/pm_debug_messages"];
        Self {
            events,
            clocks: clocks.unwrap_or_default(),
            tracefs,
            systemd,
            default_target: default_target(machine),
            shutdown_hooks: machine.exists("/usr/lib/systemd/system-shutdown"),
            loader: find_loader(machine),
            loader_times: machine.exists(&variable_path("LoaderTimeInitUSec")),
            firmware_table: machine.exists("/sys/firmware/acpi/fpdt")
                || machine.exists("/sys/firmware/acpi/tables/FPDT"),
            sleep_states: words(&machine.read_text("/sys/power/state").unwrap_or_default()),
            mem_sleep: words(&machine.read_text("/sys/power/mem_sleep").unwrap_or_default()),
            wake_alarm: machine.exists("/sys/class/rtc/rtc0/wakealarm"),
            swap: machine.read_text("/proc/swaps").is_some_and(|text| text.lines().count() > 1),
            resume_device: has_resume_device(machine),
            power_values: power_values.into_iter().filter(|path| machine.exists(path)).map(str::to_owned).collect(),
            persistent_journal: machine.exists("/var/log/journal"),
            processors: processors(machine),
            memory_bytes: memory_bytes(machine),
            staging: staging_folder(machine),
            superuser: machine.is_superuser(),
        }
    }
}

/// Returns the path of an EFI variable of the Boot Loader Interface.
#[must_use]
pub fn variable_path(name: &str) -> String {
    format!("{EFI_VARIABLES_FOLDER}/{name}-{LOADER_GUID}")
}

/// Returns the words of a kernel list, without the brackets around the selected word.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
}

fn systemd_version(machine: &mut dyn Machine) -> Option<String> {
    let output = machine.run_checked(&["systemctl", "--version"]).ok()?;
    let output = String::from_utf8_lossy(&output).into_owned();
    output.split_whitespace().nth(1).map(str::to_owned)
}

/// Returns the default target, or `multi-user.target` for the usual targets, which include it.
fn default_target(machine: &dyn Machine) -> String {
    let fallback = || "multi-user.target".to_owned();
    ["/etc/systemd/system", "/usr/lib/systemd/system"]
        .into_iter()
        .find_map(|folder| std::fs::read_link(machine.host_path(&format!("{folder}/default.target"))).ok())
        .and_then(|target| Some(target.file_name()?.to_str()?.to_owned()))
        .filter(|target| target != "graphical.target")
        .unwrap_or_else(fallback)
}

/// Reads a text variable of the Boot Loader Interface.
fn variable_text(machine: &dyn Machine, name: &str) -> Option<String> {
    let bytes = machine.read(&variable_path(name))?;
    let units: Vec<u16> = bytes
        .get(4..)?
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .take_while(|&unit| unit != 0)
        .collect();
    Some(String::from_utf16_lossy(&units))
}

fn variable_number(machine: &dyn Machine, name: &str) -> Option<u64> {
    let bytes = machine.read(&variable_path(name))?;
    Some(u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?))
}

fn find_loader(machine: &dyn Machine) -> Loader {
    let loader = variable_text(machine, "LoaderInfo");
    if loader.as_deref().is_some_and(|name| name.starts_with("systemd-boot")) {
        return systemd_boot(machine);
    }
    match (Grub::find(machine), loader) {
        (Some(Ok(grub)), _) => Loader::Grub(grub),
        (Some(Err(reason)), _) => Loader::Unknown(reason),
        (None, Some(name)) => Loader::Unknown(format!("the boot loader is {name}")),
        (None, None) => Loader::Unknown("neither systemd-boot nor GRUB was found".to_owned()),
    }
}

fn systemd_boot(machine: &dyn Machine) -> Loader {
    let Some(mut entry) = variable_text(machine, "LoaderEntrySelected") else {
        return Loader::Unknown("systemd-boot did not report which entry it started".to_owned());
    };
    if entry == LOADER_ENTRY {
        let command_line = machine.read_text("/proc/cmdline").unwrap_or_default();
        let Some(original_entry) = original_entry(&command_line) else {
            return Loader::Unknown(
                "the current boot was recorded, and its original boot entry is unknown: restart the computer first"
                    .to_owned(),
            );
        };
        original_entry.clone_into(&mut entry);
    }
    if entry.contains('/') || !entry.ends_with(".conf") {
        return Loader::Unknown(format!("systemd-boot started {entry}, an image whose options cannot be changed"));
    }
    let features = variable_number(machine, "LoaderFeatures").unwrap_or_default();
    for mount in ["/efi", "/boot", "/boot/efi"] {
        let folder = format!("{mount}/loader/entries");
        if let Some(text) = machine.read_text(&format!("{folder}/{entry}")) {
            return Loader::SystemdBoot { entry, folder, text, one_shot: features & ENTRY_ONE_SHOT != 0 };
        }
    }
    Loader::Unknown(format!(
        "systemd-boot's entry {entry} was not found in /efi, /boot or /boot/efi: is its partition mounted?"
    ))
}

fn has_resume_device(machine: &dyn Machine) -> bool {
    let command_line = machine.read_text("/proc/cmdline").unwrap_or_default();
    let device = machine.read_text("/sys/power/resume").unwrap_or_default();
    command_line.split_whitespace().any(|word| word.starts_with("resume=")) || !matches!(device.trim(), "" | "0:0")
}

fn processors(machine: &dyn Machine) -> u32 {
    let text = machine.read_text("/proc/cpuinfo").unwrap_or_default();
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

fn memory_bytes(machine: &dyn Machine) -> u64 {
    let text = machine.read_text("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|line| {
        let rest = line.strip_prefix("MemTotal:")?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    });
    kib.unwrap_or_default().saturating_mul(1024)
}

/// Returns a folder that is still available, and can be made writable, after all other file systems are unmounted.
fn staging_folder(machine: &dyn Machine) -> Option<String> {
    /// File systems that are volatile or read-only.
    const UNSUITABLE: [&str; 5] = ["tmpfs", "overlay", "squashfs", "erofs", "rootfs"];
    let mountinfo = machine.read_text("/proc/self/mountinfo")?;
    // Fields: id parent device root mount-point options … - type source options.
    let mounts: Vec<(&str, &str)> = mountinfo
        .lines()
        .filter_map(|line| {
            let (mount_fields, source_fields) = line.split_once(" - ")?;
            Some((mount_fields.split_whitespace().nth(4)?, source_fields.split_whitespace().next()?))
        })
        .collect();
    let (_, root_type) = mounts.iter().rfind(|(point, _)| *point == "/")?;
    if UNSUITABLE.contains(root_type) {
        return None;
    }
    let is_mount_point = |point: &str| mounts.iter().any(|(mount_point, _)| *mount_point == point);
    Some(if is_mount_point("/var") || is_mount_point("/var/lib") {
        "/onoff-record".to_owned()
    } else {
        "/var/lib/onoff-record/shutdown".to_owned()
    })
}
