//! Analyzes hard faults (page faults that read from disk) by process, file or extension.

use onoff_trace::{Losses, TableName, TableSet, Trace};
use serde::Serialize;

use super::grouping::{Groups, Key, Names, SharedValues};
use onoff_evidence::affecting_losses;
use onoff_evidence::interval::Interval;
use onoff_evidence::scope::Scope;

/// The tables that [`analyze`] reads.
pub const TABLES: TableSet = TableSet::from_names(&[TableName::HardFaults, TableName::Processes]);

/// The result of `onoff hardfaults`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardFaultReport {
    /// The analyzed interval.
    pub range: Interval,
    pub by: Vec<Key>,
    /// Totals of the selected processes.
    pub total: HardFaultAmounts,
    /// Hard faults by group, longest total wait first.
    pub groups: Vec<HardFaultGroup>,
    /// Number of hard faults in the recording, regardless of the selection.
    pub recorded: u64,
    /// Names of the losses that can affect the result.
    pub affecting_losses: Vec<String>,
    pub losses: Losses,
}

/// Totals of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardFaultGroup {
    #[serde(flatten)]
    pub shared: SharedValues,
    #[serde(flatten)]
    pub amounts: HardFaultAmounts,
}

/// Totals of hard faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardFaultAmounts {
    pub faults: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Time that threads waited for their pages, ns.
    pub waited_ns: i64,
    /// Longest wait, ns.
    pub longest_ns: i64,
}

impl HardFaultAmounts {
    fn add(&mut self, bytes: u64, waited_ns: i64) {
        self.faults += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.waited_ns = self.waited_ns.saturating_add(waited_ns);
        self.longest_ns = self.longest_ns.max(waited_ns);
    }
}

/// Analyzes the hard faults that ended in `scope`, grouped by `keys`; without keys there is one group.
#[must_use]
pub fn analyze(trace: &Trace, scope: &Scope, keys: &[Key]) -> HardFaultReport {
    let mut names = Names::new(trace, scope);
    let mut groups: Groups<HardFaultAmounts> = Groups::with_keys(keys);
    let mut total = HardFaultAmounts::default();
    for fault in trace.hard_faults.iter() {
        if !scope.range.contains(fault.end_ns) {
            continue;
        }
        let actor = (fault.pid, fault.start_ns);
        if let Some(subject) = names.subject(actor, fault.file, "read") {
            let waited_ns = fault.end_ns.saturating_sub(fault.start_ns).max(0);
            for amounts in [groups.entry(&names, subject), &mut total] {
                amounts.add(fault.size, waited_ns);
            }
        }
    }
    let mut groups: Vec<HardFaultGroup> =
        groups.finish(&names).into_iter().map(|(shared, amounts)| HardFaultGroup { shared, amounts }).collect();
    groups.sort_by(|a, b| {
        let cost = |group: &HardFaultGroup| (group.amounts.waited_ns, group.amounts.bytes);
        cost(b).cmp(&cost(a)).then_with(|| a.shared.order().cmp(&b.shared.order()))
    });
    HardFaultReport {
        range: scope.range,
        by: keys.to_vec(),
        total,
        groups,
        recorded: trace.hard_faults.len() as u64,
        affecting_losses: affecting_losses(trace, &[TableName::HardFaults, TableName::Processes]),
        losses: trace.losses.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, process};
    use onoff_trace::{HardFault, Pattern};

    fn fault(trace: &mut Trace, pid: u32, (start, end): (i64, i64), size: u64, file: &str) {
        let file = trace.strings.intern(file);
        trace.hard_faults.push(HardFault {
            start_ns: start * MS,
            end_ns: end * MS,
            pid: Some(pid),
            tid: pid + 4,
            file,
            file_object: 1,
            offset: 0,
            size,
            address: 0,
        });
    }

    #[test]
    fn waits_and_bytes_add_up_by_key() {
        let mut trace = Trace::default();
        process(&mut trace, 100, "editor.exe", None, None);
        process(&mut trace, 200, "mail.exe", None, None);
        fault(&mut trace, 100, (0, 10), 4096, r"\a.dll");
        fault(&mut trace, 200, (5, 11), 8192, r"\a.dll");
        fault(&mut trace, 100, (20, 23), 4096, r"\b.dll");
        fault(&mut trace, 100, (50, 99), 4096, r"\late.dll");
        trace.duration_ns = 200 * MS;
        let scope = Scope::between(&trace, 0, 60 * MS).unwrap();
        let report = analyze(&trace, &scope, &[Key::File]);
        let rows: Vec<_> = report
            .groups
            .iter()
            .map(|group| {
                let amounts = group.amounts;
                let file = group.shared.file.as_deref().unwrap();
                let image = group.shared.image.as_deref();
                (file, image, amounts.faults, amounts.waited_ns / MS)
            })
            .collect();
        assert_eq!(rows, [("a.dll", None, 2, 16), ("b.dll", Some("editor.exe"), 1, 3),]);
        assert_eq!(report.total.bytes, 16384);
        assert_eq!(report.total.longest_ns, 10 * MS);

        let scope = scope.with_processes(vec![Pattern::new("mail.exe")]);
        let report = analyze(&trace, &scope, &[Key::Process]);
        assert_eq!(report.groups.len(), 1);
        assert_eq!(report.groups[0].shared.pid, Some(200));
        assert_eq!(report.total.faults, 1);
    }
}
