//! Call stacks and code addresses as texts.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use onoff_trace::{TableName, TableSet, Trace};
use onoff_usage::functions::{Code, CodeLocation, FunctionNames, FunctionResolver, JoinedStack, StackFinder};

use crate::cell::Cell;

/// The tables that name the frames of stacks, and the threads they belong to.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::Images,
    TableName::Methods,
    TableName::Stacks,
]);

/// Maximum number of frames of a stack.
const MAX_FRAMES: usize = 256;

/// The stacks of events by time and thread, and the names of addresses.
pub struct Stacks<'t> {
    trace: &'t Trace,
    code: Code<'t>,
    names: FunctionNames,
    has_symbols: bool,
    by_event: HashMap<(i64, u32), JoinedStack>,
    texts: HashMap<(u32, JoinedStack, usize), Arc<str>>,
}

impl<'t> Stacks<'t> {
    /// Reads the stacks between two times. `addresses` are further addresses to resolve: process, address, time.
    pub fn new(
        trace: &'t Trace,
        range_ns: (i64, i64),
        with_stacks: bool,
        addresses: &HashSet<(u32, u64, i64)>,
        functions: Option<&mut FunctionResolver<'_>>,
    ) -> Self {
        let code = Code::new(trace);
        let by_event = match with_stacks {
            true => StackFinder::new(trace).stacks_in(range_ns, |_| true),
            false => HashMap::new(),
        };
        let mut stacks = Self {
            trace,
            code,
            names: FunctionNames::default(),
            has_symbols: functions.is_some(),
            by_event,
            texts: HashMap::new(),
        };
        if let Some(functions) = functions {
            let mut places: Vec<CodeLocation> = addresses
                .iter()
                .filter_map(|&(pid, address, time_ns)| stacks.code.location(pid, address, time_ns))
                .collect();
            if with_stacks {
                let mut seen = HashSet::new();
                for stack in trace.stacks.iter() {
                    if seen.insert((stack.pid, stack.stack, stacks.code.epoch(stack.pid, stack.time_ns))) {
                        let frames = trace.stack_pool.get(stack.stack).iter();
                        places
                            .extend(frames.filter_map(|&frame| stacks.code.location(stack.pid, frame, stack.time_ns)));
                    }
                }
            }
            places.sort_unstable();
            places.dedup();
            stacks.names = functions(trace, &places);
        }
        stacks
    }

    /// Returns the stack of an event, outermost frame first; `n/a` without a stack.
    pub fn stack(&mut self, pid: u32, tid: u32, time_ns: i64) -> Cell {
        let stack = self.by_event.get(&(time_ns, tid)).copied().unwrap_or_default();
        if stack.is_empty() {
            return Cell::text("n/a");
        }
        let key = (pid, stack, self.code.epoch(pid, time_ns));
        if let Some(text) = self.texts.get(&key) {
            return Cell::Text(Arc::clone(text));
        }
        let mut frames: Vec<String> = stack
            .addresses(&self.trace.stack_pool)
            .take(MAX_FRAMES)
            .map(|address| self.frame((pid, address, time_ns)))
            .collect();
        frames.push("[Root]".to_owned());
        frames.reverse();
        let text: Arc<str> = frames.join("/").into();
        self.texts.insert(key, Arc::clone(&text));
        Cell::Text(text)
    }

    /// Returns `module!function` at an address.
    fn frame(&self, place: (u32, u64, i64)) -> String {
        let frame = self.code.frame(place, &self.names);
        if frame.module.is_empty() && frame.function.is_empty() {
            return "?!?".to_owned();
        }
        let module = if frame.module.is_empty() { "?" } else { &frame.module };
        format!("{module}!{}", self.function_or_reason(&frame.function))
    }

    fn function_or_reason<'f>(&self, function: &'f str) -> &'f str {
        match function {
            "" if self.has_symbols => "<PDB not found>",
            "" => "<Symbols disabled>",
            function => function,
        }
    }

    pub fn module(&self, pid: u32, address: u64, time_ns: i64) -> Cell {
        match self.code.frame((pid, address, time_ns), &self.names).module.as_str() {
            "" => Cell::text("?"),
            module => Cell::text(module),
        }
    }

    pub fn function(&self, pid: u32, address: u64, time_ns: i64) -> Cell {
        let frame = self.code.frame((pid, address, time_ns), &self.names);
        match frame.module.is_empty() && frame.function.is_empty() {
            true => Cell::text("?"),
            false => Cell::text(self.function_or_reason(&frame.function)),
        }
    }
}
