//! Recognizes the files of a Linux recording by content, and by name only where the content is ambiguous. This is the
//! only module that knows every format.

use onoff_firmware::Signature;
use onoff_ftrace::{DataFile, TextTrace};
use onoff_journal::JournalFile;

use super::parts::PartKind;
use super::{
    blame, bootchart_samples, critical_chain, journal_text, journal_verbose, perf_map, serial_console, startup_plot,
    startup_times,
};
use onoff_input::sniff::SNIFF_LEN;
use onoff_linux_log::kernel_line::{self, strip_colors};

/// Recognizes the file `name` with the content `bytes`. Returns `None` if it is not part of a recording.
pub fn part_kind(name: &str, bytes: &[u8]) -> Option<PartKind> {
    let head = bytes.get(..SNIFF_LEN).unwrap_or(bytes);
    if DataFile::recognizes(head) {
        return Some(PartKind::TraceData);
    }
    if JournalFile::recognizes(head) {
        return Some(PartKind::Journal);
    }
    if Signature::from_prefix(head).is_some() && head.iter().take(32).any(|&byte| byte < b'\t') {
        return Some(PartKind::FirmwareTable);
    }
    if onoff_firmware_tables::is_sysfs_value(name) {
        return Some(PartKind::FirmwareTable);
    }
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    if let Some(kind) = efi_variable(file) {
        return Some(kind);
    }
    if head.iter().take(64).any(|&byte| byte == 0) {
        return log_after_nuls(head);
    }
    let text = String::from_utf8_lossy(head);
    let text = strip_colors(&text);
    let text = text.trim_start_matches(['\u{feff}', '\u{1e}', ' ', '\r', '\n']);
    if serial_console::has_host_times(text) {
        return Some(PartKind::KernelLog);
    }
    by_text(text).or_else(|| {
        TextTrace::recognizes(head)
            .then_some(PartKind::TraceText)
            .or_else(|| is_kernel_log(text).then_some(PartKind::KernelLog))
            .or_else(|| journal_text::recognizes(text).then_some(PartKind::JournalText))
            .or_else(|| contains_kernel_log(text).then_some(PartKind::KernelLog))
            .or_else(|| serial_console::recognizes(text, bytes).then_some(PartKind::KernelLog))
            .or_else(|| by_name(file, text))
    })
}

/// Recognizes a log that starts with NULs: of a serial port that was turned on, or after a power cut.
fn log_after_nuls(head: &[u8]) -> Option<PartKind> {
    let text = String::from_utf8_lossy(head).replace('\0', "\n");
    let text = strip_colors(text.trim_start());
    if contains_kernel_log(&text) || is_kernel_log(&text) {
        return Some(PartKind::KernelLog);
    }
    journal_text::recognizes(&text).then_some(PartKind::JournalText)
}

pub fn is_part(name: &str, bytes: &[u8]) -> bool {
    part_kind(name, bytes).is_some()
}

pub fn is_firmware_table(name: &str, bytes: &[u8]) -> bool {
    part_kind(name, bytes) == Some(PartKind::FirmwareTable)
}

/// True for files that recorders save for human readers. They fill no table, so skipping them loses nothing.
pub fn is_informational(name: &str) -> bool {
    /// Vendor GUIDs of firmware variables: the UEFI specification and the boot loader interface.
    const VENDOR_GUIDS: [&str; 2] = ["-8be4df61-93ca-11d2-aa0d-00e098032b8c", "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"];
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    matches!(
        file,
        "interrupts"
            | "iomem"
            | "mem-sleep"
            | "mounts"
            | "power-state"
            | "recording.json"
            | "suspend-stats"
            | "swaps"
            | "uptime"
            | "wakeup-sources"
            | "FACP"
    ) || file.ends_with(".stats.txt")
        || VENDOR_GUIDS.iter().any(|guid| file.ends_with(guid))
}

fn by_text(text: &str) -> Option<PartKind> {
    let starts_with = |prefix: &str| text.starts_with(prefix);
    let has_line = |prefix: &str| starts_with(prefix) || text.contains(&format!("\n{prefix}"));
    if starts_with("__CURSOR=") || (has_line("__REALTIME_TIMESTAMP=") && has_line("_BOOT_ID=")) {
        return Some(PartKind::JournalExport);
    }
    if starts_with("{") || starts_with("[") || starts_with("data: {") {
        // `json-pretty` writes one field per line, and a tool may have put entries into an array.
        let head = text.get(..4096.min(text.len())).unwrap_or(text);
        if head.contains("\"__REALTIME_TIMESTAMP\"") || head.contains("\"__CURSOR\"") {
            return Some(PartKind::JournalJson);
        }
    }
    if text.lines().take(LOG_LINES).any(journal_verbose::is_head) {
        return Some(PartKind::JournalVerbose);
    }
    if starts_with("{") {
        let members = text.get(1..).unwrap_or_default().trim_start();
        return members.starts_with("\"dmesg\"").then_some(PartKind::KernelLogJson);
    }
    if startup_times::recognizes(text) {
        return Some(PartKind::StartupTimes);
    }
    if starts_with("<?xml") && startup_plot::recognizes(text) {
        return Some(PartKind::StartupPlot);
    }
    if starts_with("Manager: systemd") || starts_with("Timestamp firmware:") || starts_with("-> Unit ") {
        return Some(PartKind::Dump);
    }
    if has_line("Id=") && (has_line("LoadState=") || has_line("InactiveExitTimestampMonotonic=")) {
        return Some(PartKind::Units);
    }
    if has_line("UserspaceTimestampMonotonic=") || has_line("FinishTimestampMonotonic=") {
        return Some(PartKind::Manager);
    }
    if critical_chain::recognizes(text) {
        return Some(PartKind::CriticalChain);
    }
    if blame::recognizes(text) {
        return Some(PartKind::Blame);
    }
    if let Some(log) = bootchart_samples::recognizes(text) {
        return Some(match log {
            bootchart_samples::LogKind::Header => PartKind::BootchartHeader,
            bootchart_samples::LogKind::Processes => PartKind::BootchartProcesses,
            bootchart_samples::LogKind::Totals => PartKind::BootchartTotals,
        });
    }
    if starts_with("MemTotal:") {
        return Some(PartKind::MemoryInfo);
    }
    if has_line("PRETTY_NAME=") && has_line("ID=") {
        return Some(PartKind::OsRelease);
    }
    if starts_with("local ") && text.contains('[') && text.lines().count() == 1 {
        return Some(PartKind::TraceClock);
    }
    (text.contains(" mono=") && text.contains(" real=") && text.lines().count() < 1000)
        .then_some(PartKind::ClockReadings)
        .filter(|_| !starts_with("#") && !starts_with("["))
        .filter(|_| text.lines().next().is_some_and(|line| line.contains("mono=")))
}

fn by_name(file: &str, text: &str) -> Option<PartKind> {
    match file {
        "uname" | "uname.txt" if text.starts_with("Linux ") => Some(PartKind::Uname),
        "cmdline" | "cmdline.txt" => Some(PartKind::CommandLine),
        "cpuinfo" | "cpuinfo.txt" => Some(PartKind::ProcessorInfo),
        _ if perf_map::recognizes(file, text) => Some(PartKind::PerfMap),
        _ if file.ends_with("saved_cmdlines") => Some(PartKind::SavedNames),
        _ => None,
    }
}

fn efi_variable(file: &str) -> Option<PartKind> {
    let (name, _) = file.split_once('-')?;
    match name {
        "LoaderTimeInitUSec" => Some(PartKind::LoaderTimeInit),
        "LoaderTimeExecUSec" => Some(PartKind::LoaderTimeExec),
        _ => None,
    }
}

/// Number of lines inspected to recognize a log.
const LOG_LINES: usize = 40;

/// True if at least half of the first lines are kernel messages. `journalctl -o short-monotonic` looks similar but has
/// the host name in every line.
fn is_kernel_log(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(LOG_LINES).collect();
    let messages: Vec<&str> = lines.iter().filter_map(|line| Some(kernel_line::line(line)?.message)).collect();
    if messages.is_empty() || messages.len() * 2 < lines.len() {
        return false;
    }
    let host = |message: &str| {
        let (host, rest) = message.split_once(' ')?;
        let (identifier, _) = rest.split_once(' ')?;
        (identifier.ends_with(':') && !host.ends_with(':')).then(|| host.to_owned())
    };
    let first_host = messages.first().and_then(|message| host(message));
    first_host.is_none() || !messages.iter().take(10).all(|message| host(message) == first_host)
}

/// Marks in front of lines that people quote in mails, comments and lists.
const QUOTE_MARKS: [char; 6] = ['>', '`', '#', '*', '|', ' '];

/// Returns advice for unsupported Linux text files: what they look like and what to use instead. Empty for all other
/// files.
pub fn advice(bytes: &[u8]) -> &'static str {
    let head = bytes.get(..SNIFF_LEN).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let text = strip_colors(&text);
    let any_line = |matches: &dyn Fn(&str) -> bool| text.lines().any(|line| matches(line.trim_start_matches('\0')));
    let any_first_line = |matches: &dyn Fn(&str) -> bool| text.lines().take(LOG_LINES).any(matches);
    // Also with a priority: `<5>Linux version`.
    let without_priority = |line: &str| match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((_, message)) => message.to_owned(),
        None => line.to_owned(),
    };
    let is_startup = |line: &str| line.trim_start_matches(QUOTE_MARKS).starts_with("Startup finished in ");
    if blame::recognizes(&text) {
        ". This is 'systemd-analyze blame', which has durations but no start times. Add 'systemctl show \"*\" > units.txt'."
    } else if any_line(&|line| is_startup(line) && !line.contains("(kernel)")) {
        ". This is 'systemd-analyze time' of a container, which has no kernel. Open the container's journal: 'journalctl -b -o export'."
    } else if any_line(&is_startup) {
        ". It has the output of 'systemd-analyze time' among other text. Copy only the outputs of 'systemd-analyze', or use 'journalctl -b -o export'."
    } else if any_line(&|line| line.starts_with("Bootup is not yet finished")) {
        ". systemd had not finished the startup. Run 'systemctl list-jobs' to see what it waits for, and open the output of 'journalctl -b -o short-monotonic'."
    } else if any_first_line(&|line| line.starts_with("[  +")) {
        ". This looks like 'dmesg -e' or 'dmesg -H', whose times are rounded. Use 'dmesg'."
    } else if any_line(&|line| {
        let message = without_priority(line);
        ["Linux version ", "PM: suspend entry (", "PM: Syncing filesystems"]
            .iter()
            .any(|start| message.starts_with(start))
    }) {
        ". These are kernel messages without times. Use 'dmesg', or start the kernel with 'printk.time=1' to have times on the serial console."
    } else if serial_console::shows_firmware(&text) {
        ". This is the console of firmware or a loader, which ends before the kernel starts and shows no failure. Record until the kernel runs; 'onoff firmware' reads the times of EDK II and coreboot."
    } else if any_line(&is_status_line) {
        ". These are status lines of the console, which have no times. Use 'journalctl -b -o short-monotonic', or start the kernel with 'printk.time=1 systemd.log_target=kmsg' to have times on the serial console."
    } else if any_first_line(&|line| {
        ["Reached target ", "Starting ", "Started "].iter().any(|prefix| line.starts_with(prefix))
    }) {
        ". This looks like 'journalctl -o cat' or a log without times. Use 'journalctl -o short-monotonic', '-o export' or 'dmesg'."
    } else {
        ""
    }
}

/// True for a line that a service manager writes to the console: `[  OK  ] Started cron.service`, and `[ ok ]` and
/// `[ OK ]` of other programs.
fn is_status_line(line: &str) -> bool {
    ["[  OK  ]", "[FAILED]", "[DEPEND]", "[ OK ]", "[ ok ]", "[fail]"].iter().any(|mark| line.contains(mark))
}

/// True if a kernel log starts somewhere in the text: a serial console shows firmware and loader output before it.
fn contains_kernel_log(text: &str) -> bool {
    text.lines()
        .filter_map(|line| Some(kernel_line::line(line)?.message))
        .any(|message| message.starts_with("Linux version "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_informational_files() {
        for name in [
            "boot-1/running/recording.json",
            "boot.stats.txt",
            "efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
        ] {
            assert!(is_informational(name), "{name}");
        }
        for name in ["", "notes.txt", "uptime/x", "cat.jpg"] {
            assert!(!is_informational(name), "{name}");
        }
    }

    #[test]
    fn advice_names_a_command() {
        for (text, expected) in [
            ("9.378s dev-vda2.device\n", "systemctl show"),
            ("[Nov22 09:04] Linux version 6\n[  +0.000012] x\n", "Use 'dmesg'"),
            ("Reached target Basic System.\n", "short-monotonic"),
            ("U-Boot 2020\n\n<5>Linux version 6.1\nMemory: 64 MB\n", "printk.time=1"),
            ("[\u{1b}[0;32m  OK  \u{1b}[0m] Started cron.service\n", "status lines of the console"),
            (" * Starting OpenBSD Secure Shell server sshd   [ OK ]\n", "status lines of the console"),
            ("U-Boot SPL 2024.01 (Jan 08 2024 - 15:37:48 +0000)\nTrying to boot from MMC1\n", "console of firmware"),
            ("$ x\nStartup finished in 296ms (userspace)\n", "of a container"),
            ("PM: suspend entry (deep)\nFilesystems sync: 0.088 seconds\n", "Use 'dmesg'"),
            ("` systemd-analyze`\n`Startup finished in 1s (kernel) + 2s (userspace) = 3s\n", "among other text"),
            ("# Startup finished in 1s (kernel) + 2s (userspace) = 3s\n#\n# Text\n", "among other text"),
            ("---\nStartup finished in 1s (kernel) + 2s (userspace) = 3s\nOutcome: passed\n", "among other text"),
            ("Bootup is not yet finished (FinishTimestampMonotonic=0).\nPlease try again later.\n", "list-jobs"),
        ] {
            assert!(advice(text.as_bytes()).contains(expected), "{text}");
        }
        for text in ["", "hello\n", "PNG", "a,b\n1,2\n", "the Linux version 6.1 is out\n", "OK\n[x]\n"] {
            assert_eq!(advice(text.as_bytes()), "", "{text}");
        }
    }

    #[test]
    fn recognizes_parts_by_content_or_name() {
        let kind = |name: &str, text: &str| part_kind(name, text.as_bytes());
        for (text, expected) in [
            ("# tracer: nop\n#\n", PartKind::TraceText),
            ("cpus=2\n  a-1 [000]  1.5: x: y\n", PartKind::TraceText),
            ("\u{17}\u{8}Dtracing6\0", PartKind::TraceData),
            ("[    0.000000] Linux version 6.1\n", PartKind::KernelLog),
            ("<5>[    0.000000] Linux version 6.1\n", PartKind::KernelLog),
            ("[    0.000000][    T0] Linux version\n", PartKind::KernelLog),
            ("{\n   \"dmesg\": [\n", PartKind::KernelLogJson),
            ("Version=252\nUserspaceTimestampMonotonic=1\n", PartKind::Manager),
            ("Id=a.service\nLoadState=loaded\n", PartKind::Units),
            ("Manager: systemd 252\n", PartKind::Dump),
            ("graphical.target @5s\n└─a.service @1s +4s\n", PartKind::CriticalChain),
            ("__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n", PartKind::JournalExport),
            ("{\"__CURSOR\":\"s\"}\n", PartKind::JournalJson),
            ("Fri 2026-11-20 23:15:25.1 UTC [s=1;i=1;b=2;m=3;t=4;x=5]\n    PRIORITY=5\n", PartKind::JournalVerbose),
            ("lab:clock end mono=1.5 raw=1.6 boot=1.7 real=9.0\n", PartKind::ClockReadings),
            ("local global [mono] boot\n", PartKind::TraceClock),
            ("MemTotal:        1969152 kB\n", PartKind::MemoryInfo),
            ("9.378s dev-vda2.device\n", PartKind::Blame),
            ("[    0.000000] host kernel: Linux version\n[    0.1] host systemd[1]: up\n", PartKind::JournalText),
            ("-- Boot 00 --\nNov 22 09:04:00 host systemd[1]: up\n", PartKind::JournalText),
            ("Startup finished in 1s (kernel) + 2s (userspace) = 3s\n", PartKind::StartupTimes),
            ("{\n\t\"__CURSOR\" : \"s\",\n", PartKind::JournalJson),
            ("[{\"__CURSOR\":\"s\"}]\n", PartKind::JournalJson),
            ("data: {\"__CURSOR\":\"s\"}\n", PartKind::JournalJson),
            ("UEFI firmware\n\u{1b}[2JGRUB\n[    0.000000] Linux version 6.1\n", PartKind::KernelLog),
        ] {
            assert_eq!(kind("any name", text), Some(expected), "{text}");
        }
        assert_eq!(kind("uname", "Linux lab 6.1\n"), Some(PartKind::Uname));
        assert_eq!(kind("lab/cmdline", "root=/dev/vda\n"), Some(PartKind::CommandLine));
        let variable = "LoaderTimeExecUSec-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
        assert_eq!(part_kind(variable, b"\x06\0\0\x005\0"), Some(PartKind::LoaderTimeExec));
        assert_eq!(part_kind("FBPT.bin", b"FBPT\x30\0\0\0"), Some(PartKind::FirmwareTable));
        assert_eq!(kind("lab/fpdt/boot/exitbootservice_end_ns", "4809919164\n"), Some(PartKind::FirmwareTable));
        for text in ["", "blame\n", "Reached target Basic System.\nStarted a.service.\n", "a,b\n1,2\n"] {
            assert_eq!(kind("x", text), None, "{text}");
        }
    }
}
