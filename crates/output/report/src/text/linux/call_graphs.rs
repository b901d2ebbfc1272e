//! Call graphs of slow initcalls, probes and device callbacks.

use onoff_evidence::call_graph::{CallGraph, CalledFunction};

use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration};
use crate::text::style::{DOUBT, MISSING, QUIET};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Number of graphs shown, slowest first.
const GRAPHS: usize = 3;

/// Maximum indentation of a function, in levels.
const MAX_INDENT: u32 = 16;

/// A graph or one of its functions.
#[derive(Clone, Copy)]
struct Row<'a> {
    graph: &'a CallGraph,
    function: Option<&'a CalledFunction>,
}

/// The slowest graphs, each with its `top` functions and their callers; `None` if there are none.
pub(super) fn section(graphs: &[CallGraph], top: usize) -> Option<Section<'_>> {
    if graphs.is_empty() {
        return None;
    }
    let shown = graphs.get(..GRAPHS).unwrap_or(graphs);
    let mut rows = Vec::new();
    for graph in shown {
        rows.push(Row { graph, function: None });
        rows.extend(longest(graph, top).into_iter().map(|function| Row { graph, function: Some(function) }));
    }
    let note = format!("kernel functions; slowest of {}", counted(graphs.len() as u64, "graph"));
    let section = Section::of("call_graphs", "Call graphs", rows)
        .note(note)
        .data("subject", |row| Value::text(row.graph.subject.as_str()))
        .data("name", |row| Value::text(&row.graph.name))
        .data("driver", |row| Value::text(&row.graph.driver))
        .data("start_ns", |row| Value::Time(row.graph.start_ns))
        .data("depth", |row| Value::of(row.function, |function| Value::Id(function.depth.into())))
        .name("function", "function", 64, |row| match row.function {
            Some(function) => {
                let indent = "  ".repeat((function.depth.min(MAX_INDENT) + 1) as usize);
                Cell::shown(Value::text(&function.function), format!("{indent}{}", printable(function_name(function))))
            }
            None => Cell::shown(Value::text(""), printable(&work(row.graph)).into_owned()),
        })
        .quantity("duration_ns", "duration", |row| match row.function {
            Some(function) => Cell::duration_or_dash(ended(function).then_some(function.duration_ns)),
            None => Cell::took(row.graph.duration_ns),
        })
        .quantity("own_ns", "self", |row| {
            Cell::duration_or_dash(row.function.filter(|function| ended(function)).map(|function| function.own_ns))
        })
        .data("calls", |row| Value::of(row.function, |function| Value::Count(function.calls)))
        .data("unfinished", |row| Value::of(row.function, |function| Value::Count(function.unfinished)))
        .name("", "", 40, |row| match row.function {
            Some(function) if function.unfinished > 0 => {
                Cell::words(MISSING, format!("{} without an end", counted(function.unfinished, "call")))
            }
            Some(function) if function.calls > 1 => Cell::words(QUIET, format!("{} calls", count(function.calls))),
            _ => Cell::words(QUIET, ""),
        })
        .build();
    let cut = shown.iter().any(|graph| graph.unfinished > 0).then_some(
        "Calls without an end have no duration; their time counts as self time of the callers. The tracer lost the end, or the trace ended first.",
    );
    let rest = shown.iter().filter_map(|graph| {
        let (rest_ns, whole_ns) = graph.unaccounted_ns.zip(graph.duration_ns)?;
        (rest_ns > whole_ns / 2).then(|| {
            format!(
                "{}: {} of {} in functions that were not traced.",
                graph.name,
                duration(rest_ns),
                duration(whole_ns)
            )
        })
    });
    let rest: Vec<String> = rest.collect();
    let rest = (!rest.is_empty()).then(|| printable(&rest.join(" ")).into_owned());
    Some(section.line_if(DOUBT, cut).line_if(QUIET, rest))
}

/// True if any of the calls ended.
fn ended(function: &CalledFunction) -> bool {
    function.unfinished < function.calls
}

fn function_name(function: &CalledFunction) -> &str {
    if function.function.is_empty() { "unnamed" } else { &function.function }
}

fn work(graph: &CallGraph) -> String {
    match (graph.name.as_str(), graph.driver.as_str()) {
        ("", "") => "unnamed".to_owned(),
        ("", driver) => driver.to_owned(),
        (name, "") => name.to_owned(),
        (name, driver) => format!("{name} ({driver})"),
    }
}

/// The functions with the most self time and those without an end, with their callers, in the order of the graph.
fn longest(graph: &CallGraph, top: usize) -> Vec<&CalledFunction> {
    let mut places: Vec<usize> = (0..graph.functions.len()).collect();
    places.sort_by_key(|&at| {
        let function = graph.functions.get(at);
        std::cmp::Reverse(function.map(|function| (function.unfinished > 0, function.own_ns)))
    });
    places.truncate(top);
    let mut kept = vec![false; graph.functions.len()];
    for at in places {
        // The caller is the nearest preceding function with a smaller depth.
        let mut depth = u32::MAX;
        for (function, kept) in graph.functions.iter().zip(&mut kept).take(at + 1).rev() {
            if function.depth < depth {
                depth = function.depth;
                *kept = true;
            }
        }
    }
    graph.functions.iter().zip(kept).filter_map(|(function, kept)| kept.then_some(function)).collect()
}
