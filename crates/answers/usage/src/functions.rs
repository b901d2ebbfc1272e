//! Resolves code addresses to modules and, if symbols or the recording provide names, to functions.

use hashbrown::HashMap;
use onoff_trace::{Method, StackId, StackPool, StringId, Trace};
use serde::Serialize;

use crate::modules::Modules;
use crate::owners::file_name;

/// A location in a module's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeLocation {
    /// Row of the module in the table of images.
    pub image: u32,
    /// Offset from the module's first address, bytes.
    pub offset: u32,
}

/// Function names by location, from symbols.
#[derive(Clone, Debug, Default)]
pub struct FunctionNames {
    names: HashMap<CodeLocation, String>,
    /// Symbols that were not found, each with a reason; `symbols_missing` in JSON.
    pub missing: Vec<String>,
}

/// Resolves the functions at locations in a recording's code.
pub type FunctionResolver<'n> = &'n mut dyn FnMut(&Trace, &[CodeLocation]) -> FunctionNames;

impl FunctionNames {
    pub fn insert(&mut self, place: CodeLocation, function: String) {
        self.names.insert(place, function);
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    #[must_use]
    pub fn get(&self, place: CodeLocation) -> Option<&str> {
        self.names.get(&place).map(String::as_str)
    }
}

/// A resolved frame of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeFrame {
    /// File name of the module; empty if no known module contains the address.
    pub module: String,
    /// Function name; empty if unknown.
    pub function: String,
}

impl CodeFrame {
    /// `module!function`, the module alone if the function is unknown, or "unknown module".
    #[must_use]
    pub fn label(&self) -> String {
        match (self.module.is_empty(), self.function.is_empty()) {
            (true, true) => "unknown module".to_owned(),
            (true, false) => self.function.clone(),
            (false, true) => self.module.clone(),
            (false, false) => format!("{}!{}", self.module, self.function),
        }
    }
}

/// Resolves addresses in a recording.
pub struct Code<'a> {
    trace: &'a Trace,
    modules: Modules,
    methods: CompiledMethods,
    /// Unload times of the modules and methods of a process, in order.
    unloads: HashMap<u32, Vec<i64>>,
}

/// The process id under which kernel functions are listed.
const KERNEL: u32 = 0;

/// Methods compiled by a runtime, and kernel functions named by the recording, by address.
#[derive(Debug, Default)]
pub struct CompiledMethods {
    /// Rows of the table of methods by process, sorted by first address and load time.
    by_process: HashMap<u32, Vec<usize>>,
}

impl CompiledMethods {
    /// Maximum number of methods with the same first address to check; runtimes reuse addresses when they discard code.
    const MAX_PER_ADDRESS: usize = 64;

    pub fn from_trace(trace: &Trace) -> Self {
        let mut by_process: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, method) in trace.methods.iter().enumerate() {
            by_process.entry(method.pid).or_default().push(row);
        }
        for rows in by_process.values_mut() {
            let address_and_start =
                |&row: &usize| trace.methods.get(row).map(|method| (method.address, method.start_ns));
            rows.sort_by_key(address_and_start);
        }
        Self { by_process }
    }

    pub fn method_at(&self, trace: &Trace, pid: u32, address: u64, time_ns: i64) -> Option<Method> {
        // Kernel functions are shared by all processes.
        let find = |pid| self.find_in_process(trace, pid, address, time_ns);
        find(pid).or_else(|| find(KERNEL).filter(|_| pid != KERNEL))
    }

    fn find_in_process(&self, trace: &Trace, pid: u32, address: u64, time_ns: i64) -> Option<Method> {
        let rows = self.by_process.get(&pid)?;
        let count = rows.partition_point(|&row| trace.methods.get(row).is_some_and(|method| method.address <= address));
        rows[..count].iter().rev().take(Self::MAX_PER_ADDRESS).filter_map(|&row| trace.methods.get(row)).find(
            |method| {
                address - method.address < method.size
                    && method.start_ns.is_none_or(|start_ns| start_ns <= time_ns)
                    && method.end_ns.is_none_or(|end_ns| time_ns < end_ns)
            },
        )
    }
}

impl<'a> Code<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let mut unloads: HashMap<u32, Vec<i64>> = HashMap::new();
        let image_unloads = trace.images.iter().filter_map(|image| Some((image.pid, image.unload_ns?)));
        let method_unloads = trace.methods.iter().filter_map(|method| Some((method.pid, method.end_ns?)));
        for (pid, time_ns) in image_unloads.chain(method_unloads) {
            unloads.entry(pid).or_default().push(time_ns);
        }
        unloads.values_mut().for_each(|times| times.sort_unstable());
        Self { trace, modules: Modules::from_trace(trace), methods: CompiledMethods::from_trace(trace), unloads }
    }

    /// Returns the number of unloads in a process up to a time. Between two unloads, an address has one meaning.
    pub fn epoch(&self, pid: u32, time_ns: i64) -> usize {
        self.unloads.get(&pid).map_or(0, |times| times.partition_point(|&unload_ns| unload_ns <= time_ns))
    }

    /// Returns the unload times of the modules and methods of each process, in order.
    pub(crate) fn into_unloads(self) -> HashMap<u32, Vec<i64>> {
        self.unloads
    }

    /// Returns whether the recording names any function.
    pub fn has_methods(&self) -> bool {
        !self.trace.methods.is_empty()
    }

    /// Returns the row in the table of images of the module that contains an address.
    pub fn image_row(&self, pid: u32, address: u64, time_ns: i64) -> Option<usize> {
        self.modules.row_at(pid, address, time_ns)
    }

    /// Returns the location of an address; `None` if no known module contains it.
    pub fn location(&self, pid: u32, address: u64, time_ns: i64) -> Option<CodeLocation> {
        let row = self.image_row(pid, address, time_ns)?;
        let image = self.trace.images.get(row)?;
        let offset = u32::try_from(address.saturating_sub(image.base)).ok()?;
        Some(CodeLocation { image: u32::try_from(row).ok()?, offset })
    }

    /// Returns the module and function at an address.
    pub fn frame(&self, (pid, address, time_ns): (u32, u64, i64), names: &FunctionNames) -> CodeFrame {
        let method = self.methods.method_at(self.trace, pid, address, time_ns);
        let module = self.modules.path_at(pid, address, time_ns);
        let symbol = self.location(pid, address, time_ns).and_then(|place| names.get(place));
        let text = |id| file_name(self.trace.text(id)).to_owned();
        match (module, method) {
            // Report a native image under the module it was compiled from.
            (_, Some(method)) if symbol.is_none() => {
                let module = if method.module == StringId::EMPTY { module.unwrap_or_default() } else { method.module };
                CodeFrame { module: text(module), function: self.trace.text(method.name).to_owned() }
            }
            (Some(module), _) => CodeFrame { module: text(module), function: symbol.unwrap_or_default().to_owned() },
            _ => CodeFrame::default(),
        }
    }
}

/// The call stack of an event. Its kernel and user parts can be separate records, because the user part is captured
/// when the thread returns to user mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JoinedStack {
    inner: StackId,
    /// The caller's part, if it is a separate record.
    outer: StackId,
}

impl JoinedStack {
    pub fn is_empty(self) -> bool {
        self.inner == StackId::EMPTY
    }

    /// Adds a record of the same event. Ignores a record that does not complement the known part, because it belongs to
    /// another event at the same time.
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

    /// Returns the return addresses, innermost first.
    pub fn addresses(self, pool: &StackPool) -> impl Iterator<Item = u64> {
        pool.get(self.inner).iter().chain(pool.get(self.outer)).copied()
    }
}

/// Returns whether `inner` is the kernel part of a stack and `outer` its user part.
fn is_called_by(inner: &[u64], outer: &[u64]) -> bool {
    const KERNEL_START_64_BIT: u64 = 1 << 63;
    // On 32-bit systems, the kernel is in the upper half.
    const KERNEL_32_BIT: std::ops::Range<u64> = 1 << 31..1 << 32;
    match (inner.last(), outer.first()) {
        (Some(&inner), Some(&outer)) if inner >= KERNEL_START_64_BIT => outer < KERNEL_START_64_BIT,
        (Some(inner), Some(&outer)) => KERNEL_32_BIT.contains(inner) && outer < KERNEL_32_BIT.start,
        _ => false,
    }
}

/// Finds the call stacks of events by time and thread.
pub struct StackFinder<'a> {
    trace: &'a Trace,
    /// First and last time of each chunk of the table.
    chunk_ranges: Vec<(i64, i64)>,
}

impl<'a> StackFinder<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let extend = |(first, last): (i64, i64), &time_ns: &i64| (first.min(time_ns), last.max(time_ns));
        let ranges = trace.stacks.chunks().iter().map(|chunk| chunk.time_ns.iter().fold((i64::MAX, i64::MIN), extend));
        Self { trace, chunk_ranges: ranges.collect() }
    }

    /// Returns the call stacks of events between two times. Keeps only events that match `is_selected`, because context
    /// switches have many stacks.
    pub fn stacks_in(
        &self,
        (first_ns, last_ns): (i64, i64),
        is_selected: impl Fn(&(i64, u32)) -> bool,
    ) -> HashMap<(i64, u32), JoinedStack> {
        let mut stacks: HashMap<(i64, u32), JoinedStack> = HashMap::new();
        for (chunk, &(first, last)) in self.trace.stacks.chunks().iter().zip(&self.chunk_ranges) {
            if last < first_ns || first > last_ns {
                continue;
            }
            for (key, &record) in chunk.time_ns.iter().copied().zip(chunk.tid.iter().copied()).zip(&chunk.stack) {
                if is_selected(&key) {
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

    fn joined_addresses(records: &[&[u64]]) -> Vec<u64> {
        let mut pool = StackPool::new();
        let mut stack = JoinedStack::default();
        for record in records {
            let record = pool.intern(record);
            stack.add(&pool, record);
        }
        stack.addresses(&pool).collect()
    }

    #[test]
    fn the_user_part_follows_the_kernel_part_in_any_record_order() {
        let (kernel, user): (&[u64], &[u64]) = (&[0xFFFF_F800_0000_1000, 0xFFFF_F800_0000_2000], &[0x7FF9_0000, 0x10]);
        let joined_stack = [0xFFFF_F800_0000_1000, 0xFFFF_F800_0000_2000, 0x7FF9_0000, 0x10];
        assert_eq!(joined_addresses(&[kernel, user]), joined_stack);
        assert_eq!(joined_addresses(&[user, kernel]), joined_stack);
        assert_eq!(joined_addresses(&[&[0x8234_0000], &[0x7612_0000]]), [0x8234_0000, 0x7612_0000], "32-bit");
        assert_eq!(joined_addresses(&[user]), user);
        assert_eq!(joined_addresses(&[kernel]), kernel);
    }

    #[test]
    fn a_stack_of_another_event_at_the_same_time_is_ignored() {
        let (first, second): (&[u64], &[u64]) = (&[0xFFFF_F800_0000_1000], &[0xFFFF_F800_0000_5000]);
        assert_eq!(joined_addresses(&[first, second]), first, "two kernel parts");
        assert_eq!(joined_addresses(&[&[0x7FF9_0000], &[0x7FF8_0000]]), [0x7FF9_0000], "two user parts");
        let user: &[u64] = &[0x7FF9_0000];
        assert_eq!(joined_addresses(&[first, user, second]), [first, user].concat(), "a third record");
        // A 32-bit program can have modules above 2 GiB, which are not kernel code on a 64-bit system.
        assert_eq!(joined_addresses(&[first, &[0x8234_0000]]), [0xFFFF_F800_0000_1000, 0x8234_0000]);
    }
}
