//! Culprits: the subjects that made a transition slow. Every command starts with this list.
//!
//! A subject is a culprit if it took at least [`min_cause_ns`] in all phases together. System components that take part in
//! every transition are culprits only if their phase exceeded its normal duration and nothing else explains it. Programs or
//! services that each took little time but a lot in total are one culprit, a relay.

use std::collections::BTreeMap;

use super::{AccountedPhase, has_no_path};
use onoff_evidence::Certainty;
use onoff_evidence::account_model::{
    AccountAction, AccountEntry, AccountInterval, AccountMeasure, AccountSubjectKind, ActionShare, Culprit,
    CulpritPhase, DriverRequests, FileReader,
};
use onoff_evidence::phase_name::PhaseName;
use onoff_evidence::significance::{NOISE_NS, NOTICEABLE_NS, min_cause_ns};
use onoff_usage::cpu::percent_of;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// Minimum time in a Linux sleep phase that makes a driver a culprit, ns: half a second, from which a device counts as
/// slow.
pub const MIN_SLEEP_CULPRIT_NS: i64 = SECOND / 2;
/// Minimum time that makes a file or a disk a culprit, ns: 2 s. Chosen: a healthy hard disk delays system components by
/// a second or more in a phase.
pub const MIN_DISK_CULPRIT_NS: i64 = 2 * SECOND;
/// A phase counts toward the time of a subject if the subject took at least 1/20 of its longest time there.
const NOTABLE_PHASE_DIVISOR: i64 = 20;
/// Minimum number of members of a relay.
const MIN_RELAY_MEMBERS: usize = 3;
/// The longest member of a relay takes at most 1/2 of it; a longer one is a culprit itself.
const MAX_MEMBER_DIVISOR: i64 = 2;
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

/// The time of one subject in the phases of a transition that have a critical path.
#[derive(Clone, Debug)]
pub struct SubjectTime<'a> {
    /// Index of each phase and the subject's entry in its account, longest first.
    pub entries: Vec<(usize, &'a AccountEntry)>,
    /// Number of entries that count: those with at least a twentieth of the longest.
    notable: usize,
    /// Sum of the entries that count, ns.
    pub ns: i64,
}

impl<'a> SubjectTime<'a> {
    fn new(mut entries: Vec<(usize, &'a AccountEntry)>) -> Self {
        entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.ns));
        let longest_ns = entries.first().map_or(0, |(_, entry)| entry.ns);
        let notable =
            entries.partition_point(|(_, entry)| entry.ns.saturating_mul(NOTABLE_PHASE_DIVISOR) >= longest_ns);
        let ns = entries.iter().take(notable).fold(0_i64, |sum, (_, entry)| sum.saturating_add(entry.ns));
        Self { entries, notable, ns }
    }

    /// Returns the phase with the most time, and the sum of the entries that count, with the length of their phases.
    #[must_use]
    pub fn total<'p>(
        &self,
        phases: &[&'p AccountedPhase],
    ) -> Option<(&'p AccountedPhase, AccountEntry, Vec<CulpritPhase>)> {
        let &(first_index, first_entry) = self.entries.first()?;
        let first = *phases.get(first_index)?;
        let mut total = first_entry.clone();
        let mut parts = vec![culprit_phase(first, first_entry.ns)];
        for &(index, entry) in self.entries.iter().take(self.notable).skip(1) {
            let Some(phase) = phases.get(index) else { continue };
            parts.push(culprit_phase(phase, entry.ns));
            add_entry(&mut total, entry);
        }
        let length_ns = parts.iter().fold(0_i64, |sum, part| sum.saturating_add(part.phase_ns));
        total.percent = percent_of(total.ns, length_ns);
        Some((first, total, parts))
    }
}

/// Sums the time of each subject over the phases of one transition that are divided in the same way. Settling phases
/// have no critical path and are left out.
#[must_use]
pub fn subject_times<'a>(phases: &[&'a AccountedPhase]) -> Vec<SubjectTime<'a>> {
    type Key<'a> = (&'a str, bool, AccountSubjectKind, String, Option<u32>);
    let mut subjects: BTreeMap<Key<'a>, Vec<(usize, &'a AccountEntry)>> = BTreeMap::new();
    for (index, phase) in phases.iter().enumerate() {
        if phase.account.measure == AccountMeasure::None || has_no_path(&phase.phase) {
            continue;
        }
        for entry in phase.account.entries.iter().filter(|entry| entry.kind.is_attributable()) {
            let pid = entry.pid.filter(|_| entry.kind == AccountSubjectKind::Process);
            let is_path = phase.account.measure == AccountMeasure::CriticalPath;
            let key = (phase.transition, is_path, entry.kind, entry.name.to_ascii_lowercase(), pid);
            subjects.entry(key).or_default().push((index, entry));
        }
    }
    subjects.into_values().map(SubjectTime::new).collect()
}

/// Returns the length of the transition with these phases, ns: without idle time and without waiting for a person.
fn accounted_ns(phases: &[&AccountedPhase]) -> i64 {
    let counted = |phase: &&&AccountedPhase| phase.account.measure != AccountMeasure::None;
    phases.iter().filter(counted).fold(0_i64, |sum, phase| {
        let is_excluded =
            |entry: &&AccountEntry| matches!(entry.kind, AccountSubjectKind::Idle | AccountSubjectKind::UserInput);
        let excluded = phase.account.entries.iter().filter(is_excluded);
        let excluded_ns = excluded.fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
        sum.saturating_add(phase.account.duration_ns.saturating_sub(excluded_ns).max(0))
    })
}

/// Returns the culprits of these phases of one transition, longest first, system components last.
#[must_use]
pub fn culprits<'a>(phases: impl IntoIterator<Item = &'a AccountedPhase>) -> Vec<Culprit> {
    culprits_of(phases, 0)
}

/// Like [`culprits`], for a transition that took at least `transition_ns`; if that is 0, the accounted time counts.
#[must_use]
pub fn culprits_of<'a>(phases: impl IntoIterator<Item = &'a AccountedPhase>, transition_ns: i64) -> Vec<Culprit> {
    let phases: Vec<&AccountedPhase> = phases.into_iter().collect();
    let min_ns = min_cause_ns(if transition_ns > 0 { transition_ns } else { accounted_ns(&phases) });
    let mut culprits: Vec<Culprit> = Vec::new();
    // Short processes and services, by phase: candidates for a relay.
    let mut short: BTreeMap<usize, Vec<&AccountEntry>> = BTreeMap::new();
    let mut others: Vec<SubjectTime<'_>> = Vec::new();
    for subject in subject_times(&phases) {
        let [(index, entry), ..] = subject.entries.as_slice() else { continue };
        if !is_nameable(entry) || is_system_component(entry) {
            continue;
        }
        let is_member_kind = matches!(entry.kind, AccountSubjectKind::Process | AccountSubjectKind::Service);
        if is_member_kind && subject.ns < NOTICEABLE_NS {
            short.entry(*index).or_default().push(*entry);
        }
        others.push(subject);
    }
    let mut members: Vec<&AccountEntry> = Vec::new();
    for (index, mut entries) in short {
        let Some(phase) = phases.get(index) else { continue };
        // Many short processes of one program are one culprit, so they are not members of a relay.
        let programs = repeated_programs(&entries, min_ns);
        let is_program = |entry: &&AccountEntry| programs.iter().any(|program| is_same_program(program, entry));
        entries.retain(|entry| !is_program(entry) && entry.ns >= NOISE_NS);
        for processes in &programs {
            culprits.extend(merged_entry(phase, processes).map(|entry| culprit(phase, &entry)));
            members.extend(processes);
        }
        for kind in [AccountSubjectKind::Process, AccountSubjectKind::Service] {
            let of_kind: Vec<&AccountEntry> = entries.iter().copied().filter(|entry| entry.kind == kind).collect();
            if let Some(relay) = relay(phase, of_kind.clone(), min_ns) {
                culprits.push(relay);
                members.extend(of_kind);
            }
        }
    }
    for subject in others {
        let Some((phase, entry, parts)) = subject.total(&phases) else { continue };
        let is_member =
            subject.entries.iter().any(|(_, entry)| members.iter().any(|member| std::ptr::eq(*member, *entry)));
        if !is_member && subject.ns >= min_culprit_ns(phase, &entry, min_ns) {
            culprits.push(Culprit { phases: parts, ..culprit(phase, &entry) });
        }
    }
    for phase in &phases {
        culprits.extend(phase_culprits(phase, &culprits));
    }
    culprits.sort_by_key(|culprit| (culprit.is_system, std::cmp::Reverse(culprit.entry.ns)));
    culprits
}

/// Returns the culprits that are specific to one phase: what kept the computer busy in a settling phase, and in a phase
/// that none of `found` explains, the CPUs, the disk, or a system component.
fn phase_culprits(phase: &AccountedPhase, found: &[Culprit]) -> Vec<Culprit> {
    let account = &phase.account;
    if account.measure == AccountMeasure::None {
        return Vec::new();
    }
    if has_no_path(&phase.phase) {
        let is_cause = |entry: &&AccountEntry| {
            is_nameable(entry) && !is_system_component(entry) && entry.ns >= NOTICEABLE_NS && !settled_in_time(phase)
        };
        return account.entries.iter().filter(is_cause).map(|entry| culprit(phase, entry)).collect();
    }
    let ns_in_phase = |culprit: &Culprit| {
        let parts = culprit.phases.iter().filter(|part| part.phase == phase.phase);
        parts.fold(0_i64, |sum, part| sum.saturating_add(part.ns))
    };
    if found.iter().any(|culprit| ns_in_phase(culprit).saturating_mul(EXPLAINING_SHARE_DIVISOR) >= account.duration_ns)
    {
        return Vec::new();
    }
    let mut culprits: Vec<Culprit> = cpu_bound(phase).into_iter().chain(disk_bound(phase)).collect();
    let is_explained = culprits.iter().any(|culprit| culprit.entry.kind == AccountSubjectKind::Disk);
    let limit = MAX_NORMAL_PHASE_NS.iter().find(|(name, _)| *name == phase.phase);
    if !is_explained
        && limit.is_some_and(|&(_, limit_ns)| account.duration_ns > limit_ns)
        && let Some(entry) = account.entries.iter().find(|entry| is_nameable(entry))
        && entry.ns >= NOTICEABLE_NS
        && !found.iter().any(|culprit| culprit.entry.kind == entry.kind && culprit.entry.name == entry.name)
    {
        culprits.push(culprit(phase, entry));
    }
    culprits
}

/// Creates the culprit of one phase.
fn culprit(phase: &AccountedPhase, entry: &AccountEntry) -> Culprit {
    Culprit {
        phase: phase.phase.clone(),
        phase_ns: phase.account.duration_ns,
        phases: vec![culprit_phase(phase, entry.ns)],
        is_truncated: phase.account.is_truncated,
        measure: phase.account.measure,
        entry: entry.clone(),
        members: Vec::new(),
        is_system: is_system_component(entry),
    }
}

fn culprit_phase(phase: &AccountedPhase, ns: i64) -> CulpritPhase {
    CulpritPhase { phase: phase.phase.clone(), ns, phase_ns: phase.account.duration_ns }
}

/// Adds the time of the same subject in another phase.
fn add_entry(total: &mut AccountEntry, part: &AccountEntry) {
    total.ns = total.ns.saturating_add(part.ns);
    total.certainty = total.certainty.and(part.certainty);
    add_actions(&mut total.actions, &part.actions);
    total.intervals.extend(&part.intervals);
    total.intervals.sort();
    total.interval_count = total.interval_count.saturating_add(part.interval_count);
    for reader in &part.read_by {
        let same = total
            .read_by
            .iter_mut()
            .find(|existing| (existing.kind, &existing.name, existing.pid) == (reader.kind, &reader.name, reader.pid));
        match same {
            Some(existing) => existing.ns = existing.ns.saturating_add(reader.ns),
            None => total.read_by.push(reader.clone()),
        }
    }
    total.read_by.sort_by_key(|reader| std::cmp::Reverse(reader.ns));
    total.requests = match (total.requests, part.requests) {
        (Some(a), Some(b)) => Some(DriverRequests {
            count: a.count.saturating_add(b.count),
            not_pended: a.not_pended.saturating_add(b.not_pended),
        }),
        (a, b) => a.or(b),
    };
}

fn add_actions(actions: &mut Vec<ActionShare>, added: &[ActionShare]) {
    for share in added {
        match actions.iter_mut().find(|existing| existing.action == share.action) {
            Some(existing) => existing.ns = existing.ns.saturating_add(share.ns),
            None => actions.push(*share),
        }
    }
    actions.sort_by_key(|share| (std::cmp::Reverse(share.ns), share.action));
}

/// Returns the programs that several of these processes ran, none of them long, with their processes.
fn repeated_programs<'a>(entries: &[&'a AccountEntry], min_ns: i64) -> Vec<Vec<&'a AccountEntry>> {
    let mut programs: BTreeMap<String, Vec<&AccountEntry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Process) {
        programs.entry(entry.name.to_ascii_lowercase()).or_default().push(entry);
    }
    programs.into_values().filter(|processes| processes.len() > 1 && total_ns(processes) >= min_ns).collect()
}

fn is_same_program(processes: &[&AccountEntry], entry: &AccountEntry) -> bool {
    entry.kind == AccountSubjectKind::Process
        && processes.first().is_some_and(|process| process.name.eq_ignore_ascii_case(&entry.name))
}

/// Returns the minimum time that makes a subject a culprit, ns. In a Linux sleep, half a second is a long time for a
/// driver. Other subjects need a second there, because the process that requested the sleep runs the kernel's work. A
/// device unit needs a second too, because every Linux boot waits for its disk to appear.
fn min_culprit_ns(phase: &AccountedPhase, entry: &AccountEntry, min_ns: i64) -> i64 {
    let linux_sleep_phases = PhaseName::SyncFileSystems..=PhaseName::ThawProcesses;
    let is_linux_sleep = PhaseName::parse(&phase.phase).is_some_and(|name| linux_sleep_phases.contains(&name));
    match entry.kind {
        AccountSubjectKind::Driver if is_linux_sleep => min_ns.min(MIN_SLEEP_CULPRIT_NS),
        AccountSubjectKind::File => MIN_DISK_CULPRIT_NS,
        AccountSubjectKind::Unit if entry.name.ends_with(".device") => NOTICEABLE_NS,
        _ if is_linux_sleep => NOTICEABLE_NS,
        _ => min_ns,
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
    let is_bound = ns >= NOTICEABLE_NS && ns.saturating_mul(BOUND_SHARE_DIVISOR) >= phase.account.duration_ns;
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
        phases: vec![culprit_phase(phase, ns)],
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
        phases: vec![culprit_phase(phase, ns)],
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
    for entry in members {
        add_actions(&mut actions, &entry.actions);
    }
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

/// Merges members that took long in total, and none of them most of the time, into one culprit.
fn relay(phase: &AccountedPhase, mut members: Vec<&AccountEntry>, min_ns: i64) -> Option<Culprit> {
    let ns = total_ns(&members);
    let longest_ns = members.iter().map(|entry| entry.ns).max()?;
    if members.len() < MIN_RELAY_MEMBERS || ns < min_ns || longest_ns.saturating_mul(MAX_MEMBER_DIVISOR) > ns {
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
        phases: vec![culprit_phase(phase, ns)],
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
        let in_long_boot = |members| [members, phase("WinLogonInit", vec![entry(Process, "winlogon.exe", 20_000)])];
        assert_eq!(culprit_times(&in_long_boot(relay(Process, 6))), six);
        assert_eq!(culprit_times(&in_long_boot(relay(Process, 2))), []);
        // Drivers start in parallel and in sequence in every boot.
        assert_eq!(culprit_times(&in_long_boot(relay(Driver, 6))), []);
        // A program that took most of the time is a culprit itself.
        let mut long_first = relay(Process, 3);
        long_first.account.entries[0].ns = 1_900 * MS;
        assert_eq!(culprit_times(&in_long_boot(long_first)), [("r0.exe".to_owned(), 1_900)]);
    }

    #[test]
    fn merges_processes_of_one_program() {
        use AccountSubjectKind::Process;
        let process = |name: &str, pid, ms| AccountEntry { pid: Some(pid), ..entry(Process, name, ms) };
        let many = (1..=12).map(|pid| process(if pid % 2 == 0 { "reg.exe" } else { "Reg.exe" }, pid, 200));
        assert_eq!(culprit_times(&[phase("WinLogonInit", many.collect())]), [("Reg.exe".to_owned(), 2_400)]);
        // Too little in total, or different names.
        let few = (1..=4).map(|pid| process("reg.exe", pid, 200));
        let logon = phase("WinLogonInit", vec![entry(Process, "winlogon.exe", 18_000)]);
        assert_eq!(culprit_times(&[phase("SMSSInit", few.collect()), logon]), []);
        let different = (1..=12).map(|pid| process(&format!("r{pid}.exe"), pid, 200));
        assert_eq!(culprit_times(&[phase("WinLogonInit", different.collect())]), []);
    }

    #[test]
    fn sums_time_of_subject_over_phases() {
        use AccountSubjectKind::{Driver, Process, Service};
        let boot = |first: AccountEntry, second: AccountEntry| {
            let rest = |entry: &AccountEntry| AccountEntry {
                ns: 3_200 * MS - entry.ns,
                ..super::tests::entry(Process, "System", 0)
            };
            let phases = [("WinLogonInit", first), ("ExplorerInit", second)];
            phases.map(|(name, entry)| phase(name, vec![rest(&entry), entry]))
        };
        let agent = |ms| entry(Service, "Agent", ms);
        let found = culprits(&boot(agent(200), agent(160)));
        assert_eq!((found.len(), found[0].entry.ns / MS, found[0].phase.as_str()), (1, 360, "WinLogonInit"));
        let parts: Vec<(&str, i64)> = found[0].phases.iter().map(|part| (part.phase.as_str(), part.ns / MS)).collect();
        assert_eq!(parts, [("WinLogonInit", 200), ("ExplorerInit", 160)]);
        assert!((found[0].entry.percent - 5.625).abs() < 0.001, "{}", found[0].entry.percent);
        // 5 % of 6.4 s are 320 ms.
        assert_eq!(culprit_times(&boot(agent(160), agent(150))), []);
        // Namesakes are different subjects: another kind, another process.
        assert_eq!(culprit_times(&boot(agent(200), entry(Driver, "Agent", 160))), []);
        let process = |pid, ms| AccountEntry { pid: Some(pid), ..entry(Process, "agent.exe", ms) };
        assert_eq!(culprit_times(&boot(process(4, 200), process(5, 160))), []);
        assert_eq!(culprit_times(&boot(process(4, 200), process(4, 160))), [("agent.exe".to_owned(), 360)]);
    }

    #[test]
    fn minimum_is_a_share_of_the_transition() {
        use AccountSubjectKind::{Process, Service};
        let boot = |agent_ms, total_ms: i64| {
            let rest = entry(Process, "System", total_ms - agent_ms);
            culprit_times(&[phase("WinLogonInit", vec![rest, entry(Service, "Agent", agent_ms)])])
        };
        assert_eq!(boot(800, 3_300), [("Agent".to_owned(), 800)]);
        // 4 % of the boot, less than the variation between two boots, and 6 % of a boot of 16 s.
        assert_eq!((boot(500, 12_500), boot(290, 2_000)), (vec![], vec![]));
        assert_eq!(boot(960, 16_000), [("Agent".to_owned(), 960)]);
        // The accounted phases may be part of a longer transition.
        let phases = [phase("WinLogonInit", vec![entry(Service, "Agent", 800)])];
        assert_eq!(culprits_of(&phases, 20_000 * MS), []);
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
