//! The attribution of time to subjects: the headline of `why`, and the table of subjects.

use std::io::{self, Write};

use anstyle::Style;
use onoff_blame::account::{
    AccountAction, AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, Culprit, FileReader, PhaseAccount,
    culprits,
};
use onoff_blame::why::{ExplainedInterval, ExplainedIntervalKind};

use crate::text::phases::display_name;
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration};
use crate::text::style::{HEADLINE, QUIET, WORST};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// Writes the headline: which subject blocked `title`, and for how long. For a phase it names the same culprit as the
/// other commands, which skip parts of the system that occur in every transition.
pub(super) fn write_headline(interval: &ExplainedInterval, title: &str, out: &mut dyn Write) -> io::Result<()> {
    if interval.kind == ExplainedIntervalKind::Phase {
        let phase = AccountedPhase { transition: "", phase: interval.name.clone(), account: interval.account.clone() };
        if let Some(culprit) = culprits([&phase]).first() {
            let claim = culprit_claim(culprit, &display_name(&interval.name));
            let details = match culprit.measure {
                // The claim already says that the subject kept the computer busy.
                AccountMeasure::BusySlices => inferred(&culprit.entry).to_owned(),
                _ => format!(": {}", culprit_details(culprit)),
            };
            return writeln!(out, "{HEADLINE}{claim}{HEADLINE:#}{details}");
        }
    }
    if interval.kind == ExplainedIntervalKind::Service && interval.action == "wait" {
        let largest = interval.account.entries.iter().find(|entry| entry.kind != AccountSubjectKind::Idle);
        if let Some(entry) = largest.filter(|entry| entry.kind != AccountSubjectKind::Unknown) {
            let service = printable(&interval.name);
            let (cost, total) = (duration(entry.ns), duration(interval.account.duration_ns));
            let cost = if cost == total { "all".to_owned() } else { cost };
            let claim = format!(
                "{service} waited {total} to start, {cost} of it for {}",
                subject(entry, &interval.account.entries)
            );
            return writeln!(out, "{HEADLINE}{claim}{HEADLINE:#}: {}{}", actions(entry), inferred(entry));
        }
    }
    let Some((claim, details)) = sentence(&interval.account, title) else { return Ok(()) };
    writeln!(out, "{HEADLINE}{claim}{HEADLINE:#}{details}")
}

/// Says which subject blocked `title`, with details; `None` if the computer was idle.
#[must_use]
pub fn sentence(account: &PhaseAccount, title: &str) -> Option<(String, String)> {
    let largest = account.entries.iter().find(|entry| entry.kind != AccountSubjectKind::Idle)?;
    let (cost, total) = (duration(largest.ns), duration(account.duration_ns));
    let title = in_sentence(title);
    if largest.kind == AccountSubjectKind::Unknown {
        let reason = printable(&largest.name);
        return Some((format!("{cost} of {total} of {title} is unattributed: {reason}"), String::new()));
    }
    let name = subject(largest, &account.entries);
    let verb = verb(account.measure);
    let inferred = inferred(largest);
    let requests = requests(largest);
    let length = part_of_total(&cost, &total);
    let details = match account.measure {
        AccountMeasure::BusySlices => inferred.to_owned(),
        _ => format!(": {}{inferred}", actions(largest)),
    };
    Some((format!("{name} {verb} {title} for {length}{requests}"), details))
}

/// Names the subject that made a transition slow in a sentence.
#[must_use]
pub fn culprit(culprit: &Culprit) -> String {
    culprit_sentence(culprit, culprit_claim(culprit, &display_name(&culprit.phase)))
}

/// Names the culprit like [`culprit`], but follows a sentence about `phase` and does not name the phase again.
pub(in crate::text) fn culprit_of(culprit: &Culprit, phase: &str) -> String {
    if culprit.phase != phase || culprit.phases.len() > 1 || culprit.is_truncated {
        return self::culprit(culprit);
    }
    let entry = &culprit.entry;
    let (cost, total) = (duration(entry.ns), duration(culprit.phase_ns));
    let length = if cost == total { "all of that time".to_owned() } else { cost };
    let claim = match entry.kind {
        AccountSubjectKind::Cpu => format!("{CPU_CONTENTION} blocked it for {length}"),
        _ => format!("{} {} it for {length}{}", subject(entry, &[]), verb(culprit.measure), requests(entry)),
    };
    culprit_sentence(culprit, claim)
}

/// The subject of time in which no CPU was free.
const CPU_CONTENTION: &str = "CPU contention";

fn culprit_sentence(culprit: &Culprit, claim: String) -> String {
    match culprit.measure {
        // The claim already says that the subject kept the computer busy.
        AccountMeasure::BusySlices => format!("{claim}{}.", inferred(&culprit.entry)),
        _ => format!("{claim}: {}.", culprit_details(culprit)),
    }
}

fn culprit_claim(culprit: &Culprit, phase: &str) -> String {
    let entry = &culprit.entry;
    if entry.kind == AccountSubjectKind::Cpu {
        let length = part_of_total(&duration(entry.ns), &duration(culprit.phase_ns));
        return format!("{CPU_CONTENTION} blocked {phase} for {length}");
    }
    let verb = verb(culprit.measure);
    let requests = requests(entry);
    if culprit.phases.len() > 1 {
        let parts: Vec<String> = culprit
            .phases
            .iter()
            .map(|part| {
                let length = part_of_total(&duration(part.ns), &duration(part.phase_ns));
                format!("{} for {length}", display_name(&part.phase))
            })
            .collect();
        let total = duration(entry.ns);
        return format!("{} {verb} {}, {total} in all", subject(entry, &[]), listed(&parts));
    }
    let mut length = part_of_total(&duration(entry.ns), &duration(culprit.phase_ns));
    if culprit.is_truncated {
        length += " recorded";
    }
    format!("{} {verb} {phase} for {length}{requests}", subject(entry, &[]))
}

/// Joins phrases: `a, b and c`.
fn listed(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// Formats a part of a total: `3.00 s of 9.00 s`, or `all 9.00 s`.
fn part_of_total(part: &str, total: &str) -> String {
    if part == total { format!("all {part}") } else { format!("{part} of {total}") }
}

/// Says in how many requests a driver blocked, and how many of them it did not pend.
fn requests(entry: &AccountEntry) -> String {
    let Some(requests) = entry.requests else { return String::new() };
    let total = counted(requests.count, "request");
    match (requests.count, requests.not_pended) {
        (_, 0) => format!(" in {total}"),
        (count, not_pended) if count == not_pended => format!(" in {total} it did not pend"),
        (_, not_pended) => format!(" in {total}, {} of them not pended", count(not_pended)),
    }
}

fn culprit_details(culprit: &Culprit) -> String {
    if culprit.entry.kind == AccountSubjectKind::Cpu {
        let names: Vec<_> = culprit.members.iter().map(|name| printable(name)).collect();
        return format!("no CPU was free; top processes: {}", names.join(", "));
    }
    format!("{}{}", actions(&culprit.entry), inferred(&culprit.entry))
}

/// Returns the verb for what a subject did to a phase.
const fn verb(measure: AccountMeasure) -> &'static str {
    match measure {
        AccountMeasure::BusySlices => "kept the computer busy in",
        _ => "blocked",
    }
}

fn inferred(entry: &AccountEntry) -> &'static str {
    if entry.certainty == onoff_evidence::Certainty::Measured { "" } else { " (inferred)" }
}

/// Writes the table of the `max` largest subjects.
pub(super) fn write_entries(account: &PhaseAccount, max: usize, out: &mut dyn Write) -> io::Result<()> {
    if account.entries.is_empty() {
        return Ok(());
    }
    let (shown, hidden) = account.entries.split_at(max.min(account.entries.len()));
    let hidden_ns: i64 = hidden.iter().map(|entry| entry.ns).sum();
    let rest_row = Some(Row::Rest { entries: hidden.len(), ns: hidden_ns }).filter(|_| hidden_ns > 0);
    let section = Section::builder("account", "", shown.iter().map(Row::Entry).chain(rest_row))
        .quantity("ns", "time", |row| Value::Duration(row.ns()))
        .quantity("percent", "share", |row| Value::from_option(row.entry(), |entry| Value::Percent(entry.percent)))
        .name("kind", "kind", 12, |row| Value::from_option(row.entry(), |entry| Value::text(kind(entry.kind))))
        .name("name", "subject", 60, |row| match row {
            Row::Entry(entry) => {
                let style = if Some(*entry) == account.largest_entry() { WORST } else { Style::new() };
                Cell::with_display_text(Value::text(&entry.name), subject(entry, &account.entries)).with_style(style)
            }
            Row::Rest { entries, .. } => Cell::text_only(QUIET, format!("{} more", count(*entries as u64))),
        })
        .name("", "details", ACTIONS_WIDTH, |row| {
            Value::from_option(row.entry(), |entry| Value::Text(actions_within(entry, ACTIONS_WIDTH).into()))
        });
    section::text::write(&section.build(), out)
}

/// A row of the table: a subject, or the sum of the subjects not shown.
enum Row<'a> {
    Entry(&'a AccountEntry),
    Rest { entries: usize, ns: i64 },
}

impl<'a> Row<'a> {
    const fn entry(&self) -> Option<&'a AccountEntry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Rest { .. } => None,
        }
    }

    const fn ns(&self) -> i64 {
        match self {
            Self::Entry(entry) => entry.ns,
            Self::Rest { ns, .. } => *ns,
        }
    }
}

/// Returns the display name of a subject among others; with the process id if another process has the same name.
#[must_use]
pub fn subject(entry: &AccountEntry, others: &[AccountEntry]) -> String {
    let is_namesake = |other: &AccountEntry| {
        other.kind == entry.kind && other.pid != entry.pid && other.name.eq_ignore_ascii_case(&entry.name)
    };
    match (entry.kind, entry.pid) {
        (AccountSubjectKind::Process, Some(pid)) if others.iter().any(is_namesake) => {
            format!("{} ({pid})", printable(&entry.name))
        }
        (AccountSubjectKind::UserInput, _) => "the user".to_owned(),
        _ => printable(&entry.name).into_owned(),
    }
}

fn reader(reader: &FileReader) -> String {
    match reader.pid {
        Some(pid) => format!("{} ({pid})", printable(&reader.name)),
        None => printable(&reader.name).into_owned(),
    }
}

/// Returns the display name of a kind of subject.
#[must_use]
pub const fn kind(kind: AccountSubjectKind) -> &'static str {
    match kind {
        AccountSubjectKind::Service => "service",
        AccountSubjectKind::Unit => "unit",
        AccountSubjectKind::Driver => "driver",
        AccountSubjectKind::Process => "program",
        AccountSubjectKind::File => "file",
        AccountSubjectKind::Script => "script",
        AccountSubjectKind::Policy => "policy",
        AccountSubjectKind::Subscriber => "subscriber",
        AccountSubjectKind::Firmware => "firmware",
        AccountSubjectKind::Kernel => "kernel",
        AccountSubjectKind::Cpu => "CPU",
        AccountSubjectKind::Disk => "disk",
        AccountSubjectKind::UserInput => "user",
        AccountSubjectKind::Idle => "idle",
        AccountSubjectKind::Unknown => "unknown",
    }
}

/// Width of the column of actions, in characters.
const ACTIONS_WIDTH: usize = 70;

/// Returns as many complete phrases of [`actions`] as fit into `width` characters.
fn actions_within(entry: &AccountEntry, width: usize) -> String {
    let mut text = String::new();
    for phrase in actions(entry).split(", ") {
        let separator = if text.is_empty() { "" } else { ", " };
        if !text.is_empty() && text.chars().count() + separator.len() + phrase.chars().count() > width {
            break;
        }
        text += separator;
        text += phrase;
    }
    text
}

/// Lists the activities of an entry with their times, longest first. Activities below 1 % of the entry are left out.
#[must_use]
pub fn actions(entry: &AccountEntry) -> String {
    if !entry.read_by.is_empty() {
        let notable = entry.read_by.iter().filter(|reader| reader.ns.saturating_mul(100) >= entry.ns);
        let readers: Vec<String> = notable
            .map(|file_reader| format!("{} waited {} for it", reader(file_reader), duration(file_reader.ns)))
            .collect();
        return readers.join(", ");
    }
    let actions: Vec<String> = entry
        .actions
        .iter()
        .filter(|share| share.action != AccountAction::Nothing && share.ns.saturating_mul(100) >= entry.ns)
        .map(|share| format!("{} {}", duration(share.ns), activity(share.action, entry.kind)))
        .collect();
    actions.join(", ")
}

/// Returns the action of a subject as a phrase that follows a duration: `waiting for a timer`. Commas separate actions,
/// so the phrase has none.
const fn activity(action: AccountAction, kind: AccountSubjectKind) -> &'static str {
    match action {
        AccountAction::Ran => "running",
        AccountAction::WaitedForDisk => "waiting for a disk",
        AccountAction::WaitedForTimer => "waiting for a timer",
        AccountAction::WaitedForDevice => "waiting for a device",
        AccountAction::WaitedForCpu => "waiting for a CPU",
        AccountAction::OccupiedCpu => "occupying all CPUs",
        AccountAction::OccupiedDisk => "occupying the disk",
        AccountAction::Interrupted => "in interrupts and DPCs",
        AccountAction::ProcessedRequest => match kind {
            AccountSubjectKind::Service | AccountSubjectKind::Unit => "starting or stopping",
            _ => "working on a request",
        },
        AccountAction::Waited => "waiting for an unknown reason",
        AccountAction::KeptBusy => "keeping the computer busy",
        AccountAction::Nothing => "",
    }
}

/// Lowercases the article of a title (`The start of …`) for use within a sentence.
fn in_sentence(title: &str) -> String {
    ["The ", "A "]
        .iter()
        .find_map(|article| title.strip_prefix(article).map(|noun| format!("{}{noun}", article.to_lowercase())))
        .unwrap_or_else(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_evidence::Certainty;

    fn entry(kind: AccountSubjectKind, name: &str, pid: u32) -> AccountEntry {
        AccountEntry {
            kind,
            name: name.to_owned(),
            device: String::new(),
            pid: Some(pid),
            read_by: Vec::new(),
            unknown_reason: None,
            ns: 1,
            percent: 0.0,
            certainty: Certainty::Measured,
            requests: None,
            actions: Vec::new(),
            intervals: Vec::new(),
            interval_count: 0,
        }
    }

    #[test]
    fn names_process_id_only_if_another_process_has_the_same_name() {
        use AccountSubjectKind::{Process, Service};
        let agent = entry(Process, "agent.exe", 4);
        let named = |others: &[AccountEntry]| subject(&agent, others);
        assert_eq!(named(&[agent.clone(), entry(Process, "Agent.EXE", 5)]), "agent.exe (4)");
        assert_eq!(named(&[agent.clone(), entry(Process, "other.exe", 5)]), "agent.exe");
        // The same process again, and a service with the same name.
        assert_eq!(named(&[agent.clone(), agent.clone(), entry(Service, "agent.exe", 5)]), "agent.exe");
        assert_eq!(subject(&entry(Service, "Agent", 4), &[entry(Service, "Agent", 5)]), "Agent");
    }
}
