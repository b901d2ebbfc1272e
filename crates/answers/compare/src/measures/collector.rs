//! Collects the measures of a run.

use crate::RunSubject;
use hashbrown::HashMap;
use onoff_transitions::Phase;

use super::{MAX_SHARES, MIN_SHARE_NS};
use crate::run::{Category, Measure, MeasureUnit};
use onoff_usage::cpu::{CpuUsage, ProcessCpu};
use onoff_usage::disk::DiskUsage;

/// Collects measures. Measures with the same key are summed and keep the earliest start.
pub(super) struct Collector {
    transition: RunSubject,
    is_case_sensitive: bool,
    /// Name and start of the phases with a known start, sorted by start.
    phases: Vec<(String, i64)>,
    measures: Vec<Measure>,
    index_by_key: HashMap<String, usize>,
    /// CPU time by image, ns, and whether it is doubtful.
    cpu: HashMap<String, (i64, bool)>,
    /// Disk time by file, ns, and whether it is doubtful.
    files: HashMap<String, (i64, bool)>,
}

impl Collector {
    pub(super) fn new(transition: RunSubject) -> Self {
        Self {
            transition,
            is_case_sensitive: false,
            phases: Vec::new(),
            measures: Vec::new(),
            index_by_key: HashMap::new(),
            cpu: HashMap::new(),
            files: HashMap::new(),
        }
    }

    /// Returns a collector for a system with case-sensitive names.
    pub(super) fn case_sensitive(transition: RunSubject) -> Self {
        Self { is_case_sensitive: true, ..Self::new(transition) }
    }

    /// Adds a total if known.
    pub(super) fn total(&mut self, name: &str, ns: Option<i64>) {
        if let Some(ns) = ns {
            self.number(name, MeasureUnit::Ns, ns);
        }
    }

    /// Adds a number for the whole transition.
    pub(super) fn number(&mut self, name: &str, unit: MeasureUnit, value: i64) {
        let key = format!("{}.{name}", self.transition.as_str());
        self.add(key, Category::Total, unit, value, None, false);
    }

    /// Adds a phase, if its duration is known, and its CPU and disk usage.
    pub(super) fn phase(&mut self, phase: &Phase) {
        self.phase_with_labels(phase, |process| &process.image);
    }

    /// Like [`Self::phase`], with custom names of processes.
    pub(super) fn phase_with_labels<'u>(&mut self, phase: &'u Phase, process_name: impl Fn(&'u ProcessCpu) -> &'u str) {
        let name = phase.name.as_str();
        if let Some(start_ns) = phase.start_ns {
            let index = self.phases.partition_point(|(_, start)| *start <= start_ns);
            self.phases.insert(index, (name.to_owned(), start_ns));
        }
        if let Some(ns) = phase.duration_without_input_ns() {
            self.add(self.key(Category::Phase, name), Category::Phase, MeasureUnit::Ns, ns, None, false);
        }
        self.usage(phase.cpu.as_ref(), phase.disk.as_ref(), process_name);
    }

    /// Adds a stage of a boot without operating-system phases.
    pub(super) fn stage(&mut self, name: &str, start_ns: i64, duration_ns: i64) {
        let index = self.phases.partition_point(|(_, start)| *start <= start_ns);
        self.phases.insert(index, (name.to_owned(), start_ns));
        self.add(self.key(Category::Phase, name), Category::Phase, MeasureUnit::Ns, duration_ns, None, false);
    }

    /// Adds an item with a start, if its duration is known.
    pub(super) fn item(
        &mut self,
        category: Category,
        name: &str,
        start_ns: i64,
        duration_ns: Option<i64>,
        doubtful: bool,
    ) {
        let Some(ns) = duration_ns.filter(|_| !name.is_empty()) else { return };
        self.add(self.key(category, name), category, MeasureUnit::Ns, ns, Some(start_ns), doubtful);
    }

    /// Adds a part of an item, without a start.
    pub(super) fn part(&mut self, category: Category, name: &str, duration_ns: Option<i64>, doubtful: bool) {
        if let Some(ns) = duration_ns {
            self.add(self.key(category, name), category, MeasureUnit::Ns, ns, None, doubtful);
        }
    }

    /// Adds the CPU and disk usage of a phase.
    fn usage<'u>(
        &mut self,
        cpu: Option<&'u CpuUsage>,
        disk: Option<&DiskUsage>,
        name: impl Fn(&'u ProcessCpu) -> &'u str,
    ) {
        let add_share = |shares: &mut HashMap<String, (i64, bool)>, name: &str, ns: i64, doubtful| {
            if ns > 0 && !name.is_empty() {
                let (sum, is_doubtful) = shares.entry_ref(name).or_default();
                *sum = sum.saturating_add(ns);
                *is_doubtful |= doubtful;
            }
        };
        if let Some(cpu) = cpu {
            let doubtful = !cpu.affecting_losses.is_empty();
            for process in &cpu.by_process {
                add_share(&mut self.cpu, name(process), process.cpu_ns, doubtful);
            }
        }
        if let Some(disk) = disk {
            let doubtful = !disk.affecting_losses.is_empty();
            for file in &disk.by_file {
                add_share(&mut self.files, &file.name, file.service_ns, doubtful);
            }
        }
    }

    /// Returns the measures: totals and phases in their order, then items by start, then usage, largest first.
    pub(super) fn finish(mut self) -> Vec<Measure> {
        for (category, shares) in
            [(Category::Cpu, std::mem::take(&mut self.cpu)), (Category::File, std::mem::take(&mut self.files))]
        {
            let mut shares: Vec<(String, (i64, bool))> =
                shares.into_iter().filter(|(_, (ns, _))| *ns >= MIN_SHARE_NS).collect();
            shares.sort_by(|(a, (a_ns, _)), (b, (b_ns, _))| b_ns.cmp(a_ns).then_with(|| a.cmp(b)));
            shares.truncate(MAX_SHARES);
            for (name, (ns, doubtful)) in shares {
                self.add(self.key(category, &name), category, MeasureUnit::Ns, ns, None, doubtful);
            }
        }
        self.measures
    }

    fn key(&self, category: Category, name: &str) -> String {
        format!("{}.{}.{name}", self.transition.as_str(), category.as_str())
    }

    fn add(
        &mut self,
        key: String,
        category: Category,
        unit: MeasureUnit,
        value: i64,
        start_ns: Option<i64>,
        doubtful: bool,
    ) {
        let match_key = if self.is_case_sensitive { key.clone() } else { key.to_ascii_lowercase() };
        if let Some(measure) = self.index_by_key.get(&match_key).and_then(|&index| self.measures.get_mut(index)) {
            measure.value = measure.value.saturating_add(value);
            measure.doubtful |= doubtful;
            return;
        }
        let phase_start = start_ns.and_then(|start_ns| {
            let count = self.phases.partition_point(|(_, start)| *start <= start_ns);
            let (name, phase_start_ns) = self.phases.get(count.checked_sub(1)?)?;
            Some((name.clone(), start_ns.saturating_sub(*phase_start_ns)))
        });
        let (phase, since_phase_ns) = phase_start.unzip();
        self.index_by_key.insert(match_key, self.measures.len());
        self.measures.push(Measure { key, category, unit, value, phase, since_phase_ns, doubtful, subject: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_transitions::PhaseName;

    #[test]
    fn sums_items_by_name_and_aligns_them_to_phase() {
        let mut collector = Collector::new(RunSubject::Boot);
        collector.total("total", Some(90));
        collector.total("os_loader", None);
        let phase = |name, start_ns, duration_ns| Phase { start_ns, duration_ns, ..Phase::unknown(name) };
        collector.phase(&phase(PhaseName::ExplorerInit, Some(40), Some(50)));
        collector.phase(&phase(PhaseName::SmssInit, Some(10), Some(30)));
        collector.phase(&phase(PhaseName::PostBoot, None, None));
        collector.item(Category::Service, "Spooler", 47, Some(5), false);
        collector.item(Category::Service, "Spooler", 50, Some(6), true);
        collector.item(Category::Service, "Early", 5, Some(1), false);
        collector.item(Category::Service, "Never", 50, None, false);
        collector.item(Category::Device, "", 50, Some(1), false);
        let measures = collector.finish();
        let keys: Vec<&str> = measures.iter().map(|measure| measure.key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "boot.total",
                "boot.phase.ExplorerInit",
                "boot.phase.SMSSInit",
                "boot.service.Spooler",
                "boot.service.Early"
            ]
        );
        let spooler = &measures[3];
        assert_eq!((spooler.value, spooler.doubtful), (11, true));
        assert_eq!((spooler.phase.as_deref(), spooler.since_phase_ns), (Some("ExplorerInit"), Some(7)));
        assert_eq!(spooler.name(), "Spooler");
        assert_eq!(measures[4].phase, None);
    }

    #[test]
    fn omits_usage_below_one_millisecond() {
        let mut collector = Collector::new(RunSubject::Boot);
        let cpu = |image: &str, cpu_ns| Phase {
            cpu: Some(CpuUsage {
                by_process: vec![ProcessCpu { pid: Some(8), image: image.to_owned(), cpu_ns, percent: 0.0 }],
                ..CpuUsage::default()
            }),
            ..Phase::unknown(PhaseName::PreSmss)
        };
        collector.phase(&cpu("a.exe", MIN_SHARE_NS - 1));
        collector.phase(&cpu("b.exe", MIN_SHARE_NS / 2));
        collector.phase(&cpu("b.exe", MIN_SHARE_NS / 2));
        collector.phase(&cpu("c.exe", 2 * MIN_SHARE_NS));
        let measures = collector.finish();
        let shares: Vec<(&str, i64)> = measures.iter().map(|measure| (measure.name(), measure.value)).collect();
        assert_eq!(shares, [("c.exe", 2 * MIN_SHARE_NS), ("b.exe", MIN_SHARE_NS)]);
    }
}
