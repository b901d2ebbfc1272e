//! What slow initialization functions and device callbacks spent their time in, where the recording has the kernel's calls.

use std::cmp::Reverse;

use onoff_trace::{CallGraphFunction, CallGraphSubject, Trace};
use serde::Serialize;

/// Graphs given at most, of the work that took longest.
pub const MAX_GRAPHS: usize = 32;

/// The functions that slow work on a device called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallGraph {
    /// What the work is.
    pub subject: CallGraphSubject,
    /// Initialization function, or device.
    pub name: String,
    /// Module of the function, or driver of the device; empty when there is none.
    pub driver: String,
    /// Begin of the work, ns.
    pub start_ns: i64,
    /// Its end, ns; `None` when it did not end in the recording.
    pub end_ns: Option<i64>,
    /// From the one to the other, ns.
    pub duration_ns: Option<i64>,
    /// Thread that did it: only its calls are here.
    pub tid: u32,
    /// Time of the work that none of the recorded calls accounts for, ns; `None` when the work has no end.
    pub unaccounted_ns: Option<i64>,
    /// Calls without an end in the recording; their time is not in the sums.
    pub unfinished: u64,
    /// The functions, each before those that it called, what took longest first.
    pub functions: Vec<CalledFunction>,
}

/// All calls of a function from one place of a call graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalledFunction {
    /// Function; its address where the recording does not name it.
    pub function: String,
    /// How deep in the graph: 0 for what the work itself called.
    pub depth: u32,
    /// Calls.
    pub calls: u64,
    /// Of these, without an end in the recording.
    pub unfinished: u64,
    /// Time with all that it called, ns.
    pub duration_ns: i64,
    /// The same without what it called, ns, whether that is listed or too small.
    pub own_ns: i64,
}

/// The graphs of all work of kind `subject`, longest first. What has no end comes before all.
#[must_use]
pub fn of_work(trace: &Trace, subject: CallGraphSubject) -> Vec<CallGraph> {
    let mut graphs: Vec<CallGraph> = Vec::new();
    for row in trace.call_graph_functions.iter().filter(|row| row.subject == subject) {
        let is_same = |graph: &&mut CallGraph| {
            graph.start_ns == row.start_ns && graph.tid == row.tid && graph.end_ns == row.end_ns
        };
        let name = trace.text(row.name);
        match graphs.last_mut().filter(is_same).filter(|graph| graph.name == name) {
            Some(graph) => add(graph, trace, &row),
            None => {
                let duration_ns = row.end_ns.map(|end| end.saturating_sub(row.start_ns).max(0));
                let mut graph = CallGraph {
                    subject,
                    name: name.to_owned(),
                    driver: trace.text(row.driver).to_owned(),
                    start_ns: row.start_ns,
                    end_ns: row.end_ns,
                    duration_ns,
                    tid: row.tid,
                    unaccounted_ns: duration_ns,
                    unfinished: 0,
                    functions: Vec::new(),
                };
                add(&mut graph, trace, &row);
                graphs.push(graph);
            }
        }
    }
    graphs.sort_by_key(|graph| (Reverse(graph.duration_ns.unwrap_or(i64::MAX)), graph.start_ns));
    graphs
}

fn add(graph: &mut CallGraph, trace: &Trace, row: &CallGraphFunction) {
    if row.depth == 0 {
        graph.unaccounted_ns = graph.unaccounted_ns.map(|ns| ns.saturating_sub(row.duration_ns).max(0));
    }
    graph.unfinished = graph.unfinished.saturating_add(row.unfinished);
    graph.functions.push(CalledFunction {
        function: trace.text(row.function).to_owned(),
        depth: row.depth,
        calls: row.calls,
        unfinished: row.unfinished,
        duration_ns: row.duration_ns,
        own_ns: row.own_ns,
    });
}
