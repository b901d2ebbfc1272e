//! Boots that ended in the loader, a panic, a shell for repairs, or without a login.

use onoff_transitions::linux::boot::LinuxBootOutcomeKind;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot that did not succeed: the firmware or the loader gave up, the kernel panicked or waited for drivers, the root
    /// file system could not be mounted, the initramfs opened a shell, the system entered emergency or rescue mode, or the
    /// program that shows the login failed.
    ///
    /// # Why it costs time
    /// The computer cannot be used until somebody repairs it.
    ///
    /// # Evidence needed
    /// The journal, the kernel log (also from `pstore` or `last_kmsg`), or the log of a serial console.
    ///
    /// # What to do
    /// Repair the unit or device that the finding names. For a device that does not appear, correct or remove its line in
    /// `/etc/fstab` or `/etc/crypttab`, or add `nofail`. For a missing root file system, check `root=` on the kernel
    /// command line, and that the kernel or the initramfs has the driver of the disk. If a driver waits for another
    /// device (a clock, a regulator, a phy), add the driver of that device, or enable its node in the device tree.
    ///
    /// # When it is wrong
    /// Rescue mode may have been requested on the kernel command line.
    ///
    /// # Source
    /// systemd.special(7), `emergency.target` and `rescue.target`; the kernel's `mount_root` and `panic`;
    /// initramfs-tools(7), dracut.cmdline(7); `deferred_probe_timeout_work_func` of the kernel; U-Boot, `hang` and
    /// `do_bootm`; BusyBox, `init`.
    "linux/boot-failed", "boots that failed", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let outcome = &facts.report.details.outcome;
    if !outcome.kind.has_failed() {
        return Ok(Vec::new());
    }
    let subject = match outcome.subject.as_str() {
        "" => FindingSubject::new(FindingSubjectKind::Transition, "boot"),
        unit if unit.ends_with(".service") || unit.ends_with(".mount") => {
            FindingSubject::new(FindingSubjectKind::Service, unit)
        }
        device => FindingSubject::new(FindingSubjectKind::Device, device),
    };
    let mut finding = RuleFinding::new(subject, format!("the boot {}", outcome.clause()))
        .cost(Cost::UNKNOWN)
        .certainty(Certainty::Measured)
        .advice(match outcome.deferred_probes.first() {
            Some(probe) => format!(
                "build the driver of the device that {} waits for into the kernel or the initramfs, and enable its node in the \
                 device tree ('cat /sys/kernel/debug/devices_deferred' lists all that wait)",
                probe.device
            ),
            None => advice(outcome.kind, &outcome.subject),
        });
    for row in &outcome.evidence {
        finding = finding.evidence(row.time_ns, row.text.clone());
    }
    Ok(vec![finding])
}

fn advice(kind: LinuxBootOutcomeKind, subject: &str) -> String {
    match kind {
        LinuxBootOutcomeKind::KernelPanic => "read the lines before the panic; boot the previous kernel, and check the driver or program that they name".to_owned(),
        LinuxBootOutcomeKind::RootNotMounted | LinuxBootOutcomeKind::InitramfsShell => {
            "check 'root=' on the kernel command line against 'blkid', and that the kernel or the initramfs has the drivers of the \
             disk and of its file system ('lsinitrd' or 'lsinitramfs')"
                .to_owned()
        }
        LinuxBootOutcomeKind::EmergencyMode | LinuxBootOutcomeKind::LocalFileSystemsFailed if subject.is_empty() => {
            "look for the unit that failed ('journalctl -b -p err')".to_owned()
        }
        LinuxBootOutcomeKind::EmergencyMode if subject.ends_with(".service") => {
            format!("find out why it failed ('journalctl -b -u {subject}')")
        }
        LinuxBootOutcomeKind::EmergencyMode | LinuxBootOutcomeKind::LocalFileSystemsFailed => {
            "correct or remove its line in /etc/fstab or /etc/crypttab, or add nofail if the boot does not need it".to_owned()
        }
        LinuxBootOutcomeKind::RescueMode => {
            "continue with 'systemctl default'; remove 'single' or 'systemd.unit=rescue.target' from the kernel command line if they are there"
                .to_owned()
        }
        LinuxBootOutcomeKind::NoLogin if !subject.ends_with(".service") => {
            "correct the terminal of the getty, in /etc/inittab or with 'systemctl status getty@…'".to_owned()
        }
        LinuxBootOutcomeKind::NoLogin => format!("find out why it failed ('journalctl -b -u {subject}'), and check the graphics driver"),
        LinuxBootOutcomeKind::LoaderFailed => {
            "read the lines before the last one on the console: they name the image or device that was not found; check where the \
             loader expects it ('printenv bootcmd' in U-Boot)"
                .to_owned()
        }
        LinuxBootOutcomeKind::DriversWaiting
        | LinuxBootOutcomeKind::Succeeded
        | LinuxBootOutcomeKind::Unfinished => String::new(),
    }
}
