//! Breakdown and CPU and disk usage of a phase.

use onoff_blame::account::PhaseAccount;
use onoff_evidence::Certainty;
use onoff_report::text::why::account as account_text;
use onoff_trace::Trace;
use onoff_usage::cpu;
use onoff_usage::disk;

use crate::page::{PageAccountEntry, PageUsage, PageUsageRow};

/// Maximum number of rows per table.
const MAX_ROWS: usize = 60;

/// Converts the account of a phase for the page.
pub(crate) fn account_entries(account: &PhaseAccount) -> Vec<PageAccountEntry> {
    account
        .entries
        .iter()
        .take(MAX_ROWS)
        .map(|entry| PageAccountEntry {
            subject: account_text::subject(entry, &account.entries),
            kind: account_text::kind(entry.kind).to_owned(),
            ns: entry.ns,
            actions: account_text::actions(entry),
            certainty: if entry.unknown_reason.is_some() { Certainty::Missing } else { entry.certainty },
            intervals: entry.intervals.iter().map(|interval| (interval.start_ns, interval.end_ns)).collect(),
        })
        .collect()
}

pub(crate) fn usage(trace: &Trace, start_ns: i64, end_ns: i64) -> PageUsage {
    if start_ns >= end_ns {
        return PageUsage::default();
    }
    let bounds = [start_ns, end_ns];
    let process_name = |image: &str, pid: Option<u32>| match (image, pid) {
        ("", None) => "unknown".to_owned(),
        ("", Some(pid)) => format!("process {pid}"),
        (image, Some(pid)) => format!("{image} ({pid})"),
        (image, None) => image.to_owned(),
    };
    let processors = cpu::usage(trace, &bounds).into_iter().flat_map(|usage| usage.by_process);
    let disks = disk::usage(trace, &bounds);
    let row = |name: String, detail: String, operations: &disk::DiskOperations, ns: i64| PageUsageRow {
        name,
        detail,
        ns,
        count: operations.operations(),
        bytes: operations.bytes(),
    };
    PageUsage {
        processors: processors
            .take(MAX_ROWS)
            .map(|process| PageUsageRow {
                name: process_name(&process.image, process.pid),
                detail: format!("{:.1} % of CPU", process.percent),
                ns: process.cpu_ns,
                ..PageUsageRow::default()
            })
            .collect(),
        disks: disks
            .iter()
            .flat_map(|usage| &usage.by_process)
            .take(MAX_ROWS)
            .map(|process| {
                row(process_name(&process.image, process.pid), String::new(), &process.operations, process.service_ns)
            })
            .collect(),
        files: disks
            .iter()
            .flat_map(|usage| &usage.by_file)
            .take(MAX_ROWS)
            .map(|file| {
                let name = if file.name.is_empty() { "unknown file".to_owned() } else { file.name.clone() };
                row(name, String::new(), &file.operations, file.service_ns)
            })
            .collect(),
    }
}
