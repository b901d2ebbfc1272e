//! Collects the final stage of a shutdown, after all processes have ended and the root file system is read-only.
//!
//! systemd runs the hooks in `/usr/lib/systemd/system-shutdown` last. The hook makes the root file system writable once
//! more to save files for the next boot.

use crate::collect;
use crate::error::Error;
use crate::machine::{Machine, MachineFiles};
use crate::tracing;

/// Marker file, written after everything was saved. It lists what was missing.
pub const COMPLETE: &str = "complete";

/// File with the id of the boot whose shutdown is to be recorded.
pub const BOOT_ID: &str = "boot-id";

/// Returns the folder for the part of a recording that is collected while the system still runs.
#[must_use]
pub fn running_part(staging: &str) -> String {
    format!("{staging}/running")
}

/// Returns the folder for the part that the hook collects.
#[must_use]
pub fn final_part(staging: &str) -> String {
    format!("{staging}/last-moments")
}

/// Saves the trace and the logs in `staging`. The job's state may be on a file system that is unmounted by now.
pub fn run(machine: &mut dyn Machine, kind: &str, staging: &str) -> Result<(), Error> {
    // Ignore other shutdowns, such as one after the job has failed.
    let expected = machine.read_text(&format!("{staging}/{BOOT_ID}"));
    if expected.is_none_or(|id| id != machine.boot_id()) {
        return Ok(());
    }
    let clock = collect::clock(machine, &format!("shutdown-hook-{kind}"));
    let tracefs = collect::tracefs(machine);
    if let Some(tracefs) = tracefs {
        tracing::stop(machine, tracefs)?;
    }
    machine.run_checked(&["mount", "-o", "remount,rw", "/"])?;
    let save_result = save(machine, &final_part(staging), clock);
    // Restore the state in which systemd left the file system.
    let _ = machine.run(&["sync"]);
    let remount_result = machine.run_checked(&["mount", "-o", "remount,ro", "/"]);
    save_result?;
    let message = "onoff record: the shutdown was recorded";
    machine.print_line(message);
    // Nothing reads a hook's output at this point.
    if machine.exists("/dev/console") {
        let _ = machine.set_value("/dev/console", format!("{message}\r\n").as_bytes());
    }
    remount_result.map(|_| ())
}

fn save(machine: &mut dyn Machine, folder: &str, clock: String) -> Result<(), Error> {
    machine.make_private_folders(folder)?;
    let mut missing = Vec::new();
    collect::clocks(machine, folder, &[clock])?;
    collect::trace(machine, folder, "shutdown", &mut missing)?;
    for name in ["uptime", "mounts", "cmdline"] {
        let path = format!("{folder}/{name}");
        collect::copy(machine, &format!("/proc/{name}"), &path, &mut missing)?;
    }
    let path = format!("{folder}/dmesg.txt");
    collect::output(machine, &["dmesg"], &path, &mut missing)?;
    // journald has ended, so read its files directly.
    for journal in ["/var/log/journal", "/run/log/journal"] {
        if !machine.exists(journal) {
            continue;
        }
        let line = ["journalctl", "-D", journal, "-b", "-o", "export", "--no-pager"];
        let path = format!("{folder}/journal.export");
        collect::output(machine, &line, &path, &mut missing)?;
        break;
    }
    let missing_text = missing.join("\n");
    machine.replace(&format!("{folder}/{COMPLETE}"), missing_text.as_bytes(), 0o600)
}
