//! Builds call graphs of slow initialization functions and device callbacks from the function_graph tracer.
//!
//! A call counts toward the work of the thread that made it, never toward concurrent work. Calls are summed as they
//! arrive: a function called from the same place is one row, so memory depends on the shape of the code and not on the
//! length of the trace.

use std::cmp::Reverse;

use hashbrown::HashMap;
use onoff_trace::{CallGraphFunction, CallGraphSubject, StringId, counters};

use crate::assembly::Assembly;

/// Minimum duration of slow work, ns.
const MIN_WORK_NS: i64 = 1_000_000;

/// A function is skipped if it took less than 1/200 of the work.
const MIN_SHARE_DIVISOR: i64 = 200;

/// Maximum call depth; the kernel's tracer stops at 50.
const MAX_DEPTH: usize = 64;

/// Maximum number of nodes in one graph.
const MAX_NODES: usize = 4096;

/// Maximum nesting of work in one thread.
const MAX_OPEN: usize = 8;

/// Maximum number of threads with open work.
const MAX_THREADS: usize = 4096;

/// Maximum number of rows in all graphs.
const MAX_ROWS: usize = 200_000;

counters! {
    CALLS_SKIPPED = "call_graph_calls_skipped", Notice, [CallGraphFunctions],
        "Calls in call graphs were skipped: too deep, or too many different functions; their time counts for the caller.";
    UNPAIRED = "call_graph_calls_unpaired", Notice, [CallGraphFunctions],
        "Calls in call graphs have no duration because their begin or end was not recorded; their time counts for the caller.";
    OVERRUN = "call_graph_overruns", Notice, [CallGraphFunctions],
        "Function calls deeper than the kernel's tracer records are missing from call graphs.";
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    /// Time on the axis.
    pub(super) time_ns: i64,
    /// Number of traced callers.
    pub(super) depth: u32,
    /// Duration according to the tracer, ns.
    pub(super) duration_ns: Option<u64>,
    /// Calls of the thread that were too deep, cumulative.
    pub(super) overrun: u64,
}

/// All calls of a function from the same place.
#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    function: StringId,
    calls: u64,
    unfinished: u64,
    duration_ns: i64,
    own_ns: i64,
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: usize,
    depth: u32,
    start_ns: i64,
    called_ns: i64,
}

/// An initialization function or device callback that has not returned.
#[derive(Debug)]
struct Work {
    subject: CallGraphSubject,
    name: StringId,
    driver: StringId,
    start_ns: i64,
    nodes: Vec<Node>,
    node_ids: HashMap<(Option<usize>, StringId), usize>,
    frames: Vec<Frame>,
    /// Depth of a skipped call; calls below it are skipped too.
    skipped_depth: Option<u32>,
}

/// Tracks the calls of every thread that works on a device.
#[derive(Debug, Default)]
pub(super) struct CallGraphTracker {
    threads: HashMap<u32, Vec<Work>>,
    /// Last overrun count of each thread.
    overruns: HashMap<u32, u64>,
}

impl CallGraphTracker {
    /// Starts work on a device in thread `tid`.
    pub(super) fn begin(
        &mut self,
        start_ns: i64,
        tid: u32,
        subject: CallGraphSubject,
        (name, driver): (StringId, StringId),
        assembly: &mut Assembly,
    ) {
        // Thread 0 is the idle thread of every processor.
        if tid == 0 || (self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&tid)) {
            return;
        }
        let stack = self.threads.entry(tid).or_default();
        if stack.len() >= MAX_OPEN {
            stack.remove(0).close(None, tid, assembly);
        }
        stack.push(Work {
            subject,
            name,
            driver,
            start_ns,
            nodes: Vec::new(),
            node_ids: HashMap::new(),
            frames: Vec::new(),
            skipped_depth: None,
        });
    }

    /// Ends the work with this name, or the latest of this kind.
    pub(super) fn end(
        &mut self,
        end_ns: i64,
        tid: u32,
        subject: CallGraphSubject,
        name: Option<StringId>,
        assembly: &mut Assembly,
    ) {
        let Some(stack) = self.threads.get_mut(&tid) else { return };
        let matches = |work: &Work| work.subject == subject && name.is_none_or(|name| work.name == name);
        if let Some(index) = stack.iter().rposition(matches) {
            stack.remove(index).close(Some(end_ns), tid, assembly);
        }
        if stack.is_empty() {
            self.threads.remove(&tid);
        }
    }

    pub(super) fn on_call(&mut self, time_ns: i64, tid: u32, function: &str, depth: u32, assembly: &mut Assembly) {
        let Some(work) = self.threads.get_mut(&tid).and_then(|stack| stack.last_mut()) else { return };
        let function = assembly.intern(function);
        work.on_call(time_ns, function, depth, assembly);
    }

    pub(super) fn on_return(&mut self, tid: u32, call_return: &Return, assembly: &mut Assembly) {
        let Some(work) = self.threads.get_mut(&tid).and_then(|stack| stack.last_mut()) else { return };
        if call_return.overrun > 0
            && (self.overruns.len() < MAX_THREADS || self.overruns.contains_key(&tid))
            && let Some(previous) = self.overruns.insert(tid, call_return.overrun)
        {
            assembly.losses.add(&OVERRUN, call_return.overrun.saturating_sub(previous));
        }
        work.on_return(call_return, assembly);
    }

    /// Closes work that is still open at the end of the trace, such as a callback that hung.
    pub(super) fn finish(self, assembly: &mut Assembly) {
        let mut threads: Vec<(u32, Vec<Work>)> = self.threads.into_iter().collect();
        threads.sort_by_key(|&(tid, _)| tid);
        for (tid, stack) in threads {
            for work in stack {
                work.close(None, tid, assembly);
            }
        }
    }
}

impl Work {
    fn on_call(&mut self, time_ns: i64, function: StringId, depth: u32, assembly: &mut Assembly) {
        // Calls at the same depth or deeper have returned; their end is missing.
        self.unwind(depth, assembly);
        if self.skipped_depth.is_some_and(|skipped_depth| depth > skipped_depth) {
            assembly.losses.add(&CALLS_SKIPPED, 1);
            return;
        }
        self.skipped_depth = None;
        let parent = self.frames.last().map(|frame| frame.node);
        let known_node = self.node_ids.get(&(parent, function)).copied();
        if self.frames.len() >= MAX_DEPTH || (known_node.is_none() && self.nodes.len() >= MAX_NODES) {
            assembly.losses.add(&CALLS_SKIPPED, 1);
            self.skipped_depth = Some(depth);
            return;
        }
        let node = known_node.unwrap_or_else(|| {
            self.node_ids.insert((parent, function), self.nodes.len());
            self.nodes.push(Node { parent, function, calls: 0, unfinished: 0, duration_ns: 0, own_ns: 0 });
            self.nodes.len() - 1
        });
        if let Some(node) = self.nodes.get_mut(node) {
            node.calls += 1;
        }
        self.frames.push(Frame { node, depth, start_ns: time_ns, called_ns: 0 });
    }

    fn on_return(&mut self, call_return: &Return, assembly: &mut Assembly) {
        if self.skipped_depth.is_some_and(|skipped_depth| call_return.depth >= skipped_depth) {
            self.skipped_depth = self.skipped_depth.filter(|&skipped_depth| call_return.depth > skipped_depth);
            return;
        }
        self.unwind(call_return.depth.saturating_add(1), assembly);
        let Some(frame) = self.frames.pop_if(|frame| frame.depth == call_return.depth) else {
            // The call was made before the work began, or its begin is missing.
            assembly.losses.add(&UNPAIRED, 1);
            return;
        };
        let passed_ns = call_return.time_ns.saturating_sub(frame.start_ns).max(0);
        let duration_ns = call_return.duration_ns.and_then(|ns| i64::try_from(ns).ok()).unwrap_or(passed_ns);
        if let Some(node) = self.nodes.get_mut(frame.node) {
            node.duration_ns = node.duration_ns.saturating_add(duration_ns);
            node.own_ns = node.own_ns.saturating_add(duration_ns.saturating_sub(frame.called_ns).max(0));
        }
        if let Some(caller) = self.frames.last_mut() {
            caller.called_ns = caller.called_ns.saturating_add(duration_ns);
        }
    }

    /// Drops open calls at `depth` or deeper; they have no end.
    fn unwind(&mut self, depth: u32, assembly: &mut Assembly) {
        while let Some(frame) = self.frames.pop_if(|frame| frame.depth >= depth) {
            assembly.losses.add(&UNPAIRED, 1);
            if let Some(node) = self.nodes.get_mut(frame.node) {
                node.unfinished += 1;
            }
        }
    }

    /// Adds the rows of the significant calls to `assembly`.
    fn close(mut self, end_ns: Option<i64>, tid: u32, assembly: &mut Assembly) {
        self.unwind(0, assembly);
        let duration_ns = end_ns.map(|end_ns| end_ns.saturating_sub(self.start_ns));
        if duration_ns.is_some_and(|ns| ns < MIN_WORK_NS) {
            return;
        }
        let min_ns = duration_ns.map_or(MIN_WORK_NS, |ns| ns / MIN_SHARE_DIVISOR);
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            match node.parent.and_then(|parent| children.get_mut(parent)) {
                Some(siblings) => siblings.push(index),
                None => roots.push(index),
            }
        }
        let is_significant = |node: &Node| node.unfinished > 0 || node.duration_ns >= min_ns;
        let sort_siblings = |node_ids: &mut Vec<usize>| {
            node_ids.retain(|&index| self.nodes.get(index).is_some_and(is_significant));
            // `pending` is popped from the end, so the longest call goes last.
            node_ids.sort_by_key(|&index| (self.nodes.get(index).map(|node| node.duration_ns), Reverse(index)));
        };
        sort_siblings(&mut roots);
        let mut pending: Vec<(usize, u32)> = roots.into_iter().map(|index| (index, 0)).collect();
        while let Some((index, depth)) = pending.pop() {
            let Some(node) = self.nodes.get(index) else { continue };
            if assembly.call_graph_functions.len() >= MAX_ROWS {
                assembly.losses.add(&CALLS_SKIPPED, node.calls);
                continue;
            }
            assembly.call_graph_functions.push(CallGraphFunction {
                subject: self.subject,
                name: self.name,
                driver: self.driver,
                start_ns: self.start_ns,
                end_ns,
                tid,
                function: node.function,
                depth,
                calls: node.calls,
                unfinished: node.unfinished,
                duration_ns: node.duration_ns,
                own_ns: node.own_ns,
            });
            if let Some(callees) = children.get_mut(index) {
                sort_siblings(callees);
                pending.extend(callees.iter().map(|&index| (index, depth + 1)));
            }
        }
    }
}
