//! Reads the table that Slim Bootloader prints for `perf`, and in its serial log if enabled:
//!
//! ```text
//!  Id   | Time (ms)  | Delta (ms) | Description
//! ------+------------+------------+---------------------------
//!  1000 |       2 ms |       2 ms | Reset vector
//!  1010 |       9 ms |       7 ms | Stage1A entry point
//! ```
//!
//! A row is a point in time at which the described step was done. The first digit of its number is the stage.

use onoff_trace::firmware::{FirmwareEdge, FirmwareEvent, FirmwareFormat, FirmwareGuid, FirmwareWork};

use super::collector::{Boot, FirmwareTableCollector};

/// Part of the column header; older versions print no line above it.
const COLUMN_HEADER: &str = "| Delta (ms) |";
/// Maximum number of rows; a number has four digits.
const MAX_ROWS: usize = 1 << 16;
const CROSS_MODULE_CLASS: u16 = 0x50;
const IN_MODULE_CLASS: u16 = 0x40;

struct Row<'t> {
    number: u16,
    time_ns: i64,
    name: &'t str,
}

/// Returns true if the text has this table.
pub(super) fn recognizes(text: &str) -> bool {
    text.contains(COLUMN_HEADER) && text.lines().any(|line| parse_row(line).is_some())
}

fn parse_row(line: &str) -> Option<Row<'_>> {
    let mut cells = line.split('|').map(str::trim);
    // A serial log may have a timestamp before the row.
    let number = cells.next()?.rsplit(char::is_whitespace).next()?;
    let time = cells.next()?.strip_suffix("ms")?.trim();
    let difference = cells.next()?.strip_suffix("ms")?.trim();
    let name = cells.next()?;
    difference.parse::<u64>().ok()?;
    let number = u16::from_str_radix(number, 16).ok().filter(|_| number.len() == 4)?;
    let milliseconds: i64 = time.parse().ok().filter(|&time| time >= 0)?;
    (!name.is_empty()).then_some(Row { number, time_ns: milliseconds.saturating_mul(1_000_000), name })
}

/// Returns the stage of a row number.
fn stage(number: u16) -> &'static str {
    match number >> 12 {
        1 => "Stage1A",
        2 => "Stage1B",
        3 => "Stage2",
        _ => "payload",
    }
}

/// Adds the last table in `text`; a log may cover several boots with one table each.
pub(super) fn add(name: &str, text: &str, collector: &mut FirmwareTableCollector) {
    collector.add_input(name, FirmwareFormat::SlimBootloader);
    let last_table = text.rfind(COLUMN_HEADER).and_then(|index| text.get(index..)).unwrap_or_default();
    let rows: Vec<Row<'_>> = last_table.lines().filter_map(parse_row).take(MAX_ROWS).collect();
    let mut events = Vec::new();
    let mut add_work = |work, class, (start_ns, end_ns): (i64, i64), text: &str| {
        for (edge, time_ns) in [(FirmwareEdge::Begin, start_ns), (FirmwareEdge::End, end_ns)] {
            events.push(FirmwareEvent {
                work,
                edge,
                class,
                time_ns,
                module: FirmwareGuid::default(),
                // Inside a stage, only steps have names.
                module_name: if work == FirmwareWork::InModule { text.to_owned() } else { String::new() },
                caller: None,
                handle: None,
                text: text.to_owned(),
                apic: 0,
            });
        }
    };
    // A stage extends from the end of the previous stage, the row before its first, to its last row.
    let mut stage_start_ns = 0;
    for stage_rows in rows.chunk_by(|previous, next| stage(previous.number) == stage(next.number)) {
        if let [first, .., last] | [first @ last] = stage_rows {
            add_work(
                FirmwareWork::CrossModule,
                CROSS_MODULE_CLASS,
                (stage_start_ns, last.time_ns),
                stage(first.number),
            );
            stage_start_ns = last.time_ns;
        }
    }
    let mut step_start_ns = 0;
    for row in &rows {
        add_work(FirmwareWork::InModule, IN_MODULE_CLASS, (step_start_ns, row.time_ns), row.name);
        step_start_ns = row.time_ns;
    }
    collector.add_boot(Boot { from: name.to_owned(), checkpoints: None, events });
}
