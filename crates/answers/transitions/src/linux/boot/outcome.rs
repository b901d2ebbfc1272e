//! Determines how a boot ended: finished, or in the loader, a panic, a shell for repairs, or without a login.

use onoff_trace::{Milestone, ServiceOutcome, Trace, milestone};
use onoff_usage::units::{StillStarting, Unit};

use super::report::{ConsoleEnd, DeferredProbe, LinuxBootOutcome, LinuxBootOutcomeKind, OutcomeEvidence};

/// A panic this long after the start of user space is not part of the boot if its end was not recorded, ns: 10 min.
const MAX_BOOT_NS: i64 = 600_000_000_000;

/// Maximum number of records that show how the boot ended.
const MAX_EVIDENCE: usize = 5;

/// Services that show a login screen.
const DISPLAY_MANAGERS: [&str; 8] = [
    "display-manager.service",
    "gdm.service",
    "gdm3.service",
    "sddm.service",
    "lightdm.service",
    "lxdm.service",
    "greetd.service",
    "xdm.service",
];

/// The targets that are reached when users can log in.
const USER_TARGETS: [&str; 2] = ["graphical.target", "multi-user.target"];

/// The target of the file systems in `/etc/fstab`; its failure starts `emergency.target`.
pub(super) const LOCAL_FILE_SYSTEMS: &str = "local-fs.target";

/// Kinds of units that a file system needs; their failure leads to emergency mode.
const FILE_SYSTEM_UNITS: [&str; 3] = [".device", ".mount", ".swap"];

/// Returns the end of the boot that a console shows without a time, if no record with a time does.
pub(super) fn console_end(trace: &Trace, finished_ns: Option<i64>) -> Option<ConsoleEnd> {
    let rows = |name: &str| {
        let name = trace.strings.find(name);
        trace.milestones.iter().filter(move |row| Some(row.name) == name)
    };
    let targets = USER_TARGETS
        .into_iter()
        .filter_map(|target| rows(milestone::CONSOLE_STARTED).find(|row| trace.text(row.detail) == target));
    let (row, target) = match targets.last() {
        Some(row) => (row, trace.text(row.detail)),
        None => (rows(milestone::LOGIN_PROMPT).next()?, ""),
    };
    let earliest_ns = Some(row.time_ns).filter(|_| has_time(trace, &row));
    finished_ns.is_none().then(|| ConsoleEnd { target: target.to_owned(), earliest_ns })
}

/// Returns how the boot ended. The default target, if it was reached, was reached at `target_ns`.
pub(super) fn outcome(
    trace: &Trace,
    units: &[Unit],
    (target_ns, user_space_ns): (Option<i64>, Option<i64>),
    still_starting: &[StillStarting],
) -> LinuxBootOutcome {
    // What happens after the default target was reached does not belong to the boot.
    let is_in_boot = |time_ns: i64| match (target_ns, user_space_ns) {
        (Some(target_ns), _) => time_ns <= target_ns,
        (None, Some(user_space_ns)) => time_ns <= user_space_ns.saturating_add(MAX_BOOT_NS),
        (None, None) => true,
    };
    let rows = |name: &str| -> Vec<Milestone> {
        let Some(name) = trace.strings.find(name) else { return Vec::new() };
        trace.milestones.iter().filter(|row| row.name == name && is_in_boot(row.time_ns)).collect()
    };
    let panics = rows(milestone::KERNEL_PANIC);
    let root_failures = rows(milestone::ROOT_MISSING);
    let shells = rows(milestone::INITRAMFS_SHELL);
    let emergency_shells = rows(milestone::EMERGENCY_SHELL);
    // Without a service manager on the root file system, the initramfs entered emergency mode.
    let has_user_space = user_space_ns.is_some();
    let root_waits = if has_user_space { Vec::new() } else { rows(milestone::ROOT_WAIT) };
    let is_root_panic = |row: &Milestone| trace.text(row.detail).contains("root fs");
    let deferred = rows(milestone::PROBE_DEFERRED);
    if let Some(outcome) = loader_failure(trace, &rows(milestone::LOADER_FAILED)) {
        return outcome;
    }
    let kind_and_rows = if !panics.is_empty() {
        let is_root = panics.iter().any(is_root_panic) || !root_failures.is_empty();
        let kind = if is_root { LinuxBootOutcomeKind::RootNotMounted } else { LinuxBootOutcomeKind::KernelPanic };
        Some((kind, [root_failures, panics].concat()))
    } else if !root_failures.is_empty() && (!shells.is_empty() || !emergency_shells.is_empty() || !has_user_space) {
        Some((LinuxBootOutcomeKind::RootNotMounted, [root_failures, shells, emergency_shells].concat()))
    } else if !shells.is_empty() && !has_user_space {
        Some((LinuxBootOutcomeKind::InitramfsShell, shells))
    } else if !root_waits.is_empty() {
        Some((LinuxBootOutcomeKind::RootNotMounted, root_waits))
    } else {
        None
    };
    if let Some((kind, mut rows)) = kind_and_rows {
        let time_ns = last_time(trace, &rows);
        let is_root = kind == LinuxBootOutcomeKind::RootNotMounted;
        let subject = rows.iter().find_map(|row| root_device(trace.text(row.detail))).unwrap_or_default();
        let deferred_probes = deferred_probes(trace, &deferred, is_root.then_some(subject.as_str()));
        rows.extend(deferred);
        return LinuxBootOutcome { kind, subject, time_ns, evidence: evidence(trace, &rows), deferred_probes };
    }
    if let Some(outcome) = repair_mode(trace, units, target_ns, &rows) {
        return outcome;
    }
    if let Some(outcome) = local_file_systems(trace, units, &rows(milestone::TARGET_REACHED)) {
        return outcome;
    }
    if let Some(outcome) = no_login(trace, units, &rows) {
        return outcome;
    }
    // Without user space, nothing else explains why the boot went no further.
    let has_programs = [milestone::INITRD_BEGIN, milestone::LOGIN_PROMPT].iter().any(|name| !rows(name).is_empty());
    if !has_user_space && target_ns.is_none() && !has_programs && !deferred.is_empty() {
        let probes = deferred_probes(trace, &deferred, None);
        return LinuxBootOutcome {
            kind: LinuxBootOutcomeKind::DriversWaiting,
            subject: probes.first().map(|probe| probe.device.clone()).unwrap_or_default(),
            time_ns: last_time(trace, &deferred),
            evidence: evidence(trace, &deferred),
            deferred_probes: probes,
        };
    }
    match still_starting.first() {
        Some(first) => LinuxBootOutcome {
            kind: LinuxBootOutcomeKind::Unfinished,
            subject: first.unit.clone(),
            time_ns: None,
            evidence: vec![OutcomeEvidence { time_ns: Some(first.start_ns), text: format!("{} started", first.unit) }],
            deferred_probes: Vec::new(),
        },
        None => LinuxBootOutcome::default(),
    }
}

/// Returns the outcome if the boot ended in emergency or rescue mode instead of the default target.
fn repair_mode(
    trace: &Trace,
    units: &[Unit],
    target_ns: Option<i64>,
    rows: &dyn Fn(&str) -> Vec<Milestone>,
) -> Option<LinuxBootOutcome> {
    if target_ns.is_some() {
        return None;
    }
    let reached = rows(milestone::TARGET_REACHED);
    let modes = [
        (LinuxBootOutcomeKind::EmergencyMode, "emergency", milestone::EMERGENCY_SHELL),
        (LinuxBootOutcomeKind::RescueMode, "rescue", milestone::RESCUE_SHELL),
    ];
    modes.into_iter().find_map(|(kind, name, shell)| {
        let is_unit = |unit: &str| unit.strip_prefix(name).is_some_and(|kind| [".target", ".service"].contains(&kind));
        let shells = rows(shell);
        let targets = reached.iter().filter(|row| is_unit(trace.text(row.detail))).map(|row| row.time_ns);
        let starts = units.iter().filter(|unit| is_unit(&unit.name)).map(|unit| unit.start_ns);
        let time_ns = targets.chain(starts).chain(shells.iter().map(|row| row.time_ns)).min()?;
        // Somebody repaired it, and the boot went on.
        if reached.iter().any(|row| row.time_ns > time_ns && is_for_users(trace, row)) {
            return None;
        }
        let failed = failed_units(units, time_ns);
        let subject = failed.first().map_or_else(String::new, |unit| unit.name.clone());
        let mut evidence = failures(&failed);
        evidence.truncate(MAX_EVIDENCE.saturating_sub(1));
        evidence.push(match shells.first() {
            Some(row) => OutcomeEvidence { time_ns: Some(row.time_ns), text: trace.text(row.detail).to_owned() },
            None => OutcomeEvidence { time_ns: Some(time_ns), text: format!("{name}.target started") },
        });
        evidence.sort_by_key(|row| row.time_ns);
        Some(LinuxBootOutcome { kind, subject, time_ns: Some(time_ns), evidence, deferred_probes: Vec::new() })
    })
}

/// True if a row is of a target that is reached when users can log in.
fn is_for_users(trace: &Trace, row: &Milestone) -> bool {
    USER_TARGETS.contains(&trace.text(row.detail))
}

/// Returns the units that failed until `until_ns`, the likely cause first.
fn failed_units(units: &[Unit], until_ns: i64) -> Vec<&Unit> {
    let mut failed: Vec<&Unit> = units
        .iter()
        .filter(|unit| unit.outcome == ServiceOutcome::Failed && unit.end_ns.is_some_and(|end| end <= until_ns))
        .collect();
    // What failed because something else did comes after that.
    let is_file_system = |unit: &Unit| {
        FILE_SYSTEM_UNITS.iter().any(|kind| unit.name.ends_with(kind)) || unit.name.starts_with("systemd-fsck@")
    };
    let is_device = |unit: &Unit| unit.name.ends_with(".device");
    failed.sort_by_key(|unit| (!is_file_system(unit), unit.result == "dependency", !is_device(unit), unit.end_ns));
    failed
}

/// Returns the outcome if the file systems of `/etc/fstab` could not be mounted and nothing shows what came after that.
fn local_file_systems(trace: &Trace, units: &[Unit], reached: &[Milestone]) -> Option<LinuxBootOutcome> {
    let has_failed = |unit: &&Unit| unit.name == LOCAL_FILE_SYSTEMS && unit.outcome == ServiceOutcome::Failed;
    let failure = units.iter().find(has_failed).filter(|_| !reached.iter().any(|row| is_for_users(trace, row)))?;
    let failed = failed_units(units, i64::MAX);
    let subject = failed.first().filter(|unit| unit.name != LOCAL_FILE_SYSTEMS);
    let mut evidence = failures(&failed);
    evidence.truncate(MAX_EVIDENCE);
    Some(LinuxBootOutcome {
        kind: LinuxBootOutcomeKind::LocalFileSystemsFailed,
        subject: subject.map_or_else(String::new, |unit| unit.name.clone()),
        time_ns: failure.end_ns,
        evidence,
        deferred_probes: Vec::new(),
    })
}

/// Returns the outcome if the firmware or the loader gave up.
fn loader_failure(trace: &Trace, failures: &[Milestone]) -> Option<LinuxBootOutcome> {
    let last = failures.last()?;
    let stage = onoff_firmware_times::bring_up::stages(trace).pop();
    Some(LinuxBootOutcome {
        kind: LinuxBootOutcomeKind::LoaderFailed,
        subject: stage.map(|stage| stage.name).unwrap_or_default(),
        // The kernel's clock had not started.
        time_ns: None,
        evidence: vec![OutcomeEvidence { time_ns: None, text: trace.text(last.detail).to_owned() }],
        deferred_probes: Vec::new(),
    })
}

/// Returns the time of the last row; `None` if the log has no times.
fn last_time(trace: &Trace, rows: &[Milestone]) -> Option<i64> {
    rows.iter().filter(|row| has_time(trace, row)).map(|row| row.time_ns).max()
}

fn has_time(trace: &Trace, row: &Milestone) -> bool {
    trace.text(row.event) != milestone::NO_TIME_EVENT
}

/// Minimum number of times that programs which ask for a login end, before nobody could log in.
const MIN_LOGIN_RESTARTS: usize = 3;

/// Returns the outcome if the service that shows a login screen failed, or the programs that ask for a login, and no
/// console shows a login.
fn no_login(trace: &Trace, units: &[Unit], rows: &dyn Fn(&str) -> Vec<Milestone>) -> Option<LinuxBootOutcome> {
    let mut failures = rows(milestone::LOGIN_FAILED);
    let restarts = rows(milestone::LOGIN_RESTARTED);
    let is_exit = |row: &&Milestone| trace.text(row.detail).contains("exited");
    if failures.is_empty() && restarts.iter().filter(is_exit).count() >= MIN_LOGIN_RESTARTS {
        failures = restarts;
    }
    if let Some(first) = failures.first()
        && rows(milestone::LOGIN_PROMPT).is_empty()
    {
        return Some(LinuxBootOutcome {
            kind: LinuxBootOutcomeKind::NoLogin,
            subject: failures.iter().find_map(|row| terminal(trace.text(row.detail))).unwrap_or_default(),
            time_ns: Some(first.time_ns).filter(|_| has_time(trace, first)),
            evidence: evidence(trace, &failures),
            deferred_probes: Vec::new(),
        });
    }
    let display_manager = DISPLAY_MANAGERS.into_iter().find_map(|name| {
        let starts: Vec<&Unit> = units.iter().filter(|unit| unit.name == name && unit.automatic).collect();
        (starts.last()?.outcome == ServiceOutcome::Failed).then(|| failed_login(&starts))?
    });
    display_manager.or_else(|| no_terminal_login(units))
}

/// Returns the outcome if each unit that asks for a login on a terminal failed, and nothing shows a login screen.
fn no_terminal_login(units: &[Unit]) -> Option<LinuxBootOutcome> {
    const TERMINAL_UNITS: [&str; 4] = ["getty@", "serial-getty@", "console-getty.", "container-getty@"];
    let mut last: Vec<&Unit> = Vec::new();
    for unit in units.iter().filter(|unit| TERMINAL_UNITS.iter().any(|prefix| unit.name.starts_with(prefix))) {
        last.retain(|earlier| earlier.name != unit.name);
        last.push(unit);
    }
    let has_screen = units.iter().any(|unit| DISPLAY_MANAGERS.contains(&unit.name.as_str()));
    let have_all_failed = !has_screen && last.iter().all(|unit| unit.outcome == ServiceOutcome::Failed);
    if have_all_failed { failed_login(&last) } else { None }
}

/// Returns the outcome of a boot in which these starts of units for a login failed.
fn failed_login(starts: &[&Unit]) -> Option<LinuxBootOutcome> {
    let last = starts.last()?;
    let latest = starts.iter().rev().take(MAX_EVIDENCE).rev();
    let evidence = latest
        .map(|unit| OutcomeEvidence { time_ns: Some(unit.end_ns.unwrap_or(unit.start_ns)), text: failure(unit) })
        .collect();
    Some(LinuxBootOutcome {
        kind: LinuxBootOutcomeKind::NoLogin,
        subject: last.name.clone(),
        time_ns: last.end_ns,
        evidence,
        deferred_probes: Vec::new(),
    })
}

/// Returns the records of units that failed.
fn failures(units: &[&Unit]) -> Vec<OutcomeEvidence> {
    let time_ns =
        |unit: &Unit| Some(unit.end_ns.unwrap_or(unit.start_ns)).filter(|_| unit.event != milestone::NO_TIME_EVENT);
    units.iter().map(|unit| OutcomeEvidence { time_ns: time_ns(unit), text: failure(unit) }).collect()
}

fn failure(unit: &Unit) -> String {
    let result = if unit.result.is_empty() { String::new() } else { format!(" ({})", unit.result) };
    format!("{} failed{result}", unit.name)
}

fn evidence(trace: &Trace, rows: &[Milestone]) -> Vec<OutcomeEvidence> {
    let mut evidence: Vec<OutcomeEvidence> = rows
        .iter()
        .map(|row| OutcomeEvidence {
            time_ns: Some(row.time_ns).filter(|_| has_time(trace, row)),
            text: trace.text(row.detail).trim().to_owned(),
        })
        .collect();
    evidence.sort_by_key(|row| row.time_ns);
    evidence.dedup_by(|later, earlier| later.text == earlier.text);
    evidence.truncate(MAX_EVIDENCE);
    evidence
}

/// Returns the terminal in a message about a program that asks for a login.
fn terminal(message: &str) -> Option<String> {
    let words = message.split([' ', '\'', '"', ',', ':', '.']).map(|word| word.trim_start_matches("/dev/"));
    let is_terminal = |word: &&str| {
        let name = word.trim_end_matches(|character: char| character.is_ascii_digit());
        word.len() > name.len() && (name.starts_with("tty") || name == "hvc" || name == "console")
    };
    words.into_iter().find(is_terminal).map(str::to_owned)
}

/// Kinds of devices that a root file system can be on, as in the names of their controllers.
const STORAGE: [&str; 12] =
    ["mmc", "sdhci", "emmc", "ufs", "nvme", "sata", "ahci", "usb", "pcie", "nand", "spi", "eth"];

/// Returns the devices whose drivers waited. If the root file system is missing, the controllers of storage come first,
/// and of these the kind in the name of the root device.
fn deferred_probes(trace: &Trace, rows: &[Milestone], root: Option<&str>) -> Vec<DeferredProbe> {
    let mut probes: Vec<DeferredProbe> = Vec::new();
    for row in rows {
        if let Some(probe) = deferred_probe(trace.text(row.detail))
            && !probes.contains(&probe)
        {
            probes.push(probe);
        }
    }
    if let Some(root) = root {
        probes.sort_by_key(|probe| {
            let kind = STORAGE.into_iter().find(|kind| probe.device.contains(kind));
            (!kind.is_some_and(|kind| root.contains(kind)), kind.is_none())
        });
        // Other devices do not explain a missing disk.
        probes.retain(|probe| STORAGE.into_iter().any(|kind| probe.device.contains(kind)));
    }
    probes
}

/// Parses `platform fe340000.mmc: deferred probe pending: platform: wait for supplier /clk@1`.
fn deferred_probe(message: &str) -> Option<DeferredProbe> {
    let (device, reason) = message.split_once(": deferred probe pending")?;
    let device = device.rsplit(' ').next().unwrap_or(device).to_owned();
    let reason = reason.trim_start_matches(':').trim();
    let waits_for = match reason.split_once("wait for supplier ").or_else(|| reason.split_once("supplier ")) {
        Some((_, supplier)) => supplier.split(' ').next().unwrap_or_default().to_owned(),
        None if reason.starts_with('(') => String::new(),
        None => match reason {
            "" => String::new(),
            words => format!("\"{words}\""),
        },
    };
    Some(DeferredProbe { device, waits_for })
}

/// Returns the device of the root file system from a message that it is missing.
fn root_device(message: &str) -> Option<String> {
    let quoted = |quote: char| message.split(quote).nth(1);
    let word_after = |prefix: &str| {
        let (_, rest) = message.split_once(prefix)?;
        rest.split_ascii_whitespace().next()
    };
    let device = if message.starts_with("VFS: Cannot open root device") {
        quoted('"').or_else(|| word_after("root device "))
    } else if message.starts_with("Waiting for root device ") {
        word_after("root device ").map(|device| device.trim_end_matches('.'))
    } else if message.starts_with("ALERT!") {
        word_after("ALERT!")
    } else if message.starts_with("ERROR: device '") {
        quoted('\'')
    } else if message.contains("Warning: /dev/") {
        word_after("Warning: ")
    } else if message.starts_with("mount: mounting ") {
        word_after("mount: mounting ")
    } else {
        None
    };
    device.filter(|device| !device.is_empty()).map(str::to_owned)
}
