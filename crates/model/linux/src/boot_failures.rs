//! Recognizes log lines that show how a boot failed: kernel panics, a root file system that cannot be mounted, shells
//! for repairs, logins that never come, and devices whose driver still waits for something.
//!
//! Sources of the texts: `panic` and `mount_block_root` of the kernel, `drivers/base/dd.c`; initramfs-tools
//! (`scripts/local`, `scripts/functions`), dracut (`dracut-lib.sh`, `dracut-emergency.sh`), mkinitcpio (`init_functions`);
//! systemd's `emergency.service` and `rescue.service`; sysvinit and BusyBox.

use std::borrow::Cow;

use onoff_trace::milestone;

use super::unit_messages;

/// Beginnings of lines, with the milestone that they are.
const PREFIXES: [(&str, &str); 16] = [
    ("Kernel panic - not syncing", milestone::KERNEL_PANIC),
    ("VFS: Cannot open root device", milestone::ROOT_MISSING),
    ("VFS: Unable to mount root fs", milestone::ROOT_MISSING),
    ("Waiting for root device ", milestone::ROOT_WAIT),
    ("Gave up waiting for root ", milestone::ROOT_MISSING),
    ("ALERT! ", milestone::ROOT_MISSING),
    ("ERROR: device '", milestone::ROOT_MISSING),
    ("ERROR: Failed to mount the real root device", milestone::ROOT_MISSING),
    ("mount: mounting /dev/", milestone::ROOT_MISSING),
    ("dracut: FATAL: ", milestone::ROOT_MISSING),
    ("You are now being dropped into an emergency shell", milestone::INITRAMFS_SHELL),
    ("Dropping to a shell", milestone::INITRAMFS_SHELL),
    ("(initramfs)", milestone::INITRAMFS_SHELL),
    ("Entering emergency mode", milestone::EMERGENCY_SHELL),
    ("You are in emergency mode", milestone::EMERGENCY_SHELL),
    ("You are in rescue mode", milestone::RESCUE_SHELL),
];

/// Returns the milestone that a line of the kernel, an initramfs program or an unknown sender is.
pub(super) fn milestone_of(text: &str) -> Option<&'static str> {
    let text = text.trim_start();
    // The prefix of early programs: `dracut-initqueue[321]: Warning: …`, and the end trace of a panic: `---[ end `.
    let text = text.strip_prefix("---[ end ").unwrap_or(text).trim_start();
    if let Some(&(prefix, name)) = PREFIXES.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        let is_match = match prefix {
            "ALERT! " => text.contains("does not exist"),
            "ERROR: device '" => text.contains("not found"),
            "mount: mounting /dev/" => text.contains(" on /root failed") || text.contains(" on /sysroot failed"),
            _ => true,
        };
        return is_match.then_some(name);
    }
    // Status lines of a console, with the unit before the description since systemd 249.
    if let Some(reached) = text.strip_prefix("[  OK  ] Reached target ") {
        let is_target = |name: &str, description: &str| reached.starts_with(name) || reached.starts_with(description);
        if is_target("emergency.target", "Emergency Mode") {
            return Some(milestone::EMERGENCY_SHELL);
        }
        if is_target("rescue.target", "Rescue Mode") {
            return Some(milestone::RESCUE_SHELL);
        }
        return console_started(text).map(|_| milestone::CONSOLE_STARTED);
    }
    if console_started(text).is_some() {
        return Some(milestone::CONSOLE_STARTED);
    }
    if text.contains("deferred probe pending") {
        return Some(milestone::PROBE_DEFERRED);
    }
    // `Warning: /dev/disk/by-uuid/… does not exist` of dracut, with or without the sender.
    let warning = text.split_once("Warning: ").map(|(_, warning)| warning);
    if warning.is_some_and(|warning| warning.starts_with("/dev/") && warning.ends_with(" does not exist")) {
        return Some(milestone::ROOT_MISSING);
    }
    login_milestone(text)
}

/// Returns the milestone of a line about the programs that ask for a login, of init programs other than systemd.
fn login_milestone(text: &str) -> Option<&'static str> {
    // sysvinit: `INIT: Id "T0" respawning too fast: disabled for 5 minutes`. OpenRC: ` * ERROR: agetty.ttyS0 failed to
    // start`, and supervise-daemon.
    let is_getty = ["getty", "/bin/login", "-/bin/sh", "'/bin/sh'"].iter().any(|program| text.contains(program));
    if text.contains("INIT: Id ") && text.contains("respawning too fast")
        || text.contains("ERROR: ") && is_getty && text.contains(" failed to start")
        || is_getty && text.contains("respawned too many times")
    {
        return Some(milestone::LOGIN_FAILED);
    }
    // BusyBox: `process '/sbin/getty -L ttyS1 115200 vt100' (pid 97) exited. Scheduling for restart.`
    let is_restart = text.contains("process '") && text.contains("exited. Scheduling for restart");
    if is_restart && is_getty || text.contains("can't open /dev/tty") && text.ends_with("No such file or directory") {
        return Some(milestone::LOGIN_RESTARTED);
    }
    if text.contains("Please press Enter to activate this console") {
        return Some(milestone::LOGIN_PROMPT);
    }
    // `buildroot login:`, `pynq login: root` and `pynq login: xilinx (automatic login)`
    let (host, name) = text.trim_end().split_once(" login:")?;
    let is_prompt = name.split_ascii_whitespace().count() < 2 || name.ends_with(" (automatic login)");
    (is_prompt && host != "Last" && !host.is_empty() && !host.contains([' ', ':', '[', '\'']))
        .then_some(milestone::LOGIN_PROMPT)
}

/// True for a line that shows how a boot ended, so that a log is worth reading even without times.
pub(super) fn is_end(text: &str) -> bool {
    let ends = [milestone::KERNEL_PANIC, milestone::ROOT_MISSING, milestone::INITRAMFS_SHELL, milestone::LOGIN_FAILED];
    milestone_of(text).is_some_and(|name| ends.contains(&name))
}

/// Returns the unit in a status line of a console: `[  OK  ] Reached target multi-user.target - Multi-User System.`
pub(super) fn console_started(line: &str) -> Option<Cow<'_, str>> {
    unit_messages::started_unit(line.trim().strip_prefix("[  OK  ] ")?)
}

/// True for a console without times and without a kernel that shows that the boot ended in a shell for repairs.
pub(super) fn is_repair(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("You are in emergency mode")
        || text == "[DEPEND] Dependency failed for Local File Systems."
        || text.starts_with("[DEPEND] Dependency failed for local-fs.target")
}

/// Returns the message of a unit's failure that systemd prints on a console: `[FAILED] Failed to mount /data.`
pub(super) fn console_failure(line: &str) -> Option<&str> {
    let line = line.trim();
    ["[FAILED] ", "[ TIME ] ", "[DEPEND] "].into_iter().find_map(|label| line.strip_prefix(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_failures() {
        for (text, name) in [
            ("Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)", milestone::KERNEL_PANIC),
            ("VFS: Cannot open root device \"sda1\" or unknown-block(0,0): error -6", milestone::ROOT_MISSING),
            ("Waiting for root device /dev/mmcblk0p2...", milestone::ROOT_WAIT),
            ("ALERT!  UUID=12 does not exist.  Dropping to a shell!", milestone::ROOT_MISSING),
            ("dracut-initqueue[321]: Warning: /dev/disk/by-uuid/12 does not exist", milestone::ROOT_MISSING),
            ("(initramfs) ", milestone::INITRAMFS_SHELL),
            ("You are in emergency mode. After logging in, type \"journalctl -xb\"", milestone::EMERGENCY_SHELL),
            ("[  OK  ] Reached target emergency.target - Emergency Mode.", milestone::EMERGENCY_SHELL),
            ("[  OK  ] Reached target Rescue Mode.", milestone::RESCUE_SHELL),
            ("platform 3f2000.mmc: deferred probe pending: (reason unknown)", milestone::PROBE_DEFERRED),
            ("INIT: Id \"T0\" respawning too fast: disabled for 5 minutes", milestone::LOGIN_FAILED),
            (" * ERROR: agetty.ttyS0 failed to start", milestone::LOGIN_FAILED),
            (
                "process '/sbin/getty -L ttyS1 115200 vt100' (pid 97) exited. Scheduling for restart.",
                milestone::LOGIN_RESTARTED,
            ),
            ("can't open /dev/ttyS1: No such file or directory", milestone::LOGIN_RESTARTED),
            ("Please press Enter to activate this console. ", milestone::LOGIN_PROMPT),
            ("buildroot login: ", milestone::LOGIN_PROMPT),
            ("pynq login: xilinx (automatic login)", milestone::LOGIN_PROMPT),
            ("qemuarm login: root", milestone::LOGIN_PROMPT),
            ("[  OK  ] Reached target multi-user.target - Multi-User System.", milestone::CONSOLE_STARTED),
        ] {
            assert_eq!(milestone_of(text), Some(name), "{text}");
        }
        for (line, unit) in [
            ("[  OK  ] Reached target Multi-User System.", "multi-user.target"),
            ("[  OK  ] Reached target local-fs-pre.target…Preparation for Local File Systems.", "local-fs-pre.target"),
            ("[  OK  ] Started systemd-logind.service - User Login Management.", "systemd-logind.service"),
        ] {
            assert_eq!(console_started(line).as_deref(), Some(unit), "{line}");
        }
        for text in [
            "Kernel command line: panic=5 root=/dev/sda1",
            "watchdog: hard lockup panics are enabled",
            "ALERT! battery low",
            "[  OK  ] Reached target my favorite…target - X.",
            "[  OK  ] Stopped target multi-user.target - Multi-User System.",
            "mount: mounting /dev/sda2 on /mnt failed: No such file",
            "Warning: unable to open an initial console.",
            "deferred probe timeout set to 10",
            "process '/usr/bin/ntp.sh' (pid 353) exited. Scheduling for restart.",
            "can't open /dev/null: No such file or directory",
            "pam: failed login: ",
            "Last login: Thu Dec  8 08:32:05 UTC 2022 on ttyPS0",
            "login: 11930:23:07 [User][Info] x",
            "sshd[1]: Started login:",
        ] {
            assert_eq!(milestone_of(text), None, "{text}");
        }
        assert_eq!(console_failure("[FAILED] Failed to mount /data.\r"), Some("Failed to mount /data."));
        assert_eq!(console_failure("[  OK  ] Mounted /data."), None);
    }
}
