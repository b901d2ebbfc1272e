//! Who made a transition slow, of all the subjects of its phases: the list that every verb begins with.
//!
//! Parts of the system that every transition consists of are nobody's fault, unless their phase took longer than it usually
//! does and nobody else explains it. Programs or services that each took little and together much are one culprit: a relay.

use std::collections::BTreeMap;

use super::{AccountedPhase, has_no_path};
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{
    AccountEntry, AccountMeasure, AccountStretch, AccountSubjectKind, Culprit, Did, DidShare, FileReader,
};
use onoff_evidence::phase_name::PhaseName;
use onoff_usage::cpu::percent_of;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// Less than this of a phase makes nobody a culprit, ns: 1 s. Chosen: what a person would notice, and more than any part of a
/// healthy boot that is not Windows itself.
pub const MIN_CULPRIT_NS: i64 = SECOND;
/// In a phase of a sleep of Linux, less than this makes no driver a culprit, ns: half a second, from which on a device is slow to sleep or to wake.
pub const MIN_SLEEP_CULPRIT_NS: i64 = SECOND / 2;
/// Minimum time in a phase that makes a file or a disk a culprit, ns: 2 s. Chosen: a healthy hard disk delays parts of the system by a
/// second or more in a phase.
pub const MIN_DISK_CULPRIT_NS: i64 = 2 * SECOND;
/// One of a relay takes this long at least, ns: 300 ms, the noise between two boots of one computer (table 5 of the paper).
pub const MIN_RELAY_MEMBER_NS: i64 = 300 * MS;
/// Members that a relay has at least.
const MIN_RELAY_MEMBERS: usize = 3;
/// Members of a relay that are named.
const NAMED_OF_RELAY: usize = 6;
/// Who took this part of a phase explains it: a fifth.
const EXPLAINS: i64 = 5;
/// A phase is bound by its processors, or by a disk, if the critical path waited for them for a third of it. Chosen.
const BOUND: i64 = 3;

/// Normal range of a phase's length, ns, upper end. Source: the ranges that field engineers use with the regions of Windows
/// Performance Analyzer: Pre-Session 0 to 9 s, Session 0 to 12 s, Winlogon 10 to 60 s, Explorer 0 to 6 s.
pub const NORMAL_PHASES_NS: [(&str, i64); 4] =
    [("PreSMSS", 9 * SECOND), ("SMSSInit", 12 * SECOND), ("WinLogonInit", 60 * SECOND), ("ExplorerInit", 6 * SECOND)];

/// A computer that settles within this is not slow to settle, ns. Chosen: the four optimized computers of the paper need 10 to
/// 34 s in all, idle time included.
pub const SETTLES_WITHIN_NS: [(&str, i64); 2] = [("PostBoot", 6 * SECOND), ("PostResume", 5 * SECOND)];

/// The video driver of each session, which is inferred.
pub const VIDEO_DRIVERS: [&str; 2] = ["video driver, system's session", "video driver, user's session"];

/// Parts of Windows and Linux that every boot, shutdown and sleep consists of.
const OF_EVERY_TRANSITION: [&str; 18] = [
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
    "init of the initial file system",
    "init.scope",
];

/// Whether an entry is a part of the system that every transition consists of.
#[must_use]
pub fn is_of_every_transition(entry: &AccountEntry) -> bool {
    matches!(entry.kind, AccountSubjectKind::Kernel | AccountSubjectKind::Firmware)
        || is_name_of_every_transition(&entry.name)
}

/// Whether a name is that of a part of the system that every transition consists of.
pub(super) fn is_name_of_every_transition(name: &str) -> bool {
    OF_EVERY_TRANSITION.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Who made these phases, which are of one transition, as long as they were: who took longest first, parts of the system last.
#[must_use]
pub fn culprits<'a>(phases: impl IntoIterator<Item = &'a AccountedPhase>) -> Vec<Culprit> {
    let mut found: Vec<Culprit> = Vec::new();
    for phase in phases.into_iter().filter(|phase| phase.account.measure != AccountMeasure::None) {
        if has_no_path(&phase.phase) && settles_in_time(phase) {
            continue;
        }
        let others = || {
            let entries = phase.account.entries.iter();
            entries.filter(|entry| is_nameable(entry) && !is_of_every_transition(entry))
        };
        let of_phase = |entry: &AccountEntry| Culprit {
            phase: phase.phase.clone(),
            phase_ns: phase.account.duration_ns,
            is_cut: phase.account.is_cut,
            measure: phase.account.measure,
            entry: entry.clone(),
            members: Vec::new(),
            of_system: is_of_every_transition(entry),
        };
        let single = others().filter(|entry| entry.ns >= least_culprit_ns(phase, entry));
        let before = found.len();
        found.extend(single.map(of_phase));
        // One program in many processes, none of which took long, is one culprit.
        let mut programs: BTreeMap<String, Vec<&AccountEntry>> = BTreeMap::new();
        let short = |entry: &&AccountEntry| entry.kind == AccountSubjectKind::Process && entry.ns < MIN_CULPRIT_NS;
        for entry in others().filter(short).filter(|_| !has_no_path(&phase.phase)) {
            programs.entry(entry.name.to_ascii_lowercase()).or_default().push(entry);
        }
        programs.retain(|_, processes| processes.len() > 1 && sum_of(processes) >= MIN_CULPRIT_NS);
        for processes in programs.values() {
            found.extend(together(phase, processes).map(|entry| of_phase(&entry)));
        }
        if !has_no_path(&phase.phase) {
            for kind in [AccountSubjectKind::Process, AccountSubjectKind::Service] {
                let members: Vec<&AccountEntry> = others()
                    .filter(|entry| entry.kind == kind && entry.ns < MIN_CULPRIT_NS)
                    .filter(|entry| entry.ns >= MIN_RELAY_MEMBER_NS)
                    .filter(|entry| !programs.contains_key(&entry.name.to_ascii_lowercase()))
                    .collect();
                found.extend(relay(phase, members));
            }
        }
        let explained = found
            .iter()
            .skip(before)
            .any(|culprit| culprit.entry.ns.saturating_mul(EXPLAINS) >= phase.account.duration_ns);
        if !explained && !has_no_path(&phase.phase) {
            found.extend(bound_by_processors(phase));
            found.extend(bound_by_disk(phase));
        }
        let explained =
            explained || found.iter().skip(before).any(|culprit| culprit.entry.kind == AccountSubjectKind::Disk);
        let limit = NORMAL_PHASES_NS.iter().find(|(name, _)| *name == phase.phase);
        if !explained
            && limit.is_some_and(|&(_, limit_ns)| phase.account.duration_ns > limit_ns)
            && let Some(entry) = phase.account.entries.iter().find(|entry| is_nameable(entry))
            && entry.ns >= MIN_CULPRIT_NS
            && !found.iter().skip(before).any(|known| known.entry == *entry)
        {
            found.push(of_phase(entry));
        }
    }
    found.sort_by_key(|culprit| (culprit.of_system, std::cmp::Reverse(culprit.entry.ns)));
    found
}

/// Who took less of a phase is no culprit, ns. Of a device of Linux that sleeps or wakes half a second is much; who only asked for the
/// sleep runs the kernel's own work.
fn least_culprit_ns(phase: &AccountedPhase, entry: &AccountEntry) -> i64 {
    let of_linux = PhaseName::SyncFileSystems..=PhaseName::ThawProcesses;
    let is_of_sleep = PhaseName::of(&phase.phase).is_some_and(|name| of_linux.contains(&name));
    match entry.kind {
        AccountSubjectKind::Driver if is_of_sleep => MIN_SLEEP_CULPRIT_NS,
        AccountSubjectKind::File => MIN_DISK_CULPRIT_NS,
        _ => MIN_CULPRIT_NS,
    }
}

/// A person is no culprit, and what nobody is known for is not either.
const fn is_nameable(entry: &AccountEntry) -> bool {
    entry.kind.is_somebody() && !matches!(entry.kind, AccountSubjectKind::Person)
}

fn settles_in_time(phase: &AccountedPhase) -> bool {
    let idle = phase.account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Idle);
    let idle_ns = idle.fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
    let limit = SETTLES_WITHIN_NS.iter().find(|(name, _)| *name == phase.phase);
    limit.is_none_or(|&(_, limit_ns)| phase.account.duration_ns.saturating_sub(idle_ns) < limit_ns)
}

/// The processors, where nobody on the path had one for much of the phase: then there is too much to do at once, or there are too few.
fn bound_by_processors(phase: &AccountedPhase) -> Option<Culprit> {
    let held = |entry: &AccountEntry| {
        let held = entry.did.iter().filter(|one| one.did == Did::HeldProcessors);
        held.fold(0_i64, |sum, one| sum.saturating_add(one.ns))
    };
    let mut holders: Vec<(i64, &AccountEntry)> =
        phase.account.entries.iter().map(|entry| (held(entry), entry)).filter(|&(ns, _)| ns > 0).collect();
    let ns = holders.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    let bounds = ns >= MIN_CULPRIT_NS && ns.saturating_mul(BOUND) >= phase.account.duration_ns;
    if !bounds || holders.len() < MIN_RELAY_MEMBERS {
        return None;
    }
    holders.sort_by_key(|&(ns, _)| std::cmp::Reverse(ns));
    let mut stretches: Vec<AccountStretch> =
        holders.iter().flat_map(|(_, entry)| entry.stretches.iter().copied()).collect();
    stretches.sort();
    stretches.truncate(NAMED_OF_RELAY);
    Some(Culprit {
        phase: phase.phase.clone(),
        phase_ns: phase.account.duration_ns,
        measure: phase.account.measure,
        entry: AccountEntry {
            kind: AccountSubjectKind::Processors,
            name: "the processors".to_owned(),
            device: String::new(),
            pid: None,
            read_by: Vec::new(),
            not_known: None,
            ns,
            percent: percent_of(ns, phase.account.duration_ns),
            certainty: Certainty::Measured,
            requests: None,
            did: vec![DidShare { did: Did::HeldProcessors, ns }],
            stretch_count: holders.iter().fold(0, |sum, (_, entry)| sum + entry.stretch_count),
            stretches,
        },
        members: holders.iter().take(NAMED_OF_RELAY).map(|(_, entry)| entry.name.clone()).collect(),
        of_system: false,
        is_cut: phase.account.is_cut,
    })
}

/// The disk, where parts of the system waited for it for much of the phase, and for no file long enough to name that.
fn bound_by_disk(phase: &AccountedPhase) -> Option<Culprit> {
    let waited = |entry: &AccountEntry| {
        let waited = entry.did.iter().filter(|one| one.did == Did::WaitedForDisk);
        waited.fold(0_i64, |sum, one| sum.saturating_add(one.ns))
    };
    // Files that took too little to be culprits are part of it.
    let is_part = |entry: &&AccountEntry| match entry.kind {
        AccountSubjectKind::File => entry.ns < MIN_DISK_CULPRIT_NS,
        _ => is_of_every_transition(entry),
    };
    let of_system = phase.account.entries.iter().filter(is_part);
    let mut readers: Vec<(i64, &AccountEntry)> =
        of_system.map(|entry| (waited(entry), entry)).filter(|&(ns, _)| ns > 0).collect();
    let ns = readers.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    if ns < MIN_DISK_CULPRIT_NS || ns.saturating_mul(BOUND) < phase.account.duration_ns {
        return None;
    }
    readers.sort_by_key(|&(ns, _)| std::cmp::Reverse(ns));
    let disk = readers.iter().map(|(_, entry)| entry.device.as_str()).find(|disk| !disk.is_empty());
    let mut stretches: Vec<AccountStretch> =
        readers.iter().flat_map(|(_, entry)| entry.stretches.iter().copied()).collect();
    stretches.sort();
    stretches.truncate(NAMED_OF_RELAY);
    let mut read_by: Vec<FileReader> = Vec::new();
    for &(ns, entry) in &readers {
        let own = FileReader { kind: entry.kind, name: entry.name.clone(), pid: entry.pid, ns };
        let its = if entry.read_by.is_empty() { vec![own] } else { entry.read_by.clone() };
        for reader in its {
            let is_same = |known: &&mut FileReader| {
                (known.kind, &known.name, known.pid) == (reader.kind, &reader.name, reader.pid)
            };
            match read_by.iter_mut().find(is_same) {
                Some(known) => known.ns = known.ns.saturating_add(reader.ns),
                None => read_by.push(reader),
            }
        }
    }
    read_by.sort_by_key(|reader| std::cmp::Reverse(reader.ns));
    read_by.truncate(NAMED_OF_RELAY);
    Some(Culprit {
        phase: phase.phase.clone(),
        phase_ns: phase.account.duration_ns,
        is_cut: phase.account.is_cut,
        measure: phase.account.measure,
        entry: AccountEntry {
            kind: AccountSubjectKind::Disk,
            name: disk.unwrap_or("the disk").to_owned(),
            device: String::new(),
            pid: None,
            read_by,
            not_known: None,
            ns,
            percent: percent_of(ns, phase.account.duration_ns),
            certainty: Certainty::Measured,
            requests: None,
            did: vec![DidShare { did: Did::WaitedForDisk, ns }],
            stretch_count: readers.iter().fold(0, |sum, (_, entry)| sum + entry.stretch_count),
            stretches,
        },
        members: Vec::new(),
        of_system: false,
    })
}

fn sum_of(entries: &[&AccountEntry]) -> i64 {
    entries.iter().fold(0_i64, |sum, entry| sum.saturating_add(entry.ns))
}

/// Several entries of a phase as one, with the name of the first.
fn together(phase: &AccountedPhase, members: &[&AccountEntry]) -> Option<AccountEntry> {
    let first = members.first()?;
    let ns = sum_of(members);
    let mut did: Vec<DidShare> = Vec::new();
    for share in members.iter().flat_map(|entry| &entry.did) {
        match did.iter_mut().find(|known| known.did == share.did) {
            Some(known) => known.ns = known.ns.saturating_add(share.ns),
            None => did.push(*share),
        }
    }
    did.sort_by_key(|share| (std::cmp::Reverse(share.ns), share.did));
    let mut stretches: Vec<AccountStretch> = members.iter().flat_map(|entry| entry.stretches.iter().copied()).collect();
    stretches.sort();
    Some(AccountEntry {
        kind: first.kind,
        name: first.name.clone(),
        device: String::new(),
        pid: None,
        read_by: Vec::new(),
        not_known: None,
        ns,
        percent: percent_of(ns, phase.account.duration_ns),
        certainty: members.iter().fold(Certainty::Measured, |sum, entry| sum.and(entry.certainty)),
        requests: None,
        did,
        stretch_count: members.iter().fold(0, |sum, entry| sum + entry.stretch_count),
        stretches,
    })
}

/// Members that together took long, as one culprit.
fn relay(phase: &AccountedPhase, mut members: Vec<&AccountEntry>) -> Option<Culprit> {
    if members.len() < MIN_RELAY_MEMBERS || sum_of(&members) < MIN_CULPRIT_NS {
        return None;
    }
    members.sort_by_key(|entry| entry.stretches.first().map_or(i64::MAX, |stretch| stretch.start_ns));
    let names: Vec<String> = members.iter().map(|entry| entry.name.clone()).collect();
    let mut name = names.iter().take(NAMED_OF_RELAY).map(String::as_str).collect::<Vec<_>>().join(" → ");
    if names.len() > NAMED_OF_RELAY {
        name = format!("{name} → {} more", names.len() - NAMED_OF_RELAY);
    }
    Some(Culprit {
        phase: phase.phase.clone(),
        phase_ns: phase.account.duration_ns,
        measure: phase.account.measure,
        entry: AccountEntry { name, ..together(phase, &members)? },
        members: names,
        of_system: false,
        is_cut: phase.account.is_cut,
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
            not_known: None,
            ns: ms * MS,
            percent: 0.0,
            certainty: Certainty::Measured,
            requests: None,
            did: vec![DidShare { did: Did::Ran, ns: ms * MS }],
            stretches: vec![AccountStretch { start_ns: -ms, end_ns: 0 }],
            stretch_count: 1,
        }
    }

    fn phase(name: &str, entries: Vec<AccountEntry>) -> AccountedPhase {
        let duration_ns = entries.iter().map(|entry| entry.ns).sum();
        let account =
            PhaseAccount { duration_ns, measure: AccountMeasure::CriticalPath, entries, ..PhaseAccount::default() };
        AccountedPhase { transition: "boot", phase: name.to_owned(), account }
    }

    fn named(phases: &[AccountedPhase]) -> Vec<(String, i64)> {
        culprits(phases).into_iter().map(|culprit| (culprit.entry.name, culprit.entry.ns / MS)).collect()
    }

    #[test]
    fn who_took_long_is_named_the_longest_first() {
        use AccountSubjectKind::{Driver, NotKnown, Person, Process, Service};
        let phases = [
            phase("PreSMSS", vec![entry(Process, "System", 4_000), entry(Driver, "Ramdisk", 3_000)]),
            phase("WinLogonInit", vec![entry(Service, "Slowsvc", 6_000), entry(Person, "credentials", 9_000)]),
            phase("ExplorerInit", vec![entry(NotKnown, "events were lost", 5_000), entry(Process, "quick.exe", 900)]),
        ];
        assert_eq!(named(&phases), [("Slowsvc".to_owned(), 6_000), ("Ramdisk".to_owned(), 3_000)]);
    }

    #[test]
    fn the_system_is_named_only_where_its_phase_is_beyond_normal_and_nobody_else_explains_it() {
        use AccountSubjectKind::{Driver, Process};
        let system = |ms| entry(Process, "System", ms);
        assert_eq!(named(&[phase("PreSMSS", vec![system(8_900)])]), []);
        assert_eq!(named(&[phase("PreSMSS", vec![system(9_100)])]), [("System".to_owned(), 9_100)]);
        let with = |driver_ms| phase("PreSMSS", vec![system(9_100), entry(Driver, "Ramdisk", driver_ms)]);
        assert_eq!(named(&[with(3_000)]), [("Ramdisk".to_owned(), 3_000)]);
        let both = [("Ramdisk".to_owned(), 1_000), ("System".to_owned(), 9_100)];
        assert_eq!(named(&[with(1_000)]), both);
    }

    #[test]
    fn a_disk_is_named_where_parts_of_the_system_waited_long_for_many_files_and_a_file_where_it_was_one() {
        use AccountSubjectKind::{Disk, Driver, File, Process};
        let waits = |name: &str, ms| {
            let did = vec![DidShare { did: Did::WaitedForDisk, ns: ms * MS }];
            AccountEntry { did, device: "HDD".to_owned(), ..entry(Process, name, ms) }
        };
        let of_disk = |system_ms, rest: Vec<AccountEntry>| {
            let mut entries = vec![waits("System", system_ms), waits("smss.exe", 600)];
            entries.extend(rest);
            culprits(&[phase("PreSMSS", entries)])
        };
        let found = of_disk(1_900, vec![entry(Process, "csrss.exe", 3_000)]);
        assert_eq!((found[0].entry.kind, found[0].entry.name.as_str()), (Disk, "HDD"));
        let readers: Vec<(&str, i64)> =
            found[0].entry.read_by.iter().map(|one| (one.name.as_str(), one.ns / MS)).collect();
        assert_eq!((found[0].entry.ns / MS, readers), (2_500, vec![("System", 1_900), ("smss.exe", 600)]));
        // Of a long phase little, little at all, or of a phase that somebody else explains.
        assert_eq!(of_disk(1_900, vec![entry(Process, "csrss.exe", 6_000)]), []);
        assert_eq!(of_disk(1_300, Vec::new()), []);
        let with_driver = of_disk(1_900, vec![entry(Driver, "Ramdisk", 3_000)]);
        assert_eq!(with_driver.iter().map(|one| one.entry.kind).collect::<Vec<_>>(), [Driver]);
        let one_file = vec![entry(File, r"C:\hive", 6_800), entry(Process, "System", 800)];
        assert_eq!(named(&[phase("PreSMSS", one_file)]), [(r"C:\hive".to_owned(), 6_800)]);
        assert_eq!(named(&[phase("PreSMSS", vec![entry(File, r"C:\hive", 1_900)])]), []);
    }

    #[test]
    fn many_short_ones_are_one_relay_and_two_are_none() {
        use AccountSubjectKind::{Driver, Process};
        let relay = |kind, count: i64| {
            phase("WinLogonInit", (0..count).map(|at| entry(kind, &format!("r{at}.exe"), 700 - at)).collect())
        };
        let six = [("r0.exe → r1.exe → r2.exe → r3.exe → r4.exe → r5.exe".to_owned(), 4_185)];
        assert_eq!(named(&[relay(Process, 6)]), six);
        assert_eq!(named(&[relay(Process, 2)]), []);
        // Drivers start side by side and one after the other in every boot.
        assert_eq!(named(&[relay(Driver, 6)]), []);
    }

    #[test]
    fn one_program_in_many_processes_is_one_culprit_and_several_programs_are_a_relay() {
        use AccountSubjectKind::Process;
        let process = |name: &str, pid, ms| AccountEntry { pid: Some(pid), ..entry(Process, name, ms) };
        let many = (1..=12).map(|pid| process(if pid % 2 == 0 { "reg.exe" } else { "Reg.exe" }, pid, 200));
        assert_eq!(named(&[phase("WinLogonInit", many.collect())]), [("Reg.exe".to_owned(), 2_400)]);
        // Little in all, or of different names: nobody.
        let few = (1..=4).map(|pid| process("reg.exe", pid, 200));
        assert_eq!(named(&[phase("WinLogonInit", few.collect())]), []);
        let different = (1..=12).map(|pid| process(&format!("r{pid}.exe"), pid, 200));
        assert_eq!(named(&[phase("WinLogonInit", different.collect())]), []);
    }

    #[test]
    fn the_processors_are_named_where_nobody_had_one_for_long_and_nobody_else_explains_it() {
        use AccountSubjectKind::{Driver, Process, Unit};
        let holder = |name: &str, ms| {
            let did = vec![DidShare { did: Did::HeldProcessors, ns: ms * MS }];
            AccountEntry { did, ..entry(Process, name, ms) }
        };
        let held = |ms, others: Vec<AccountEntry>| {
            let mut entries: Vec<AccountEntry> = (0..9).map(|at| holder(&format!("h{at}"), ms)).collect();
            entries.extend(others);
            phase("user_space", entries)
        };
        let bound = culprits(&[held(250, vec![entry(Process, "systemd", 4_000)])]);
        assert_eq!(bound.len(), 1);
        assert_eq!((bound[0].entry.kind, bound[0].entry.ns), (AccountSubjectKind::Processors, 2_250 * MS));
        assert_eq!(bound[0].members.len(), NAMED_OF_RELAY);
        // Less than a third of the phase.
        assert_eq!(named(&[held(250, vec![entry(Process, "systemd", 4_600)])]), []);
        // A unit that sleeps explains it, however busy the processors were meanwhile.
        let slow = named(&[held(250, vec![entry(Unit, "slow.service", 3_000)])]);
        assert_eq!(slow, [("slow.service".to_owned(), 3_000)]);
        // One or two that take the processors are hogs, and named themselves.
        let hogs = phase("user_space", vec![holder("hog", 3_000), holder("other", 2_000), entry(Driver, "d", 100)]);
        assert_eq!(named(&[hogs]), [("hog".to_owned(), 3_000), ("other".to_owned(), 2_000)]);
    }

    #[test]
    fn a_computer_that_settles_soon_has_no_culprit_after_its_desktop() {
        use AccountSubjectKind::{Idle, Process};
        let after = |ms| phase("PostBoot", vec![entry(Idle, "idle", 10_000), entry(Process, "sync.exe", ms)]);
        assert_eq!(named(&[after(5_900)]), []);
        assert_eq!(named(&[after(6_100)]), [("sync.exe".to_owned(), 6_100)]);
    }
}
