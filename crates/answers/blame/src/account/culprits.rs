//! Culprits: the subjects that made a transition slow. Every command starts with this list.
//!
//! System components that take part in every transition are culprits only if their phase exceeded its normal duration
//! and nothing else explains it. Programs or services that each took little time but a lot in total are one culprit, a
//! relay.

use std::collections::BTreeMap;

use super::{AccountedPhase, has_no_path};
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{
    AccountAction, AccountEntry, AccountInterval, AccountMeasure, AccountSubjectKind, ActionShare, Culprit, FileReader,
};
use onoff_evidence::phase_name::PhaseName;
use onoff_usage::cpu::percent_of;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// Minimum time in a phase that makes a subject a culprit, ns: 1 s. Chosen: noticeable to a person, and more than
/// anything in a healthy boot except Windows itself.
pub const MIN_CULPRIT_NS: i64 = SECOND;
/// Minimum time in a Linux sleep phase that makes a driver a culprit, ns: half a second, from which a device counts as
/// slow.
pub const MIN_SLEEP_CULPRIT_NS: i64 = SECOND / 2;
/// Minimum time in a phase that makes a file or a disk a culprit, ns: 2 s. Chosen: a healthy hard disk delays system
/// components by a second or more in a phase.
pub const MIN_DISK_CULPRIT_NS: i64 = 2 * SECOND;
/// Minimum time of a relay member, ns: 300 ms, the variation between two boots of one computer (table 5 of the paper).
pub const MIN_RELAY_MEMBER_NS: i64 = 300 * MS;
/// Minimum number of members of a relay.
const MIN_RELAY_MEMBERS: usize = 3;
/// Maximum number of listed members of a relay.
const MAX_LISTED_MEMBERS: usize = 6;
/// A culprit that took at least 1/5 of a phase explains it.
const EXPLAINING_SHARE_DIVISOR: i64 = 5;
/// A phase is CPU-bound or disk-bound if its critical path waited for CPU or disk for at least 1/3 of it. Chosen.
const BOUND_SHARE_DIVISOR: i64 = 3;

/// Upper end of the normal duration of a phase, ns. Source: the ranges that field engineers use with the regions of
/// Windows Performance Analyzer: Pre-Session 0 to 9 s, Session 0 to 12 s, Winlogon 10 to 60 s, Explorer 0 to 6 s.
pub const MAX_NORMAL_PHASE_NS: [(&str, i64); 4] =
    [("PreSMSS", 9 * SECOND), ("SMSSInit", 12 * SECOND), ("WinLogonInit", 60 * SECOND), ("ExplorerInit", 6 * SECOND)];

/// Maximum settling time that is not slow, ns. Chosen: the four optimized computers of the paper need 10 to 34 s in
/// total, including idle time.
pub const MAX_NORMAL_SETTLING_NS: [(&str, i64); 2] = [("PostBoot", 6 * SECOND), ("PostResume", 5 * SECOND)];

/// Names of the inferred video drivers, by session.
pub const VIDEO_DRIVERS: [&str; 2] = ["video driver (system session)", "video driver (user session)"];

/// Windows and Linux components that take part in every boot, shutdown and sleep.
const SYSTEM_COMPONENTS: [&str; 18] = [
    "System",
    "smss.exe",
    "csrss.exe",
    "wininit.exe",
    "winlogon.exe",
    "services.exe",
    "lsass.exe",
    "userinit.exe",
    "explorer.exe",
    "dwm.exe",
    "LogonUI.exe",
    VIDEO_DRIVERS[0],
    VIDEO_DRIVERS[1],
    "computer policy",
    "user policy",
    "systemd",
    "init (initramfs)",
    "init.scope",
];

/// True if an entry is a system component that takes part in every transition.
#[must_use]
pub fn is_system_component(entry: &AccountEntry) -> bool {
    matches!(entry.kind, AccountSubjectKind::Kernel | AccountSubjectKind::Firmware)
        || is_system_component_name(&entry.name)
}

/// True for the name of a system component that takes part in every transition.
#[must_use]
pub fn is_system_component_name(name: &str) -> bool {
    SYSTEM_COMPONENTS.iter().any(|component| component.eq_ignore_ascii_case(name))
}

/// Returns the culprits of these phases of one transition, longest first, system components last.
#[must_use]
pub fn culprits<'a>(phases: impl IntoIterator<Item = &'a AccountedPhase>) -> Vec<Culprit> {
    let mut culprits: Vec<Culprit> = Vec::new();
    for phase in phases.into_iter().filter(|phase| phase.account.measure != AccountMeasure::None) {
        if has_no_path(&phase.phase) && settled_in_time(phase) {
            continue;
        }
        let candidates = || {
            let entries = phase.account.entries.iter();
            entries.filter(|entry| is_nameable(entry) && !is_system_component(entry))
        };
        let to_culprit = |entry: &AccountEntry| Culprit {
            phase: phase.phase.clone(),
            phase_ns: phase.account.duration_ns,
            is_truncated: phase.account.is_truncated,
            measure: phase.account.measure,
            entry: entry.clone(),
            members: Vec::new(),
            is_system: is_system_component(entry),
        };
        let single_culprits = candidates().filter(|entry| entry.ns >= min_culprit_ns(phase, entry));
        let phase_start = culprits.len();
        culprits.extend(single_culprits.map(to_culprit));
        // Many short processes of one program are one culprit.
        let mut programs: BTreeMap<String, Vec<&AccountEntry>> = BTreeMap::new();
        let is_short = |entry: &&AccountEntry| entry.kind == AccountSubjectKind::Process && entry.ns < MIN_CULPRIT_NS;
        for entry in candidates().filter(is_short).filter(|_| !has_no_path(&phase.phase)) {
            programs.entry(entry.name.to_ascii_lowercase()).or_default().push(entry);
        }
        programs.retain(|_, processes| processes.len() > 1 && total_ns(processes) >= MIN_CULPRIT_NS);
        for processes in programs.values() {
            culprits.extend(merged_entry(phase, processes).map(|entry| to_culprit(&entry)));
        }
        if !has_no_path(&phase.phase) {
            for kind in [AccountSubjectKind::Process, AccountSubjectKind::Service] {
                let members: Vec<&AccountEntry> = candidates()
                    .filter(|entry| entry.kind == kind && entry.ns < MIN_CULPRIT_NS)
                    .filter(|entry| entry.ns >= MIN_RELAY_MEMBER_NS)
                    .filter(|entry| !programs.contains_key(&entry.name.to_ascii_lowercase()))
                    .collect();
                culprits.extend(relay(phase, members));
            }
        }
        let is_explained = culprits
            .iter()
            .skip(phase_start)
            .any(|culprit| culprit.entry.ns.saturating_mul(EXPLAINING_SHARE_DIVISOR) >= phase.account.duration_ns);
        if !is_explained && !has_no_path(&phase.phase) {
            culprits.extend(cpu_bound(phase));
            culprits.extend(disk_bound(phase));
        }
        let is_explained = is_explained
            || culprits.iter().skip(phase_start).any(|culprit| culprit.entry.kind == AccountSubjectKind::Disk);
        let limit = MAX_NORMAL_PHASE_NS.iter().find(|(name, _)| *name == phase.phase);
        if !is_explained
            && limit.is_some_and(|&(_, limit_ns)| phase.account.duration_ns > limit_ns)
            && let Some(entry) = phase.account.entries.iter().find(|entry| is_nameable(entry))
            && entry.ns >= MIN_CULPRIT_NS
            && !culprits.iter().skip(phase_start).any(|culprit| culprit.entry == *entry)
        {
            culprits.push(to_culprit(entry));
        }
    }
    culprits.sort_by_key(|culprit| (culprit.is_system, std::cmp::Reverse(culprit.entry.ns)));
    culprits
}

/// Returns the minimum time that makes an entry a culprit, ns. In a Linux sleep phase, half a second is a long time for
/// a driver. Processes keep the higher limit there, because the process that requested the sleep runs the kernel's
/// work.
fn min_culprit_ns(phase: &AccountedPhase, entry: &AccountEntry) -> i64 {
    let linux_sleep_phases = PhaseName::SyncFileSystems..=PhaseName::ThawProcesses;
    let is_linux_sleep = PhaseName::parse(&phase.phase).is_some_and(|name| linux_sleep_phases.contains(&name));
    match entry.kind {
        AccountSubjectKind::Driver if is_linux_sleep => MIN_SLEEP_CULPRIT_NS,
        AccountSubjectKind::File => MIN_DISK_CULPRIT_NS,
        _ => MIN_CULPRIT_NS,
    }
}

/// False for people and unattributed time, which are never culprits.
const fn is_nameable(entry: &AccountEntry) -> bool {
    entry.kind.is_attributable() && !matches!(entry.kind, AccountSubjectKind::UserInput)
}

fn settled_in_time(phase: &AccountedPhase) -> bool {
    let idle = phase.account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Idle);
    let idle_ns = idle.fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
    let limit = MAX_NORMAL_SETTLING_NS.iter().find(|(name, _)| *name == phase.phase);
    limit.is_none_or(|&(_, limit_ns)| phase.account.duration_ns.saturating_sub(idle_ns) < limit_ns)
}

/// Returns the CPU as a culprit if ready threads on the path waited for it for much of the phase: too much to do at
/// once, or too few processors.
fn cpu_bound(phase: &AccountedPhase) -> Option<Culprit> {
    let occupied_ns = |entry: &AccountEntry| {
        let shares = entry.actions.iter().filter(|share| share.action == AccountAction::OccupiedCpu);
        shares.fold(0_i64, |sum, share| sum.saturating_add(share.ns))
    };
    let mut holders: Vec<(i64, &AccountEntry)> =
        phase.account.entries.iter().map(|entry| (occupied_ns(entry), entry)).filter(|&(ns, _)| ns > 0).collect();
    let ns = holders.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    let is_bound = ns >= MIN_CULPRIT_NS && ns.saturating_mul(BOUND_SHARE_DIVISOR) >= phase.account.duration_ns;
    if !is_bound || holders.len() < MIN_RELAY_MEMBERS {
        return None;
    }
    holders.sort_by_key(|&(ns, _)| std::cmp::Reverse(ns));
    let mut intervals: Vec<AccountInterval> =
        holders.iter().flat_map(|(_, entry)| entry.intervals.iter().copied()).collect();
    intervals.sort();
    intervals.truncate(MAX_LISTED_MEMBERS);
    Some(Culprit {
        phase: phase.phase.clone(),
        phase_ns: phase.account.duration_ns,
        measure: phase.account.measure,
        entry: AccountEntry {
            kind: AccountSubjectKind::Cpu,
            name: "CPU".to_owned(),
            device: String::new(),
            pid: None,
            read_by: Vec::new(),
            unknown_reason: None,
            ns,
            percent: percent_of(ns, phase.account.duration_ns),
            certainty: Certainty::Measured,
            requests: None,
            actions: vec![ActionShare { action: AccountAction::OccupiedCpu, ns }],
            interval_count: holders.iter().fold(0, |sum, (_, entry)| sum + entry.interval_count),
            intervals,
        },
        members: holders.iter().take(MAX_LISTED_MEMBERS).map(|(_, entry)| entry.name.clone()).collect(),
        is_system: false,
        is_truncated: phase.account.is_truncated,
    })
}

/// Returns the disk as a culprit if system components waited for it for much of the phase, but for no single file long
/// enough.
fn disk_bound(phase: &AccountedPhase) -> Option<Culprit> {
    let disk_wait_ns = |entry: &AccountEntry| {
        let shares = entry.actions.iter().filter(|share| share.action == AccountAction::WaitedForDisk);
        shares.fold(0_i64, |sum, share| sum.saturating_add(share.ns))
    };
    // Files too short to be culprits are included.
    let is_disk_reader = |entry: &&AccountEntry| match entry.kind {
        AccountSubjectKind::File => entry.ns < MIN_DISK_CULPRIT_NS,
        _ => is_system_component(entry),
    };
    let disk_readers = phase.account.entries.iter().filter(is_disk_reader);
    let mut readers: Vec<(i64, &AccountEntry)> =
        disk_readers.map(|entry| (disk_wait_ns(entry), entry)).filter(|&(ns, _)| ns > 0).collect();
    let ns = readers.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    if ns < MIN_DISK_CULPRIT_NS || ns.saturating_mul(BOUND_SHARE_DIVISOR) < phase.account.duration_ns {
        return None;
    }
    readers.sort_by_key(|&(ns, _)| std::cmp::Reverse(ns));
    let disk = readers.iter().map(|(_, entry)| entry.device.as_str()).find(|disk| !disk.is_empty());
    let mut intervals: Vec<AccountInterval> =
        readers.iter().flat_map(|(_, entry)| entry.intervals.iter().copied()).collect();
    intervals.sort();
    intervals.truncate(MAX_LISTED_MEMBERS);
    let mut read_by: Vec<FileReader> = Vec::new();
    for &(ns, entry) in &readers {
        let direct_reader = FileReader { kind: entry.kind, name: entry.name.clone(), pid: entry.pid, ns };
        let readers_of_entry = if entry.read_by.is_empty() { vec![direct_reader] } else { entry.read_by.clone() };
        for reader in readers_of_entry {
            let is_same = |existing: &&mut FileReader| {
                (existing.kind, &existing.name, existing.pid) == (reader.kind, &reader.name, reader.pid)
            };
            match read_by.iter_mut().find(is_same) {
                Some(existing) => existing.ns = existing.ns.saturating_add(reader.ns),
                None => read_by.push(reader),
            }
        }
    }
    read_by.sort_by_key(|reader| std::cmp::Reverse(reader.ns));
    read_by.truncate(MAX_LISTED_MEMBERS);
    Some(Culprit {
        phase: phase.phase.clone(),
        phase_ns: phase.account.duration_ns,
        is_truncated: phase.account.is_truncated,
        measure: phase.account.measure,
        entry: AccountEntry {
            kind: AccountSubjectKind::Disk,
            name: disk.unwrap_or("disk").to_owned(),
            device: String::new(),
            pid: None,
            read_by,
            unknown_reason: None,
            ns,
            percent: percent_of(ns, phase.account.duration_ns),
            certainty: Certainty::Measured,
            requests: None,
            actions: vec![ActionShare { action: AccountAction::WaitedForDisk, ns }],
            interval_count: readers.iter().fold(0, |sum, (_, entry)| sum + entry.interval_count),
            intervals,
        },
        members: Vec::new(),
        is_system: false,
    })
}

fn total_ns(entries: &[&AccountEntry]) -> i64 {
    entries.iter().fold(0_i64, |sum, entry| sum.saturating_add(entry.ns))
}

/// Merges several entries of a phase, named after the first.
fn merged_entry(phase: &AccountedPhase, members: &[&AccountEntry]) -> Option<AccountEntry> {
    let first = members.first()?;
    let ns = total_ns(members);
    let mut actions: Vec<ActionShare> = Vec::new();
    for share in members.iter().flat_map(|entry| &entry.actions) {
        match actions.iter_mut().find(|existing| existing.action == share.action) {
            Some(existing) => existing.ns = existing.ns.saturating_add(share.ns),
            None => actions.push(*share),
        }
    }
    actions.sort_by_key(|share| (std::cmp::Reverse(share.ns), share.action));
    let mut intervals: Vec<AccountInterval> =
        members.iter().flat_map(|entry| entry.intervals.iter().copied()).collect();
    intervals.sort();
    Some(AccountEntry {
        kind: first.kind,
        name: first.name.clone(),
        device: String::new(),
        pid: None,
        read_by: Vec::new(),
        unknown_reason: None,
        ns,
        percent: percent_of(ns, phase.account.duration_ns),
        certainty: members.iter().fold(Certainty::Measured, |certainty, entry| certainty.and(entry.certainty)),
        requests: None,
        actions,
        interval_count: members.iter().fold(0, |sum, entry| sum + entry.interval_count),
        intervals,
    })
}

/// Merges members that took long in total into one culprit.
fn relay(phase: &AccountedPhase, mut members: Vec<&AccountEntry>) -> Option<Culprit> {
    if members.len() < MIN_RELAY_MEMBERS || total_ns(&members) < MIN_CULPRIT_NS {
        return None;
    }
    members.sort_by_key(|entry| entry.intervals.first().map_or(i64::MAX, |interval| interval.start_ns));
    let names: Vec<String> = members.iter().map(|entry| entry.name.clone()).collect();
    let mut name = names.iter().take(MAX_LISTED_MEMBERS).map(String::as_str).collect::<Vec<_>>().join(" → ");
    if names.len() > MAX_LISTED_MEMBERS {
        name = format!("{name} → {} more", names.len() - MAX_LISTED_MEMBERS);
    }
    Some(Culprit {
        phase: phase.phase.clone(),
        phase_ns: phase.account.duration_ns,
        measure: phase.account.measure,
        entry: AccountEntry { name, ..merged_entry(phase, &members)? },
        members: names,
        is_system: false,
        is_truncated: phase.account.is_truncated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::PhaseAccount;

    fn entry(kind: AccountSubjectKind, name: &str, ms: i64) -> AccountEntry {
        AccountEntry {
            kind,
            name: name.to_owned(),
            device: String::new(),
            pid: None,
            read_by: Vec::new(),
            unknown_reason: None,
            ns: ms * MS,
            percent: 0.0,
            certainty: Certainty::Measured,
            requests: None,
            actions: vec![ActionShare { action: AccountAction::Ran, ns: ms * MS }],
            intervals: vec![AccountInterval { start_ns: -ms, end_ns: 0 }],
            interval_count: 1,
        }
    }

    fn phase(name: &str, entries: Vec<AccountEntry>) -> AccountedPhase {
        let duration_ns = entries.iter().map(|entry| entry.ns).sum();
        let account =
            PhaseAccount { duration_ns, measure: AccountMeasure::CriticalPath, entries, ..PhaseAccount::default() };
        AccountedPhase { transition: "boot", phase: name.to_owned(), account }
    }

    fn culprit_times(phases: &[AccountedPhase]) -> Vec<(String, i64)> {
        culprits(phases).into_iter().map(|culprit| (culprit.entry.name, culprit.entry.ns / MS)).collect()
    }

    #[test]
    fn lists_longest_culprit_first() {
        use AccountSubjectKind::{Driver, Process, Service, Unknown, UserInput};
        let phases = [
            phase("PreSMSS", vec![entry(Process, "System", 4_000), entry(Driver, "Ramdisk", 3_000)]),
            phase("WinLogonInit", vec![entry(Service, "Slowsvc", 6_000), entry(UserInput, "credentials", 9_000)]),
            phase("ExplorerInit", vec![entry(Unknown, "events were lost", 5_000), entry(Process, "quick.exe", 900)]),
        ];
        assert_eq!(culprit_times(&phases), [("Slowsvc".to_owned(), 6_000), ("Ramdisk".to_owned(), 3_000)]);
    }

    #[test]
    fn names_system_only_in_unexplained_slow_phase() {
        use AccountSubjectKind::{Driver, Process};
        let system = |ms| entry(Process, "System", ms);
        assert_eq!(culprit_times(&[phase("PreSMSS", vec![system(8_900)])]), []);
        assert_eq!(culprit_times(&[phase("PreSMSS", vec![system(9_100)])]), [("System".to_owned(), 9_100)]);
        let with = |driver_ms| phase("PreSMSS", vec![system(9_100), entry(Driver, "Ramdisk", driver_ms)]);
        assert_eq!(culprit_times(&[with(3_000)]), [("Ramdisk".to_owned(), 3_000)]);
        let both = [("Ramdisk".to_owned(), 1_000), ("System".to_owned(), 9_100)];
        assert_eq!(culprit_times(&[with(1_000)]), both);
    }

    #[test]
    fn names_disk_for_many_files_and_file_for_one() {
        use AccountSubjectKind::{Disk, Driver, File, Process};
        let waits = |name: &str, ms| {
            let actions = vec![ActionShare { action: AccountAction::WaitedForDisk, ns: ms * MS }];
            AccountEntry { actions, device: "HDD".to_owned(), ..entry(Process, name, ms) }
        };
        let culprits_with = |system_ms, others: Vec<AccountEntry>| {
            let mut entries = vec![waits("System", system_ms), waits("smss.exe", 600)];
            entries.extend(others);
            culprits(&[phase("PreSMSS", entries)])
        };
        let results = culprits_with(1_900, vec![entry(Process, "csrss.exe", 3_000)]);
        assert_eq!((results[0].entry.kind, results[0].entry.name.as_str()), (Disk, "HDD"));
        let readers: Vec<(&str, i64)> =
            results[0].entry.read_by.iter().map(|reader| (reader.name.as_str(), reader.ns / MS)).collect();
        assert_eq!((results[0].entry.ns / MS, readers), (2_500, vec![("System", 1_900), ("smss.exe", 600)]));
        // A small share of a long phase, too little in total, or a phase that something else explains.
        assert_eq!(culprits_with(1_900, vec![entry(Process, "csrss.exe", 6_000)]), []);
        assert_eq!(culprits_with(1_300, Vec::new()), []);
        let with_driver = culprits_with(1_900, vec![entry(Driver, "Ramdisk", 3_000)]);
        assert_eq!(with_driver.iter().map(|culprit| culprit.entry.kind).collect::<Vec<_>>(), [Driver]);
        let one_file = vec![entry(File, r"C:\hive", 6_800), entry(Process, "System", 800)];
        assert_eq!(culprit_times(&[phase("PreSMSS", one_file)]), [(r"C:\hive".to_owned(), 6_800)]);
        assert_eq!(culprit_times(&[phase("PreSMSS", vec![entry(File, r"C:\hive", 1_900)])]), []);
    }

    #[test]
    fn merges_three_or_more_short_processes_into_relay() {
        use AccountSubjectKind::{Driver, Process};
        let relay = |kind, count: i64| {
            phase("WinLogonInit", (0..count).map(|index| entry(kind, &format!("r{index}.exe"), 700 - index)).collect())
        };
        let six = [("r0.exe → r1.exe → r2.exe → r3.exe → r4.exe → r5.exe".to_owned(), 4_185)];
        assert_eq!(culprit_times(&[relay(Process, 6)]), six);
        assert_eq!(culprit_times(&[relay(Process, 2)]), []);
        // Drivers start in parallel and in sequence in every boot.
        assert_eq!(culprit_times(&[relay(Driver, 6)]), []);
    }

    #[test]
    fn merges_processes_of_one_program() {
        use AccountSubjectKind::Process;
        let process = |name: &str, pid, ms| AccountEntry { pid: Some(pid), ..entry(Process, name, ms) };
        let many = (1..=12).map(|pid| process(if pid % 2 == 0 { "reg.exe" } else { "Reg.exe" }, pid, 200));
        assert_eq!(culprit_times(&[phase("WinLogonInit", many.collect())]), [("Reg.exe".to_owned(), 2_400)]);
        // Too little in total, or different names.
        let few = (1..=4).map(|pid| process("reg.exe", pid, 200));
        assert_eq!(culprit_times(&[phase("WinLogonInit", few.collect())]), []);
        let different = (1..=12).map(|pid| process(&format!("r{pid}.exe"), pid, 200));
        assert_eq!(culprit_times(&[phase("WinLogonInit", different.collect())]), []);
    }

    #[test]
    fn names_cpu_only_if_nothing_else_explains_phase() {
        use AccountSubjectKind::{Driver, Process, Unit};
        let holder = |name: &str, ms| {
            let actions = vec![ActionShare { action: AccountAction::OccupiedCpu, ns: ms * MS }];
            AccountEntry { actions, ..entry(Process, name, ms) }
        };
        let busy = |ms, others: Vec<AccountEntry>| {
            let mut entries: Vec<AccountEntry> = (0..9).map(|index| holder(&format!("h{index}"), ms)).collect();
            entries.extend(others);
            phase("user_space", entries)
        };
        let bound = culprits(&[busy(250, vec![entry(Process, "systemd", 4_000)])]);
        assert_eq!(bound.len(), 1);
        assert_eq!((bound[0].entry.kind, bound[0].entry.ns), (AccountSubjectKind::Cpu, 2_250 * MS));
        assert_eq!(bound[0].members.len(), MAX_LISTED_MEMBERS);
        // Less than a third of the phase.
        assert_eq!(culprit_times(&[busy(250, vec![entry(Process, "systemd", 4_600)])]), []);
        // A sleeping unit explains the phase, however busy the CPU was.
        let slow = culprit_times(&[busy(250, vec![entry(Unit, "slow.service", 3_000)])]);
        assert_eq!(slow, [("slow.service".to_owned(), 3_000)]);
        // One or two processes that use most of the CPU are named themselves.
        let hogs = phase("user_space", vec![holder("hog", 3_000), holder("other", 2_000), entry(Driver, "d", 100)]);
        assert_eq!(culprit_times(&[hogs]), [("hog".to_owned(), 3_000), ("other".to_owned(), 2_000)]);
    }

    #[test]
    fn no_culprit_after_desktop_if_settled_in_time() {
        use AccountSubjectKind::{Idle, Process};
        let after = |ms| phase("PostBoot", vec![entry(Idle, "idle", 10_000), entry(Process, "sync.exe", ms)]);
        assert_eq!(culprit_times(&[after(5_900)]), []);
        assert_eq!(culprit_times(&[after(6_100)]), [("sync.exe".to_owned(), 6_100)]);
    }
}
