//! `xperf -a diskio`: disk utilization and disk requests.

use std::io::{self, Write};

use onoff_evidence::Interval;
use onoff_evidence::Scope;
use onoff_trace::{DiskOperation, IoPriority, Trace};
use onoff_usage::storage::disk;
use onoff_usage::storage::requests::{self, Request};
use onoff_usage::storage::utilization::{queue_depths, utilization};
use onoff_usage::storage::{Key, NO_FILE};

use super::{process_cell, truncated_microseconds};
use onoff_report::text::printable::printable;

/// The reports to write, in the order of the fields. The default is utilization per
/// [`DiskIoOptions::DEFAULT_INTERVAL_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskIoOptions {
    /// Utilization by disk, per interval of this length in ns.
    pub utilization_ns: Option<i64>,
    /// Totals by file.
    pub summary: bool,
    /// Number of requests by process and disk.
    pub counts: bool,
    /// All requests.
    pub detail: bool,
    /// Time by number of outstanding requests.
    pub overlap: bool,
}

impl DiskIoOptions {
    /// The interval of `-util` without a number: 1 s.
    pub const DEFAULT_INTERVAL_NS: i64 = 1_000_000_000;
}

/// Legend of the columns about concurrent requests.
const LEGEND: &str = "\
QD/I - Number of outstanding IOs at IO start time.
QD/C - Number of outstanding IOs at IO Completion time.
IBCB - Number of IOs that initialized before start time and completed before end time.
IBCA - Number of IOs that initialized before start time and completed after end time.
IACB - Number of IOs that initialized after start time and completed before end time.
";

/// Writes the reports for the requests in `scope`.
pub fn write(trace: &Trace, scope: &Scope, options: &DiskIoOptions, out: &mut dyn Write) -> io::Result<()> {
    let DiskIoOptions { summary, counts, detail, overlap, .. } = *options;
    let utilization_ns = match options.utilization_ns {
        None if !(summary || counts || detail || overlap) => Some(DiskIoOptions::DEFAULT_INTERVAL_NS),
        interval => interval,
    };
    let mut separator = Separator::default();
    if let Some(interval_ns) = utilization_ns {
        separator.write(out)?;
        write_utilization(trace, scope.range, interval_ns, out)?;
    }
    if summary {
        separator.write(out)?;
        write_summary(trace, scope, out)?;
    }
    if counts {
        separator.write(out)?;
        write_counts(trace, scope, out)?;
    }
    if detail {
        separator.write(out)?;
        write_detail(trace, scope, out)?;
    }
    if overlap {
        separator.write(out)?;
        write_overlap(trace, scope.range, out)?;
    }
    Ok(())
}

/// Writes an empty line before every report except the first.
#[derive(Debug, Default)]
struct Separator {
    has_written: bool,
}

impl Separator {
    fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::replace(&mut self.has_written, true) {
            writeln!(out)?;
        }
        Ok(())
    }
}

fn write_utilization(trace: &Trace, range: Interval, interval_ns: i64, out: &mut dyn Write) -> io::Result<()> {
    let report = utilization(trace, range, interval_ns);
    write!(out, " StartTime,   EndTime")?;
    for disk in &report.disks {
        write!(out, ", Disk {disk}")?;
    }
    writeln!(out)?;
    if report.disks.is_empty() {
        return Ok(());
    }
    for interval in &report.intervals {
        let (start, end) = (interval.range.start_ns, interval.range.end_ns);
        write!(out, "{:>10},{:>10}", truncated_microseconds(start), truncated_microseconds(end))?;
        for &busy_ns in &interval.busy_ns {
            let share = busy_ns as f64 * 100.0 / interval.range.duration_ns().max(1) as f64;
            write!(out, ", {share:>6.2}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_summary(trace: &Trace, scope: &Scope, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "Count,     Size,     SrvT,  R-Count,   R-Size,   R-SrvT,  W-Count,   W-Size,   W-SrvT,   IOTime, Filename"
    )?;
    for group in disk::analyze(trace, scope, &[Key::Path]).groups {
        let amounts = group.amounts;
        let times = [amounts.service_ns, amounts.read_service_ns, amounts.write_service_ns, amounts.response_ns];
        let [service, read_service, write_service, response] = times.map(truncated_microseconds);
        let path = group.shared.path.unwrap_or_default();
        writeln!(
            out,
            "{:>4}, {:>8}, {service:>8}, {:>8}, {:>8}, {read_service:>8}, {:>8}, {:>8}, {write_service:>8}, \
             {response:>8}, {}",
            amounts.requests,
            amounts.bytes,
            amounts.reads,
            amounts.read_bytes,
            amounts.writes,
            amounts.write_bytes,
            file_name(&path)
        )?;
    }
    Ok(())
}

fn write_counts(trace: &Trace, scope: &Scope, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "    Process Name ( PID), Disk,    Count,  R-Count,  W-Count,  F-Count,   R-Size,   W-Size")?;
    let report = disk::analyze(trace, scope, &[Key::Process, Key::Disk]);
    for group in report.groups {
        let (shared, amounts) = (group.shared, group.amounts);
        writeln!(
            out,
            "{}, {:>4}, {:>8}, {:>8}, {:>8}, {:>8}, {:>8}, {:>8}",
            process_cell(shared.image.as_deref().unwrap_or_default(), shared.pid),
            shared.disk.unwrap_or_default(),
            amounts.requests,
            amounts.reads,
            amounts.writes,
            amounts.flushes,
            amounts.read_bytes,
            amounts.write_bytes,
        )?;
    }
    Ok(())
}

fn write_detail(trace: &Trace, scope: &Scope, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{LEGEND}")?;
    writeln!(
        out,
        "   IO Type, Start Time,   End Time,    IO Time,  Disk SrvT,    IO Size,  Byte Offset,  Pri, \
         QD/I, QD/C, IBCB, IBCA, IACB,     Process Name ( PID), Disk, Filename"
    )?;
    requests::visit_requests(trace, scope, &mut |request| write_request(request, out))
}

fn write_request(request: &Request<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Request { io, neighbors, .. } = request;
    let kind = match io.operation {
        DiskOperation::Read => "DiskRead",
        DiskOperation::Write => "DiskWrite",
        DiskOperation::Flush => "DiskFlush",
    };
    writeln!(
        out,
        "{kind:>10}, {:>10}, {:>10}, {:>10}, {:>10}, 0x{:08x}, 0x{:010x}, {:>4}, {:>4}, {:>4}, {:>4}, {:>4}, \
         {:>4}, {}, {:>4}, {}",
        truncated_microseconds(request.issued_ns),
        truncated_microseconds(io.complete_ns),
        truncated_microseconds(request.response_ns),
        truncated_microseconds(io.service_ns),
        io.size,
        io.offset,
        priority_number(io.priority),
        neighbors.at_issue,
        neighbors.at_completion,
        neighbors.before_and_completed,
        neighbors.before_and_outlived,
        neighbors.after_and_completed,
        process_cell(request.image, request.pid),
        io.disk,
        file_name(request.path),
    )
}

fn write_overlap(trace: &Trace, range: Interval, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Disk, Outstanding,       Time,       %,   Issued")?;
    for depth in queue_depths(trace, range) {
        let share = depth.time_ns as f64 * 100.0 / range.duration_ns().max(1) as f64;
        writeln!(
            out,
            "{:>4}, {:>11}, {:>10}, {share:>7.2}, {:>8}",
            depth.disk,
            depth.outstanding,
            truncated_microseconds(depth.time_ns),
            depth.issued
        )?;
    }
    Ok(())
}

/// Returns the priority as encoded in the request's flags: 0 if not set, otherwise the priority hint plus one.
const fn priority_number(priority: IoPriority) -> u8 {
    match priority {
        IoPriority::Unknown => 0,
        IoPriority::VeryLow => 1,
        IoPriority::Low => 2,
        IoPriority::Normal => 3,
        IoPriority::High => 4,
        IoPriority::Critical => 5,
    }
}

/// Formats a path like xperf: read-ahead has a special name, and only a placeholder for a missing name is quoted.
fn file_name(path: &str) -> std::borrow::Cow<'_, str> {
    match path {
        "" => "\"Unknown\"".into(),
        NO_FILE => "\"Unknown (0x0)\"".into(),
        path => printable(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{DiskIo, Process, StringId};

    const MICROSECOND: i64 = 1_000;

    /// Creates a trace with three consecutive writes of the recorder's log, as in a published report, and a flush
    /// without a file.
    fn published_trace() -> Trace {
        let mut trace = Trace::default();
        let image = trace.strings.intern("System");
        trace.processes.push(Process { image, ..Process::unknown(4) });
        let log = trace.strings.intern(r"C:\kernel.etl");
        for (start, end, size, offset) in [
            (368_013_044, 368_013_253, 0x1_0000, 0xb9_523_000),
            (368_013_304, 368_013_686, 0x1_0000, 0xb9_533_000),
            (368_013_728, 368_013_905, 0x1_0000, 0xb9_543_000),
            (368_014_000, 368_109_410, 0, 0),
        ] {
            let flush = size == 0;
            trace.disk_ios.push(DiskIo {
                issue_ns: Some(start * MICROSECOND),
                complete_ns: end * MICROSECOND,
                operation: if flush { DiskOperation::Flush } else { DiskOperation::Write },
                offset,
                size,
                priority: IoPriority::Normal,
                service_ns: (end - start) * MICROSECOND,
                pid: Some(4),
                tid: Some(8),
                file: if flush { StringId::EMPTY } else { log },
                file_object: u64::from(!flush),
                ..DiskIo::UNKNOWN
            });
        }
        trace.duration_ns = 370_000_000 * MICROSECOND;
        trace
    }

    fn report(options: DiskIoOptions) -> String {
        let trace = published_trace();
        let scope = Scope::between(&trace, 368_000_000 * MICROSECOND, 370_000_000 * MICROSECOND);
        let mut out = Vec::new();
        write(&trace, &scope.unwrap(), &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn matches_published_detail_report() {
        let detail = DiskIoOptions { detail: true, ..DiskIoOptions::default() };
        let text = report(detail);
        let published = [
            r"   IO Type, Start Time,   End Time,    IO Time,  Disk SrvT,    IO Size,  Byte Offset,  Pri, QD/I, QD/C, IBCB, IBCA, IACB,     Process Name ( PID), Disk, Filename",
            r" DiskWrite,  368013044,  368013253,        209,        209, 0x00010000, 0x00b9523000,    3,    0,    0,    0,    0,    0,           System (   4),    0, C:\kernel.etl",
            r" DiskWrite,  368013304,  368013686,        382,        382, 0x00010000, 0x00b9533000,    3,    0,    0,    0,    0,    0,           System (   4),    0, C:\kernel.etl",
            r" DiskWrite,  368013728,  368013905,        177,        177, 0x00010000, 0x00b9543000,    3,    0,    0,    0,    0,    0,           System (   4),    0, C:\kernel.etl",
        ]
        .join("\n");
        let (legend, rows) = text.split_once("\n\n").unwrap();
        assert_eq!(legend.lines().count(), 5);
        assert!(rows.starts_with(&published), "{rows}");
        assert!(rows.ends_with(",    0, \"Unknown\"\n"), "{rows}");
    }

    #[test]
    fn matches_published_summary_report() {
        let summary = DiskIoOptions { summary: true, ..DiskIoOptions::default() };
        assert_eq!(
            report(summary),
            "\
Count,     Size,     SrvT,  R-Count,   R-Size,   R-SrvT,  W-Count,   W-Size,   W-SrvT,   IOTime, Filename
   1,        0,    95410,        0,        0,        0,        0,        0,        0,    95410, \"Unknown\"
   3,   196608,      768,        0,        0,        0,        3,   196608,      768,      768, C:\\kernel.etl
"
        );
    }

    #[test]
    fn writes_all_reports_in_order() {
        let all_reports = DiskIoOptions {
            utilization_ns: Some(1_000_000_000),
            summary: true,
            counts: true,
            detail: true,
            overlap: true,
        };
        let text = report(all_reports);
        let reports: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(reports.len(), 6, "{text}");
        assert_eq!(
            reports[0],
            " StartTime,   EndTime, Disk 0\n 368000000, 369000000,   9.62\n 369000000, 370000000,   0.00"
        );
        assert_eq!(
            reports[2].lines().nth(1),
            Some("          System (   4),    0,        4,        0,        3,        1,        0,   196608")
        );
        assert_eq!(
            reports[5],
            "Disk, Outstanding,       Time,       %,   Issued\n   \
             0,           0,    1903822,   95.19,        4\n   \
             0,           1,      96178,    4.81,        0\n"
        );
        assert_eq!(report(DiskIoOptions::default()).lines().next(), Some(" StartTime,   EndTime, Disk 0"));
    }
}
