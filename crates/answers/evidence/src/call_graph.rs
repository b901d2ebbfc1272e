//! Call graphs of slow initcalls and device callbacks, from recorded kernel function calls.

use std::cmp::Reverse;

use onoff_trace::{CallGraphFunction, CallGraphSubject, Trace};
use serde::Serialize;

/// Maximum number of graphs. Graphs of the longest work are kept.
pub const MAX_GRAPHS: usize = 32;

/// The functions called by one initcall or device callback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallGraph {
    pub subject: CallGraphSubject,
    /// Initcall or device.
    pub name: String,
    /// Module of the initcall, or driver of the device; empty if there is none.
    pub driver: String,
    /// Start of the work, ns.
    pub start_ns: i64,
    /// End of the work, ns; `None` if it did not finish in the recording.
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    /// The thread that did the work; calls of other threads are not included.
    pub tid: u32,
    /// Time not covered by any recorded call, ns; `None` if the work did not finish.
    pub unaccounted_ns: Option<i64>,
    /// Calls that did not return in the recording; they are not counted in the sums.
    pub unfinished: u64,
    /// The functions in call-tree order: each before its callees, slowest first.
    pub functions: Vec<CalledFunction>,
}

/// All calls of a function from one node of the call graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CalledFunction {
    /// Function name, or its address if the recording does not name it.
    pub function: String,
    /// Depth in the graph: 0 for functions called by the work itself.
    pub depth: u32,
    pub calls: u64,
    /// Calls that did not return in the recording.
    pub unfinished: u64,
    /// Inclusive time, ns.
    pub duration_ns: i64,
    /// Exclusive time, ns; callees are subtracted even if they are too short to be listed.
    pub own_ns: i64,
}

/// Returns the call graphs of all work of kind `subject`, longest first. Unfinished work comes before all others.
#[must_use]
pub fn call_graphs(trace: &Trace, subject: CallGraphSubject) -> Vec<CallGraph> {
    let mut graphs: Vec<CallGraph> = Vec::new();
    for row in trace.call_graph_functions.iter().filter(|row| row.subject == subject) {
        let is_same = |graph: &&mut CallGraph| {
            graph.start_ns == row.start_ns && graph.tid == row.tid && graph.end_ns == row.end_ns
        };
        let name = trace.text(row.name);
        match graphs.last_mut().filter(is_same).filter(|graph| graph.name == name) {
            Some(graph) => add_function(graph, trace, &row),
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
                add_function(&mut graph, trace, &row);
                graphs.push(graph);
            }
        }
    }
    graphs.sort_by_key(|graph| (Reverse(graph.duration_ns.unwrap_or(i64::MAX)), graph.start_ns));
    graphs
}

fn add_function(graph: &mut CallGraph, trace: &Trace, row: &CallGraphFunction) {
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
