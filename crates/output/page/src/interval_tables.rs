//! Tables of intervals that are built once, with the page: file transfers, DHCP exchanges, firmware measurements. A
//! table of a range has the rows that overlap it.

use std::borrow::Cow;

use onoff_firmware_times::{FirmwareInterval, FirmwareReport};
use onoff_network::dhcp::DhcpExchange;
use onoff_network::report::{Download, FileTransfer, NetbootReport};
use onoff_report::text::printable::printable;
use onoff_sections::csv::netboot::outcome;
use onoff_sections::table::Value;

use crate::table::{PageColumn, PageTable, number, seconds};

/// Maximum number of rows.
const MAX_ROWS: usize = 20_000;

/// A table of intervals, and the subject that it belongs to.
#[derive(Debug)]
pub struct IntervalTable {
    pub(crate) subject: &'static str,
    table: PageTable,
}

impl IntervalTable {
    /// Returns the rows that overlap a range.
    pub(crate) fn within(&self, (start_ns, end_ns): (i64, i64)) -> PageTable {
        let mut table = PageTable { columns: self.table.columns.clone(), ..PageTable::default() };
        let rows = self.table.rows.iter().zip(&self.table.numbers).zip(&self.table.spans);
        for ((cells, numbers), &span) in rows.filter(|(_, span)| span.0 < end_ns && span.1 >= start_ns) {
            table.rows.push(cells.clone());
            table.numbers.push(numbers.clone());
            table.spans.push(span);
        }
        table.of = table.rows.len();
        if table.rows.is_empty() {
            table.nothing = "Nothing of this kind in this range.".to_owned();
        }
        table
    }
}

/// A column: its name in CSV, its title, and its value.
struct Column<T> {
    name: &'static str,
    title: &'static str,
    is_number: bool,
    value: fn(&T) -> Value<'_>,
}

const fn text<T>(name: &'static str, title: &'static str, value: fn(&T) -> Value<'_>) -> Column<T> {
    Column { name, title, is_number: false, value }
}

const fn numeric<T>(name: &'static str, title: &'static str, value: fn(&T) -> Value<'_>) -> Column<T> {
    Column { name, title, is_number: true, value }
}

/// Builds a table with the columns, and with start and duration after the first one.
fn build<T>(
    subject: &'static str,
    rows: impl Iterator<Item = T>,
    span: fn(&T) -> (i64, i64),
    columns: &[Column<T>],
) -> IntervalTable {
    let mut table = PageTable::default();
    let heading =
        |name: &'static str, title: &'static str, number| PageColumn { name: name.into(), title: title.into(), number };
    table.columns = columns.iter().map(|column| heading(column.name, column.title, column.is_number)).collect();
    let times = [heading("start_ns", "start (s)", true), heading("duration_ns", "duration", true)];
    table.columns.splice(1.min(columns.len())..1.min(columns.len()), times);
    for row in rows.take(MAX_ROWS) {
        let (start_ns, end_ns) = span(&row);
        let end_ns = end_ns.max(start_ns);
        let duration = Value::Duration(end_ns.saturating_sub(start_ns));
        let values: Vec<Value<'_>> = columns.iter().map(|column| (column.value)(&row)).collect();
        let mut cells: Vec<String> = values.iter().map(cell).collect();
        let mut numbers: Vec<Option<f64>> = values.iter().map(number).collect();
        let second = 1.min(cells.len());
        cells.splice(second..second, [seconds(start_ns), cell(&duration)]);
        numbers.splice(second..second, [Some(start_ns as f64), number(&duration)]);
        table.rows.push(cells);
        table.numbers.push(numbers);
        table.spans.push((start_ns, end_ns));
    }
    IntervalTable { subject, table }
}

fn cell(value: &Value<'_>) -> String {
    value.display_text().into_owned()
}

fn printable_text(text: &str) -> Value<'_> {
    Value::Text(printable(text))
}

/// A file transfer by TFTP, or a download by HTTP.
enum Transfer<'a> {
    Tftp(&'a FileTransfer),
    Http(&'a Download),
}

impl Transfer<'_> {
    fn span(&self) -> (i64, i64) {
        match self {
            Self::Tftp(file) => (file.request_ns, file.end_ns),
            Self::Http(download) => (download.start_ns, download.end_ns),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Tftp(file) => &file.file,
            Self::Http(download) => &download.url,
        }
    }

    fn result(&self) -> Cow<'_, str> {
        match self {
            Self::Tftp(file) => outcome(file.outcome).replace('_', " ").into(),
            Self::Http(download) => match (download.status, download.complete) {
                (Some(status), true) => format!("complete, status {status}").into(),
                (Some(status), false) => format!("incomplete, status {status}").into(),
                (None, _) => "unknown".into(),
            },
        }
    }

    /// Returns a value that only transfers by TFTP have.
    fn tftp<'v>(&self, value: impl FnOnce(&FileTransfer) -> Value<'v>) -> Value<'v> {
        match self {
            Self::Tftp(file) => value(file),
            Self::Http(_) => Value::Nothing,
        }
    }
}

/// Builds the tables of a capture.
pub(crate) fn netboot(report: &NetbootReport) -> Vec<IntervalTable> {
    let transfers = report.boots.iter().flat_map(|boot| {
        let files = boot.transfers.iter().map(Transfer::Tftp);
        files.chain(boot.downloads.iter().map(Transfer::Http))
    });
    let transfers = build(
        "transfers",
        transfers,
        Transfer::span,
        &[
            text("name", "file", |row: &Transfer<'_>| printable_text(row.name())),
            text("kind", "protocol", |row| Value::text(if matches!(row, Transfer::Tftp(_)) { "TFTP" } else { "HTTP" })),
            numeric("bytes", "size", |row| match row {
                Transfer::Tftp(file) => Value::Bytes(file.counts.bytes),
                Transfer::Http(download) => Value::Bytes(download.bytes),
            }),
            text("detail", "result", |row| Value::Text(row.result())),
            text("server", "server", |row| match row {
                Transfer::Tftp(file) => Value::text(&file.server),
                Transfer::Http(download) => Value::text(&download.server),
            }),
            numeric("block_size", "block size", |row| row.tftp(|file| Value::Bytes(file.block_size.into()))),
            numeric("window", "window", |row| row.tftp(|file| Value::Count(file.window.into()))),
            numeric("repeated_data", "repeated packets", |row| match row {
                Transfer::Tftp(file) => Value::Count(file.counts.repeated_data),
                Transfer::Http(download) => Value::Count(download.repeated_segments),
            }),
            numeric("timeout_count", "timeouts", |row| row.tftp(|file| Value::Count(file.timeout_count))),
            numeric("timeout_ns", "time in timeouts", |row| row.tftp(|file| Value::Duration(file.timeout_ns))),
            numeric("server_turn_median_ns", "median server turn", |row| {
                row.tftp(|file| Value::from_option(file.server_turn.median_ns, Value::Duration))
            }),
            numeric("client_turn_median_ns", "median client turn", |row| {
                row.tftp(|file| Value::from_option(file.client_turn.median_ns, Value::Duration))
            }),
        ],
    );
    let exchanges = report.boots.iter().flat_map(|boot| &boot.dhcp);
    let dhcp = build(
        "dhcp",
        exchanges,
        |row: &&DhcpExchange| (row.start_ns, row.end_ns),
        &[
            text("name", "exchange", |row: &&DhcpExchange| {
                let server = if row.boot_server_dialogue { ", boot server" } else { "" };
                Value::Text(format!("DHCPv{}{server}", row.ip_version).into())
            }),
            text("complete", "result", |row| Value::text(if row.complete { "complete" } else { "no final answer" })),
            text("address", "address", |row| Value::Text(row.address.clone().unwrap_or_default().into())),
            text("servers", "servers", |row| Value::Text(row.servers.join(", ").into())),
            numeric("attempts", "first requests", |row| Value::Count(row.attempts)),
            numeric("request_attempts", "requests for the address", |row| Value::Count(row.request_attempts)),
            numeric("unanswered_ns", "unanswered", |row| Value::Duration(row.unanswered_ns)),
            numeric("offer_delay_ns", "until the offer", |row| Value::from_option(row.offer_delay_ns, Value::Duration)),
            numeric("choice_delay_ns", "until the request", |row| {
                Value::from_option(row.choice_delay_ns, Value::Duration)
            }),
            numeric("answer_delay_ns", "until the answer", |row| {
                Value::from_option(row.answer_delay_ns, Value::Duration)
            }),
            text("boot_file", "boot file", |row| printable_text(row.boot_file.as_deref().unwrap_or_default())),
        ],
    );
    [transfers, dhcp].into_iter().filter(|table| !table.table.rows.is_empty()).collect()
}

/// Builds the table of the measurements in firmware tables.
pub(crate) fn firmware(report: &FirmwareReport) -> Vec<IntervalTable> {
    let measurements = build(
        "firmware",
        report.work.iter(),
        |row: &&FirmwareInterval| (row.start_ns, row.end_ns),
        &[
            text("module", "module", |row: &&FirmwareInterval| printable_text(&row.module)),
            text("kind", "work", |row| Value::Text(row.work.as_str().replace('_', " ").into())),
            text("text", "detail", |row| printable_text(&row.text)),
            numeric("self_ns", "without nested work", |row| Value::Duration(row.self_ns)),
            text("phase", "phase", |row| Value::text(&row.phase)),
            text("caller", "caller", |row| printable_text(&row.caller)),
            numeric("depth", "depth", |row| Value::Count(row.depth.into())),
            numeric("apic", "processor (APIC id)", |row| Value::Id(row.apic.into())),
        ],
    );
    [measurements].into_iter().filter(|table| !table.table.rows.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn lists_intervals_that_overlap_the_range() {
        let rows = [("PciBus", 10 * MS, 30 * MS), ("UsbBus", 40 * MS, 45 * MS)];
        let columns = [
            text("module", "module", |row: &(&str, i64, i64)| Value::text(row.0)),
            numeric("self_ns", "without nested work", |row| Value::Duration((row.2 - row.1) / 2)),
        ];
        let measurements = build("firmware", rows.into_iter(), |row| (row.1, row.2), &columns);
        let table = measurements.within((20 * MS, 35 * MS));
        assert_eq!((table.of, table.rows[0][0].as_str(), table.rows[0][1].as_str()), (1, "PciBus", "0.0100000"));
        assert_eq!(table.numbers[0], [None, Some(1e7), Some(2e7), Some(1e7)]);
        assert_eq!(table.columns.len(), table.rows[0].len());
        assert!(measurements.within((100 * MS, 200 * MS)).nothing.contains("Nothing"));
        assert!(firmware(&FirmwareReport::default()).is_empty());
    }
}
