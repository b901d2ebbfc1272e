//! The list verbs: `onoff processes`, `services`, `cpu`, `disk` and so on.

use onoff::{List, ListAnswer, ListError, ListQuery, QueryError, RangeError, Session};
use onoff_lists::cpu::CpuGroup;
use onoff_lists::functions::{CodeGroup, TimeKind};
use onoff_report::folded;
use onoff_report::speedscope;
use onoff_report::svg;
use onoff_report::text::quantity::duration;
use onoff_usage::functions::FunctionResolver;
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
    let (query, format) = table::resolve(table)?;
    Ok(list_invocation(list, recording, (query, table::without_picture(format)?), output))
}

fn list_invocation(
    list: List,
    recording: RecordingArguments,
    (query, format): (ListQuery, TableFormat),
    output: OutputArguments,
) -> Invocation {
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        run(recording, &list, (&query, format), destination)
    });
    invocation.single_recording().text_if(format == TableFormat::Text)
}

pub fn cpu(arguments: CpuArguments) -> Result<Invocation, Failure> {
    let CpuArguments { recording, group_by, time_kind, symbols, table, output } = arguments;
    // Without --of, `--by module` uses the CPU list, which has more columns.
    let module_as_code = |grouping| match grouping {
        Grouping::Key(CpuGroup::Module) if time_kind.is_some() => Grouping::Code(CodeGroup::Module),
        grouping => grouping,
    };
    let groupings = group_by.into_iter().map(module_as_code).collect();
    let groups = Groups { groupings, process: CpuGroup::Process, list: List::Cpu };
    let code =
        CodeOptions { time_kind: time_kind.unwrap_or(TimeKind::Samples), symbols, is_explicit: time_kind.is_some() };
    list_or_functions(groups, code, recording, table, output)
}

pub fn disk(arguments: DiskArguments) -> Result<Invocation, Failure> {
    let DiskArguments { recording, group_by, symbols, table, output } = arguments;
    let groups = Groups { groupings: group_by, process: Key::Process, list: List::Disk };
    let code = CodeOptions { time_kind: TimeKind::DiskRequests, symbols, is_explicit: false };
    list_or_functions(groups, code, recording, table, output)
}

pub fn hard_faults(arguments: HardFaultsArguments) -> Result<Invocation, Failure> {
    let HardFaultsArguments { recording, group_by, symbols, table, output } = arguments;
    let groups = Groups { groupings: group_by, process: Key::Process, list: List::HardFaults };
    let code = CodeOptions { time_kind: TimeKind::HardFaults, symbols, is_explicit: false };
    list_or_functions(groups, code, recording, table, output)
}

/// How a list is grouped.
struct Groups<K> {
    groupings: Vec<Grouping<K>>,
    /// The only key that can be combined with modules, functions or call stacks.
    process: K,
    /// Creates the list if all groupings are keys.
    list: fn(Vec<K>) -> List,
}

/// Options for lists grouped by code.
struct CodeOptions {
    time_kind: TimeKind,
    symbols: SymbolArguments,
    /// True if `--of` was passed, which is an error if the list does not use it.
    is_explicit: bool,
}

/// Builds a list that is grouped by keys, or by code and optionally by process. Pictures always show processes and call
/// stacks.
fn list_or_functions<K: Copy + PartialEq>(
    Groups { groupings, process, list }: Groups<K>,
    code: CodeOptions,
    recording: RecordingArguments,
    table: TableArguments,
    output: OutputArguments,
) -> Result<Invocation, Failure> {
    let usage_error = |message: &str| Err(Failure::usage(message));
    let (query, format) = table::resolve(table)?;
    let code_groups: Vec<CodeGroup> = groupings
        .iter()
        .filter_map(|&grouping| match grouping {
            Grouping::Code(group) => Some(group),
            Grouping::Key(key) => (key == process).then_some(CodeGroup::Process),
        })
        .collect();
    let has_code = groupings.iter().any(|grouping| matches!(grouping, Grouping::Code(_)));
    if !has_code && !format.is_picture() {
        if code.is_explicit {
            return usage_error("--of requires '--by module', 'function' or 'stack', or a flame graph format");
        }
        if code.symbols.symbols.is_some() {
            return usage_error("--symbols requires '--by function' or '--by stack'");
        }
        let keys = groupings.into_iter().filter_map(|grouping| match grouping {
            Grouping::Key(key) => Some(key),
            Grouping::Code(_) => None,
        });
        return Ok(list_invocation(list(keys.collect()), recording, (query, format), output));
    }
    let is_code = |group: &&CodeGroup| **group != CodeGroup::Process;
    if code_groups.len() < groupings.len() || code_groups.iter().filter(is_code).count() > 1 {
        return usage_error("--by: 'module', 'function', 'stack' and flame graphs can be combined with 'process' only");
    }
    let symbols = SymbolTask::resolve(code.symbols);
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        run_functions(recording, (code.time_kind, &code_groups), (&query, format), symbols, destination)
    });
    Ok(invocation.single_recording().text_if(format == TableFormat::Text))
}

fn run(
    recording: Recording,
    list: &List,
    (query, format): (&ListQuery, TableFormat),
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::query(recording, |session| session.list(list, query))?;
    let answer = answer.map_err(failure)?;
    write(&session, &answer, format, destination)
}

/// Writes the time by function, as a list or a flame graph.
fn run_functions(
    recording: Recording,
    (time_kind, groups): (TimeKind, &[CodeGroup]),
    (query, format): (&ListQuery, TableFormat),
    symbols: SymbolTask,
    destination: &Destination,
) -> Result<(), Failure> {
    let has_symbol_source = functions::has_source(&symbols);
    let mut resolve_names = functions::name_resolver(symbols);
    let name_functions = has_symbol_source.then_some(&mut resolve_names as FunctionResolver<'_>);
    if !format.is_picture() {
        let (session, answer) =
            super::query(recording, |session| session.functions(time_kind, groups, query, name_functions))?;
        return write(&session, &answer.map_err(failure)?, format, destination);
    }
    let (_, answer) = super::query(recording, |session| session.flame(time_kind, query, name_functions))?;
    let (flame, scope) = answer.map_err(failure)?;
    let (title, unit) = match time_kind {
        TimeKind::Samples => ("CPU time", "samples"),
        TimeKind::Waits => ("Wait time", "waits"),
        TimeKind::DiskRequests => ("Disk requests", "disk requests"),
        TimeKind::HardFaults => ("Hard faults", "hard faults"),
    };
    let (start, end) = (duration(scope.range.start_ns), duration(scope.range.end_ns));
    destination.write(|out| {
        match format {
            TableFormat::Folded => folded::write_flame(&flame, out)?,
            TableFormat::Speedscope => speedscope::write(&flame, title, out)?,
            _ => svg::flame::write(&flame, title, &format!("{unit}, {start} to {end}"), out)?,
        }
        Ok(())
    })
}

fn write(
    session: &Session,
    answer: &ListAnswer,
    format: TableFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    destination.write(|out| {
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

fn failure(error: QueryError<ListError>) -> Failure {
    match error {
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
