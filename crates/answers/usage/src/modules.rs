//! Maps addresses to modules.

use hashbrown::HashMap;
use onoff_trace::{Images, StringId, Trace};

/// Process id of the Windows `System` process, under which drivers are often listed.
const SYSTEM_PROCESS: u32 = 4;

/// Maximum number of modules to check backwards from an address: a module that starts below the address may end before
/// it, while an earlier module contains it.
const MAX_CANDIDATES: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Module {
    base: u64,
    /// First address after the module.
    end: u64,
    load_ns: i64,
    unload_ns: i64,
    path: StringId,
    /// Row in the table of images.
    row: u32,
}

/// The modules of every process, by address.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    /// Modules by process, sorted by base and load time. Kernel modules are under process 0.
    processes: HashMap<u32, Vec<Module>>,
    /// Lowest kernel address.
    kernel_start: u64,
}

impl Modules {
    /// Reads the modules in `trace`.
    pub fn from_trace(trace: &Trace) -> Self {
        let kernel_start = if trace.system.pointer_bits == 32 { 0x8000_0000 } else { 0x8000_0000_0000_0000 };
        let mut processes: HashMap<u32, Vec<Module>> = HashMap::new();
        let images: &Images = &trace.images;
        for (row, image) in (0_u32..).zip(images.iter()) {
            // Drivers are listed under the process that loaded them, but are mapped into every process.
            let pid = if image.base >= kernel_start || image.pid == SYSTEM_PROCESS { 0 } else { image.pid };
            processes.entry(pid).or_default().push(Module {
                base: image.base,
                end: image.base.saturating_add(image.size),
                load_ns: image.load_ns.unwrap_or(i64::MIN),
                unload_ns: image.unload_ns.unwrap_or(i64::MAX),
                path: image.path,
                row,
            });
        }
        for modules in processes.values_mut() {
            modules.sort_by_key(|module| (module.base, module.load_ns));
        }
        Self { processes, kernel_start }
    }

    /// Returns the path of the module that contains `address` in process `pid` at `time_ns`. Falls back to a
    /// module that contained it at another time, because loads are often recorded late.
    pub fn path_at(&self, pid: u32, address: u64, time_ns: i64) -> Option<StringId> {
        self.module_at(pid, address, time_ns).map(|module| module.path)
    }

    /// Returns the row in the table of images for the module that [`path_at`](Self::path_at) finds.
    pub fn row_at(&self, pid: u32, address: u64, time_ns: i64) -> Option<usize> {
        self.module_at(pid, address, time_ns).map(|module| module.row as usize)
    }

    fn module_at(&self, pid: u32, address: u64, time_ns: i64) -> Option<&Module> {
        let pids: &[u32] = if address >= self.kernel_start { &[0] } else { &[pid, 0] };
        pids.iter().find_map(|pid| find(self.processes.get(pid)?, address, time_ns))
    }
}

fn find(modules: &[Module], address: u64, time_ns: i64) -> Option<&Module> {
    let count = modules.partition_point(|module| module.base <= address);
    let mut loaded_at_other_time = None;
    for module in modules.get(..count)?.iter().rev().take(MAX_CANDIDATES) {
        if address >= module.end {
            continue;
        }
        if (module.load_ns..module.unload_ns).contains(&time_ns) {
            return Some(module);
        }
        loaded_at_other_time = loaded_at_other_time.or(Some(module));
    }
    loaded_at_other_time
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::image;

    #[test]
    fn addresses_resolve_in_the_process_then_in_the_kernel() {
        let mut trace = Trace::default();
        image(&mut trace, 100, (0x1000, 0x100), None, r"\a\first.dll");
        image(&mut trace, 100, (0x1000, 0x100), Some(50), r"\a\second.dll");
        image(&mut trace, 4, (0xffff_f800_0000_0000, 0x1000), None, r"\SystemRoot\ntoskrnl.exe");
        let modules = Modules::from_trace(&trace);
        let path_at = |pid, address, time_ns| modules.path_at(pid, address, time_ns).map(|id| trace.text(id));
        assert_eq!(path_at(100, 0x10ff, 60), Some(r"\a\second.dll"));
        assert_eq!(path_at(100, 0x10ff, 40), Some(r"\a\first.dll"));
        assert_eq!(path_at(100, 0x1100, 60), None);
        assert_eq!(path_at(200, 0x1000, 60), None);
        assert_eq!(path_at(200, 0xffff_f800_0000_0fff, 0), Some(r"\SystemRoot\ntoskrnl.exe"));
    }
}
