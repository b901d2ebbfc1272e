//! Interrupt service routines and deferred procedure calls (DPCs) in an interval: counts, durations and drivers.
//!
//! A routine counts fully in the interval in which it ended. If one interrupts another, the time counts for both, as
//! recorded; the totals by processor count it once.

use hashbrown::HashMap;
use onoff_trace::{InterruptKind, Losses, StringId, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;
use onoff_usage::cpu::{percent_of, processors};
use onoff_usage::interruptions::Interruptions;
use onoff_usage::modules::Modules;
use onoff_usage::owners::file_name;

/// The tables that the list needs.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::Interrupts, TableName::Images]);

/// Grouping keys of interrupts, in addition to their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InterruptGroup {
    /// Module of the routine: the driver.
    Module,
    /// Address of the routine, with its module.
    Routine,
    /// Processor.
    Processor,
}

/// Upper bounds of the histogram bins, ns: 1 µs to 2048 µs in powers of two. The last bin is unbounded.
pub const BIN_BOUNDS_NS: [i64; 12] = {
    let mut bounds = [1_000; 12];
    let mut index = 1;
    while index < bounds.len() {
        bounds[index] = bounds[index - 1] * 2;
        index += 1;
    }
    bounds
};

/// A histogram bin of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DurationBin {
    /// Lower bound (exclusive), ns.
    pub over_ns: i64,
    /// Upper bound (inclusive), ns; `None` for the last bin.
    pub up_to_ns: Option<i64>,
    /// Count.
    pub count: u64,
}

/// Interrupts of one kind and, if grouped so, one module, routine or processor; other keys are empty or `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterruptRow {
    /// Kind.
    pub kind: InterruptKind,
    /// File name of the module; empty if unknown.
    pub module: String,
    /// Address of the routine, in hexadecimal.
    pub routine: String,
    /// Processor.
    pub processor: Option<u16>,
    /// Count.
    pub count: u64,
    /// Total duration, ns.
    pub total_ns: i64,
    /// Percentage of the interval times the number of processors; of the interval alone if grouped by processor.
    pub percent: f64,
    /// Mean duration, ns.
    pub mean_ns: i64,
    /// Longest duration, ns.
    pub longest_ns: i64,
    /// Start of the longest one, ns.
    pub longest_start_ns: i64,
    /// Histogram of durations, without empty bins above the longest.
    pub histogram: Vec<DurationBin>,
}

/// Interrupt time of one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessorInterrupts {
    /// Processor.
    pub processor: u16,
    /// Number of interrupt service routines that ended in the interval.
    pub interrupts: u64,
    /// Total duration, ns.
    pub interrupt_ns: i64,
    /// Number of DPCs that ended in the interval.
    pub dpcs: u64,
    /// Total duration, ns.
    pub dpc_ns: i64,
    /// Time in interrupts and DPCs in the interval, nested ones counted once, ns.
    pub total_ns: i64,
    /// That time as a percentage of the interval.
    pub total_percent: f64,
}

/// The result of `onoff interrupts`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterruptList {
    /// The listed interval.
    pub range: Interval,
    /// Grouping keys, in addition to the kind.
    pub by: Vec<InterruptGroup>,
    /// Number of interrupts in the whole recording.
    pub recorded: u64,
    /// Rows, most time first.
    pub rows: Vec<InterruptRow>,
    /// Interrupt time of each processor.
    pub processors: Vec<ProcessorInterrupts>,
    /// Names of the losses that affect this list.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: InterruptKind,
    module: StringId,
    routine: u64,
    processor: u16,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    total_ns: i64,
    longest_ns: i64,
    longest_start_ns: i64,
    bins: [u64; BIN_BOUNDS_NS.len() + 1],
}

impl Sums {
    #[inline]
    fn add(&mut self, start_ns: i64, ns: i64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        if ns > self.longest_ns || self.count == 1 {
            (self.longest_ns, self.longest_start_ns) = (ns, start_ns);
        }
        self.bins[BIN_BOUNDS_NS.partition_point(|&bound| bound < ns)] += 1;
    }

    fn histogram(&self) -> Vec<DurationBin> {
        let bin_count = self.bins.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        (0..bin_count)
            .map(|index| DurationBin {
                over_ns: index.checked_sub(1).map_or(0, |lower| BIN_BOUNDS_NS[lower]),
                up_to_ns: BIN_BOUNDS_NS.get(index).copied(),
                count: self.bins[index],
            })
            .collect()
    }
}

/// Lists the interrupts that ended in the interval of `scope`; interrupts have no process. Groups by module if `groups`
/// is empty.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope, groups: &[InterruptGroup]) -> InterruptList {
    let groups = if groups.is_empty() { vec![InterruptGroup::Module] } else { groups.to_vec() };
    let range = scope.range;
    let group_by_routine = groups.contains(&InterruptGroup::Routine);
    let group_by_module = group_by_routine || groups.contains(&InterruptGroup::Module);
    let group_by_processor = groups.contains(&InterruptGroup::Processor);
    let modules = Modules::from_trace(trace);
    // Caches the modules of routines: there are few routines, but millions of lookups.
    let mut routine_modules: HashMap<u64, StringId> = HashMap::new();
    let mut sums: HashMap<Key, Sums> = HashMap::new();
    let mut processors_seen: Vec<ProcessorInterrupts> = Vec::new();
    let mut recorded = 0_u64;
    for chunk in trace.interrupts.chunks() {
        recorded += chunk.len() as u64;
        for row in chunk.iter().filter(|row| range.contains(row.end_ns)) {
            let ns = row.end_ns.saturating_sub(row.start_ns).max(0);
            let module = if group_by_module {
                *routine_modules
                    .entry(row.routine)
                    .or_insert_with(|| modules.path_at(0, row.routine, row.end_ns).unwrap_or(StringId::EMPTY))
            } else {
                StringId::EMPTY
            };
            let key = Key {
                kind: row.kind,
                module,
                routine: if group_by_routine { row.routine } else { 0 },
                processor: if group_by_processor { row.cpu } else { 0 },
            };
            sums.entry(key).or_default().add(row.start_ns, ns);
            let processor = processor_entry(&mut processors_seen, row.cpu);
            if row.kind == InterruptKind::Interrupt {
                processor.interrupts += 1;
                processor.interrupt_ns = processor.interrupt_ns.saturating_add(ns);
            } else {
                processor.dpcs += 1;
                processor.dpc_ns = processor.dpc_ns.saturating_add(ns);
            }
        }
    }
    let length_ns = range.duration_ns();
    let mut interruptions = Interruptions::from_trace(trace);
    for processor in &mut processors_seen {
        processor.total_ns = interruptions.total_ns(processor.processor, range.start_ns, range.end_ns);
        processor.total_percent = percent_of(processor.total_ns, length_ns);
    }
    let processor_count = u32::try_from(processors_seen.len()).unwrap_or(u32::MAX);
    let capacity_ns = if group_by_processor {
        length_ns
    } else {
        length_ns.saturating_mul(i64::from(processors(trace).max(processor_count)))
    };
    let mut rows: Vec<InterruptRow> = sums
        .iter()
        .map(|(key, sums)| InterruptRow {
            kind: key.kind,
            module: file_name(trace.text(key.module)).to_owned(),
            routine: if group_by_routine { format!("{:#x}", key.routine) } else { String::new() },
            processor: group_by_processor.then_some(key.processor),
            count: sums.count,
            total_ns: sums.total_ns,
            percent: percent_of(sums.total_ns, capacity_ns),
            mean_ns: sums.total_ns.checked_div(i64::try_from(sums.count).unwrap_or(i64::MAX)).unwrap_or(0),
            longest_ns: sums.longest_ns,
            longest_start_ns: sums.longest_start_ns,
            histogram: sums.histogram(),
        })
        .collect();
    rows.sort_by(|a, b| {
        b.total_ns.cmp(&a.total_ns).then_with(|| {
            (a.kind, &a.module, &a.routine, a.processor).cmp(&(b.kind, &b.module, &b.routine, b.processor))
        })
    });
    InterruptList {
        range,
        by: groups,
        recorded,
        rows,
        processors: processors_seen,
        affecting_losses: affecting_losses(trace, &[TableName::Interrupts]),
        losses: trace.losses.clone(),
    }
}

fn processor_entry(list: &mut Vec<ProcessorInterrupts>, processor: u16) -> &mut ProcessorInterrupts {
    let index = usize::from(processor);
    while list.len() <= index {
        list.push(ProcessorInterrupts {
            processor: u16::try_from(list.len()).unwrap_or(u16::MAX),
            ..ProcessorInterrupts::default()
        });
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{image, interrupts};

    const US: i64 = 1_000;
    const DRIVER: u64 = 0xffff_f801_2000_0000;

    fn machine() -> Trace {
        let mut trace = Trace { duration_ns: 1_000 * US, ..Trace::default() };
        trace.system.processors = 2;
        image(&mut trace, 4, (DRIVER, 0x1000), None, r"\a\disk.sys");
        let (isr, dpc) = (InterruptKind::Interrupt, InterruptKind::Dpc);
        interrupts(
            &mut trace,
            &[
                (10 * US, 11 * US, 0, isr, DRIVER + 0x10),
                (20 * US, 30 * US, 0, isr, DRIVER + 0x10),
                // A DPC interrupted by the next interrupt.
                (105 * US, 106 * US, 1, isr, 0x77),
                (100 * US, 140 * US, 1, dpc, DRIVER + 0x20),
                (0, 3_000 * US, 1, dpc, DRIVER + 0x20),
            ],
        );
        trace
    }

    #[test]
    fn sums_interrupts_by_module_with_histogram() {
        let trace = machine();
        let range = Scope::between(&trace, 0, 500 * US).unwrap();
        let list = list(&trace, &range, &[]);
        assert_eq!(list.recorded, 5);
        let rows: Vec<_> = list
            .rows
            .iter()
            .map(|row| (row.kind.as_str(), row.module.as_str(), row.count, row.total_ns / US))
            .collect();
        assert_eq!(rows, [("dpc", "disk.sys", 1, 40), ("interrupt", "disk.sys", 2, 11), ("interrupt", "", 1, 1)]);
        let isr = &list.rows[1];
        assert_eq!((isr.longest_ns, isr.longest_start_ns), (10 * US, 20 * US));
        let bins: Vec<_> =
            isr.histogram.iter().map(|bin| (bin.over_ns / US, bin.up_to_ns.map(|ns| ns / US), bin.count)).collect();
        // 1 µs is in the first bin, whose upper bound it is; 10 µs is in the bin from 8 to 16.
        assert_eq!(bins, [(0, Some(1), 1), (1, Some(2), 0), (2, Some(4), 0), (4, Some(8), 0), (8, Some(16), 1)]);
        // 40 µs of 500 µs on two processors.
        assert!((list.rows[0].percent - 4.0).abs() < 1e-9);
        let total_us: Vec<_> = list.processors.iter().map(|row| row.total_ns / US).collect();
        assert_eq!(total_us, [11, 500]);
    }

    #[test]
    fn groups_by_routine_and_processor() {
        let trace = machine();
        let list = list(&trace, &Scope::whole_recording(&trace), &[InterruptGroup::Routine, InterruptGroup::Processor]);
        let first = &list.rows[0];
        assert_eq!((first.routine.as_str(), first.processor, first.count), ("0xfffff80120000020", Some(1), 1));
        assert!(first.histogram.is_empty() || first.histogram.last().unwrap().count > 0);
    }
}
