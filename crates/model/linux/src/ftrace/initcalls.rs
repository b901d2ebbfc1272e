//! Tracks the initialization functions of the kernel and of modules.

use hashbrown::HashMap;
use onoff_trace::{DeviceOperationKind, StringId};

use crate::assembly::Assembly;
use crate::devices::operation;

/// Open operations of a thread.
#[derive(Clone, Debug, Default)]
struct ThreadState {
    /// Row of the module being initialized.
    module: Option<usize>,
    /// Running functions: name in the trace and row. A thread runs one at a time, but early in a boot, while the clock
    /// advances in ticks, records of two processors may arrive in the wrong order.
    initcalls: Vec<(StringId, usize)>,
    /// The last end that arrived before its begin: name, time and result.
    early_end: Option<(StringId, i64, i32)>,
}

/// Maximum number of open functions per thread; a longer list means that ends are missing.
const MAX_OPEN: usize = 16;

/// Adds a row when an operation begins and remembers which rows are open.
#[derive(Debug, Default)]
pub(super) struct InitcallTracker {
    threads: HashMap<u32, ThreadState>,
}

impl InitcallTracker {
    pub(super) fn on_module(&mut self, time_ns: i64, tid: u32, module: &str, assembly: &mut Assembly) {
        let name = assembly.intern(module);
        let event = assembly.intern("ftrace/module_load");
        let row = operation(DeviceOperationKind::ModuleLoad, time_ns, tid, name, event);
        let thread = self.threads.entry(tid).or_default();
        let previous_module = thread.module.replace(assembly.device_operations.len());
        if thread.initcalls.is_empty() {
            end_at_begin(previous_module, assembly);
        }
        assembly.device_operations.push(row);
    }

    pub(super) fn on_begin(&mut self, time_ns: i64, tid: u32, function: &str, assembly: &mut Assembly) {
        let name = assembly.intern(function);
        let event = assembly.intern("ftrace/initcall_start");
        let mut row = operation(DeviceOperationKind::Initcall, time_ns, tid, name, event);
        let thread = self.threads.entry(tid).or_default();
        let module = thread
            .module
            .and_then(|index| assembly.device_operations.get(index))
            .map_or(StringId::EMPTY, |module| module.driver);
        // For a module the trace has the wrong name: it is resolved after the function's memory was reused.
        if !module.is_empty() {
            row.driver = module;
        }
        row.description = module;
        if let Some((_, _, result)) =
            thread.early_end.take_if(|&mut (ended_name, end_ns, _)| ended_name == name && end_ns == time_ns)
        {
            row.end_ns = Some(time_ns);
            row.end_tid = Some(tid);
            row.status = Some(result.cast_unsigned());
            assembly.device_operations.push(row);
            return;
        }
        if thread.initcalls.len() >= MAX_OPEN {
            thread.initcalls.remove(0);
        }
        thread.initcalls.push((name, assembly.device_operations.len()));
        assembly.device_operations.push(row);
    }

    pub(super) fn on_end(&mut self, time_ns: i64, tid: u32, function: &str, result: i32, assembly: &mut Assembly) {
        let thread = self.threads.entry(tid).or_default();
        let name = assembly.texts.intern(function);
        let index = thread.initcalls.iter().rposition(|&(open_name, _)| open_name == name);
        let initcall = match index {
            Some(index) => Some(thread.initcalls.remove(index).1),
            // A module's function may have a different name at its end.
            None if thread.module.is_some() => thread.initcalls.pop().map(|(_, row)| row),
            None => {
                thread.early_end = Some((name, time_ns, result));
                None
            }
        };
        let module = thread.module.take();
        for row_index in [initcall, module].into_iter().flatten() {
            if let Some(row) = assembly.device_operations.get_mut(row_index) {
                row.end_ns = Some(time_ns);
                row.end_tid = Some(tid);
                row.status = Some(result.cast_unsigned());
                if row.driver.is_empty() {
                    row.driver = name;
                }
            }
        }
    }

    /// Ends modules without an initialization function at their load time.
    pub(super) fn finish(self, assembly: &mut Assembly) {
        for thread in self.threads.into_values() {
            if thread.initcalls.is_empty() {
                end_at_begin(thread.module, assembly);
            }
        }
    }
}

fn end_at_begin(module: Option<usize>, assembly: &mut Assembly) {
    if let Some(row) = module.and_then(|index| assembly.device_operations.get_mut(index)) {
        row.end_ns = Some(row.end_ns.unwrap_or(row.start_ns));
    }
}
