//! Resolves the function names of addresses in advance, for callers that process a recording event by event.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{TableName, TableSet, Trace};

use crate::functions::{Code, CodeFrame, CodeLocation, FunctionNames, FunctionResolver};
use crate::owners::Owners;

/// The tables that contain addresses, and the tables needed to resolve them.
pub const ADDRESS_TABLES: TableSet = TableSet::from_names(&[
    TableName::Images,
    TableName::Methods,
    TableName::Processes,
    TableName::Threads,
    TableName::Stacks,
    TableName::Samples,
    TableName::Interrupts,
]);

/// Maximum number of addresses to resolve; any further addresses get no name.
pub const MAX_ADDRESSES: usize = 1 << 22;

/// Process id, address, and the number of unloads in that process so far. Between two unloads, an address has one
/// meaning.
type Key = (u32, u64, usize);

/// Returns the id of the process whose code contains the address; kernel code belongs to process 0.
fn address_space(pid: u32, address: u64) -> u32 {
    const KERNEL_START_64_BIT: u64 = 1 << 63;
    if address >= KERNEL_START_64_BIT { 0 } else { pid }
}

/// The functions at the addresses in a recording's call stacks, samples, interrupts and thread starts.
#[derive(Clone, Debug, Default)]
pub struct AddressNames {
    unloads: HashMap<u32, Vec<i64>>,
    frames: HashMap<Key, CodeFrame>,
    is_full: bool,
}

impl AddressNames {
    /// Resolves the functions in a recording with [`ADDRESS_TABLES`].
    #[must_use]
    pub fn resolve(trace: &Trace, functions: FunctionResolver<'_>) -> Self {
        Self::with_limit(MAX_ADDRESSES, trace, functions)
    }

    fn with_limit(limit: usize, trace: &Trace, functions: FunctionResolver<'_>) -> Self {
        let code = Code::new(trace);
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
        let mut owners = Owners::from_trace(trace);
        for sample in trace.samples.iter() {
            let (owner, _) = owners.owner_at(sample.tid, sample.time_ns);
            let pid = owners.list().get(owner as usize).and_then(|owner| owner.pid);
            add(pid.unwrap_or(0), sample.address, sample.time_ns);
        }
        trace.interrupts.iter().for_each(|interrupt| add(0, interrupt.routine, interrupt.end_ns));
        trace.threads.iter().for_each(|thread| add(thread.pid, thread.start_address, thread.start_ns.unwrap_or(0)));
        let mut places: Vec<CodeLocation> =
            first_ns.iter().filter_map(|(&(pid, address, _), &time_ns)| code.location(pid, address, time_ns)).collect();
        places.sort_unstable();
        places.dedup();
        let names: FunctionNames = functions(trace, &places);
        let named_frames = first_ns.iter().filter_map(|(&key, &time_ns)| {
            let (pid, address, _) = key;
            let frame = code.frame((pid, address, time_ns), &names);
            (!frame.function.is_empty()).then_some((key, frame))
        });
        let frames = named_frames.collect();
        Self { unloads: code.into_unloads(), frames, is_full }
    }

    /// Returns whether some addresses were not resolved, because there were more than [`MAX_ADDRESSES`].
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the function and module at an address of a process; `None` if it has no name.
    #[must_use]
    pub fn frame_at(&self, pid: u32, address: u64, time_ns: i64) -> Option<&CodeFrame> {
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

    /// Returns a trace with a driver, and a DLL that is unloaded after 50 ms and replaced by another DLL at the same
    /// address.
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

    /// Returns function names that consist of module and offset.
    fn names(trace: &Trace, places: &[CodeLocation]) -> FunctionNames {
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
        let address_names = AddressNames::resolve(&trace, &mut names);
        let function_at = |pid, address, time_ms: i64| {
            address_names.frame_at(pid, address, time_ms * MS).map(|frame| &*frame.function)
        };
        assert_eq!(function_at(7, DRIVER + 8, 10), Some("disk.sys+8"));
        assert_eq!(function_at(9, DRIVER + 8, 10), Some("disk.sys+8"), "kernel code is shared by all processes");
        assert_eq!(
            (function_at(7, PROGRAM + 16, 10), function_at(7, PROGRAM + 16, 60)),
            (Some("first.dll+16"), Some("second.dll+16"))
        );
        assert_eq!(function_at(7, PROGRAM + 32, 20), Some("first.dll+32"));
        assert_eq!(function_at(9, PROGRAM + 16, 10), None, "another process");
        assert_eq!(function_at(7, PROGRAM + 17, 10), None, "an address that was not recorded");
        assert!(!address_names.is_full());
    }

    #[test]
    fn addresses_beyond_the_limit_are_not_resolved() {
        let trace = trace();
        let address_names = AddressNames::with_limit(2, &trace, &mut names);
        assert!(address_names.is_full() && address_names.frames.len() == 2);
        assert!(!AddressNames::with_limit(5, &trace, &mut names).is_full());
    }
}
