//! Call graphs of slow initcalls, probes and device callbacks.

use onoff_evidence::call_graph::{CallGraph, CalledFunction};

use crate::text::printable::printable;
use crate::text::quantity::{count, counted, duration};
use crate::text::style::{DOUBT, MISSING, QUIET};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

/// Maximum number of graphs shown, slowest first.
const MAX_GRAPHS: usize = 3;

/// Maximum indentation of a function, in levels.
const MAX_INDENT: u32 = 16;

/// A graph or one of its functions.
#[derive(Clone, Copy)]
struct Row<'a> {
    graph: &'a CallGraph,
    function: Option<&'a CalledFunction>,
}

/// Returns the slowest graphs, each with its `top` functions and their callers; `None` if there are none.
pub(super) fn section(graphs: &[CallGraph], top: usize) -> Option<Section<'_>> {
    if graphs.is_empty() {
        return None;
    }
    let shown_graphs = graphs.get(..MAX_GRAPHS).unwrap_or(graphs);
    let mut rows = Vec::new();
    for graph in shown_graphs {
        rows.push(Row { graph, function: None });
        rows.extend(longest(graph, top).into_iter().map(|function| Row { graph, function: Some(function) }));
    }
    let note = format!("kernel functions; slowest of {}", counted(graphs.len() as u64, "graph"));
    let section = Section::builder("call_graphs", "Call graphs", rows)
        .note(note)
        .data("subject", |row| Value::text(row.graph.subject.as_str()))
        .data("name", |row| Value::text(&row.graph.name))
        .data("driver", |row| Value::text(&row.graph.driver))
        .data("start_ns", |row| Value::Time(row.graph.start_ns))
        .data("depth", |row| Value::from_option(row.function, |function| Value::Id(function.depth.into())))
        .name("function", "function", 64, |row| match row.function {
            Some(function) => {
                let indent = "  ".repeat((function.depth.min(MAX_INDENT) + 1) as usize);
                Cell::with_display_text(
                    Value::text(&function.function),
                    format!("{indent}{}", printable(function_name(function))),
                )
            }
            None => Cell::with_display_text(Value::text(""), printable(&graph_name(row.graph)).into_owned()),
        })
        .quantity("duration_ns", "duration", |row| match row.function {
            Some(function) => Cell::duration_or_dash(has_ended(function).then_some(function.duration_ns)),
            None => Cell::duration_or_unfinished(row.graph.duration_ns),
        })
        .quantity("own_ns", "self", |row| {
            Cell::duration_or_dash(row.function.filter(|function| has_ended(function)).map(|function| function.own_ns))
        })
        .data("calls", |row| Value::from_option(row.function, |function| Value::Count(function.calls)))
        .data("unfinished", |row| Value::from_option(row.function, |function| Value::Count(function.unfinished)))
        .name("", "", 40, |row| match row.function {
            Some(function) if function.unfinished > 0 => {
                Cell::text_only(MISSING, format!("{} without an end", counted(function.unfinished, "call")))
            }
            Some(function) if function.calls > 1 => Cell::text_only(QUIET, format!("{} calls", count(function.calls))),
            _ => Cell::text_only(QUIET, ""),
        })
        .build();
    let unfinished_note = shown_graphs.iter().any(|graph| graph.unfinished > 0).then_some(
        "Calls without an end have no duration; their time counts as self time of the callers. The tracer lost the end, or the trace ended first.",
    );
    let untraced = shown_graphs.iter().filter_map(|graph| {
        let (untraced_ns, total_ns) = graph.unaccounted_ns.zip(graph.duration_ns)?;
        (untraced_ns > total_ns / 2).then(|| {
            format!(
                "{}: {} of {} in functions that were not traced.",
                graph.name,
                duration(untraced_ns),
                duration(total_ns)
            )
        })
    });
    let untraced: Vec<String> = untraced.collect();
    let untraced_note = (!untraced.is_empty()).then(|| printable(&untraced.join(" ")).into_owned());
    Some(section.line_if(DOUBT, unfinished_note).line_if(QUIET, untraced_note))
}

/// True if any of the calls ended.
fn has_ended(function: &CalledFunction) -> bool {
    function.unfinished < function.calls
}

fn function_name(function: &CalledFunction) -> &str {
    if function.function.is_empty() { "unnamed" } else { &function.function }
}

fn graph_name(graph: &CallGraph) -> String {
    match (graph.name.as_str(), graph.driver.as_str()) {
        ("", "") => "unnamed".to_owned(),
        ("", driver) => driver.to_owned(),
        (name, "") => name.to_owned(),
        (name, driver) => format!("{name} ({driver})"),
    }
}

/// Returns the functions with the most self time and those without an end, with their callers, in graph order.
fn longest(graph: &CallGraph, top: usize) -> Vec<&CalledFunction> {
    let mut indices: Vec<usize> = (0..graph.functions.len()).collect();
    indices.sort_by_key(|&index| {
        let function = graph.functions.get(index);
        std::cmp::Reverse(function.map(|function| (function.unfinished > 0, function.own_ns)))
    });
    indices.truncate(top);
    let mut is_shown = vec![false; graph.functions.len()];
    for index in indices {
        // The caller is the nearest preceding function with a smaller depth.
        let mut depth = u32::MAX;
        for (function, is_shown) in graph.functions.iter().zip(&mut is_shown).take(index + 1).rev() {
            if function.depth < depth {
                depth = function.depth;
                *is_shown = true;
            }
        }
    }
    graph.functions.iter().zip(is_shown).filter_map(|(function, is_shown)| is_shown.then_some(function)).collect()
}
