//! Function names by address, resolved in advance for callers that process a recording event by event.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{TableName, TableSet, Trace};

use crate::functions::{Code, CodeFrame, CodePlace, FunctionNames, NameFunctions};
use crate::owners::Owners;

/// The tables that addresses come from, and those needed to resolve them.
pub const ADDRESS_TABLES: TableSet = TableSet::of(&[
    TableName::Images,
    TableName::Methods,
    TableName::Processes,
    TableName::Threads,
    TableName::Stacks,
    TableName::Samples,
    TableName::Interrupts,
]);

/// Maximum number of addresses to resolve; further ones get no name.
pub const MAX_ADDRESSES: usize = 1 << 22;

/// Process id, address, and the number of unloads in that process so far: an address has one meaning between two
/// unloads.
type Key = (u32, u64, usize);

/// The process whose code contains the address; kernel code belongs to process 0.
fn address_space(pid: u32, address: u64) -> u32 {
    const KERNEL_START_64_BIT: u64 = 1 << 63;
    if address >= KERNEL_START_64_BIT { 0 } else { pid }
}

/// Functions at the addresses in a recording's call stacks, samples, interrupts and thread starts.
#[derive(Clone, Debug, Default)]
pub struct AddressNames {
    unloads: HashMap<u32, Vec<i64>>,
    frames: HashMap<Key, CodeFrame>,
    is_full: bool,
}

impl AddressNames {
    /// Resolves the functions in a recording with [`ADDRESS_TABLES`].
    #[must_use]
    pub fn of(trace: &Trace, functions: NameFunctions<'_>) -> Self {
        Self::with_limit(MAX_ADDRESSES, trace, functions)
    }

    fn with_limit(limit: usize, trace: &Trace, functions: NameFunctions<'_>) -> Self {
        let code = Code::of(trace);
        let mut first_ns: HashMap<Key, i64> = HashMap::new();
        let mut is_full = false;
        let mut add = |pid: u32, address: u64, time_ns: i64| {
            let pid = address_space(pid, address);
            let key = (pid, address, code.epoch(pid, time_ns));
            if first_ns.len() < limit || first_ns.contains_key(&key) {
                first_ns.entry(key).or_insert(time_ns);
            } else {
                is_full = true;
            }
        };
        let mut seen = HashSet::new();
        for stack in trace.stacks.iter() {
            // Most stacks occur many times.
            if seen.insert((stack.pid, stack.stack, code.epoch(stack.pid, stack.time_ns))) {
                trace.stack_pool.get(stack.stack).iter().for_each(|&address| add(stack.pid, address, stack.time_ns));
            }
        }
        let mut owners = Owners::of(trace);
        for sample in trace.samples.iter() {
            let (owner, _) = owners.owner_at(sample.tid, sample.time_ns);
            let pid = owners.list().get(owner as usize).and_then(|owner| owner.pid);
            add(pid.unwrap_or(0), sample.address, sample.time_ns);
        }
        trace.interrupts.iter().for_each(|interrupt| add(0, interrupt.routine, interrupt.end_ns));
        trace.threads.iter().for_each(|thread| add(thread.pid, thread.start_address, thread.start_ns.unwrap_or(0)));
        let mut places: Vec<CodePlace> =
            first_ns.iter().filter_map(|(&(pid, address, _), &time_ns)| code.place(pid, address, time_ns)).collect();
        places.sort_unstable();
        places.dedup();
        let names: FunctionNames = functions(trace, &places);
        let named = first_ns.iter().filter_map(|(&key, &time_ns)| {
            let frame = code.frame((key.0, key.1, time_ns), &names);
            (!frame.function.is_empty()).then_some((key, frame))
        });
        let frames = named.collect();
        Self { unloads: code.into_unloads(), frames, is_full }
    }

    /// Whether there were more than [`MAX_ADDRESSES`] addresses, so that some were not resolved.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The function and module at an address of a process; `None` if it has no name.
    #[must_use]
    pub fn at(&self, pid: u32, address: u64, time_ns: i64) -> Option<&CodeFrame> {
        let pid = address_space(pid, address);
        let unloads = self.unloads.get(&pid).map_or(&[][..], Vec::as_slice);
        self.frames.get(&(pid, address, unloads.partition_point(|&unload_ns| unload_ns <= time_ns)))
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::{Image, Sample, Samples, Stack, Stacks, StringId};

    use super::*;
    use onoff_testkit::synthetic::{MS, image, thread};

    const DRIVER: u64 = 0xFFFF_F800_0000_0000;
    const PROGRAM: u64 = 0x7FF6_0000_0000;

    /// A driver, and a DLL that is unloaded after 50 ms and replaced by another one at the same address.
    fn trace() -> Trace {
        let mut trace = Trace::default();
        image(&mut trace, 0, (DRIVER, 0x1000), None, "disk.sys");
        image(&mut trace, 7, (PROGRAM, 0x1000), None, "first.dll");
        let unloaded = |image: Image| Image { unload_ns: (image.pid == 7).then_some(50 * MS), ..image };
        trace.images = trace.images.iter().map(unloaded).collect();
        image(&mut trace, 7, (PROGRAM, 0x1000), Some(50 * MS), "second.dll");
        thread(&mut trace, 70, 7, None, None);
        let stack = trace.stack_pool.intern(&[DRIVER + 8, PROGRAM + 16]);
        let row = |time_ms: i64| Stack { time_ns: time_ms * MS, pid: 7, tid: 70, stack };
        trace.stacks.push(Stacks::from_iter([row(10), row(60)]));
        let sample = Sample { time_ns: 20 * MS, cpu: 0, tid: 70, address: PROGRAM + 32, count: 1, source: 0 };
        trace.samples.push(Samples::from_iter([sample]));
        trace
    }

    /// Function names that consist of module and offset.
    fn names(trace: &Trace, places: &[CodePlace]) -> FunctionNames {
        let mut names = FunctionNames::default();
        for &place in places {
            let module = trace.images.get(place.image as usize).map_or(StringId::EMPTY, |image| image.path);
            names.insert(place, format!("{}+{}", trace.text(module), place.offset));
        }
        names
    }

    #[test]
    fn an_address_resolves_to_the_function_loaded_at_that_time() {
        let trace = trace();
        let found = AddressNames::of(&trace, &mut names);
        let at = |pid, address, time_ms: i64| found.at(pid, address, time_ms * MS).map(|frame| &*frame.function);
        assert_eq!(at(7, DRIVER + 8, 10), Some("disk.sys+8"));
        assert_eq!(at(9, DRIVER + 8, 10), Some("disk.sys+8"), "kernel code is shared by all processes");
        assert_eq!((at(7, PROGRAM + 16, 10), at(7, PROGRAM + 16, 60)), (Some("first.dll+16"), Some("second.dll+16")));
        assert_eq!(at(7, PROGRAM + 32, 20), Some("first.dll+32"));
        assert_eq!(at(9, PROGRAM + 16, 10), None, "another process");
        assert_eq!(at(7, PROGRAM + 17, 10), None, "an address that was not recorded");
        assert!(!found.is_full());
    }

    #[test]
    fn addresses_beyond_the_limit_are_not_resolved() {
        let trace = trace();
        let found = AddressNames::with_limit(2, &trace, &mut names);
        assert!(found.is_full() && found.frames.len() == 2);
        assert!(!AddressNames::with_limit(5, &trace, &mut names).is_full());
    }
}
