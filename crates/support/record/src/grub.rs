//! GRUB: adds an entry for one boot, derived from the entry of the current boot.
//!
//! GRUB uses `next_entry` of its environment once and clears it (`grub-reboot`), provided that it can write to the file
//! system of the environment. The menu itself stays unchanged: the entry goes into `custom.cfg` in the same folder,
//! which every menu made by `grub-mkconfig` reads, or, if the menu is built from Boot Loader Specification files
//! (Fedora, RHEL), into a separate file.

use crate::machine::{Machine, MachineFiles};

/// Id of the menu entry for a recorded boot.
pub const ENTRY: &str = "onoff-record";
/// Name of the entry as a Boot Loader Specification file. The name sorts lowest, so that it never becomes the default.
const ENTRY_FILE: &str = "0-onoff-record";
/// The line above our entry in `custom.cfg`.
const MARKER: &str = "# Written by 'onoff record'; 'onoff record --restore' removes it.";
/// File systems on which GRUB can write its environment. On others, such as btrfs and ZFS, it would start the entry
/// forever.
const WRITABLE: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "vfat"];

/// A GRUB installation that supports an entry for one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grub {
    /// The folder of the menu and the environment.
    pub folder: String,
    /// Path of `grub-reboot` or `grub2-reboot`.
    pub reboot: String,
    /// Path of `grub-editenv` or `grub2-editenv`.
    pub editenv: String,
    /// The entry of the current boot.
    pub entry: Entry,
    /// Contents of `custom.cfg` without our entry.
    pub custom: String,
}

/// A boot entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Lines of the menu, from `menuentry` to the closing brace.
    Menu(String),
    /// A Boot Loader Specification file.
    File { folder: String, text: String },
}

impl Grub {
    /// Finds GRUB. Returns `None` if it is not installed, and an error if it cannot be used.
    pub(crate) fn find(machine: &dyn Machine) -> Option<Result<Self, String>> {
        let folder =
            ["/boot/grub", "/boot/grub2"].into_iter().find(|folder| machine.exists(&format!("{folder}/grub.cfg")))?;
        Some(Self::from_folder(machine, folder))
    }

    fn from_folder(machine: &dyn Machine, folder: &str) -> Result<Self, String> {
        let menu_path = format!("{folder}/grub.cfg");
        let menu =
            machine.read_text(&menu_path).ok_or_else(|| format!("GRUB's menu {menu_path} is readable by root only"))?;
        let program = |name: &str| {
            let names = [format!("grub-{name}"), format!("grub2-{name}")];
            let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
            folders
                .into_iter()
                .flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}")))
                .find(|path| machine.exists(path))
        };
        let reboot =
            program("reboot").ok_or("GRUB is installed without grub-reboot, which selects an entry for one boot")?;
        let editenv =
            program("editenv").ok_or("GRUB is installed without grub-editenv, which clears that selection")?;
        if !machine.exists(&format!("{folder}/grubenv")) {
            return Err(format!("GRUB has no {folder}/grubenv to store a selection for one boot"));
        }
        if !menu.contains("next_entry") {
            return Err(format!("GRUB's menu {menu_path} does not support a selection for one boot (next_entry)"));
        }
        if let Some(reason) = reason_not_writable(machine, folder) {
            return Err(reason);
        }
        let command_line = machine.read_text("/proc/cmdline").unwrap_or_default();
        let kernel = booted_kernel(&command_line).ok_or("the kernel command line has no BOOT_IMAGE")?;
        let uses_files = menu.lines().any(|line| line.trim_start().starts_with("blscfg"));
        let entry =
            if uses_files { find_entry_file(machine, kernel)? } else { find_menu_entry(&menu, &menu_path, kernel)? };
        let custom_text = machine.read_text(&format!("{folder}/custom.cfg")).unwrap_or_default();
        let custom = custom_text.split(MARKER).next().unwrap_or_default().to_owned();
        Ok(Self { folder: folder.to_owned(), reboot, editenv, entry, custom })
    }

    /// Returns the path of GRUB's environment, which stores the selection.
    #[must_use]
    pub fn environment(&self) -> String {
        format!("{}/grubenv", self.folder)
    }

    /// Returns the name by which the entry is selected.
    #[must_use]
    pub fn entry_name(&self) -> &'static str {
        match self.entry {
            Entry::Menu(_) => ENTRY,
            Entry::File { .. } => ENTRY_FILE,
        }
    }

    /// Returns the path and new contents of the file with the entry, with `options` added to the kernel command line.
    #[must_use]
    pub fn entry_with(&self, options: &str) -> (String, String) {
        match &self.entry {
            Entry::Menu(lines) => (self.entry_path(), self.custom.clone() + &recording_menu_entry(lines, options)),
            Entry::File { text, .. } => (self.entry_path(), recording_entry_file(text, options)),
        }
    }

    /// Returns the path of the file with the entry.
    #[must_use]
    pub fn entry_path(&self) -> String {
        match &self.entry {
            Entry::Menu(_) => format!("{}/custom.cfg", self.folder),
            Entry::File { folder, .. } => format!("{folder}/{ENTRY_FILE}.conf"),
        }
    }
}

/// Returns the reason if GRUB cannot write its environment and would start the selected entry every time.
fn reason_not_writable(machine: &dyn Machine, folder: &str) -> Option<String> {
    let mounts = machine.read_text("/proc/self/mountinfo")?;
    // Fields: id parent device root mount-point options … - type source options.
    let contains_folder = |point: &str| {
        point == "/" || folder.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mount = mounts
        .lines()
        .filter_map(|line| {
            let (mount_fields, source_fields) = line.split_once(" - ")?;
            let mut source_fields = source_fields.split_whitespace();
            Some((mount_fields.split_whitespace().nth(4)?, source_fields.next()?, source_fields.next()?))
        })
        .filter(|(point, ..)| contains_folder(point))
        .max_by_key(|(point, ..)| point.len())?;
    let (_, kind, source) = mount;
    if !WRITABLE.contains(&kind) {
        return Some(format!(
            "{folder} is on {kind}, which GRUB cannot write to: it would start the entry at every boot"
        ));
    }
    if ["/dev/mapper/", "/dev/md", "/dev/dm-"].iter().any(|prefix| source.starts_with(prefix)) {
        return Some(format!(
            "{folder} is on {source}, which GRUB cannot write to: it would start the entry at every boot"
        ));
    }
    None
}

/// Returns the path of the booted kernel without its device, from `BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.1.0`.
fn booted_kernel(command_line: &str) -> Option<&str> {
    let image = command_line.split_whitespace().find_map(|word| word.strip_prefix("BOOT_IMAGE="))?;
    Some(without_device(image)).filter(|image| image.starts_with('/'))
}

fn without_device(path: &str) -> &str {
    match path.starts_with('(') {
        true => path.split_once(')').map_or(path, |(_, path)| path),
        false => path,
    }
}

/// Finds the first menu entry with the running kernel: recovery entries come after the normal one.
fn find_menu_entry(menu: &str, path: &str, kernel: &str) -> Result<Entry, String> {
    if !menu.contains("custom.cfg") {
        return Err(format!("GRUB's menu {path} does not read custom.cfg, so no entry can be added"));
    }
    let lines: Vec<&str> = menu.lines().collect();
    for (start, line) in lines.iter().enumerate().filter(|(_, line)| line.trim_start().starts_with("menuentry ")) {
        let indent = line.len() - line.trim_start().len();
        let is_end = |line: &&str| line.trim() == "}" && line.len() - line.trim_start().len() == indent;
        let Some(length) = lines.iter().skip(start).position(is_end) else { continue };
        let block = lines.get(start..=start + length).unwrap_or_default();
        let has_kernel = block.iter().any(|line| {
            let mut words = line.split_whitespace();
            words.next().is_some_and(is_linux) && words.next().map(without_device) == Some(kernel)
        });
        if has_kernel {
            return Ok(Entry::Menu(block.join("\n")));
        }
    }
    Err(format!("GRUB's menu {path} has no entry for the running kernel {kernel}"))
}

/// Finds the entry file with the running kernel.
fn find_entry_file(machine: &dyn Machine, kernel: &str) -> Result<Entry, String> {
    let folder = "/boot/loader/entries";
    let mut names: Vec<String> = std::fs::read_dir(machine.host_path(folder))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".conf") && !name.starts_with(ENTRY_FILE))
        .collect();
    names.sort();
    for name in names {
        let text = machine.read_text(&format!("{folder}/{name}")).unwrap_or_default();
        let has_kernel = text.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("linux") && words.next().map(without_device) == Some(kernel)
        });
        if has_kernel {
            return Ok(Entry::File { folder: folder.to_owned(), text });
        }
    }
    Err(format!("{folder} has no entry for the running kernel {kernel}, or is readable by root only"))
}

fn is_linux(word: &str) -> bool {
    matches!(word, "linux" | "linux16" | "linuxefi")
}

/// Returns the menu entry under our name with `options` added. `--unrestricted` skips the password of a protected menu.
fn recording_menu_entry(lines: &str, options: &str) -> String {
    let mut entry = format!(
        "{MARKER}\n\
         menuentry 'onoff record' --unrestricted --id {ENTRY} {{\n"
    );
    for line in lines.lines().skip(1) {
        entry += line.trim_end();
        if line.split_whitespace().next().is_some_and(is_linux) {
            entry += &format!(" {options}");
        }
        entry.push('\n');
    }
    entry
}

/// Returns the entry file under our title, with `options` appended to its options line.
fn recording_entry_file(text: &str, options: &str) -> String {
    let mut entry = String::from("title onoff record\nversion 0\n");
    let mut has_options = false;
    for line in text.lines() {
        match line.split_whitespace().next().unwrap_or_default() {
            "title" | "version" | "id" | "sort-key" => {}
            "options" if !has_options => {
                has_options = true;
                entry += &format!("{} {options}\n", line.trim_end());
            }
            _ => {
                entry += line.trim_end();
                entry.push('\n');
            }
        }
    }
    if !has_options {
        entry += &format!("options {options}\n");
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    const MENU: &str = "\
if [ \"${next_entry}\" ] ; then
   set default=\"${next_entry}\"
fi
menuentry 'Debian' --class debian $menuentry_id_option 'gnulinux-simple' {
\tload_video
\tif [ x$grub_platform = xxen ]; then insmod xzio; fi
\tlinux\t/vmlinuz-6.1.0-18 root=UUID=1 ro quiet
\tinitrd\t/initrd.img-6.1.0-18
}
submenu 'Advanced' {
\tmenuentry 'Debian, with Linux 6.1.0-17' {
\t\tlinux\t/vmlinuz-6.1.0-17 root=UUID=1 ro
\t}
\tmenuentry 'recovery' {
\t\tlinux\t/vmlinuz-6.1.0-17 root=UUID=1 ro single
\t}
}
if [ -f ${config_directory}/custom.cfg ]; then source ${config_directory}/custom.cfg; fi
";

    fn entry(kernel: &str) -> Result<String, String> {
        find_menu_entry(MENU, "/boot/grub/grub.cfg", kernel).map(|entry| match entry {
            Entry::Menu(lines) => recording_menu_entry(&lines, "onoff.record=1"),
            Entry::File { .. } => unreachable!(),
        })
    }

    #[test]
    fn copies_entry_of_running_kernel_with_options() {
        assert_eq!(
            entry("/vmlinuz-6.1.0-18").unwrap(),
            "# Written by 'onoff record'; 'onoff record --restore' removes it.\n\
             menuentry 'onoff record' --unrestricted --id onoff-record {\n\
             \tload_video\n\
             \tif [ x$grub_platform = xxen ]; then insmod xzio; fi\n\
             \tlinux\t/vmlinuz-6.1.0-18 root=UUID=1 ro quiet onoff.record=1\n\
             \tinitrd\t/initrd.img-6.1.0-18\n\
             }\n"
        );
        let older = entry("/vmlinuz-6.1.0-17").unwrap();
        assert!(
            older.contains("/vmlinuz-6.1.0-17 root=UUID=1 ro onoff.record=1\n") && older.ends_with("\t}\n"),
            "{older}"
        );
        assert!(entry("/vmlinuz-5").unwrap_err().contains("no entry for the running kernel"));
        let without_custom = MENU.replace("custom.cfg", "other.cfg");
        assert!(find_menu_entry(&without_custom, "menu", "/vmlinuz-6.1.0-18").is_err());
    }

    #[test]
    fn appends_options_to_entry_file() {
        let text = "title Fedora (6.5)\nversion 6.5\nlinux /vmlinuz-6.5\ninitrd /i $tuned_initrd\noptions root=UUID=1 ro $tuned_params\nid x\n";
        assert_eq!(
            recording_entry_file(text, "a=1 b"),
            "title onoff record\nversion 0\nlinux /vmlinuz-6.5\ninitrd /i $tuned_initrd\noptions root=UUID=1 ro $tuned_params a=1 b\n"
        );
        assert!(recording_entry_file("linux /vmlinuz\n", "a=1").ends_with("linux /vmlinuz\noptions a=1\n"));
    }

    #[test]
    fn strips_device_from_kernel_path() {
        assert_eq!(booted_kernel("BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.5 ro"), Some("/vmlinuz-6.5"));
        assert_eq!(booted_kernel("BOOT_IMAGE=/boot/vmlinuz-6.1 ro"), Some("/boot/vmlinuz-6.1"));
        assert_eq!(booted_kernel("initrd=x ro"), None);
    }
}
