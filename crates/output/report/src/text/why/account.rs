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

/// Writes the headline: which subject blocked `what`, and for how long. For a phase it is the same culprit that other commands
/// name, which skips parts of the system that every transition has.
pub(super) fn write_headline(interval: &ExplainedInterval, what: &str, out: &mut dyn Write) -> io::Result<()> {
    if interval.kind == ExplainedIntervalKind::Phase {
        let phase = AccountedPhase { transition: "", phase: interval.name.clone(), account: interval.account.clone() };
        if let Some(first) = culprits([&phase]).first() {
            let (claim, details) = (culprit_claim(first, &display_name(&interval.name)), culprit_details(first));
            return writeln!(out, "{HEADLINE}{claim}{HEADLINE:#}: {details}");
        }
    }
    if interval.kind == ExplainedIntervalKind::Service && interval.action == "wait" {
        let first = interval.account.entries.iter().find(|entry| entry.kind != AccountSubjectKind::Idle);
        if let Some(first) = first.filter(|entry| entry.kind != AccountSubjectKind::Unknown) {
            let service = printable(&interval.name);
            let (cost, whole) = (duration(first.ns), duration(interval.account.duration_ns));
            let cost = if cost == whole { "all".to_owned() } else { cost };
            let claim = format!("{service} waited {whole} to start, {cost} of it for {}", subject(first));
            return writeln!(out, "{HEADLINE}{claim}{HEADLINE:#}: {}{}", actions(first), inferred(first));
        }
    }
    let Some((claim, details)) = sentence(&interval.account, what) else { return Ok(()) };
    writeln!(out, "{HEADLINE}{claim}{HEADLINE:#}{details}")
}

/// Which subject blocked `what`, and its details; `None` if the computer was idle.
#[must_use]
pub fn sentence(account: &PhaseAccount, what: &str) -> Option<(String, String)> {
    let first = account.entries.iter().find(|entry| entry.kind != AccountSubjectKind::Idle)?;
    let (cost, whole) = (duration(first.ns), duration(account.duration_ns));
    let what = in_sentence(what);
    if first.kind == AccountSubjectKind::Unknown {
        let reason = printable(&first.name);
        return Some((format!("{cost} of {whole} of {what} is unattributed: {reason}"), String::new()));
    }
    let name = subject(first);
    let verb = verb(account.measure);
    let inferred = inferred(first);
    let requests = requests(first);
    let length = of_whole(&cost, &whole);
    Some((format!("{name} {verb} {what} for {length}{requests}"), format!(": {}{inferred}", actions(first))))
}

/// The subject that made a transition slow, in a sentence.
#[must_use]
pub fn culprit(culprit: &Culprit) -> String {
    culprit_sentence(culprit, culprit_claim(culprit, &display_name(&culprit.phase)))
}

/// The same after a sentence about `phase`, which it does not name again.
pub(in crate::text) fn culprit_of(culprit: &Culprit, phase: &str) -> String {
    if culprit.phase != phase || culprit.is_truncated {
        return self::culprit(culprit);
    }
    let entry = &culprit.entry;
    let (cost, whole) = (duration(entry.ns), duration(culprit.phase_ns));
    let length = if cost == whole { "all of that time".to_owned() } else { cost };
    let claim = match entry.kind {
        AccountSubjectKind::Cpu => format!("{CPU_CONTENTION} blocked it for {length}"),
        _ => format!("{} {} it for {length}{}", subject(entry), verb(culprit.measure), requests(entry)),
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

fn culprit_claim(culprit: &Culprit, what: &str) -> String {
    let entry = &culprit.entry;
    if entry.kind == AccountSubjectKind::Cpu {
        let length = of_whole(&duration(entry.ns), &duration(culprit.phase_ns));
        return format!("{CPU_CONTENTION} blocked {what} for {length}");
    }
    let verb = verb(culprit.measure);
    let requests = requests(entry);
    let mut length = of_whole(&duration(entry.ns), &duration(culprit.phase_ns));
    if culprit.is_truncated {
        length += " recorded";
    }
    format!("{} {verb} {what} for {length}{requests}", subject(entry))
}

/// `3.00 s of 9.00 s`, or `9.00 s, all of it`.
fn of_whole(part: &str, whole: &str) -> String {
    if part == whole { format!("{part}, all of it") } else { format!("{part} of {whole}") }
}

/// In how many requests a driver blocked, and how many of them it did not pend.
fn requests(entry: &AccountEntry) -> String {
    let Some(requests) = entry.requests else { return String::new() };
    let all = counted(requests.count, "request");
    match (requests.count, requests.not_pended) {
        (_, 0) => format!(" in {all}"),
        (count, not_pended) if count == not_pended => format!(" in {all} it did not pend"),
        (_, not_pended) => format!(" in {all}, {} of them not pended", count(not_pended)),
    }
}

fn culprit_details(culprit: &Culprit) -> String {
    if culprit.entry.kind == AccountSubjectKind::Cpu {
        let names: Vec<_> = culprit.members.iter().map(|name| printable(name)).collect();
        return format!("no CPU was free; top processes: {}", names.join(", "));
    }
    format!("{}{}", actions(&culprit.entry), inferred(&culprit.entry))
}

/// What a subject did to a phase.
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
    let (shown, left) = account.entries.split_at(max.min(account.entries.len()));
    let rest_ns: i64 = left.iter().map(|entry| entry.ns).sum();
    let rest = Some(Row::Rest { entries: left.len(), ns: rest_ns }).filter(|_| rest_ns > 0);
    let section = Section::of("account", "", shown.iter().map(Row::Entry).chain(rest))
        .quantity("ns", "time", |row| Value::Duration(row.ns()))
        .quantity("percent", "share", |row| Value::of(row.entry(), |entry| Value::Percent(entry.percent)))
        .name("kind", "kind", 12, |row| Value::of(row.entry(), |entry| Value::text(kind(entry.kind))))
        .name("name", "subject", 60, |row| match row {
            Row::Entry(entry) => {
                let style = if Some(*entry) == account.first() { WORST } else { Style::new() };
                Cell::shown(Value::text(&entry.name), subject(entry)).styled(style)
            }
            Row::Rest { entries, .. } => Cell::words(QUIET, format!("{} more", count(*entries as u64))),
        })
        .name("", "details", ACTIONS_WIDTH, |row| {
            Value::of(row.entry(), |entry| Value::Text(actions_within(entry, ACTIONS_WIDTH).into()))
        });
    section::text::write(&section.build(), out)
}

/// A row of the table: a subject, or the sum of those not shown.
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

/// The display name of a subject; a process has its id.
#[must_use]
pub fn subject(entry: &AccountEntry) -> String {
    match (entry.kind, entry.pid) {
        (AccountSubjectKind::Process, Some(pid)) => format!("{} ({pid})", printable(&entry.name)),
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

/// The display name of a kind of subject.
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

/// As many whole phrases of [`actions`] as fit into `width` characters.
fn actions_within(entry: &AccountEntry, width: usize) -> String {
    let mut text = String::new();
    for part in actions(entry).split(", ") {
        let joint = if text.is_empty() { "" } else { ", " };
        if !text.is_empty() && text.chars().count() + joint.len() + part.chars().count() > width {
            break;
        }
        text += joint;
        text += part;
    }
    text
}

/// The activities of an entry with their times, longest first, without those below 1 % of it.
#[must_use]
pub fn actions(entry: &AccountEntry) -> String {
    if !entry.read_by.is_empty() {
        let notable = entry.read_by.iter().filter(|one| one.ns.saturating_mul(100) >= entry.ns);
        let readers: Vec<String> =
            notable.map(|one| format!("{} waited {} for it", reader(one), duration(one.ns))).collect();
        return readers.join(", ");
    }
    let shown: Vec<String> = entry
        .actions
        .iter()
        .filter(|one| one.action != AccountAction::Nothing && one.ns.saturating_mul(100) >= entry.ns)
        .map(|one| format!("{} {}", duration(one.ns), activity(one.action, entry.kind)))
        .collect();
    shown.join(", ")
}

/// What a subject did, as a phrase after a duration: `waiting for a timer`. Without commas, which separate activities.
const fn activity(did: AccountAction, kind: AccountSubjectKind) -> &'static str {
    match did {
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
        AccountAction::Waited => "waiting (reason not recorded)",
        AccountAction::KeptBusy => "keeping the computer busy",
        AccountAction::Nothing => "",
    }
}

/// `The start of …` in lower case, for use within a sentence.
fn in_sentence(what: &str) -> String {
    ["The ", "A "]
        .iter()
        .find_map(|first| what.strip_prefix(first).map(|rest| format!("{}{rest}", first.to_lowercase())))
        .unwrap_or_else(|| what.to_owned())
}
