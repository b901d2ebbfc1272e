//! The last moments of a shutdown: all processes have ended, the root file system cannot be written any more.
//!
//! systemd runs what is in `/usr/lib/systemd/system-shutdown` last. The root file system is made writable once more for
//! what is kept until the next boot.

use crate::collect;
use crate::error::Error;
use crate::machine::{Files, Machine};
use crate::tracing;

/// The file that says that everything was kept.
pub const COMPLETE: &str = "complete";

/// The file that names the boot whose shutdown is to be recorded.
pub const BOOT_ID: &str = "boot-id";

/// Where the part of a recording goes that is collected while the computer still runs.
#[must_use]
pub fn running_part(staging: &str) -> String {
    format!("{staging}/running")
}

/// Where the last moments go.
#[must_use]
pub fn last_part(staging: &str) -> String {
    format!("{staging}/last-moments")
}

/// Keeps the trace and the logs in `staging`: the job's state may lie on a file system that is gone by now.
pub fn run(machine: &mut dyn Machine, kind: &str, staging: &str) -> Result<(), Error> {
    // Another shutdown than the one that was asked for, such as one after the job had given up, is let be.
    let wanted = machine.read_text(&format!("{staging}/{BOOT_ID}"));
    if wanted.is_none_or(|wanted| wanted != machine.boot_id()) {
        return Ok(());
    }
    let clock = collect::clock(machine, &format!("shutdown-hook-{kind}"));
    let tracefs = collect::tracefs(machine);
    if let Some(tracefs) = tracefs {
        tracing::stop(machine, tracefs)?;
    }
    machine.must_run(&["mount", "-o", "remount,rw", "/"])?;
    let kept = keep(machine, &last_part(staging), clock);
    // The kernel must find it as systemd left it.
    let _ = machine.run(&["sync"]);
    let protected = machine.must_run(&["mount", "-o", "remount,ro", "/"]);
    kept?;
    let said = "onoff record: the shutdown is recorded";
    machine.say(said);
    // Nothing reads what a hook prints any more.
    if machine.exists("/dev/console") {
        let _ = machine.set_value("/dev/console", format!("{said}\r\n").as_bytes());
    }
    protected.map(|_| ())
}

fn keep(machine: &mut dyn Machine, folder: &str, clock: String) -> Result<(), Error> {
    machine.make_private_folders(folder)?;
    let mut lacking = Vec::new();
    collect::clocks(machine, folder, &[clock])?;
    collect::trace(machine, folder, "shutdown", &mut lacking)?;
    for name in ["uptime", "mounts", "cmdline"] {
        let to = format!("{folder}/{name}");
        collect::copy(machine, &format!("/proc/{name}"), &to, &mut lacking)?;
    }
    let to = format!("{folder}/dmesg.txt");
    collect::output(machine, &["dmesg"], &to, &mut lacking)?;
    // The journal's program asks its server; that is gone, its files are not.
    for journal in ["/var/log/journal", "/run/log/journal"] {
        if !machine.exists(journal) {
            continue;
        }
        let line = ["journalctl", "-D", journal, "-b", "-o", "export", "--no-pager"];
        let to = format!("{folder}/journal.export");
        collect::output(machine, &line, &to, &mut lacking)?;
        break;
    }
    let lacking = lacking.join("\n");
    machine.replace(&format!("{folder}/{COMPLETE}"), lacking.as_bytes(), 0o600)
}
