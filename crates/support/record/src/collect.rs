//! Collects the evidence of a transition in a folder, as files in formats that onoff reads.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};

use serde::Serialize;

use crate::error::Error;
use crate::machine::{Machine, MachineFiles};
use crate::tracing::{TRACEFS, mark};

/// Maximum size of a firmware table. Debug builds of EDK II write several hundred KB.
const MAX_TABLE_BYTES: u32 = 16 << 20;

/// Metadata of a recording (`recording.json`).
#[derive(Debug, Serialize)]
pub struct About<'a> {
    /// `boot`, `shutdown`, `suspend`, `hibernate`.
    pub kind: &'a str,
    /// Number of the recording within the job, from 1.
    pub number: u32,
    /// Number of recordings in the job.
    pub of: u32,
    /// Name and version of the program that recorded.
    pub recorder: String,
    /// How the boot before the recorded one ended; for boots only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_boot_ended: Option<PreviousEnd>,
    /// What could not be collected, and why.
    pub missing: Vec<String>,
}

/// How the previous boot ended, according to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PreviousEnd {
    /// The boot ended with a shutdown.
    Orderly,
    /// The boot ended without a shutdown: the power was cut, or the computer hung and was reset. The next boot repairs
    /// file systems and discards caches, so it is not comparable with others.
    Cut,
    /// The journal has no entries of the previous boot.
    Unknown,
}

impl PreviousEnd {
    /// Searches the last lines of the previous boot's journal for messages that journald and systemd log during a
    /// shutdown.
    pub fn find(machine: &mut dyn Machine) -> Self {
        const SHUTDOWN_MESSAGES: [&str; 6] = [
            "Journal stopped",
            "Shutting down.",
            "System is rebooting",
            "System is powering down",
            "Reached target reboot.target",
            "Reached target poweroff.target",
        ];
        let line = ["journalctl", "--boot=-1", "--lines=100", "--output=cat", "--no-pager"];
        let Ok(printed) = machine.run_checked(&line) else { return Self::Unknown };
        let text = String::from_utf8_lossy(&printed);
        if text.trim().is_empty() {
            return Self::Unknown;
        }
        match text.lines().any(|line| SHUTDOWN_MESSAGES.iter().any(|message| line.contains(message))) {
            true => Self::Orderly,
            false => Self::Cut,
        }
    }
}

/// Returns the mount point of tracefs.
pub fn tracefs(machine: &dyn Machine) -> Option<&'static str> {
    TRACEFS.into_iter().find(|folder| machine.exists(&format!("{folder}/trace")))
}

/// Collects everything available on the running computer in a new folder. Returns the subfolder and the missing data.
pub fn computer(
    machine: &mut dyn Machine,
    folder: &str,
    name: &str,
    clocks: &[String],
) -> Result<(String, Vec<String>), Error> {
    let part = format!("{folder}/running");
    machine.remove_tree(folder)?;
    machine.make_private_folders(&part)?;
    let mut missing = Vec::new();
    self::clocks(machine, &part, clocks)?;
    trace(machine, &part, name, &mut missing)?;
    kernel(machine, &part, &mut missing)?;
    user_space(machine, &part, &mut missing)?;
    firmware(machine, &part, &mut missing)?;
    Ok((part, missing))
}

/// Collects the kernel's trace as text, and its loss statistics. The caller must stop the trace first.
pub fn trace(machine: &mut dyn Machine, folder: &str, name: &str, missing: &mut Vec<String>) -> Result<(), Error> {
    let Some(tracefs) = tracefs(machine) else {
        missing.push("kernel trace: tracefs is not mounted".to_owned());
        return Ok(());
    };
    copy(machine, &format!("{tracefs}/trace"), &format!("{folder}/{name}.trace.txt"), missing)?;
    for (source, target) in
        [("saved_cmdlines", format!("{name}.saved_cmdlines")), ("trace_clock", "trace_clock".to_owned())]
    {
        copy(machine, &format!("{tracefs}/{source}"), &format!("{folder}/{target}"), missing)?;
    }
    let mut stats = String::new();
    let processors = machine.host_path(&format!("{tracefs}/per_cpu"));
    let mut names: Vec<String> = fs::read_dir(processors)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_by_key(|name| name.trim_start_matches("cpu").parse::<u32>().unwrap_or(u32::MAX));
    for processor in names {
        let text = machine.read_text(&format!("{tracefs}/per_cpu/{processor}/stats"));
        stats += &format!("{processor}\n{}", text.unwrap_or_default());
    }
    write_file(machine, &format!("{folder}/{name}.stats.txt"), stats.as_bytes())
}

/// Collects the kernel's log and its descriptions of the machine.
pub fn kernel(machine: &mut dyn Machine, folder: &str, missing: &mut Vec<String>) -> Result<(), Error> {
    for name in ["cmdline", "uptime", "cpuinfo", "meminfo", "interrupts", "iomem", "swaps", "mounts"] {
        copy(machine, &format!("/proc/{name}"), &format!("{folder}/{name}"), missing)?;
    }
    output(machine, &["uname", "-a"], &format!("{folder}/uname"), missing)?;
    output(machine, &["dmesg"], &format!("{folder}/dmesg.txt"), missing)
}

/// Collects systemd's data about this boot, and the journal.
pub fn user_space(machine: &mut dyn Machine, folder: &str, missing: &mut Vec<String>) -> Result<(), Error> {
    let outputs: [(&[&str], &str); 7] = [
        (&["journalctl", "--boot", "--output=export", "--no-pager"], "journal.export"),
        (&["systemctl", "show", "--no-pager", "--all", "*"], "show-units.txt"),
        (&["systemctl", "show", "--no-pager"], "show-manager.txt"),
        (&["systemd-analyze", "dump"], "analyze-dump.txt"),
        (&["systemd-analyze", "time"], "analyze-time.txt"),
        (&["systemd-analyze", "blame", "--no-pager"], "blame.txt"),
        (&["systemd-analyze", "critical-chain", "--no-pager"], "critical-chain.txt"),
    ];
    for (line, name) in outputs {
        output(machine, line, &format!("{folder}/{name}"), missing)?;
    }
    copy(machine, "/etc/os-release", &format!("{folder}/os-release"), missing)
}

/// Collects the times that the firmware and the boot loader recorded.
pub fn firmware(machine: &mut dyn Machine, folder: &str, missing: &mut Vec<String>) -> Result<(), Error> {
    let variables = machine.host_path(crate::capabilities::EFI_VARIABLES_FOLDER);
    let target_folder = format!("{folder}/efivars");
    machine.make_private_folders(&target_folder)?;
    for entry in fs::read_dir(variables).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if ["Loader", "Stub", "Boot"].iter().any(|prefix| name.starts_with(prefix)) {
            let source = format!("{}/{name}", crate::capabilities::EFI_VARIABLES_FOLDER);
            copy(machine, &source, &format!("{target_folder}/{name}"), missing)?;
        }
    }
    let target_folder = format!("{folder}/acpi");
    machine.make_private_folders(&target_folder)?;
    for name in ["FPDT", "FACP"] {
        let source = format!("/sys/firmware/acpi/tables/{name}");
        if machine.exists(&source) {
            copy(machine, &source, &format!("{target_folder}/{name}"), missing)?;
        } else {
            missing.push(format!("{source}: not found"));
        }
    }
    copy_sysfs_folder(machine, "/sys/firmware/acpi/fpdt", &format!("{target_folder}/fpdt"), missing)?;
    performance_tables(machine, &target_folder, missing)
}

/// Copies a sysfs folder and its subfolders.
fn copy_sysfs_folder(
    machine: &mut dyn Machine,
    source: &str,
    target: &str,
    missing: &mut Vec<String>,
) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(machine.host_path(source)) else { return Ok(()) };
    machine.make_private_folders(target)?;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (source, target) = (format!("{source}/{name}"), format!("{target}/{name}"));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy_sysfs_folder(machine, &source, &target, missing)?,
            Ok(kind) if kind.is_file() => copy(machine, &source, &target, missing)?,
            _ => {}
        }
    }
    Ok(())
}

/// Copies the tables that the FPDT points to from memory (ACPI 6.5, section 5.2.24).
fn performance_tables(machine: &mut dyn Machine, folder: &str, missing: &mut Vec<String>) -> Result<(), Error> {
    const HEADER_BYTES: usize = 36;
    let Some(table) = machine.read("/sys/firmware/acpi/tables/FPDT") else { return Ok(()) };
    let mut records = table.get(HEADER_BYTES..).unwrap_or_default();
    while let [kind_low, kind_high, length, _revision, ..] = *records {
        let kind = u16::from_le_bytes([kind_low, kind_high]);
        let Some((record, rest)) = records.split_at_checked(usize::from(length)) else { break };
        // Type, length, revision, 4 reserved bytes, address.
        if let Some(address) = record.get(8..16).and_then(|bytes| bytes.try_into().ok())
            && kind <= 1
        {
            let name = if kind == 0 { "FBPT" } else { "S3PT" };
            match memory_table(machine, u64::from_le_bytes(address), name) {
                Ok(bytes) => write_file(machine, &format!("{folder}/{name}.bin"), &bytes)?,
                Err(error) => missing.push(format!("{name}: {error}")),
            }
        }
        if rest.len() == records.len() {
            break;
        }
        records = rest;
    }
    Ok(())
}

/// Reads a table from memory: signature, length, records.
fn memory_table(machine: &dyn Machine, address: u64, signature: &str) -> io::Result<Vec<u8>> {
    let mut memory = File::open(machine.host_path("/dev/mem"))?;
    memory.seek(SeekFrom::Start(address))?;
    let mut header = [0; 8];
    memory.read_exact(&mut header)?;
    let [s0, s1, s2, s3, l0, l1, l2, l3] = header;
    if [s0, s1, s2, s3] != signature.as_bytes() {
        return Err(io::Error::other("there is another table at its address"));
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if length > MAX_TABLE_BYTES {
        return Err(io::Error::other(format!("{length} bytes is too large")));
    }
    let mut bytes = header.to_vec();
    memory.take(u64::from(length).saturating_sub(8)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes clock readings, which map the clocks to each other.
pub fn clocks(machine: &mut dyn Machine, folder: &str, lines: &[String]) -> Result<(), Error> {
    let text = lines.join("\n") + "\n";
    write_file(machine, &format!("{folder}/clock.txt"), text.as_bytes())
}

/// Reads the clocks and also writes the reading into the trace.
pub fn clock(machine: &mut dyn Machine, label: &str) -> String {
    let tracefs = tracefs(machine);
    mark(machine, tracefs, label)
}

/// Writes `recording.json`.
pub fn about(machine: &mut dyn Machine, folder: &str, about: &About<'_>) -> Result<(), Error> {
    let text = serde_json::to_vec_pretty(about).map_err(|error| Error::File {
        verb: "write",
        path: folder.into(),
        source: error.into(),
    })?;
    write_file(machine, &format!("{folder}/recording.json"), &text)
}

/// Copies a file of unknown length. Read errors are added to `missing`; write errors are returned.
pub fn copy(
    machine: &mut dyn Machine,
    source_path: &str,
    target_path: &str,
    missing: &mut Vec<String>,
) -> Result<(), Error> {
    let mut source = match File::open(machine.host_path(source_path)) {
        Ok(file) => file,
        Err(error) => {
            missing.push(format!("{source_path}: {error}"));
            return Ok(());
        }
    };
    let host_path = machine.host_path(target_path);
    let mut target = machine.make_private_file(target_path)?;
    let mut block = vec![0; 1 << 18];
    loop {
        let count = match source.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                missing.push(format!("{source_path}: {error}"));
                return Ok(());
            }
        };
        let bytes = block.get(..count).unwrap_or_default();
        target.write_all(bytes).map_err(Error::file("write", &host_path))?;
    }
}

/// Writes a command's output to a file. A failed command is added to `missing`.
pub fn output(machine: &mut dyn Machine, line: &[&str], path: &str, missing: &mut Vec<String>) -> Result<(), Error> {
    match machine.run(line) {
        Ok(outcome) => {
            if outcome.code != Some(0) {
                let message = String::from_utf8_lossy(&outcome.stderr).trim().to_owned();
                missing.push(format!("{}: {message}", line.join(" ")));
            }
            if outcome.stdout.is_empty() {
                return Ok(());
            }
            write_file(machine, path, &outcome.stdout)
        }
        Err(error) => {
            missing.push(format!("{}: {error}", line.join(" ")));
            Ok(())
        }
    }
}

fn write_file(machine: &mut dyn Machine, path: &str, bytes: &[u8]) -> Result<(), Error> {
    let host_path = machine.host_path(path);
    machine.make_private_file(path)?.write_all(bytes).map_err(Error::file("write", &host_path))
}
