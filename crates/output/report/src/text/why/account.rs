//! Whose the time was: the first line of an answer, and the table of subjects.

use std::io::{self, Write};

use anstyle::Style;
use onoff_blame::account::{
    AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, Culprit, Did, FileReader, PhaseAccount, culprits,
};
use onoff_blame::why::{StretchKind, WhyStretch};

use crate::text::phases::shown;
use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration};
use crate::text::style::{HEADLINE, QUIET, WORST};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// The first line: who, and how long. `what` is what it held up. Of a phase, the culprit that every other verb names: parts of
/// the system that every transition consists of come after.
pub(super) fn write_headline(stretch: &WhyStretch, what: &str, out: &mut dyn Write) -> io::Result<()> {
    if stretch.kind == StretchKind::Phase {
        let phase = AccountedPhase { transition: "", phase: stretch.name.clone(), account: stretch.account.clone() };
        if let Some(first) = culprits([&phase]).first() {
            let (who, did) = (culprit_held(first, what), culprit_did(first));
            return writeln!(out, "{HEADLINE}{who}{HEADLINE:#}: {did}");
        }
    }
    let Some((who, did)) = sentence(&stretch.account, what) else { return Ok(()) };
    writeln!(out, "{HEADLINE}{who}{HEADLINE:#}{did}")
}

/// Who held up `what`, and what it did; `None` when nobody did, as the computer was idle.
#[must_use]
pub fn sentence(account: &PhaseAccount, what: &str) -> Option<(String, String)> {
    let first = account.entries.iter().find(|entry| entry.kind != AccountSubjectKind::Idle)?;
    let (cost, whole) = (duration(first.ns), duration(account.duration_ns));
    let what = in_sentence(what);
    if first.kind == AccountSubjectKind::NotKnown {
        let reason = printable(&first.name);
        return Some((format!("Not known: {cost} of {whole} of {what}, because {reason}"), String::new()));
    }
    let name = subject(first);
    let verb = verb(account.measure, first.kind);
    let inferred = inferred(first);
    let asked = requests(first);
    let length = of_whole(&cost, &whole);
    Some((format!("{name} {verb} {what} for {length}{asked}"), format!(": {}{inferred}", actions(first))))
}

/// Who made a transition slow, in a sentence: the same that [`sentence`] says of its phase.
#[must_use]
pub fn culprit(culprit: &Culprit) -> String {
    let held = culprit_held(culprit, &shown(&culprit.phase));
    match culprit.measure {
        // That it kept the computer busy is said.
        AccountMeasure::BusySlices => format!("{held}{}.", inferred(&culprit.entry)),
        _ => format!("{held}: {}.", culprit_did(culprit)),
    }
}

fn culprit_held(culprit: &Culprit, what: &str) -> String {
    let entry = &culprit.entry;
    if entry.kind == AccountSubjectKind::Processors {
        let length = of_whole(&duration(entry.ns), &duration(culprit.phase_ns));
        return format!("The processors held up {what} for {length}");
    }
    let verb = verb(culprit.measure, entry.kind);
    let asked = requests(entry);
    let mut length = of_whole(&duration(entry.ns), &duration(culprit.phase_ns));
    if culprit.is_cut {
        length += " that the recording holds";
    }
    format!("{} {verb} {what} for {length}{asked}", subject(entry))
}

/// `3.00 s of 9.00 s`, and of all of it only once.
fn of_whole(part: &str, whole: &str) -> String {
    if part == whole { format!("{part}, all of it") } else { format!("{part} of {whole}") }
}

/// In how many requests a driver blocked, and that it pended none of them.
fn requests(entry: &AccountEntry) -> String {
    let Some(requests) = entry.requests else { return String::new() };
    let all = counted(requests.count, "request");
    match (requests.count, requests.not_pended) {
        (_, 0) => format!(", in {all}"),
        (1, _) => format!(", in {all} that was not pended"),
        (count, none) if count == none => format!(", in {all} that were not pended"),
        (_, none) => format!(", in {all}, {} of them not pended", count(none)),
    }
}

fn culprit_did(culprit: &Culprit) -> String {
    if culprit.entry.kind == AccountSubjectKind::Processors {
        let names: Vec<_> = culprit.members.iter().map(|name| printable(name)).collect();
        return format!("none was free; {} had them most", names.join(", "));
    }
    format!("{}{}", actions(&culprit.entry), inferred(&culprit.entry))
}

/// What somebody did to a phase.
const fn verb(measure: AccountMeasure, kind: AccountSubjectKind) -> &'static str {
    match (measure, kind) {
        (AccountMeasure::BusySlices, _) => "kept the computer busy in",
        (_, AccountSubjectKind::Driver) => "blocked",
        _ => "held up",
    }
}

fn inferred(entry: &AccountEntry) -> &'static str {
    if entry.certainty == onoff_evidence::Certainty::Measured { "" } else { " (inferred)" }
}

/// The subjects, the largest of them.
pub(super) fn write_entries(account: &PhaseAccount, most: usize, out: &mut dyn Write) -> io::Result<()> {
    if account.entries.is_empty() {
        return Ok(());
    }
    let (shown, left) = account.entries.split_at(most.min(account.entries.len()));
    let rest_ns: i64 = left.iter().map(|entry| entry.ns).sum();
    let rest = Some(Row::Rest { entries: left.len(), ns: rest_ns }).filter(|_| rest_ns > 0);
    let section = Section::of("account", "", shown.iter().map(Row::Entry).chain(rest))
        .quantity("ns", "time", |row| Value::Duration(row.ns()))
        .quantity("percent", "share", |row| Value::of(row.entry(), |entry| Value::Percent(entry.percent)))
        .name("kind", "kind", 12, |row| Value::of(row.entry(), |entry| Value::text(kind(entry.kind))))
        .name("name", "who", 60, |row| match row {
            Row::Entry(entry) => {
                let style = if Some(*entry) == account.first() { WORST } else { Style::new() };
                Cell::shown(Value::text(&entry.name), subject(entry)).styled(style)
            }
            Row::Rest { entries, .. } => Cell::words(QUIET, format!("{} more", count(*entries as u64))),
        })
        .name("", "what it did", ACTIONS_WIDTH, |row| {
            Value::of(row.entry(), |entry| Value::Text(actions_within(entry, ACTIONS_WIDTH).into()))
        });
    section::text::write(&section.done(), out)
}

/// A row of the subjects: one of them, or the sum of those that are left out.
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

/// What a subject is called: a process has its id.
#[must_use]
pub fn subject(entry: &AccountEntry) -> String {
    match (entry.kind, entry.pid) {
        (AccountSubjectKind::Process, Some(pid)) => format!("{} ({pid})", printable(&entry.name)),
        (AccountSubjectKind::Person, _) => "a person".to_owned(),
        _ => printable(&entry.name).into_owned(),
    }
}

fn reader(reader: &FileReader) -> String {
    match reader.pid {
        Some(pid) => format!("{} ({pid})", printable(&reader.name)),
        None => printable(&reader.name).into_owned(),
    }
}

/// What kind of subject it is.
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
        AccountSubjectKind::Processors => "processors",
        AccountSubjectKind::Disk => "disk",
        AccountSubjectKind::Person => "person",
        AccountSubjectKind::Idle => "idle",
        AccountSubjectKind::NotKnown => "not known",
    }
}

/// Characters of a table's cell of actions.
const ACTIONS_WIDTH: usize = 70;

/// The same, as far as it goes in so many characters: phrases are whole.
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

/// What an entry did, as phrases with their times, the longest first; those below a hundredth of it are left out.
#[must_use]
pub fn actions(entry: &AccountEntry) -> String {
    if !entry.read_by.is_empty() {
        let its = entry.read_by.iter().filter(|one| one.ns.saturating_mul(100) >= entry.ns);
        let readers: Vec<String> =
            its.map(|one| format!("{} waited for it {}", reader(one), duration(one.ns))).collect();
        return readers.join(", ");
    }
    let shown: Vec<String> = entry
        .did
        .iter()
        .filter(|one| one.did != Did::Nothing && one.ns.saturating_mul(100) >= entry.ns)
        .map(|one| format!("{} {}", one.did.phrase_of(entry.kind), duration(one.ns)))
        .collect();
    shown.join(", ")
}

/// `The start of …` within a sentence.
fn in_sentence(what: &str) -> String {
    ["The ", "A "]
        .iter()
        .find_map(|first| what.strip_prefix(first).map(|rest| format!("{}{rest}", first.to_lowercase())))
        .unwrap_or_else(|| what.to_owned())
}
