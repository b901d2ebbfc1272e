//! The text report of `why`: the attribution of the time, then the critical path, backwards.

pub mod account;
mod logged_facts;
mod sentence;

use std::io::{self, Write};

use anstyle::Style;
use onoff_blame::account::has_no_path;
use onoff_blame::waits::{PathShare, PathStep, PathThread, StepGroup, StepKind};
use onoff_blame::why::{ExplainedInterval, ExplainedIntervalKind, WhyReport};
use onoff_evidence::missing_evidence::MissingRecords;

use super::losses;
use super::phases::display_name;
use super::printable::printable;
use super::quantity::{count, counted, duration};
use super::style::{DOUBT, QUIET, WORST};
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;
use sentence::{chain, step_sentence, thread};

/// Maximum number of missing PDB files named.
const MAX_FILES: usize = 6;

/// Names a thread with its process: `thread 44 of System (4)`.
#[must_use]
pub fn thread_name(named: &PathThread) -> String {
    thread(named)
}

/// Describes a step of a critical path in a sentence.
#[must_use]
pub fn step(step: &PathStep) -> String {
    step_sentence(step)
}

/// Limits on what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhyTextOptions {
    /// Rows of the tables of subjects and states.
    pub shares: usize,
    /// Steps per critical path, longest first.
    pub steps: usize,
    /// Frames per call stack.
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
/// Returns errors from `out`.
pub fn write(report: &WhyReport, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    if !report.logged_facts.is_empty() {
        logged_facts::write(&report.logged_facts, out)?;
        writeln!(out)?;
        return losses::write(&report.losses, out);
    }
    for (index, interval) in report.intervals.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_interval(interval, options, out)?;
    }
    let shown_count = report.intervals.len() as u64;
    writeln!(out)?;
    if report.found > shown_count {
        writeln!(out, "{QUIET}{} more not shown; use --top to show more.{QUIET:#}", count(report.found - shown_count))?;
    }
    if report.omitted_work_waits > 0 {
        writeln!(
            out,
            "{QUIET}{} for work items ({}) not shown, because those threads were idle. Use --idle to include them.{QUIET:#}",
            counted(report.omitted_work_waits, "wait"),
            duration(report.omitted_work_waits_ns),
        )?;
    }
    for &records in &report.missing_evidence {
        writeln!(out, "{DOUBT}Not recorded: {}.{DOUBT:#}", missing_records(records))?;
    }
    if !report.unexplained.is_empty() {
        let names: Vec<String> = report
            .unexplained
            .iter()
            .map(|interval| match interval.kind {
                ExplainedIntervalKind::Service => format!("the {} of {}", interval.action, interval.name),
                _ => interval.name.clone(),
            })
            .collect();
        let list = names.join(", ");
        let list = printable(&list);
        writeln!(out, "{DOUBT}Not recorded: context switches in {list}, so there is no critical path.{DOUBT:#}")?;
    }
    for missing in report.missing_symbols.iter().take(MAX_FILES) {
        writeln!(out, "{QUIET}No function names: {}.{QUIET:#}", printable(missing))?;
    }
    let hidden = report.missing_symbols.len().saturating_sub(MAX_FILES);
    if hidden > 0 {
        let files = counted(hidden as u64, "more PDB file");
        writeln!(out, "{QUIET}No function names for {files} (see the JSON output).{QUIET:#}")?;
    }
    losses::write(&report.losses, out)
}

fn write_interval(interval: &ExplainedInterval, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let path = &interval.path;
    let title = title(interval);
    let (start, end) = (clock(interval.start_ns), clock(interval.end_ns));
    let duration_sentence = match interval.account.is_truncated {
        true => format!(
            "{title} took at least {}, from {start} to {end}: the recording ended before the computer was idle",
            duration(interval.duration_ns)
        ),
        false => format!("{title} took {}, from {start} to {end}", duration(interval.duration_ns)),
    };
    if interval.end_ns <= 0 && interval.duration_ns > 0 {
        // Context switches are recorded only after the kernel clock starts.
        return writeln!(out, "{duration_sentence}; details are not in the recording.");
    }
    account::write_headline(interval, &title, out)?;
    writeln!(out, "{duration_sentence}")?;
    if interval.kind == ExplainedIntervalKind::Phase && has_no_path(&interval.name) {
        // Nothing waits in such a phase, so there is no path: only the busy time can be attributed.
        account::write_entries(&interval.account, options.shares, out)?;
        return losses::write_affecting(&path.affecting_losses, out);
    }
    if let Some((share, step)) = largest_share(interval) {
        let (ns, chain) = (duration(share.ns), chain(step));
        writeln!(out, "  {WORST}{ns}{WORST:#}: {chain}")?;
    }
    if interval.kind != ExplainedIntervalKind::Wait {
        let rule = path.end_rule.to_string();
        let rule = printable(&rule);
        let certainty = path.end_certainty.as_str();
        let ended_by = match (path.end_thread.tid, rule.strip_prefix("the thread that ")) {
            (0, _) => format!("end unknown: {}", rule.strip_prefix("no rule: ").unwrap_or(&rule)),
            (_, Some(action)) => format!("ended by {}, which {action} ({certainty})", thread(&path.end_thread)),
            (_, None) => format!("ended by {}: {rule} ({certainty})", thread(&path.end_thread)),
        };
        writeln!(out, "  {QUIET}{ended_by}{QUIET:#}")?;
    }
    account::write_entries(&interval.account, options.shares, out)?;
    write_shares(interval, options, out)?;
    write_services(interval, options, out)?;
    write_steps(interval, options, out)?;
    if path.missing_ns > 0 {
        writeln!(out, "  {DOUBT}Unattributed: {}.{DOUBT:#}", duration(path.missing_ns))?;
    }
    losses::write_affecting(&path.affecting_losses, out)
}

/// Returns the largest share of the time and its longest step.
fn largest_share(interval: &ExplainedInterval) -> Option<(&PathShare, &PathStep)> {
    let share = interval.path.shares.first()?;
    let belongs = |step: &&PathStep| {
        let is_same_subject = match share.pid {
            Some(_) => step.thread.process == share.name && step.thread.pid == share.pid,
            None => match (&step.service, step.kind) {
                (Some(service), StepKind::ServiceDependency) => service.name == share.name,
                _ => step.detail == share.name || step.detail.is_empty(),
            },
        };
        step.kind == share.kind && is_same_subject
    };
    let steps = interval.path.steps.iter().filter(belongs);
    Some((share, steps.max_by_key(|step| step.duration_ns)?))
}

fn title(interval: &ExplainedInterval) -> String {
    match (&interval.thread, interval.kind) {
        (Some(owner), _) if interval.action.is_empty() => format!("A wait of {}", thread(owner)),
        (Some(owner), _) => format!("A wait of {} ({})", thread(owner), interval.action),
        (None, ExplainedIntervalKind::Service) if interval.action == "wait" => {
            format!("The wait for service {} to start", printable(&interval.name))
        }
        (None, ExplainedIntervalKind::Service) => {
            format!("The {} of service {}", interval.action, printable(&interval.name))
        }
        (None, ExplainedIntervalKind::Device) => {
            format!("{} of {}", interval.action, printable(&interval.name))
        }
        (None, _) => format!("{} ({})", display_name(&interval.name), interval.action),
    }
}

fn write_shares(interval: &ExplainedInterval, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let shares = &interval.path.shares;
    let (shown, hidden) = shares.split_at(options.shares.min(shares.len()));
    let hidden_ns: i64 = hidden.iter().map(|row| row.ns).sum();
    let rest_row = Some((hidden_ns, None)).filter(|_| hidden_ns > 0);
    let section = Section::builder("shares", "", shown.iter().map(|share| (share.ns, Some(share))).chain(rest_row))
        .quantity("ns", "time", |row| Value::Duration(row.0))
        .quantity("percent", "share", |row| Value::from_option(row.1, |share| Value::Percent(share.percent)))
        .name("kind", "state", 24, |row| match row.1 {
            Some(share) => Value::text(state(share.kind)).into(),
            None => Cell::text_only(QUIET, format!("{} more", hidden.len())),
        })
        .name("name", "thread", 70, |row| Value::from_option(row.1, |share| Value::Text(share_name(share).into())));
    section::text::write(&section.build(), out)
}

/// Writes the longest waits for services, latest first.
fn write_services(interval: &ExplainedInterval, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let services = &interval.path.services;
    let mut longest: Vec<i64> = services.iter().map(|row| row.ns).collect();
    longest.sort_by_key(|&ns| std::cmp::Reverse(ns));
    let min_ns = longest.get(options.shares.saturating_sub(1)).copied();
    let shown_services: Vec<_> =
        services.iter().rev().filter(|row| row.ns >= min_ns.unwrap_or(0)).take(options.shares).collect();
    if shown_services.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {QUIET}Services waited for, latest first:{QUIET:#}")?;
    let sum_ns = |rows: &mut dyn Iterator<Item = i64>| rows.fold(0, i64::saturating_add);
    let total_ns = sum_ns(&mut services.iter().map(|row| row.ns));
    let hidden_ns = total_ns.saturating_sub(sum_ns(&mut shown_services.iter().map(|row| row.ns)));
    let hidden_count = services.len().saturating_sub(shown_services.len());
    let rest_row = Some((hidden_ns, None)).filter(|_| hidden_count > 0);
    let section =
        Section::builder("services", "", shown_services.iter().map(|row| (row.ns, Some(&row.service))).chain(rest_row))
            .quantity("ns", "time", |row| Value::Duration(row.0))
            .time("", "start", |row| {
                Cell::text_only(Style::new(), row.1.map(|service| clock(service.start_ns)).unwrap_or_default())
            })
            .time("", "ready", |row| {
                let ready = row.1.map(|service| service.ready_ns.map_or_else(|| "-".to_owned(), clock));
                Cell::text_only(Style::new(), ready.unwrap_or_default())
            })
            .name("name", "service", 60, |row| match row.1 {
                Some(service) if service.change.as_str() == "start" => Value::text(&service.name).into(),
                Some(service) => Value::Text(format!("{} ({})", service.name, service.change).into()).into(),
                None => Cell::text_only(QUIET, format!("{hidden_count} more")),
            });
    section::text::write(&section.build(), out)
}

/// Returns the state of a thread in a step.
#[must_use]
pub(crate) const fn state(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Cpu => "running",
        StepKind::Ready => "waiting for a CPU",
        StepKind::Disk => "waiting for a disk",
        StepKind::Timer => "waiting for a timer",
        StepKind::Device => "waiting for a device",
        StepKind::ServiceDependency => "waiting for a service",
        StepKind::Other => "unknown",
    }
}

fn share_name(share: &PathShare) -> String {
    match (share.kind, share.name.is_empty(), share.pid) {
        (StepKind::Device, true, _) => "driver code outside any module".to_owned(),
        (_, true, None) => "an unknown process".to_owned(),
        (_, true, Some(pid)) => format!("process {pid}"),
        (_, false, Some(pid)) => format!("{} ({pid})", share.name),
        (_, false, None) => share.name.clone(),
    }
}

/// Steps are grouped only if the longest takes at most this fraction of the sum: one half.
const MAX_STEP_DIVISOR: i64 = 2;
/// Minimum number of running or ready steps to be grouped.
const MIN_GROUPED_RUNS: u64 = 10;
/// Minimum number of other steps to be grouped.
const MIN_GROUPED_WAITS: u64 = 3;
/// Lines shorter than this fraction of the path are only counted in the sum: one ten-thousandth.
const MIN_SHARE_DIVISOR: i64 = 10_000;

/// A line of the critical path: one step, or a group of similar ones.
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

/// True if the steps share one line: there are many of them, and none takes most of the time.
fn is_one_line(group: &StepGroup) -> bool {
    let min_count = match group.kind {
        StepKind::Cpu | StepKind::Ready => MIN_GROUPED_RUNS,
        _ => MIN_GROUPED_WAITS,
    };
    group.count >= min_count && group.longest_ns.saturating_mul(MAX_STEP_DIVISOR) <= group.ns
}

fn contains(group: &StepGroup, step: &PathStep) -> bool {
    let service = step.service.as_ref().map_or("", |service| service.name.as_str());
    group.kind == step.kind
        && group.thread.tid == step.thread.tid
        && group.thread.pid == step.thread.pid
        && group.detail == step.detail
        && group.service == service
        && (group.device == step.device || matches!(group.kind, StepKind::Cpu | StepKind::Ready))
}

/// Writes the longest steps, backwards, with similar ones in one line.
fn write_steps(interval: &ExplainedInterval, options: &WhyTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let path = &interval.path;
    let groups: Vec<&StepGroup> = path.groups.iter().filter(|group| is_one_line(group)).collect();
    let ungrouped = path.steps.iter().filter(|step| !groups.iter().any(|group| contains(group, step)));
    let mut lines: Vec<Line<'_>> =
        ungrouped.map(Line::One).chain(groups.iter().map(|group| Line::Many(group))).collect();
    let total = path.omitted_steps + path.steps.len() as u64;
    lines.sort_by_key(|line| std::cmp::Reverse(line.ns()));
    lines.truncate(options.steps);
    let min_ns = path.duration_ns / MIN_SHARE_DIVISOR;
    lines.retain(|line| line.ns() >= min_ns);
    lines.sort_by_key(|line| std::cmp::Reverse(line.end_ns()));
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {QUIET}Critical path, backwards:{QUIET:#}")?;
    let width = |text: &str| text.chars().count();
    let rows: Vec<(String, String, &Line<'_>)> =
        lines.iter().map(|line| (clock(line.end_ns()), duration(line.ns()), line)).collect();
    let widest_time = rows.iter().map(|row| width(&row.0)).max().unwrap_or(0);
    let widest_length = rows.iter().map(|row| width(&row.1)).max().unwrap_or(0);
    for (time, length, line) in &rows {
        let sentence = match line {
            Line::One(step) => step_sentence(step),
            Line::Many(group) => sentence::group(group),
        };
        writeln!(out, "    {time:>widest_time$}  {length:>widest_length$}  {sentence}")?;
        let Line::One(step) = line else { continue };
        let indent = widest_time + widest_length + 10;
        for frame in step.stack.iter().take(options.frames) {
            writeln!(out, "{:indent$}{QUIET}{}{QUIET:#}", "", printable(&frame.label()))?;
        }
        if step.stack.len() > options.frames && options.frames > 0 {
            let hidden_frames = step.stack.len() - options.frames;
            writeln!(out, "{:indent$}{QUIET}… {hidden_frames} more{QUIET:#}", "")?;
        }
    }
    let shown_ns: i64 = lines.iter().map(Line::ns).sum();
    let others = total.saturating_sub(lines.iter().map(Line::steps).sum());
    if others > 0 {
        writeln!(
            out,
            "    {QUIET}and {}, {} in total{QUIET:#}",
            counted(others, "shorter step"),
            duration(path.duration_ns.saturating_sub(shown_ns)),
        )?;
    }
    Ok(())
}

/// Formats a time since the start of the recording to the microsecond, because steps can be short.
fn clock(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let micros = ns.unsigned_abs() / 1000;
    format!("{sign}{}.{:06} s", micros / 1_000_000, micros % 1_000_000)
}

/// Describes missing records and what that means for critical paths.
fn missing_records(records: MissingRecords) -> &'static str {
    match records {
        MissingRecords::ContextSwitches => "context switches, which critical paths need",
        MissingRecords::ReadyThreads => {
            "ready-thread events. Without them, paths end at the first wait that is for neither a timer nor a disk"
        }
        MissingRecords::Interrupts => {
            "interrupts and DPCs. Without them, waits for timers and for devices are hard to tell apart"
        }
        MissingRecords::DiskRequests => "disk requests. Without them, waits for files look like any other wait",
        records => records.as_str(),
    }
}
