//! What the kernel, systemd and the boot loader of this computer offer.

use std::collections::BTreeSet;

use crate::grub::Grub;
use crate::machine::{Files, Machine};
use crate::recorded_boot::{LOADER_ENTRY, entry_made_from};
use crate::trace_group::TRACEFS;

/// Namespace of the boot loader interface's variables.
const LOADER: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
/// Where the kernel shows firmware variables.
pub const VARIABLES: &str = "/sys/firmware/efi/efivars";
/// Bit of `LoaderFeatures`: an entry can be chosen for one boot.
const ENTRY_ONE_SHOT: u64 = 1 << 3;

/// A boot loader that can be told kernel options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// systemd-boot, with the entry of this boot.
    SystemdBoot {
        /// Entry file of this boot.
        entry: String,
        /// The folder it is in.
        folder: String,
        /// Its text.
        text: String,
        /// Whether an entry can be chosen for one boot only.
        one_shot: bool,
    },
    /// GRUB, with the entry of this boot.
    Grub(Grub),
    /// None that is known; why.
    Unknown(String),
}

/// What is there to record with.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Where the kernel's trace is; `None` when it cannot be seen.
    pub tracefs: Option<String>,
    /// Events that the kernel can trace, as `system:event`; `None` when they cannot be seen.
    pub events: Option<BTreeSet<String>>,
    /// Clocks of the trace.
    pub clocks: Vec<String>,
    /// systemd's version, in words, if systemd runs this computer.
    pub systemd: Option<String>,
    /// The target that pulls in a service at every start.
    pub default_target: String,
    /// Whether the shutdown hook's folder is there.
    pub shutdown_hooks: bool,
    /// The boot loader.
    pub loader: Loader,
    /// Firmware variables with the loader's times.
    pub loader_times: bool,
    /// The firmware's performance table.
    pub firmware_table: bool,
    /// States that the kernel can sleep in.
    pub sleep_states: Vec<String>,
    /// Kinds of suspend to RAM.
    pub mem_sleep: Vec<String>,
    /// Whether the real-time clock can wake the computer.
    pub wake_alarm: bool,
    /// Whether there is room to hibernate to.
    pub swap: bool,
    /// Whether the kernel is told where to resume from.
    pub resume_device: bool,
    /// Switches of the kernel for more text about sleeping.
    pub power_values: Vec<String>,
    /// Whether the journal outlives a restart.
    pub persistent_journal: bool,
    /// Processors.
    pub processors: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Folder on the root file system in which the shutdown's recording can wait for the next boot.
    pub staging: Option<String>,
    /// Whether files of the system may be changed.
    pub superuser: bool,
}

impl Offer {
    /// Looks.
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
            .then(|| systemd_version(machine).unwrap_or_else(|| "of unknown version".to_owned()));
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
            staging: staging(machine),
            superuser: machine.is_superuser(),
        }
    }
}

/// The file of one of the boot loader interface's variables.
#[must_use]
pub fn variable_path(name: &str) -> String {
    format!("{VARIABLES}/{name}-{LOADER}")
}

/// Words of a kernel's list, the brackets around the chosen one taken off.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
}

fn systemd_version(machine: &mut dyn Machine) -> Option<String> {
    let printed = machine.must_run(&["systemctl", "--version"]).ok()?;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    printed.split_whitespace().nth(1).map(str::to_owned)
}

/// The default target; `multi-user.target` where that is a part of it, as of the usual ones.
fn default_target(machine: &dyn Machine) -> String {
    let usual = || "multi-user.target".to_owned();
    ["/etc/systemd/system", "/usr/lib/systemd/system"]
        .into_iter()
        .find_map(|folder| std::fs::read_link(machine.at(&format!("{folder}/default.target"))).ok())
        .and_then(|target| Some(target.file_name()?.to_str()?.to_owned()))
        .filter(|target| target != "graphical.target")
        .unwrap_or_else(usual)
}

/// A text variable of the boot loader interface.
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
    let told = variable_text(machine, "LoaderInfo");
    if told.as_deref().is_some_and(|it| it.starts_with("systemd-boot")) {
        return systemd_boot(machine);
    }
    match (Grub::find(machine), told) {
        (Some(Ok(grub)), _) => Loader::Grub(grub),
        (Some(Err(why)), _) => Loader::Unknown(why),
        (None, Some(name)) => Loader::Unknown(format!("the boot loader is {name}")),
        (None, None) => Loader::Unknown("neither systemd-boot nor GRUB was found".to_owned()),
    }
}

fn systemd_boot(machine: &dyn Machine) -> Loader {
    let Some(mut entry) = variable_text(machine, "LoaderEntrySelected") else {
        return Loader::Unknown("systemd-boot does not say which entry it took".to_owned());
    };
    if entry == LOADER_ENTRY {
        let told = machine.read_text("/proc/cmdline").unwrap_or_default();
        let Some(made_from) = entry_made_from(&told) else {
            return Loader::Unknown(
                "this boot was recorded, and nothing says which entry its own was made from: restart the computer first".to_owned(),
            );
        };
        made_from.clone_into(&mut entry);
    }
    if entry.contains('/') || !entry.ends_with(".conf") {
        return Loader::Unknown(format!("systemd-boot took {entry}, an image whose options cannot be changed"));
    }
    let features = variable_number(machine, "LoaderFeatures").unwrap_or_default();
    for mount in ["/efi", "/boot", "/boot/efi"] {
        let folder = format!("{mount}/loader/entries");
        if let Some(text) = machine.read_text(&format!("{folder}/{entry}")) {
            return Loader::SystemdBoot { entry, folder, text, one_shot: features & ENTRY_ONE_SHOT != 0 };
        }
    }
    Loader::Unknown(format!(
        "systemd-boot's entry {entry} was found neither below /efi nor /boot nor /boot/efi: is its partition mounted?"
    ))
}

fn has_resume_device(machine: &dyn Machine) -> bool {
    let told = machine.read_text("/proc/cmdline").unwrap_or_default();
    let set = machine.read_text("/sys/power/resume").unwrap_or_default();
    told.split_whitespace().any(|it| it.starts_with("resume=")) || !matches!(set.trim(), "" | "0:0")
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

/// A folder that is still there, and can be made writable, when all other file systems are gone.
fn staging(machine: &dyn Machine) -> Option<String> {
    /// File systems that forget, or that cannot be written.
    const USELESS: [&str; 5] = ["tmpfs", "overlay", "squashfs", "erofs", "rootfs"];
    let mounts = machine.read_text("/proc/self/mountinfo")?;
    // Fields: id parent device root mount-point options … - type source options.
    let mounted: Vec<(&str, &str)> = mounts
        .lines()
        .filter_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            Some((before.split_whitespace().nth(4)?, after.split_whitespace().next()?))
        })
        .collect();
    let root = mounted.iter().rfind(|(point, _)| *point == "/")?;
    if USELESS.contains(&root.1) {
        return None;
    }
    let own = |point: &str| mounted.iter().any(|(it, _)| *it == point);
    Some(if own("/var") || own("/var/lib") {
        "/onoff-record".to_owned()
    } else {
        "/var/lib/onoff-record/shutdown".to_owned()
    })
}
