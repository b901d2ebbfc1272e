//! A fake computer: a tree of files with systemd-boot or GRUB, commands that read and change the tree, and crashes on
//! demand.

pub mod windows_commands;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use onoff_record::job::{Job, LoaderChoice, SleepMethod, Transition};
use onoff_record::machine::{Clocks, CommandOutput, Machine, MachineFiles};
use onoff_record::tracing::TraceGroup;
use tempfile::TempDir;

pub const LOADER: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loader {
    SystemdBoot,
    Grub,
    Other,
}

pub struct FakeMachine {
    pub tree: TempDir,
    pub printed_lines: Vec<String>,
    pub commands: Vec<String>,
    pub superuser: bool,
    /// Number of changes before the computer crashes.
    pub changes_left: Option<u32>,
    pub waited: Duration,
    /// The last journal lines of the previous boot.
    pub previous_boot: &'static str,
    /// True if process 1 is not systemd.
    pub without_systemd: bool,
}

/// Creates a folder in memory if possible, because these tests would otherwise spend most of their time waiting for the
/// disk.
fn tree() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

impl FakeMachine {
    pub fn new(loader: Loader) -> Self {
        let mut machine = Self {
            tree: tree(),
            printed_lines: Vec::new(),
            commands: Vec::new(),
            superuser: true,
            changes_left: None,
            waited: Duration::ZERO,
            previous_boot: "Shutting down.\nJournal stopped\n",
            without_systemd: false,
        };
        machine.fill(loader);
        machine
    }

    pub fn write_file(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let host_path = self.host_path(path);
        fs::create_dir_all(host_path.parent().unwrap()).unwrap();
        fs::write(host_path, bytes).unwrap();
    }

    fn variable(&self, name: &str, payload: &[u8]) {
        let mut bytes = vec![6, 0, 0, 0];
        bytes.extend(payload);
        self.write_file(&format!("/sys/firmware/efi/efivars/{name}-{LOADER}"), bytes);
    }

    fn fill(&mut self, loader: Loader) {
        self.write_file("/proc/sys/kernel/random/boot_id", "boot-0\n");
        self.write_file("/proc/cmdline", "root=LABEL=root rw\n");
        self.write_file("/proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\n");
        self.write_file("/proc/meminfo", "MemTotal:        2013580 kB\nMemFree: 1 kB\n");
        self.write_file("/proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
        self.write_file("/proc/swaps", "Filename Type Size Used Priority\n/dev/vdc partition 2097148 0 -2\n");
        self.write_file(
            "/proc/self/mountinfo",
            "1 0 0:1 / / rw - rootfs rootfs rw\n29 1 254:2 / / rw,relatime shared:1 - ext4 /dev/vda2 rw\n30 29 0:5 / /dev rw - devtmpfs udev rw\n",
        );
        fs::create_dir_all(self.host_path("/run/systemd/system")).unwrap();
        fs::create_dir_all(self.host_path("/usr/lib/systemd/system-shutdown")).unwrap();
        fs::create_dir_all(self.host_path("/usr/local/sbin")).unwrap();
        fs::create_dir_all(self.host_path("/etc/systemd/system/multi-user.target.wants")).unwrap();
        fs::create_dir_all(self.host_path("/var/lib")).unwrap();
        fs::create_dir_all(self.host_path("/var/log/journal")).unwrap();
        self.write_file("/opt/onoff", "the program");
        self.write_file("/sys/power/state", "freeze mem disk\n");
        self.write_file("/sys/power/mem_sleep", "s2idle [deep]\n");
        self.write_file("/sys/power/resume", "254:32\n");
        self.write_file("/sys/power/pm_print_times", "0\n");
        self.write_file("/sys/class/rtc/rtc0/wakealarm", "");
        let tracefs = "/sys/kernel/tracing";
        let mut available = String::new();
        for event in TraceGroup::ALL.iter().flat_map(|group| group.events()) {
            // This kernel has no runtime power events.
            if event.starts_with("rpm:") {
                continue;
            }
            available += &format!("{event}\n");
            self.write_file(&format!("{tracefs}/events/{}/enable", event.replace(':', "/")), "0\n");
        }
        self.write_file(&format!("{tracefs}/available_events"), available);
        self.write_file(&format!("{tracefs}/trace"), "# tracer: nop\n");
        self.write_file(&format!("{tracefs}/trace_marker"), "");
        self.write_file(&format!("{tracefs}/tracing_on"), "1\n");
        self.write_file(&format!("{tracefs}/trace_clock"), "[local] global counter uptime perf mono mono_raw boot\n");
        self.write_file(&format!("{tracefs}/buffer_size_kb"), "7 (expanded: 1408)\n");
        self.write_file(&format!("{tracefs}/saved_cmdlines"), "1 systemd\n");
        self.write_file(&format!("{tracefs}/per_cpu/cpu0/stats"), "entries: 1\noverrun: 0\n");
        match loader {
            Loader::SystemdBoot => {
                self.variable("LoaderInfo", &utf_16("systemd-boot 252.39"));
                self.variable("LoaderEntrySelected", &utf_16("debian.conf"));
                self.variable("LoaderFeatures", &0x7f_u64.to_le_bytes());
                self.variable("LoaderTimeInitUSec", &utf_16("4940000"));
                self.write_file(
                    "/boot/efi/loader/entries/debian.conf",
                    "title Debian\nversion 6.1.0\nlinux /debian/vmlinuz\ninitrd /debian/initrd.img\noptions root=LABEL=root rw\n",
                );
                self.write_file("/boot/efi/loader/loader.conf", "default debian.conf\n");
            }
            Loader::Grub => {
                self.write_file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz-6.1 root=LABEL=root rw quiet\n");
                self.write_file("/usr/sbin/grub-reboot", "#!/bin/sh\n");
                self.write_file("/usr/bin/grub-editenv", "#!/bin/sh\n");
                self.write_file("/boot/grub/grubenv", "# GRUB Environment Block\n");
                self.write_file(
                    "/boot/grub/grub.cfg",
                    "if [ \"${next_entry}\" ] ; then set default=\"${next_entry}\"; fi\n\
                     menuentry 'Debian' --class debian {\n\tlinux /vmlinuz-6.1 root=LABEL=root rw quiet\n\tinitrd /initrd.img-6.1\n}\n\
                     if [ -f ${config_directory}/custom.cfg ]; then source ${config_directory}/custom.cfg; fi\n",
                );
                // An entry of the user.
                self.write_file("/boot/grub/custom.cfg", "menuentry 'mine' {\n\tchainloader +1\n}\n");
            }
            Loader::Other => {}
        }
    }

    /// Simulates a restart: a new boot, with the options of the entry that the boot loader starts.
    pub fn restart(&mut self, boots_selected_entry: bool) {
        let number: u32 = self.boot_id()["boot-".len()..].parse().unwrap();
        self.write_file("/proc/sys/kernel/random/boot_id", format!("boot-{}\n", number + 1));
        let one_shot = format!("/sys/firmware/efi/efivars/LoaderEntryOneShot-{LOADER}");
        let selected = self.read(&one_shot);
        let _ = fs::remove_file(self.host_path(&one_shot));
        let mut options = "root=LABEL=root rw\n".to_owned();
        if let Some(selected) = selected.filter(|_| boots_selected_entry) {
            let name: Vec<u16> = selected[4..].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            let name = String::from_utf16(&name).unwrap();
            let entry = self.read_text(&format!("/boot/efi/loader/entries/{}", name.trim_end_matches('\0'))).unwrap();
            self.variable("LoaderEntrySelected", &selected[4..]);
            options = entry.lines().filter_map(|line| line.strip_prefix("options ")).collect::<Vec<_>>().join(" ");
        } else if self.exists(&format!("/sys/firmware/efi/efivars/LoaderEntrySelected-{LOADER}")) {
            self.variable("LoaderEntrySelected", &utf_16("debian.conf"));
        }
        if let Some(environment) = self.read_text("/boot/grub/grubenv") {
            options = "BOOT_IMAGE=/vmlinuz-6.1 root=LABEL=root rw quiet\n".to_owned();
            let selected = environment.lines().find_map(|line| line.strip_prefix("next_entry=")).map(str::to_owned);
            // GRUB clears the selection before it starts an entry.
            self.write_file("/boot/grub/grubenv", "# GRUB Environment Block\n");
            if let Some(selected) = selected.filter(|_| boots_selected_entry) {
                let custom = self.read_text("/boot/grub/custom.cfg").unwrap();
                let (_, entry) = custom.split_once(&format!("--id {selected} {{")).unwrap();
                let line = entry.lines().find_map(|line| line.trim().strip_prefix("linux ")).unwrap();
                options = format!("BOOT_IMAGE={line}");
            }
        }
        self.write_file("/proc/cmdline", options);
    }

    /// Returns all files with their contents, all folders and links, except those that the kernel and the boot loader
    /// change.
    pub fn snapshot(&self) -> BTreeMap<String, String> {
        let mut tree = snapshot(self.tree.path());
        tree.retain(|path, _| {
            !path.starts_with("/proc/") && !path.starts_with("/out") && !path.contains("/LoaderEntrySelected-")
        });
        tree
    }
}

/// Encodes text as in EFI variables.
fn utf_16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Returns all files with their contents, all folders and links below a folder.
pub fn snapshot(root: &Path) -> BTreeMap<String, String> {
    let mut tree = BTreeMap::new();
    walk(root, root, &mut tree);
    tree
}

fn walk(root: &Path, folder: &Path, tree: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("/{}", path.strip_prefix(root).unwrap().display());
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            tree.insert(name, "folder".to_owned());
            walk(root, &path, tree);
        } else if metadata.is_symlink() {
            tree.insert(name, format!("link to {}", fs::read_link(&path).unwrap().display()));
        } else {
            let mode = metadata.permissions().mode() & 0o7777;
            let bytes = fs::read(&path).unwrap();
            tree.insert(name, format!("{mode:o} {}", String::from_utf8_lossy(&bytes)));
        }
    }
}

impl Machine for FakeMachine {
    fn root(&self) -> &Path {
        self.tree.path()
    }

    fn run(&mut self, line: &[&str]) -> io::Result<CommandOutput> {
        let text = line.join(" ");
        self.commands.push(text.clone());
        if self.without_systemd && line.first() == Some(&"systemctl") {
            let stderr = b"Failed to connect to bus: Host is down\n".to_vec();
            return Ok(CommandOutput { code: Some(1), stdout: Vec::new(), stderr });
        }
        let output = match line {
            ["systemctl", "show", "--no-pager"] => "Version=252\nUserspaceTimestampMonotonic=1\n",
            ["systemctl", "show", ..] => "Id=a.service\nLoadState=loaded\n",
            ["uname", ..] => "Linux fake 6.1\n",
            ["systemctl", "--version"] => "systemd 252 (252.39-1~deb12u1)\n+PAM\n",
            ["systemctl", "is-system-running"] => "running\n",
            ["/usr/sbin/grub-reboot", entry] => {
                self.before_change()?;
                self.write_file("/boot/grub/grubenv", format!("# GRUB Environment Block\nnext_entry={entry}\n"));
                ""
            }
            ["/usr/bin/grub-editenv", "/boot/grub/grubenv", "unset", "next_entry"] => {
                self.before_change()?;
                self.write_file("/boot/grub/grubenv", "# GRUB Environment Block\n");
                ""
            }
            ["journalctl", "--boot=-1", ..] => self.previous_boot,
            ["journalctl", ..] => "__CURSOR=s=1\nMESSAGE=hello\n\n",
            ["dmesg"] => "[    0.000000] Linux version 6.1.0\n",
            _ => "",
        };
        Ok(CommandOutput { code: Some(0), stdout: output.into(), stderr: Vec::new() })
    }

    fn clocks(&self) -> Clocks {
        Clocks {
            monotonic_ns: 33_252_654_001,
            raw_ns: 33_252_768_002,
            boot_ns: 43_252_832_003,
            real_ns: 1_795_216_540_661_347_004,
        }
    }

    fn wait(&mut self, time: Duration) {
        self.waited += time;
    }

    fn print_line(&mut self, line: &str) {
        self.printed_lines.push(line.to_owned());
    }

    fn is_superuser(&self) -> bool {
        self.superuser
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(8 << 30)
    }

    fn unprotect(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn before_change(&mut self) -> io::Result<()> {
        match &mut self.changes_left {
            Some(0) => Err(io::Error::other("the computer crashed")),
            Some(remaining) => {
                *remaining -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

pub fn job(transition: Transition) -> Job {
    Job {
        transition,
        runs: 2,
        train: 1,
        post_delay_s: Some(30),
        out: "/out".to_owned(),
        groups: TraceGroup::ALL.to_vec(),
        events: Vec::new(),
        buffer_mib: None,
        loader: LoaderChoice::Found,
        sleep_by: SleepMethod::Kernel,
        sleep_state: "mem".to_owned(),
        mem_sleep: None,
        hibernate_mode: None,
        wake_after_s: Some(20),
        owner: None,
    }
}
