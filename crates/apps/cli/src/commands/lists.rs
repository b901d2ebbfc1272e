//! The list verbs: `onoff processes`, `services`, `cpu`, `disk` and so on.

use onoff::{List, ListAnswer, ListError, ListQuery, QueryError, RangeError, Session};
use onoff_lists::cpu::CpuGroup;
use onoff_lists::functions::{CodeGroup, TimeKind};
use onoff_report::folded;
use onoff_report::speedscope;
use onoff_report::svg;
use onoff_report::text::quantity::duration;
use onoff_usage::storage::Key;

use super::symbols::SymbolTask;
use super::{functions, table};
use crate::arguments::cpu::CpuArguments;
use crate::arguments::storage::{DiskArguments, Grouping, HardFaultsArguments};
use crate::arguments::symbols::SymbolArguments;
use crate::arguments::table::{TableArguments, TableFormat};
use crate::arguments::{OutputArguments, RecordingArguments};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(
    list: List,
    recording: RecordingArguments,
    table: TableArguments,
    output: OutputArguments,
) -> Result<Invocation, Failure> {
    let (question, format) = table::resolve(table)?;
    Ok(listed(list, recording, (question, table::without_picture(format)?), output))
}

fn listed(
    list: List,
    recording: RecordingArguments,
    (question, format): (ListQuery, TableFormat),
    output: OutputArguments,
) -> Invocation {
    let invocation =
        Invocation::new(recording, output, move |recording, to| run(recording, &list, (&question, format), to));
    invocation.single_recording().text_if(format == TableFormat::Text)
}

pub fn cpu(it: CpuArguments) -> Result<Invocation, Failure> {
    // Without --of, `--by module` uses the CPU list, which has more columns.
    let of_code = |by| match by {
        Grouping::Key(CpuGroup::Module) if it.of.is_some() => Grouping::Code(CodeGroup::Module),
        by => by,
    };
    let by = it.by.into_iter().map(of_code).collect();
    let groups = Groups { by, process: CpuGroup::Process, list: List::Cpu };
    let code = Code { of: it.of.unwrap_or(TimeKind::Samples), symbols: it.symbols, is_chosen: it.of.is_some() };
    list_or_functions(groups, code, it.recording, it.table, it.output)
}

pub fn disk(it: DiskArguments) -> Result<Invocation, Failure> {
    let groups = Groups { by: it.by, process: Key::Process, list: List::Disk };
    let code = Code { of: TimeKind::DiskRequests, symbols: it.symbols, is_chosen: false };
    list_or_functions(groups, code, it.recording, it.table, it.output)
}

pub fn hard_faults(it: HardFaultsArguments) -> Result<Invocation, Failure> {
    let groups = Groups { by: it.by, process: Key::Process, list: List::HardFaults };
    let code = Code { of: TimeKind::HardFaults, symbols: it.symbols, is_chosen: false };
    list_or_functions(groups, code, it.recording, it.table, it.output)
}

/// The groups of a list.
struct Groups<K> {
    by: Vec<Grouping<K>>,
    /// The only key that can be combined with code.
    process: K,
    /// Creates the list for groups that are all keys.
    list: fn(Vec<K>) -> List,
}

/// Options for lists grouped by code.
struct Code {
    of: TimeKind,
    symbols: SymbolArguments,
    /// `of` was given on the command line, so ignoring it is an error.
    is_chosen: bool,
}

/// Builds a list that is grouped by keys, or by code and optionally process. Pictures always show processes and call
/// stacks.
fn list_or_functions<K: Copy + PartialEq>(
    Groups { by, process, list }: Groups<K>,
    code: Code,
    recording: RecordingArguments,
    table: TableArguments,
    output: OutputArguments,
) -> Result<Invocation, Failure> {
    let usage_error = |message: &str| Err(Failure::usage(message));
    let (question, format) = table::resolve(table)?;
    let groups: Vec<CodeGroup> = by
        .iter()
        .filter_map(|&by| match by {
            Grouping::Code(group) => Some(group),
            Grouping::Key(key) => (key == process).then_some(CodeGroup::Process),
        })
        .collect();
    let has_code = by.iter().any(|by| matches!(by, Grouping::Code(_)));
    if !has_code && !format.is_picture() {
        if code.is_chosen {
            return usage_error("--of requires '--by module', 'function' or 'stack', or a flame graph format");
        }
        if code.symbols.symbols.is_some() {
            return usage_error("--symbols requires '--by function' or '--by stack'");
        }
        let keys = by.into_iter().filter_map(|by| match by {
            Grouping::Key(key) => Some(key),
            Grouping::Code(_) => None,
        });
        return Ok(listed(list(keys.collect()), recording, (question, format), output));
    }
    if groups.len() < by.len() || groups.iter().filter(|&&group| group != CodeGroup::Process).count() > 1 {
        return usage_error("--by: 'module', 'function', 'stack' and flame graphs can be combined with 'process' only");
    }
    let symbols = SymbolTask::resolve(code.symbols);
    let invocation = Invocation::new(recording, output, move |recording, to| {
        run_functions(recording, (code.of, &groups), (&question, format), symbols, to)
    });
    Ok(invocation.single_recording().text_if(format == TableFormat::Text))
}

fn run(
    recording: Recording,
    list: &List,
    (question, format): (&ListQuery, TableFormat),
    to: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::ask(recording, |session| session.list(list, question))?;
    let answer = answer.map_err(failure)?;
    write(&session, &answer, format, to)
}

/// Writes the time by function, as a list or a flame graph.
fn run_functions(
    recording: Recording,
    (of, by): (TimeKind, &[CodeGroup]),
    (question, format): (&ListQuery, TableFormat),
    symbols: SymbolTask,
    to: &Destination,
) -> Result<(), Failure> {
    let mut name = functions::names(symbols);
    if !format.is_picture() {
        let (session, answer) = super::ask(recording, |session| session.functions(of, by, question, &mut name))?;
        return write(&session, &answer.map_err(failure)?, format, to);
    }
    let (_, answer) = super::ask(recording, |session| session.flame(of, question, &mut name))?;
    let (flame, scope) = answer.map_err(failure)?;
    let (title, what) = match of {
        TimeKind::Samples => ("CPU time", "samples"),
        TimeKind::Waits => ("Wait time", "waits"),
        TimeKind::DiskRequests => ("Disk requests", "disk requests"),
        TimeKind::HardFaults => ("Hard faults", "hard faults"),
    };
    let (from, until) = (duration(scope.range.start_ns), duration(scope.range.end_ns));
    to.write(|out| {
        match format {
            TableFormat::Folded => folded::write_flame(&flame, out)?,
            TableFormat::Speedscope => speedscope::write(&flame, title, out)?,
            _ => svg::flame::write(&flame, title, &format!("{what}, {from} to {until}"), out)?,
        }
        Ok(())
    })
}

fn write(session: &Session, answer: &ListAnswer, format: TableFormat, to: &Destination) -> Result<(), Failure> {
    to.write(|out| {
        match format {
            TableFormat::Text => answer.write_text(out)?,
            TableFormat::Html => answer.write_html(out)?,
            TableFormat::Json => answer.write_json(&[session.provenance()?], out)?,
            // Pictures are written by `run_functions`.
            _ => answer.write_csv(out)?,
        }
        Ok(())
    })
}

fn failure(refusal: QueryError<ListError>) -> Failure {
    match refusal {
        QueryError::Unreadable(error) => error.into(),
        QueryError::Unanswerable(ListError::Column(error)) => Failure::usage(format!("--sort: {error}")),
        QueryError::Unanswerable(error @ ListError::NotPerProcess(_)) => Failure::usage(format!("--process: {error}")),
        QueryError::Unanswerable(ListError::Phase(error)) => Failure::NoData(error.to_string()),
        QueryError::Unanswerable(ListError::Range(error @ RangeError::Order { .. })) => {
            Failure::usage(format!("--range: {error}"))
        }
        QueryError::Unanswerable(ListError::Range(error)) => Failure::no_data(format!("--range: {error}")),
        QueryError::Unanswerable(ListError::NoRows(message)) => Failure::NoData(message),
    }
}
