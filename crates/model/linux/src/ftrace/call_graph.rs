//! What slow initialization functions and device callbacks called, by the function_graph tracer.
//!
//! A function belongs to the work of the thread that called it, never to work that only goes on at the same time. Calls are
//! summed as they come: the same function called from the same place is one row, so that memory is bounded by the shape of the code and
//! not by the length of the trace.

use std::cmp::Reverse;

use hashbrown::HashMap;
use onoff_trace::{CallGraphFunction, CallGraphSubject, StringId, counters};

use crate::assembly::Assembly;

/// Work that takes less is not slow, ns.
const SLOW_NS: i64 = 1_000_000;

/// A function is left out where it took a smaller part of the work than one in this many.
const MIN_PART_SIZE: i64 = 200;

/// Functions under way at a time in one thread; the kernel's tracer ends at 50.
const MAX_DEPTH: usize = 64;

/// Functions of one graph, by their places in it.
const MAX_FUNCTIONS: usize = 4096;

/// Work of one thread that is open at a time.
const MAX_OPEN: usize = 8;

/// Threads with open work.
const MAX_THREADS: usize = 4096;

/// Rows of all graphs together.
const MAX_ROWS: usize = 200_000;

counters! {
    LEFT_OUT = "call_graph_calls_left_out", Notice, [CallGraphFunctions],
        "calls in call graphs that are too deep, or of too many different functions, were left out: their time is their callers' own";
    UNPAIRED = "call_graph_calls_unpaired", Notice, [CallGraphFunctions],
        "calls in call graphs whose begin or end is not in the trace have no time: it is their callers' own";
    OVERRUN = "call_graph_overruns", Notice, [CallGraphFunctions],
        "functions were called deeper than the kernel's tracer goes, and are not in call graphs";
}

/// A function that returns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return {
    /// When, on the axis.
    pub(super) time_ns: i64,
    /// How many traced functions it was called from.
    pub(super) depth: u32,
    /// How long it took by the tracer, ns.
    pub(super) duration_ns: Option<u64>,
    /// Functions of the thread that were too deep, so far.
    pub(super) overrun: u64,
}

/// All calls of one function from one place.
#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    function: StringId,
    calls: u64,
    unfinished: u64,
    duration_ns: i64,
    own_ns: i64,
}

/// A call under way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: usize,
    depth: u32,
    start_ns: i64,
    called_ns: i64,
}

/// Work under way.
#[derive(Debug)]
struct Work {
    subject: CallGraphSubject,
    name: StringId,
    driver: StringId,
    start_ns: i64,
    nodes: Vec<Node>,
    places: HashMap<(Option<usize>, StringId), usize>,
    frames: Vec<Frame>,
    /// Calls within one that was left out are left out too: its depth.
    left_out_at: Option<u32>,
}

/// Follows the calls of every thread that works on a device.
#[derive(Debug, Default)]
pub(super) struct CallGraphTracker {
    threads: HashMap<u32, Vec<Work>>,
    /// The tracer's last count of each thread, of threads that it is known of.
    overruns: HashMap<u32, u64>,
}

impl CallGraphTracker {
    /// Work on a device, `who` by its name and its driver, begins in thread `tid`.
    pub(super) fn begin(
        &mut self,
        start_ns: i64,
        tid: u32,
        subject: CallGraphSubject,
        (name, driver): (StringId, StringId),
        assembly: &mut Assembly,
    ) {
        // Number 0 is the idle thread of every processor.
        if tid == 0 || (self.threads.len() >= MAX_THREADS && !self.threads.contains_key(&tid)) {
            return;
        }
        let open = self.threads.entry(tid).or_default();
        if open.len() >= MAX_OPEN {
            open.remove(0).close(None, tid, assembly);
        }
        open.push(Work {
            subject,
            name,
            driver,
            start_ns,
            nodes: Vec::new(),
            places: HashMap::new(),
            frames: Vec::new(),
            left_out_at: None,
        });
    }

    /// Work of that name, or the last of that kind, ends.
    pub(super) fn end(
        &mut self,
        end_ns: i64,
        tid: u32,
        subject: CallGraphSubject,
        name: Option<StringId>,
        assembly: &mut Assembly,
    ) {
        let Some(open) = self.threads.get_mut(&tid) else { return };
        let is_it = |work: &Work| work.subject == subject && name.is_none_or(|name| work.name == name);
        if let Some(at) = open.iter().rposition(is_it) {
            open.remove(at).close(Some(end_ns), tid, assembly);
        }
        if open.is_empty() {
            self.threads.remove(&tid);
        }
    }

    pub(super) fn on_call(&mut self, time_ns: i64, tid: u32, function: &str, depth: u32, assembly: &mut Assembly) {
        let Some(work) = self.threads.get_mut(&tid).and_then(|open| open.last_mut()) else { return };
        let function = assembly.text(function);
        work.on_call(time_ns, function, depth, assembly);
    }

    pub(super) fn on_return(&mut self, tid: u32, end: &Return, assembly: &mut Assembly) {
        let Some(work) = self.threads.get_mut(&tid).and_then(|open| open.last_mut()) else { return };
        if end.overrun > 0
            && (self.overruns.len() < MAX_THREADS || self.overruns.contains_key(&tid))
            && let Some(before) = self.overruns.insert(tid, end.overrun)
        {
            assembly.losses.add(&OVERRUN, end.overrun.saturating_sub(before));
        }
        work.on_return(end, assembly);
    }

    /// What is still under way at the trace's end: a callback that hung is among it.
    pub(super) fn finish(self, assembly: &mut Assembly) {
        let mut threads: Vec<(u32, Vec<Work>)> = self.threads.into_iter().collect();
        threads.sort_by_key(|&(tid, _)| tid);
        for (tid, open) in threads {
            for work in open {
                work.close(None, tid, assembly);
            }
        }
    }
}

impl Work {
    fn on_call(&mut self, time_ns: i64, function: StringId, depth: u32, assembly: &mut Assembly) {
        // What is as deep or deeper has returned, and its end is missing.
        self.unwind(depth, assembly);
        if self.left_out_at.is_some_and(|at| depth > at) {
            assembly.losses.add(&LEFT_OUT, 1);
            return;
        }
        self.left_out_at = None;
        let parent = self.frames.last().map(|frame| frame.node);
        let known = self.places.get(&(parent, function)).copied();
        if self.frames.len() >= MAX_DEPTH || (known.is_none() && self.nodes.len() >= MAX_FUNCTIONS) {
            assembly.losses.add(&LEFT_OUT, 1);
            self.left_out_at = Some(depth);
            return;
        }
        let node = known.unwrap_or_else(|| {
            self.places.insert((parent, function), self.nodes.len());
            self.nodes.push(Node { parent, function, calls: 0, unfinished: 0, duration_ns: 0, own_ns: 0 });
            self.nodes.len() - 1
        });
        if let Some(node) = self.nodes.get_mut(node) {
            node.calls += 1;
        }
        self.frames.push(Frame { node, depth, start_ns: time_ns, called_ns: 0 });
    }

    fn on_return(&mut self, end: &Return, assembly: &mut Assembly) {
        if self.left_out_at.is_some_and(|at| end.depth >= at) {
            self.left_out_at = self.left_out_at.filter(|&at| end.depth > at);
            return;
        }
        self.unwind(end.depth.saturating_add(1), assembly);
        let Some(frame) = self.frames.pop_if(|frame| frame.depth == end.depth) else {
            // Called before the work began, or the begin is missing.
            assembly.losses.add(&UNPAIRED, 1);
            return;
        };
        let passed_ns = end.time_ns.saturating_sub(frame.start_ns).max(0);
        let duration_ns = end.duration_ns.and_then(|ns| i64::try_from(ns).ok()).unwrap_or(passed_ns);
        if let Some(node) = self.nodes.get_mut(frame.node) {
            node.duration_ns = node.duration_ns.saturating_add(duration_ns);
            node.own_ns = node.own_ns.saturating_add(duration_ns.saturating_sub(frame.called_ns).max(0));
        }
        if let Some(caller) = self.frames.last_mut() {
            caller.called_ns = caller.called_ns.saturating_add(duration_ns);
        }
    }

    /// Takes off the calls under way that are at least `depth` deep: they have no end.
    fn unwind(&mut self, depth: u32, assembly: &mut Assembly) {
        while let Some(frame) = self.frames.pop_if(|frame| frame.depth >= depth) {
            assembly.losses.add(&UNPAIRED, 1);
            if let Some(node) = self.nodes.get_mut(frame.node) {
                node.unfinished += 1;
            }
        }
    }

    /// Puts the rows of what mattered into `assembly`.
    fn close(mut self, end_ns: Option<i64>, tid: u32, assembly: &mut Assembly) {
        self.unwind(0, assembly);
        let length_ns = end_ns.map(|end_ns| end_ns.saturating_sub(self.start_ns));
        if length_ns.is_some_and(|ns| ns < SLOW_NS) {
            return;
        }
        let least_ns = length_ns.map_or(SLOW_NS, |ns| ns / MIN_PART_SIZE);
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        for (at, node) in self.nodes.iter().enumerate() {
            match node.parent.and_then(|parent| children.get_mut(parent)) {
                Some(siblings) => siblings.push(at),
                None => roots.push(at),
            }
        }
        let matters = |node: &Node| node.unfinished > 0 || node.duration_ns >= least_ns;
        let in_order = |places: &mut Vec<usize>| {
            places.retain(|&at| self.nodes.get(at).is_some_and(matters));
            // The longest is taken first: from the end.
            places.sort_by_key(|&at| (self.nodes.get(at).map(|node| node.duration_ns), Reverse(at)));
        };
        in_order(&mut roots);
        let mut waiting: Vec<(usize, u32)> = roots.into_iter().map(|at| (at, 0)).collect();
        while let Some((at, depth)) = waiting.pop() {
            let Some(node) = self.nodes.get(at) else { continue };
            if assembly.call_graph_functions.len() >= MAX_ROWS {
                assembly.losses.add(&LEFT_OUT, node.calls);
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
            if let Some(called) = children.get_mut(at) {
                in_order(called);
                waiting.extend(called.iter().map(|&at| (at, depth + 1)));
            }
        }
    }
}
