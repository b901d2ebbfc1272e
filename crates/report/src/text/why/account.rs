//! Whose the time was: the first line of an answer, and the table of subjects.

use std::io::{self, Write};

use onoff_analysis::account::{AccountEntry, AccountMeasure, AccountSubjectKind, Did, PhaseAccount};

use crate::text::printable::printable;
use crate::text::quantity::{count, duration, percent};
use crate::text::style::{HEADLINE, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

/// The first line: who, and how long. `what` is what it held up.
pub(super) fn write_headline(account: &PhaseAccount, what: &str, out: &mut dyn Write) -> io::Result<()> {
    let Some((who, did)) = sentence(account, what) else { return Ok(()) };
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
    let verb = match (account.measure, first.kind) {
        (AccountMeasure::BusySlices, _) => "kept the computer busy in",
        (_, AccountSubjectKind::Driver) => "blocked",
        _ => "held up",
    };
    let inferred = if first.certainty == onoff_analysis::Certainty::Measured { "" } else { " (inferred)" };
    Some((format!("{name} {verb} {what} for {cost} of {whole}"), format!(": {}{inferred}", actions(first))))
}

/// The subjects, the largest of them.
pub(super) fn write_entries(account: &PhaseAccount, most: usize, out: &mut dyn Write) -> io::Result<()> {
    if account.entries.is_empty() {
        return Ok(());
    }
    let mut table = Table::new().right("time").right("share").left("kind", 12).left("who", 60).left("what it did", 70);
    for entry in account.entries.iter().take(most) {
        let style = if Some(entry) == account.first() { WORST } else { QUIET };
        let who =
            if Some(entry) == account.first() { styled_cell(style, subject(entry)) } else { cell(subject(entry)) };
        table.row([
            cell(duration(entry.ns)),
            cell(percent(entry.percent)),
            cell(kind(entry.kind)),
            who,
            cell(actions(entry)),
        ]);
    }
    let rest: i64 = account.entries.iter().skip(most).map(|entry| entry.ns).sum();
    if rest > 0 {
        let more = count(account.entries.len().saturating_sub(most) as u64);
        let who = styled_cell(QUIET, format!("{more} more"));
        table.row([cell(duration(rest)), cell(""), cell(""), who, cell("")]);
    }
    table.write(out)
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

/// What kind of subject it is.
#[must_use]
pub const fn kind(kind: AccountSubjectKind) -> &'static str {
    match kind {
        AccountSubjectKind::Service => "service",
        AccountSubjectKind::Unit => "unit",
        AccountSubjectKind::Driver => "driver",
        AccountSubjectKind::Process => "program",
        AccountSubjectKind::Script => "script",
        AccountSubjectKind::Policy => "policy",
        AccountSubjectKind::Subscriber => "subscriber",
        AccountSubjectKind::Firmware => "firmware",
        AccountSubjectKind::Kernel => "kernel",
        AccountSubjectKind::Person => "person",
        AccountSubjectKind::Idle => "idle",
        AccountSubjectKind::NotKnown => "not known",
    }
}

/// What an entry did, as phrases with their times, the longest first; those below a hundredth of it are left out.
#[must_use]
pub fn actions(entry: &AccountEntry) -> String {
    let shown: Vec<String> = entry
        .did
        .iter()
        .filter(|one| one.did != Did::Nothing && one.ns.saturating_mul(100) >= entry.ns)
        .map(|one| format!("{} {}", one.did.phrase(), duration(one.ns)))
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
