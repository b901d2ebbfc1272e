//! Why something took as long as it did, for a person: what the time was, then the chain from the end back.

pub mod account;
mod sentence;

use std::io::{self, Write};

use anstyle::Style;
use onoff_blame::account::has_no_path;
use onoff_blame::waits::{PathShare, PathStep, StepGroup, StepKind};
use onoff_blame::why::{StretchKind, WhyReport, WhyStretch};
use onoff_evidence::missing_evidence::MissingRecords;

use super::losses;
use super::phases::shown;
use super::printable::printable;
use super::quantity::{count, counted, duration};
use super::style::{DOUBT, QUIET, WORST};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;
use sentence::{chain, done, thread};

/// PDB files that are not there and are named.
const SHOWN_FILES: usize = 6;

/// A step of a chain as a sentence.
#[must_use]
pub fn step(step: &PathStep) -> String {
    done(step)
}

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhyTextOptions {
    /// Rows of the list of what the time was.
    pub shares: usize,
    /// Steps of each chain: the longest.
    pub steps: usize,
    /// Frames of each call stack.
    pub frames: usize,
}

impl Default for WhyTextOptions {
    fn default() -> Self {
        Self { shares: 8, steps: 12, frames: 8 }
    }
}

/// Writes the report.
///
/// # Errors
/// Errors of `out`.
pub fn write(report: &WhyReport, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    for (at, stretch) in report.stretches.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_stretch(stretch, options, out)?;
    }
    let shown = report.stretches.len() as u64;
    writeln!(out)?;
    if report.found > shown {
        writeln!(out, "{QUIET}{} more are left out; --top shows more of them.{QUIET:#}", count(report.found - shown))?;
    }
    if report.waits_for_work > 0 {
        writeln!(
            out,
            "{QUIET}{} for work ({}) left out: nobody asked those threads for anything; --idle counts them.{QUIET:#}",
            counted(report.waits_for_work, "wait"),
            duration(report.waits_for_work_ns),
        )?;
    }
    for &records in &report.missing {
        writeln!(out, "{DOUBT}Not recorded: {}.{DOUBT:#}", lacked(records))?;
    }
    if !report.without_switches.is_empty() {
        let names: Vec<String> = report
            .without_switches
            .iter()
            .map(|stretch| match stretch.kind {
                StretchKind::Service => format!("the {} of {}", stretch.action, stretch.name),
                _ => stretch.name.clone(),
            })
            .collect();
        let names = names.join(", ");
        let names = printable(&names);
        writeln!(out, "{DOUBT}Not recorded: context switches in {names}: no chain is known there.{DOUBT:#}")?;
    }
    for missing in report.symbols_missing.iter().take(SHOWN_FILES) {
        writeln!(out, "{QUIET}No function names: {}.{QUIET:#}", printable(missing))?;
    }
    let more = report.symbols_missing.len().saturating_sub(SHOWN_FILES);
    if more > 0 {
        let more = counted(more as u64, "PDB file");
        writeln!(out, "{QUIET}No function names: {more} more, which JSON lists.{QUIET:#}")?;
    }
    losses::write(&report.losses, out)
}

fn write_stretch(stretch: &WhyStretch, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let path = &stretch.path;
    let what = title(stretch);
    let ends = (clock(stretch.start_ns), clock(stretch.end_ns));
    let took = match stretch.account.is_cut {
        true => format!(
            "{what} had lasted {}, from {} to {}, when the recording ended: it had not settled",
            duration(stretch.duration_ns),
            ends.0,
            ends.1
        ),
        false => format!("{what} took {}, from {} to {}", duration(stretch.duration_ns), ends.0, ends.1),
    };
    if stretch.end_ns <= 0 && stretch.duration_ns > 0 {
        // Before the kernel's clock nobody recorded who ran.
        return writeln!(out, "{took}; what it did is not in the recording.");
    }
    account::write_headline(stretch, &what, out)?;
    writeln!(out, "{took}")?;
    if stretch.kind == StretchKind::Phase && has_no_path(&stretch.name) {
        // Nobody is waited for there: who kept the computer busy is all there is to say.
        account::write_entries(&stretch.account, options.shares, out)?;
        return losses::write_touching(&path.touched_by, out);
    }
    if let Some((share, step)) = worst(stretch) {
        let (ns, chain) = (duration(share.ns), chain(step));
        writeln!(out, "  {WORST}{ns}{WORST:#} of it: {chain}")?;
    }
    if stretch.kind != StretchKind::Wait {
        writeln!(
            out,
            "  {QUIET}ends with {}: {} ({}){QUIET:#}",
            thread(&path.end_thread),
            printable(&path.end_rule.to_string()),
            path.end_certainty.as_str(),
        )?;
    }
    account::write_entries(&stretch.account, options.shares, out)?;
    write_shares(stretch, options, out)?;
    write_services(stretch, options, out)?;
    write_steps(stretch, options, out)?;
    if path.missing_ns > 0 {
        writeln!(out, "  {DOUBT}Not explained: {}.{DOUBT:#}", duration(path.missing_ns))?;
    }
    losses::write_touching(&path.touched_by, out)
}

/// What most of the time was, and the longest step of that.
fn worst(stretch: &WhyStretch) -> Option<(&PathShare, &PathStep)> {
    let share = stretch.path.shares.first()?;
    let is_of = |step: &&PathStep| {
        let name = match share.pid {
            Some(_) => step.thread.process == share.name && step.thread.pid == share.pid,
            None => match (&step.service, step.kind) {
                (Some(service), StepKind::ServiceDependency) => service.name == share.name,
                _ => step.detail == share.name || step.detail.is_empty(),
            },
        };
        step.kind == share.kind && name
    };
    let steps = stretch.path.steps.iter().filter(is_of);
    Some((share, steps.max_by_key(|step| step.duration_ns)?))
}

fn title(stretch: &WhyStretch) -> String {
    match (&stretch.thread, stretch.kind) {
        (Some(of), _) if stretch.action.is_empty() => format!("A wait of {}", thread(of)),
        (Some(of), _) => format!("A wait of {} ({})", thread(of), stretch.action),
        (None, StretchKind::Service) if stretch.action == "wait" => {
            format!("The wait before the start of the service {}", printable(&stretch.name))
        }
        (None, StretchKind::Service) => format!("The {} of the service {}", stretch.action, printable(&stretch.name)),
        (None, StretchKind::Device) => {
            format!("{} of {}", stretch.action, printable(&stretch.name))
        }
        (None, _) => format!("{} ({})", shown(&stretch.name), stretch.action),
    }
}

fn write_shares(stretch: &WhyStretch, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let shares = &stretch.path.shares;
    let (shown, left) = shares.split_at(options.shares.min(shares.len()));
    let rest_ns: i64 = left.iter().map(|row| row.ns).sum();
    let rest = Some((rest_ns, None)).filter(|_| rest_ns > 0);
    let section = Section::of("shares", "", shown.iter().map(|share| (share.ns, Some(share))).chain(rest))
        .quantity("ns", "time", |row| Value::Duration(row.0))
        .quantity("percent", "share", |row| Value::of(row.1, |share| Value::Percent(share.percent)))
        .name("kind", "was", 24, |row| match row.1 {
            Some(share) => Value::text(was(share.kind)).into(),
            None => Cell::words(QUIET, format!("{} more", left.len())),
        })
        .name("name", "of", 70, |row| Value::of(row.1, |share| Value::Text(whose(share).into())));
    section::text::write(&section.done(), out)
}

/// The services that were waited for, the longest of them, last first.
fn write_services(stretch: &WhyStretch, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let services = &stretch.path.services;
    let mut longest: Vec<i64> = services.iter().map(|row| row.ns).collect();
    longest.sort_by_key(|&ns| std::cmp::Reverse(ns));
    let least = longest.get(options.shares.saturating_sub(1)).copied();
    let shown: Vec<_> = services.iter().rev().filter(|row| row.ns >= least.unwrap_or(0)).take(options.shares).collect();
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {QUIET}Services waited for, the last first:{QUIET:#}")?;
    let sum_ns = |rows: &mut dyn Iterator<Item = i64>| rows.fold(0, i64::saturating_add);
    let all_ns = sum_ns(&mut services.iter().map(|row| row.ns));
    let rest_ns = all_ns.saturating_sub(sum_ns(&mut shown.iter().map(|row| row.ns)));
    let left = services.len().saturating_sub(shown.len());
    let rest = Some((rest_ns, None)).filter(|_| left > 0);
    let section = Section::of("services", "", shown.iter().map(|row| (row.ns, Some(&row.service))).chain(rest))
        .quantity("ns", "time", |row| Value::Duration(row.0))
        .time("", "from", |row| Cell::words(Style::new(), row.1.map(|it| clock(it.start_ns)).unwrap_or_default()))
        .time("", "to", |row| {
            let ready = row.1.map(|it| it.ready_ns.map_or_else(|| "-".to_owned(), clock));
            Cell::words(Style::new(), ready.unwrap_or_default())
        })
        .name("name", "service", 60, |row| match row.1 {
            Some(service) if service.change.as_str() == "start" => Value::text(&service.name).into(),
            Some(service) => Value::Text(format!("{} ({})", service.name, service.change).into()).into(),
            None => Cell::words(QUIET, format!("{left} more")),
        });
    section::text::write(&section.done(), out)
}

/// What time of a kind was, in a word or two.
#[must_use]
pub(crate) const fn was(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Cpu => "running",
        StepKind::Ready => "waiting for a processor",
        StepKind::Disk => "waiting for a disk",
        StepKind::Timer => "waiting for a timer",
        StepKind::Device => "waiting for a device",
        StepKind::ServiceDependency => "waiting for a service",
        StepKind::Other => "not known",
    }
}

fn whose(share: &PathShare) -> String {
    match (share.kind, share.name.is_empty(), share.pid) {
        (StepKind::Device, true, _) => "a driver that no module holds".to_owned(),
        (_, true, None) => "an unknown process".to_owned(),
        (_, true, Some(pid)) => format!("process {pid}"),
        (_, false, Some(pid)) => format!("{} ({pid})", share.name),
        (_, false, None) => share.name.clone(),
    }
}

/// A group whose longest step is more than this part of it is no group: it is that step, and others that matter less. Half.
const ONE_STEP: i64 = 2;
/// Steps that ran or were ready are summed from so many on: fewer are the chain itself.
const MANY_STEPS: u64 = 10;
/// Lines shorter than this part of the whole are left to the sum: a ten-thousandth.
const MIN_PATH_SHARE: i64 = 10_000;
/// Other steps that are alike are summed from so many on.
const SEVERAL_STEPS: u64 = 3;

/// A line of the chain: its end, its time, and either one step or several that are alike.
enum Line<'a> {
    One(&'a PathStep),
    Many(&'a StepGroup),
}

impl Line<'_> {
    const fn end_ns(&self) -> i64 {
        match self {
            Self::One(step) => step.end_ns,
            Self::Many(group) => group.end_ns,
        }
    }

    const fn ns(&self) -> i64 {
        match self {
            Self::One(step) => step.duration_ns,
            Self::Many(group) => group.ns,
        }
    }

    const fn steps(&self) -> u64 {
        match self {
            Self::One(_) => 1,
            Self::Many(group) => group.count,
        }
    }
}

/// Whether steps are told as one: they are many, and none of them is most of the time.
fn is_told_as_one(group: &StepGroup) -> bool {
    let least = match group.kind {
        StepKind::Cpu | StepKind::Ready => MANY_STEPS,
        _ => SEVERAL_STEPS,
    };
    group.count >= least && group.longest_ns.saturating_mul(ONE_STEP) <= group.ns
}

fn is_of(group: &StepGroup, step: &PathStep) -> bool {
    let service = step.service.as_ref().map_or("", |service| service.name.as_str());
    group.kind == step.kind
        && group.thread.tid == step.thread.tid
        && group.thread.pid == step.thread.pid
        && group.detail == step.detail
        && group.service == service
        && (group.device == step.device || matches!(group.kind, StepKind::Cpu | StepKind::Ready))
}

/// The longest steps, from the end back; those of one kind to one thing are one line.
fn write_steps(stretch: &WhyStretch, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let path = &stretch.path;
    let groups: Vec<&StepGroup> = path.groups.iter().filter(|group| is_told_as_one(group)).collect();
    let alone = path.steps.iter().filter(|step| !groups.iter().any(|group| is_of(group, step)));
    let mut lines: Vec<Line<'_>> = alone.map(Line::One).chain(groups.iter().map(|group| Line::Many(group))).collect();
    let all = path.steps_left_out + path.steps.len() as u64;
    lines.sort_by_key(|line| std::cmp::Reverse(line.ns()));
    lines.truncate(options.steps);
    // What no clock of a person shows is no part of an answer.
    let least_ns = path.duration_ns / MIN_PATH_SHARE;
    lines.retain(|line| line.ns() >= least_ns);
    lines.sort_by_key(|line| std::cmp::Reverse(line.end_ns()));
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {QUIET}From the end back:{QUIET:#}")?;
    let width = |text: &str| text.chars().count();
    let rows: Vec<(String, String, &Line<'_>)> =
        lines.iter().map(|line| (clock(line.end_ns()), duration(line.ns()), line)).collect();
    let widest_time = rows.iter().map(|row| width(&row.0)).max().unwrap_or(0);
    let widest_length = rows.iter().map(|row| width(&row.1)).max().unwrap_or(0);
    for (time, length, line) in &rows {
        let said = match line {
            Line::One(step) => done(step),
            Line::Many(group) => sentence::group(group),
        };
        writeln!(out, "    {time:>widest_time$}  {length:>widest_length$}  {said}")?;
        let Line::One(step) = line else { continue };
        let indent = widest_time + widest_length + 10;
        for frame in step.stack.iter().take(options.frames) {
            writeln!(out, "{:indent$}{QUIET}{}{QUIET:#}", "", printable(&frame.label()))?;
        }
        if step.stack.len() > options.frames && options.frames > 0 {
            let more = step.stack.len() - options.frames;
            writeln!(out, "{:indent$}{QUIET}… {more} more{QUIET:#}", "")?;
        }
    }
    let shown_ns: i64 = lines.iter().map(Line::ns).sum();
    let others = all.saturating_sub(lines.iter().map(Line::steps).sum());
    if others > 0 {
        writeln!(
            out,
            "    {QUIET}and {}, {} together{QUIET:#}",
            counted(others, "shorter step"),
            duration(path.duration_ns.saturating_sub(shown_ns)),
        )?;
    }
    Ok(())
}

/// A time since the recording began, to the µs: chains are about short times.
fn clock(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let micros = ns.unsigned_abs() / 1000;
    format!("{sign}{}.{:06} s", micros / 1_000_000, micros % 1_000_000)
}

/// Records that were not there, and what chains are without them.
fn lacked(records: MissingRecords) -> &'static str {
    match records {
        MissingRecords::ContextSwitches => "context switches: without them no chain is known",
        MissingRecords::ReadyThreads => {
            "ready-thread events: without them chains end at the first wait that is neither sleep nor disk"
        }
        MissingRecords::Interrupts => {
            "interrupts and deferred procedure calls: without them timers and devices are hard to tell apart"
        }
        MissingRecords::DiskRequests => "disk requests: without them waits for files look like any other",
        other => other.as_str(),
    }
}
