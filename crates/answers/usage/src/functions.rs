//! Whose code an address is: the module that holds it, and the function, where symbols or the recording name it.

use hashbrown::HashMap;
use onoff_trace::{Method, StackId, StackPool, StringId, Trace};
use serde::Serialize;

use crate::modules::Modules;
use crate::owners::file_name;

/// A place in a module's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodePlace {
    /// The module's row in the table of images.
    pub image: u32,
    /// How far the place is from the module's first address, bytes.
    pub offset: u32,
}

/// Names of functions by their places, as symbols give them.
#[derive(Clone, Debug, Default)]
pub struct FunctionNames {
    names: HashMap<CodePlace, String>,
    /// Symbols that were looked for and not found, each with the reason; in JSON `symbols_missing`.
    pub missing: Vec<String>,
}

/// Gives the functions at places in code of a recording.
pub type NameFunctions<'n> = &'n mut dyn FnMut(&Trace, &[CodePlace]) -> FunctionNames;

impl FunctionNames {
    /// Keeps the function at a place.
    pub fn insert(&mut self, place: CodePlace, function: String) {
        self.names.insert(place, function);
    }

    /// The function at a place.
    #[must_use]
    pub fn at(&self, place: CodePlace) -> Option<&str> {
        self.names.get(&place).map(String::as_str)
    }
}

/// What a frame of a call stack shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeFrame {
    /// File name of the module; empty when no known module holds the address.
    pub module: String,
    /// The function; empty when its name is not known.
    pub function: String,
}

impl CodeFrame {
    /// As text: `module!function`, the module where the function has no name, or that no module is known.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.module.is_empty(), self.function.is_empty()) {
            (true, true) => "no known module".to_owned(),
            (true, false) => self.function.clone(),
            (false, true) => self.module.clone(),
            (false, false) => format!("{}!{}", self.module, self.function),
        }
    }
}

/// Looks up whose code addresses are.
pub struct Code<'a> {
    trace: &'a Trace,
    modules: Modules,
    methods: CompiledMethods,
    /// When a module or a method of a process went, in order.
    unloads: HashMap<u32, Vec<i64>>,
}

/// The process under which a kernel's own functions are listed.
const KERNEL: u32 = 0;

/// Methods that a runtime compiled and functions of a kernel that its recording names, by the place of their code.
#[derive(Debug, Default)]
pub struct CompiledMethods {
    /// Rows of the table by process, in the order of first addresses and loads.
    by_process: HashMap<u32, Vec<usize>>,
}

impl CompiledMethods {
    /// Methods of one first address that are looked at for one that was there in time: an address is used again when a runtime
    /// gives code up.
    const MAX_PER_ADDRESS: usize = 64;

    pub fn of(trace: &Trace) -> Self {
        let mut by_process: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, method) in trace.methods.iter().enumerate() {
            by_process.entry(method.pid).or_default().push(row);
        }
        for rows in by_process.values_mut() {
            let first = |&row: &usize| trace.methods.get(row).map(|method| (method.address, method.start_ns));
            rows.sort_by_key(first);
        }
        Self { by_process }
    }

    pub fn at(&self, trace: &Trace, pid: u32, address: u64, time_ns: i64) -> Option<Method> {
        // Functions of a kernel are the same in all processes.
        let of = |pid| self.of_process(trace, pid, address, time_ns);
        of(pid).or_else(|| of(KERNEL).filter(|_| pid != KERNEL))
    }

    fn of_process(&self, trace: &Trace, pid: u32, address: u64, time_ns: i64) -> Option<Method> {
        let rows = self.by_process.get(&pid)?;
        let after = rows.partition_point(|&row| trace.methods.get(row).is_some_and(|method| method.address <= address));
        rows[..after].iter().rev().take(Self::MAX_PER_ADDRESS).filter_map(|&row| trace.methods.get(row)).find(
            |method| {
                address - method.address < method.size
                    && method.start_ns.is_none_or(|start_ns| start_ns <= time_ns)
                    && method.end_ns.is_none_or(|end_ns| time_ns < end_ns)
            },
        )
    }
}

impl<'a> Code<'a> {
    pub fn of(trace: &'a Trace) -> Self {
        let mut unloads: HashMap<u32, Vec<i64>> = HashMap::new();
        let of_images = trace.images.iter().filter_map(|image| Some((image.pid, image.unload_ns?)));
        let of_methods = trace.methods.iter().filter_map(|method| Some((method.pid, method.end_ns?)));
        for (pid, time_ns) in of_images.chain(of_methods) {
            unloads.entry(pid).or_default().push(time_ns);
        }
        unloads.values_mut().for_each(|times| times.sort_unstable());
        Self { trace, modules: Modules::of(trace), methods: CompiledMethods::of(trace), unloads }
    }

    /// How much of a process's code had been unloaded: an address means the same from one unload to the next.
    pub fn epoch(&self, pid: u32, time_ns: i64) -> usize {
        self.unloads.get(&pid).map_or(0, |times| times.partition_point(|&unload_ns| unload_ns <= time_ns))
    }

    /// When a module or a method of a process went, in order.
    pub(crate) fn into_unloads(self) -> HashMap<u32, Vec<i64>> {
        self.unloads
    }

    /// The place of an address; `None` where no known module holds it.
    pub fn place(&self, pid: u32, address: u64, time_ns: i64) -> Option<CodePlace> {
        let row = self.modules.row_at(pid, address, time_ns)?;
        let image = self.trace.images.get(row)?;
        let offset = u32::try_from(address.saturating_sub(image.base)).ok()?;
        Some(CodePlace { image: u32::try_from(row).ok()?, offset })
    }

    /// What an address shows.
    pub fn frame(&self, (pid, address, time_ns): (u32, u64, i64), names: &FunctionNames) -> CodeFrame {
        let method = self.methods.at(self.trace, pid, address, time_ns);
        let module = self.modules.at(pid, address, time_ns);
        let symbol = self.place(pid, address, time_ns).and_then(|place| names.at(place));
        let text = |id| file_name(self.trace.text(id)).to_owned();
        match (module, method) {
            // A native image is named after what it was compiled from.
            (_, Some(method)) if symbol.is_none() => {
                let module = if method.module == StringId::EMPTY { module.unwrap_or_default() } else { method.module };
                CodeFrame { module: text(module), function: self.trace.text(method.name).to_owned() }
            }
            (Some(module), _) => CodeFrame { module: text(module), function: symbol.unwrap_or_default().to_owned() },
            _ => CodeFrame::default(),
        }
    }
}

/// The call stack of an event, of which the kernel's and the user's part may be two records: the user's is taken when the thread returns
/// to user mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinedStack {
    inner: StackId,
    /// What called it, in a record of its own.
    outer: StackId,
}

impl JoinedStack {
    pub fn is_empty(self) -> bool {
        self.inner == StackId::EMPTY
    }

    /// Adds a record of the same event. What is not the other part of what is known is the stack of another event at that time.
    pub fn add(&mut self, pool: &StackPool, record: StackId) {
        if self.is_empty() {
            self.inner = record;
        } else if self.outer == StackId::EMPTY {
            if is_called_by(pool.get(self.inner), pool.get(record)) {
                self.outer = record;
            } else if is_called_by(pool.get(record), pool.get(self.inner)) {
                (self.inner, self.outer) = (record, self.inner);
            }
        }
    }

    /// The return addresses, the innermost first.
    pub fn addresses(self, pool: &StackPool) -> impl Iterator<Item = u64> {
        pool.get(self.inner).iter().chain(pool.get(self.outer)).copied()
    }
}

/// Whether `inner` is the kernel's part of a stack and `outer` the user's.
fn is_called_by(inner: &[u64], outer: &[u64]) -> bool {
    const KERNEL_OF_64_BITS: u64 = 1 << 63;
    // Systems of 32 bits have the kernel in the upper half.
    const KERNEL_OF_32_BITS: std::ops::Range<u64> = 1 << 31..1 << 32;
    match (inner.last(), outer.first()) {
        (Some(&inner), Some(&outer)) if inner >= KERNEL_OF_64_BITS => outer < KERNEL_OF_64_BITS,
        (Some(inner), Some(&outer)) => KERNEL_OF_32_BITS.contains(inner) && outer < KERNEL_OF_32_BITS.start,
        _ => false,
    }
}

/// Finds the call stacks of events, by the event's time and thread.
pub struct StackFinder<'a> {
    trace: &'a Trace,
    /// First and last time of each piece of the table.
    spans: Vec<(i64, i64)>,
}

impl<'a> StackFinder<'a> {
    pub fn of(trace: &'a Trace) -> Self {
        let span = |(first, last): (i64, i64), &time_ns: &i64| (first.min(time_ns), last.max(time_ns));
        let spans = trace.stacks.pieces().iter().map(|piece| piece.time_ns.iter().fold((i64::MAX, i64::MIN), span));
        Self { trace, spans: spans.collect() }
    }

    /// The call stacks of events from the first to the last time. Only those for which `is_wanted` are kept: stacks of switches are many.
    pub fn between(
        &self,
        (first_ns, last_ns): (i64, i64),
        is_wanted: impl Fn(&(i64, u32)) -> bool,
    ) -> HashMap<(i64, u32), JoinedStack> {
        let mut stacks: HashMap<(i64, u32), JoinedStack> = HashMap::new();
        for (piece, &(first, last)) in self.trace.stacks.pieces().iter().zip(&self.spans) {
            if last < first_ns || first > last_ns {
                continue;
            }
            for (key, &record) in piece.time_ns.iter().copied().zip(piece.tid.iter().copied()).zip(&piece.stack) {
                if is_wanted(&key) {
                    stacks.entry(key).or_default().add(&self.trace.stack_pool, record);
                }
            }
        }
        stacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(records: &[&[u64]]) -> Vec<u64> {
        let mut pool = StackPool::new();
        let mut stack = JoinedStack::default();
        for record in records {
            let record = pool.intern(record);
            stack.add(&pool, record);
        }
        stack.addresses(&pool).collect()
    }

    #[test]
    fn the_user_part_of_a_stack_follows_the_kernel_part_in_whatever_order_they_were_logged() {
        let (kernel, user): (&[u64], &[u64]) = (&[0xFFFF_F800_0000_1000, 0xFFFF_F800_0000_2000], &[0x7FF9_0000, 0x10]);
        let whole = [0xFFFF_F800_0000_1000, 0xFFFF_F800_0000_2000, 0x7FF9_0000, 0x10];
        assert_eq!(joined(&[kernel, user]), whole);
        assert_eq!(joined(&[user, kernel]), whole);
        assert_eq!(joined(&[&[0x8234_0000], &[0x7612_0000]]), [0x8234_0000, 0x7612_0000], "of 32 bits");
        assert_eq!(joined(&[user]), user);
        assert_eq!(joined(&[kernel]), kernel);
    }

    #[test]
    fn a_stack_of_another_event_at_the_same_time_is_no_part() {
        let (first, second): (&[u64], &[u64]) = (&[0xFFFF_F800_0000_1000], &[0xFFFF_F800_0000_5000]);
        assert_eq!(joined(&[first, second]), first, "two of the kernel");
        assert_eq!(joined(&[&[0x7FF9_0000], &[0x7FF8_0000]]), [0x7FF9_0000], "two of the user");
        let user: &[u64] = &[0x7FF9_0000];
        assert_eq!(joined(&[first, user, second]), [first, user].concat(), "a third");
        // A program of 32 bits may have modules above 2 GiB: that alone makes them no part of the kernel on a system of 64 bits.
        assert_eq!(joined(&[first, &[0x8234_0000]]), [0xFFFF_F800_0000_1000, 0x8234_0000]);
    }
}
