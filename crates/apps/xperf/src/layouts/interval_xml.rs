//! Shared parts of the XML of transitions: CPU and disk use in an interval, and names.

use std::io::{self, Write};

use onoff_usage::cpu::CpuUsage;
use onoff_usage::disk::{DiskOperations, DiskUsage, DiskWork};

use super::milliseconds;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::share;

/// The name that xperf shows for reads without a file, which belong to the boot read-ahead.
const READ_AHEAD_FILE: &str = "Unknown (0x0)";

/// Escapes a text as an attribute value. Control characters are not valid XML even when escaped.
pub(super) fn attribute(text: &str) -> String {
    quick_xml::escape::escape(printable(text)).into_owned()
}

pub(super) fn write_cpu(cpu: &CpuUsage, min_percent: f64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<perProcess>")?;
    let idle = share(cpu.idle_ns, cpu.capacity_ns);
    writeln!(
        out,
        "<perProcessCPUUsage name=\"Idle\" time=\"{}\" percentOfInterval=\"{idle:.2}\"/>",
        milliseconds(Some(cpu.idle_ns)),
    )?;
    let processes = cpu.by_process.iter().filter(|process| process.percent >= min_percent);
    for process in processes {
        let name = if process.image.is_empty() { "Unknown" } else { &process.image };
        writeln!(
            out,
            "<perProcessCPUUsage name=\"{}\" time=\"{}\" percentOfInterval=\"{:.2}\"/>",
            attribute(name),
            milliseconds(Some(process.cpu_ns)),
            process.percent,
        )?;
    }
    writeln!(out, "</perProcess>")?;
    writeln!(out, "<perPriority>")?;
    for row in &cpu.by_priority {
        writeln!(
            out,
            "<perPriorityCPUUsage priority=\"{}\" time=\"{}\" percentOfInterval=\"{:.2}\"/>",
            row.priority,
            milliseconds(Some(row.cpu_ns)),
            row.percent,
        )?;
    }
    writeln!(out, "</perPriority>")
}

pub(super) fn write_disk(disk: &DiskUsage, max_files: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let max_rows = max_files.unwrap_or(usize::MAX);
    writeln!(out, "<diskIO {}>", disk_attributes(&disk.operations))?;
    writeln!(out, "<byFile>")?;
    if disk.read_ahead.operations > 0 {
        let read_ahead = DiskOperations { read: disk.read_ahead, ..DiskOperations::default() };
        writeln!(out, "<file name=\"{READ_AHEAD_FILE}\" {}/>", disk_attributes(&read_ahead))?;
    }
    for file in disk.by_file.iter().take(max_rows) {
        writeln!(out, "<file name=\"{}\" {}/>", attribute(&file.name), disk_attributes(&file.operations))?;
    }
    writeln!(out, "</byFile>")?;
    writeln!(out, "<byExtension>")?;
    for extension in disk.by_extension.iter().take(max_rows) {
        writeln!(
            out,
            "<extension name=\"{}\" {}/>",
            attribute(&extension.name),
            disk_attributes(&extension.operations)
        )?;
    }
    writeln!(out, "</byExtension>")?;
    writeln!(out, "</diskIO>")
}

/// Formats the attributes of disk operations. Totals are the sum of reads and writes; flushes transfer no bytes.
fn disk_attributes(operations: &DiskOperations) -> String {
    let DiskOperations { read, write, flush } = operations;
    let total = DiskWork {
        operations: read.operations.saturating_add(write.operations),
        bytes: read.bytes.saturating_add(write.bytes),
        service_ns: read.service_ns.saturating_add(write.service_ns),
    };
    let format_work = |prefix: &str, work: &DiskWork| {
        format!(
            "{prefix}Bytes=\"{}\" {prefix}Ops=\"{}\" {prefix}Time=\"{}\"",
            work.bytes,
            work.operations,
            milliseconds(Some(work.service_ns))
        )
    };
    format!(
        "{} {} {} flushOps=\"{}\" flushTime=\"{}\"",
        format_work("read", read),
        format_work("write", write),
        format_work("total", &total),
        flush.operations,
        milliseconds(Some(flush.service_ns))
    )
}

/// Formats `DcomLaunch svchost (536)` for a shared host process with a service group, `image.exe (536)` for other
/// processes.
pub(super) fn container(command_line: &str, image: &str, pid: Option<u32>) -> String {
    let pid = pid.map_or_else(|| "-1".to_owned(), |pid| pid.to_string());
    let mut words = command_line.split_ascii_whitespace();
    let group = words.by_ref().find(|word| word.eq_ignore_ascii_case("-k")).and_then(|_| words.next());
    match (group, image) {
        (_, "") => String::new(),
        (Some(group), image) => format!("{group} {} ({pid})", image.strip_suffix(".exe").unwrap_or(image)),
        (None, image) => format!("{image} ({pid})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_saturate() {
        let max_work = DiskWork { operations: u64::MAX, bytes: u64::MAX, service_ns: i64::MAX };
        let attributes = disk_attributes(&DiskOperations { read: max_work, write: max_work, flush: max_work });
        assert!(attributes.contains(&format!("totalBytes=\"{}\"", u64::MAX)));
    }

    #[test]
    fn names_are_well_formed_xml() {
        assert_eq!(attribute("a<b>&\"c\u{1b}"), "a&lt;b&gt;&amp;&quot;c\\u{1b}");
    }
}
