//! CPU usage in an interval: by process, thread, priority, module or processor, or any combination of them.

use hashbrown::HashMap;
use onoff_trace::{Losses, StringId, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_evidence::scope::Scope;
use onoff_usage::asleep;
use onoff_usage::cpu::{
    Capacity, CpuInterval, CpuSource, CpuTotals, ReadyWait, charge, charge_from_samples, percent_of, ready_waits,
};
use onoff_usage::interruptions::Interruptions;
use onoff_usage::modules::Modules;
use onoff_usage::owners::{IDLE, Owners, UNKNOWN, file_name};

/// Grouping keys of CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CpuGroup {
    /// Process.
    Process,
    /// Thread, with its process.
    Thread,
    /// Priority of the running thread.
    Priority,
    /// Sampled module: always an estimate.
    Module,
    /// Processor.
    Processor,
}

/// Returns the tables that the list needs for this grouping.
#[must_use]
pub fn tables(groups: &[CpuGroup]) -> TableSet {
    let tables = TableSet::from_names(&[
        TableName::Processes,
        TableName::Threads,
        TableName::ContextSwitches,
        TableName::Samples,
        TableName::ReadyThreads,
        TableName::Interrupts,
    ])
    .union(asleep::TABLES);
    if groups.contains(&CpuGroup::Module) || groups.contains(&CpuGroup::Thread) {
        tables.with(TableName::Images)
    } else {
        tables
    }
}

/// CPU time of one process, thread, priority, module or processor, as grouped; other keys are empty or `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuRow {
    /// Image file name of the process; empty if unknown.
    pub image: String,
    /// Process id; `None` if unknown.
    pub pid: Option<u32>,
    /// Thread id.
    pub tid: Option<u32>,
    /// Thread name; empty if none.
    pub thread_name: String,
    /// Service of the thread; empty if unknown.
    pub service: String,
    /// File name of the module in which the thread started; empty if unknown.
    pub start_module: String,
    /// Priority, 0–31.
    pub priority: Option<u8>,
    /// File name of the module; empty if unknown.
    pub module: String,
    /// Processor.
    pub processor: Option<u16>,
    /// CPU time, ns.
    pub cpu_ns: i64,
    /// Percentage of the interval times the number of processors; of the interval alone if grouped by processor.
    pub percent: f64,
    /// Part of `cpu_ns` in which interrupts and DPCs ran, ns; `None` if not recorded.
    pub interrupted_ns: Option<i64>,
    /// Number of switch-ins, including the one before the start of the interval; `None` without context switches.
    pub switches: Option<u64>,
    /// Number of samples; `None` if the times come from context switches.
    pub samples: Option<u64>,
    /// Time ready but waiting for a processor, ns; `None` if not recorded.
    pub ready_ns: Option<i64>,
    /// Longest of these waits, ns.
    pub max_ready_ns: Option<i64>,
    /// Number of these waits.
    pub ready_waits: Option<u64>,
}

/// The result of `onoff cpu`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuList {
    /// The listed interval.
    pub range: Interval,
    /// Grouping keys.
    pub by: Vec<CpuGroup>,
    /// CPU time of all processes in the interval, regardless of the selection.
    pub cpu: CpuTotals,
    /// Time in interrupts and DPCs on all processors, idle or not, ns; `None` if not recorded.
    pub interrupts_ns: Option<i64>,
    /// Rows, most CPU time first.
    pub rows: Vec<CpuRow>,
    /// Records that were not recorded but would add detail.
    pub missing_evidence: Vec<MissingRecords>,
    /// Names of the losses that affect this list.
    pub affecting_losses: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// Key of a row; ungrouped parts are equal in all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Key {
    owner: u32,
    tid: u32,
    life: u32,
    priority: u8,
    processor: u16,
    module: StringId,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    cpu_ns: i64,
    interrupted_ns: i64,
    intervals: u64,
    ready_ns: i64,
    max_ready_ns: i64,
    ready_waits: u64,
}

/// The parts of the key in use.
#[derive(Clone, Copy, Debug)]
struct KeyParts {
    process: bool,
    thread: bool,
    priority: bool,
    module: bool,
    processor: bool,
}

impl KeyParts {
    fn new(groups: &[CpuGroup]) -> Self {
        let thread = groups.contains(&CpuGroup::Thread);
        Self {
            process: thread || groups.contains(&CpuGroup::Process),
            thread,
            priority: groups.contains(&CpuGroup::Priority),
            module: groups.contains(&CpuGroup::Module),
            processor: groups.contains(&CpuGroup::Processor),
        }
    }

    #[inline]
    fn key(self, cpu_interval: &CpuInterval, module: StringId) -> Key {
        Key {
            owner: if self.process { cpu_interval.owner } else { 0 },
            tid: if self.thread { cpu_interval.tid } else { 0 },
            life: if self.thread { cpu_interval.life } else { 0 },
            priority: if self.priority { cpu_interval.priority } else { 0 },
            processor: if self.processor { cpu_interval.processor } else { 0 },
            module,
        }
    }
}

/// Lists CPU usage in `scope`, grouped by process if `groups` is empty.
#[must_use]
pub fn list(trace: &Trace, scope: &Scope, groups: &[CpuGroup]) -> CpuList {
    let groups = if groups.is_empty() { vec![CpuGroup::Process] } else { groups.to_vec() };
    let parts = KeyParts::new(&groups);
    let range = scope.range;
    let mut owners = Owners::from_trace(trace);
    // Lookups must be in time order, so the second pass needs a copy; a fresh index would number threads differently.
    let mut wait_owners = owners.clone();
    let mut tally = Tally::new(trace, scope, parts, &owners);
    let bounds = [range.start_ns, range.end_ns];
    let source = if parts.module {
        charge_from_samples(trace, &mut owners, &bounds, |cpu_interval| tally.add_cpu(&cpu_interval))
    } else {
        charge(trace, &mut owners, &bounds, |cpu_interval| tally.add_cpu(&cpu_interval))
    };
    let has_ready_waits = source == CpuSource::ContextSwitches && !trace.ready_threads.is_empty();
    if has_ready_waits {
        ready_waits(trace, &mut wait_owners, range, |wait| {
            tally.add_ready_wait(&wait);
        });
    }
    let cpu = Capacity::from_source(trace, &owners, source).totals(
        range,
        tally.busy_ns,
        tally.idle_ns,
        tally.unattributed_ns,
    );
    let interrupts_ns = interrupts_ns(trace, range, cpu.processors);
    // A sample shows the interrupt, not the thread it interrupted.
    let has_interrupted_time = interrupts_ns.is_some() && source == CpuSource::ContextSwitches;
    let names = NameResolver::new(trace, &owners);
    let mut rows: Vec<CpuRow> = tally
        .sums
        .iter()
        .map(|(key, sums)| {
            let intervals = |counted_source| (source == counted_source).then_some(sums.intervals);
            CpuRow {
                cpu_ns: sums.cpu_ns,
                percent: if parts.processor {
                    percent_of(sums.cpu_ns, range.duration_ns())
                } else {
                    cpu.percent(sums.cpu_ns)
                },
                interrupted_ns: has_interrupted_time.then_some(sums.interrupted_ns),
                switches: intervals(CpuSource::ContextSwitches),
                samples: intervals(CpuSource::Samples),
                ready_ns: has_ready_waits.then_some(sums.ready_ns),
                max_ready_ns: has_ready_waits.then_some(sums.max_ready_ns),
                ready_waits: has_ready_waits.then_some(sums.ready_waits),
                ..names.row(key, parts)
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        let key = |row: &CpuRow| (row.pid, row.tid, row.priority, row.processor);
        b.cpu_ns.cmp(&a.cpu_ns).then(key(a).cmp(&key(b))).then_with(|| a.module.cmp(&b.module))
    });
    CpuList {
        range,
        missing_evidence: missing_records(trace, source, parts),
        by: groups,
        cpu,
        interrupts_ns,
        rows,
        affecting_losses: affecting_losses(trace, source.tables()),
        losses: trace.losses.clone(),
    }
}

/// Accumulates the sums.
struct Tally {
    parts: KeyParts,
    /// (is selected, process id) of each owner.
    owners: Vec<(bool, u32)>,
    modules: Option<Modules>,
    interruptions: Interruptions,
    sums: HashMap<Key, Sums>,
    busy_ns: i64,
    idle_ns: i64,
    unattributed_ns: i64,
}

impl Tally {
    fn new(trace: &Trace, scope: &Scope, parts: KeyParts, owners: &Owners) -> Self {
        let owners = owners.list().iter().map(|owner| {
            let image = file_name(trace.text(owner.image));
            let is_selected = scope.has_process(owner.pid, image);
            (is_selected, owner.pid.unwrap_or(0))
        });
        Self {
            parts,
            owners: owners.collect(),
            modules: parts.module.then(|| Modules::from_trace(trace)),
            interruptions: Interruptions::from_trace(trace),
            sums: HashMap::new(),
            busy_ns: 0,
            idle_ns: 0,
            unattributed_ns: 0,
        }
    }

    #[inline]
    fn add_cpu(&mut self, cpu_interval: &CpuInterval) {
        if cpu_interval.owner == IDLE {
            self.idle_ns = self.idle_ns.saturating_add(cpu_interval.ns);
            return;
        }
        self.busy_ns = self.busy_ns.saturating_add(cpu_interval.ns);
        if cpu_interval.owner == UNKNOWN {
            self.unattributed_ns = self.unattributed_ns.saturating_add(cpu_interval.ns);
        }
        let Some(&(true, pid)) = self.owners.get(cpu_interval.owner as usize) else { return };
        let module = self
            .modules
            .as_ref()
            .and_then(|modules| modules.path_at(pid, cpu_interval.address, cpu_interval.start_ns))
            .unwrap_or(StringId::EMPTY);
        let sum = self.sums.entry(self.parts.key(cpu_interval, module)).or_default();
        sum.cpu_ns = sum.cpu_ns.saturating_add(cpu_interval.ns);
        sum.intervals += u64::from(!cpu_interval.resumes_after_sleep);
        let end_ns = cpu_interval.start_ns.saturating_add(cpu_interval.ns);
        let interrupted_ns = self.interruptions.total_ns(cpu_interval.processor, cpu_interval.start_ns, end_ns);
        sum.interrupted_ns = sum.interrupted_ns.saturating_add(interrupted_ns);
    }

    fn add_ready_wait(&mut self, wait: &ReadyWait) {
        if !matches!(self.owners.get(wait.owner as usize), Some((true, _))) {
            return;
        }
        let key = self.parts.key(&wait.interval(), StringId::EMPTY);
        let sum = self.sums.entry(key).or_default();
        sum.ready_ns = sum.ready_ns.saturating_add(wait.ns);
        sum.max_ready_ns = sum.max_ready_ns.max(wait.ns);
        sum.ready_waits += 1;
    }
}

/// Time in interrupts on all processors in the interval, ns; `None` if not recorded.
fn interrupts_ns(trace: &Trace, range: Interval, processors: u32) -> Option<i64> {
    if trace.interrupts.is_empty() {
        return None;
    }
    let mut interruptions = Interruptions::from_trace(trace);
    let processor_count = u16::try_from(processors).unwrap_or(u16::MAX);
    let times = (0..processor_count).map(|processor| interruptions.total_ns(processor, range.start_ns, range.end_ns));
    Some(times.fold(0, i64::saturating_add))
}

fn missing_records(trace: &Trace, source: CpuSource, parts: KeyParts) -> Vec<MissingRecords> {
    let mut missing = Vec::new();
    match source {
        CpuSource::None if parts.module => {
            missing.push(MissingRecords::ProfileSamples);
        }
        CpuSource::None => {
            missing.push(MissingRecords::SwitchesOrSamples);
        }
        CpuSource::Samples if !parts.module => {
            missing.push(MissingRecords::ContextSwitches);
        }
        CpuSource::Samples => {
            if trace.images.is_empty() {
                missing.push(MissingRecords::ModuleLoads);
            }
        }
        CpuSource::ContextSwitches => {
            if trace.ready_threads.is_empty() {
                missing.push(MissingRecords::ReadyThreads);
            }
            if trace.interrupts.is_empty() {
                missing.push(MissingRecords::Interrupts);
            }
        }
    }
    missing
}

/// Resolves keys to names.
struct NameResolver<'a> {
    trace: &'a Trace,
    owners: &'a Owners,
    modules: Modules,
    /// Services by process and tag.
    services: HashMap<(u32, u32), &'a str>,
}

impl<'a> NameResolver<'a> {
    fn new(trace: &'a Trace, owners: &'a Owners) -> Self {
        let services = trace.system.services.iter();
        Self {
            trace,
            owners,
            modules: Modules::from_trace(trace),
            services: services
                .filter(|service| service.tag != 0)
                .map(|service| ((service.pid, service.tag), service.name.as_str()))
                .collect(),
        }
    }

    fn row(&self, key: &Key, parts: KeyParts) -> CpuRow {
        let mut row = CpuRow {
            priority: parts.priority.then_some(key.priority),
            processor: parts.processor.then_some(key.processor),
            module: file_name(self.trace.text(key.module)).to_owned(),
            ..CpuRow::default()
        };
        if parts.process
            && let Some(owner) = self.owners.list().get(key.owner as usize)
        {
            row.pid = owner.pid;
            file_name(self.trace.text(owner.image)).clone_into(&mut row.image);
        }
        if parts.thread {
            row.tid = Some(key.tid);
            let thread = self.owners.thread_row(key.life);
            if let Some(thread) = thread.and_then(|row_index| self.trace.threads.get(row_index)) {
                self.trace.text(thread.name).clone_into(&mut row.thread_name);
                if let Some(service) = self.services.get(&(thread.pid, thread.service_tag)) {
                    (*service).clone_into(&mut row.service);
                }
                let start_ns = thread.start_ns.unwrap_or(0);
                let module =
                    self.modules.path_at(thread.pid, thread.start_address, start_ns).unwrap_or(StringId::EMPTY);
                file_name(self.trace.text(module)).clone_into(&mut row.start_module);
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, image, interrupts, process, ready_threads, switches, thread};
    use onoff_trace::{InterruptKind, Pattern, Sample, Samples};

    /// Two processors, 100 ms: thread 8 of busy.exe and thread 12 of lazy.exe.
    fn machine() -> Trace {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        trace.system.processors = 2;
        process(&mut trace, 100, "busy.exe", Some(0), None);
        process(&mut trace, 200, "lazy.exe", Some(0), None);
        thread(&mut trace, 8, 100, Some(0), None);
        thread(&mut trace, 12, 200, Some(0), None);
        trace
    }

    #[test]
    fn reports_interrupt_and_ready_time_per_thread() {
        let mut trace = machine();
        // Processor 0: thread 8 from 10 to 40, thread 12 to 50. Processor 1 is idle.
        switches(
            &mut trace,
            &[(10 * MS, 0, 0, 8, 9), (40 * MS, 0, 8, 12, 4), (50 * MS, 0, 12, 0, 0), (90 * MS, 1, 0, 0, 0)],
        );
        ready_threads(&mut trace, &[(25 * MS, 12, 8)]);
        let (isr, dpc) = (InterruptKind::Interrupt, InterruptKind::Dpc);
        interrupts(
            &mut trace,
            &[(12 * MS, 13 * MS, 0, isr, 1), (38 * MS, 42 * MS, 0, dpc, 1), (60 * MS, 65 * MS, 1, dpc, 1)],
        );
        let list = list(&trace, &Scope::whole_recording(&trace), &[CpuGroup::Thread]);
        let rows: Vec<_> = list
            .rows
            .iter()
            .map(|row| {
                let ms = |ns: Option<i64>| ns.unwrap() / MS;
                let times = (row.cpu_ns / MS, ms(row.interrupted_ns), ms(row.ready_ns));
                (row.tid.unwrap(), times)
            })
            .collect();
        assert_eq!(rows, [(8, (30, 3, 0)), (12, (10, 2, 15))]);
        assert_eq!(list.interrupts_ns, Some(10 * MS));
        assert_eq!((list.cpu.busy_ns, list.cpu.idle_ns, list.cpu.unknown_ns), (40 * MS, 160 * MS, 0));
        assert!(list.missing_evidence.is_empty());
    }

    #[test]
    fn modules_come_from_samples_even_with_switches() {
        let mut trace = machine();
        switches(&mut trace, &[(10 * MS, 0, 0, 8, 9), (40 * MS, 1, 0, 8, 9)]);
        image(&mut trace, 100, (0x1000, 0x100), None, r"\a\busy.exe");
        image(&mut trace, 4, (0xffff_f800_0000_0000, 0x100), None, r"\a\disk.sys");
        let samples: Samples = (0..100)
            .map(|index| Sample {
                time_ns: index * MS,
                cpu: 0,
                tid: if index < 30 { 8 } else { 12 },
                address: match index {
                    0..20 => 0x1010,
                    20..30 => 0xffff_f800_0000_0010,
                    _ => 0x77,
                },
                count: 1,
                source: 0,
            })
            .collect();
        trace.samples.push(samples);
        let scope = Scope::whole_recording(&trace).with_processes(vec![Pattern::new("busy.exe")]);
        let list = list(&trace, &scope, &[CpuGroup::Module]);
        let rows: Vec<_> = list.rows.iter().map(|row| (row.module.as_str(), row.cpu_ns / MS, row.samples)).collect();
        assert_eq!(rows, [("busy.exe", 20, Some(20)), ("disk.sys", 10, Some(10))]);
        assert_eq!(list.cpu.source, CpuSource::Samples);
        assert_eq!(list.cpu.busy_ns, 100 * MS);
    }
}
