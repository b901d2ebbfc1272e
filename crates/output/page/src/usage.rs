//! Who held a phase, and who used processors and disks in it, as the page lists them.

use onoff_blame::account::PhaseAccount;
use onoff_evidence::Certainty;
use onoff_report::text::why::account as said;
use onoff_trace::Trace;
use onoff_usage::cpu;
use onoff_usage::disk;

use crate::page::{PageAccountEntry, PageUsage, PageUsageRow};

/// Rows of a table of the page.
const ROWS: usize = 60;

/// The account of a phase as the page lists it.
pub(crate) fn account_entries(account: &PhaseAccount) -> Vec<PageAccountEntry> {
    account
        .entries
        .iter()
        .take(ROWS)
        .map(|entry| PageAccountEntry {
            subject: said::subject(entry),
            kind: said::kind(entry.kind).to_owned(),
            ns: entry.ns,
            did: said::actions(entry),
            certainty: if entry.not_known.is_some() { Certainty::Missing } else { entry.certainty },
            stretches: entry.stretches.iter().map(|stretch| (stretch.start_ns, stretch.end_ns)).collect(),
        })
        .collect()
}

pub(crate) fn usage(trace: &Trace, start_ns: i64, end_ns: i64) -> PageUsage {
    if start_ns >= end_ns {
        return PageUsage::default();
    }
    let cuts = [start_ns, end_ns];
    let named = |image: &str, pid: Option<u32>| match (image, pid) {
        ("", None) => "not known".to_owned(),
        ("", Some(pid)) => format!("process {pid}"),
        (image, Some(pid)) => format!("{image} ({pid})"),
        (image, None) => image.to_owned(),
    };
    let processors = cpu::usage(trace, &cuts).into_iter().flat_map(|usage| usage.by_process);
    let disks = disk::usage(trace, &cuts);
    let row = |name: String, detail: String, operations: &disk::DiskOperations, ns: i64| PageUsageRow {
        name,
        detail,
        ns,
        count: operations.operations(),
        bytes: operations.bytes(),
    };
    PageUsage {
        processors: processors
            .take(ROWS)
            .map(|process| PageUsageRow {
                name: named(&process.image, process.pid),
                detail: format!("{:.1} % of the processors", process.percent),
                ns: process.cpu_ns,
                ..PageUsageRow::default()
            })
            .collect(),
        disks: disks
            .iter()
            .flat_map(|usage| &usage.by_process)
            .take(ROWS)
            .map(|process| {
                row(named(&process.image, process.pid), String::new(), &process.operations, process.service_ns)
            })
            .collect(),
        files: disks
            .iter()
            .flat_map(|usage| &usage.by_file)
            .take(ROWS)
            .map(|file| {
                let name = if file.name.is_empty() { "file not known".to_owned() } else { file.name.clone() };
                row(name, String::new(), &file.operations, file.service_ns)
            })
            .collect(),
    }
}
