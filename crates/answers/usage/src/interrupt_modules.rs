//! Measures interrupt time per module, CPU and interval, with a histogram of durations.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use onoff_trace::{InterruptKind, StringId, Trace};

use crate::cpu::processors;
use crate::modules::Modules;
use crate::owners::file_name;

/// The interrupts of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleInterrupts {
    /// File name of the module; empty if no known module contains the routine.
    pub module: String,
    /// Number of interrupts.
    pub count: u64,
    /// Interrupt time, ns, by interval and CPU, if not zero. A map, because most modules run on few CPUs and the number
    /// of CPUs comes from the recording.
    pub total_ns: BTreeMap<(usize, u16), i64>,
    /// Number of interrupts up to each bound and above the previous bound. The last entry counts interrupts above all
    /// bounds.
    pub histogram: Vec<u64>,
}

impl ModuleInterrupts {
    /// Returns the interrupt time on each CPU in the interval at index `interval`, in ns; `None` if there was none.
    #[must_use]
    pub fn in_interval(&self, interval: usize, processors: u32) -> Option<Vec<i64>> {
        let mut cells: Option<Vec<i64>> = None;
        for (&(_, processor), &ns) in
            self.total_ns.range((interval, 0)..=(interval, u16::MAX)).filter(|(_, ns)| **ns != 0)
        {
            let cells = cells.get_or_insert_with(|| vec![0; processors as usize]);
            if let Some(cell) = cells.get_mut(usize::from(processor)) {
                *cell = ns;
            }
        }
        cells
    }
}

/// Interrupts by module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptModules {
    /// Number of logical processors.
    pub processors: u32,
    /// True if the recording has interrupts of this kind, inside or outside the intervals.
    pub recorded: bool,
    /// The modules, most interrupts first.
    pub modules: Vec<ModuleInterrupts>,
}

/// Sums up deferred procedure calls (if `dpcs`) or interrupt service routines by module. A call belongs entirely to the
/// interval between consecutive `cuts` in which it ended. `cuts` and `bounds_ns` must be in ascending order.
#[must_use]
pub fn by_module(trace: &Trace, cuts: &[i64], bounds_ns: &[i64], dpcs: bool) -> InterruptModules {
    let processors = processors(trace);
    let interval_count = cuts.len().saturating_sub(1);
    let modules_by_address = Modules::from_trace(trace);
    let mut path_by_routine: HashMap<u64, StringId> = HashMap::new();
    let mut modules: HashMap<StringId, ModuleInterrupts> = HashMap::new();
    let mut recorded = false;
    for chunk in trace.interrupts.chunks() {
        for row in chunk.iter() {
            if dpcs == (row.kind == InterruptKind::Interrupt) {
                continue;
            }
            recorded = true;
            let next_cut = cuts.partition_point(|&cut| cut <= row.end_ns);
            let is_last = row.end_ns == trace.duration_ns && next_cut == cuts.len();
            let Some(interval) = (next_cut - usize::from(is_last && next_cut > 0))
                .checked_sub(1)
                .filter(|&interval| interval < interval_count)
            else {
                continue;
            };
            let path = *path_by_routine.entry(row.routine).or_insert_with(|| {
                let path = modules_by_address.path_at(0, row.routine, row.end_ns);
                path.unwrap_or(StringId::EMPTY)
            });
            let module = modules.entry(path).or_insert_with(|| ModuleInterrupts {
                module: file_name(trace.text(path)).to_owned(),
                count: 0,
                total_ns: BTreeMap::new(),
                histogram: vec![0; bounds_ns.len() + 1],
            });
            let duration_ns = row.end_ns.saturating_sub(row.start_ns).max(0);
            module.count += 1;
            if u32::from(row.cpu) < processors {
                let sum = module.total_ns.entry((interval, row.cpu)).or_default();
                *sum = sum.saturating_add(duration_ns);
            }
            let bin = bounds_ns.partition_point(|&bound| bound < duration_ns);
            if let Some(count) = module.histogram.get_mut(bin) {
                *count += 1;
            }
        }
    }
    let mut modules: Vec<ModuleInterrupts> = modules.into_values().collect();
    modules.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.module.cmp(&b.module)));
    InterruptModules { processors, recorded, modules }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, image, interrupts};

    #[test]
    fn interrupt_time_by_interval_and_cpu() {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        trace.system.processors = 2;
        const DRIVER: u64 = 0xffff_f801_2000_0000;
        image(&mut trace, 4, (DRIVER, 0x1000), None, r"\a\disk.sys");
        let (isr, dpc) = (InterruptKind::Interrupt, InterruptKind::TimerDpc);
        interrupts(
            &mut trace,
            &[
                (10 * MS, 12 * MS, 0, dpc, DRIVER),
                (20 * MS, 21 * MS, 1, isr, DRIVER),
                (60 * MS, 69 * MS, 1, dpc, DRIVER),
                (99 * MS, 100 * MS, 1, dpc, 0x77),
            ],
        );
        let cuts = [0, 50 * MS, 100 * MS];
        let dpcs = by_module(&trace, &cuts, &[MS, 4 * MS], true);
        assert_eq!(dpcs.processors, 2);
        let disk = &dpcs.modules[0];
        assert_eq!((disk.module.as_str(), disk.count), ("disk.sys", 2));
        assert_eq!(disk.in_interval(0, 2), Some(vec![2 * MS, 0]));
        assert_eq!(disk.in_interval(1, 2), Some(vec![0, 9 * MS]));
        assert_eq!(disk.histogram, [0, 1, 1]);
        // An interrupt that ends with the recording counts in the last interval.
        assert_eq!((dpcs.modules[1].in_interval(0, 2), dpcs.modules[1].in_interval(1, 2)), (None, Some(vec![0, MS])));
        assert_eq!(by_module(&trace, &cuts, &[], false).modules[0].count, 1);
    }
}
