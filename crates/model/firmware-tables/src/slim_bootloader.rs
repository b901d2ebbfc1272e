//! What Slim Bootloader prints for `perf`, and in its serial log where that is built in:
//!
//! ```text
//!  Id   | Time (ms)  | Delta (ms) | Description
//! ------+------------+------------+---------------------------
//!  1000 |       2 ms |       2 ms | Reset vector
//!  1010 |       9 ms |       7 ms | Stage1A entry point
//! ```
//!
//! A row is a moment: what its description names was done by then. The first digit of its number is the stage.

use onoff_trace::firmware::{FirmwareEdge, FirmwareEvent, FirmwareForm, FirmwareGuid, FirmwareWork};

use super::gathering::{Boot, Gathering};

/// Titles of the columns: older versions print no line before them.
const COLUMNS: &str = "| Delta (ms) |";
/// Rows of a table, at most: a number has four digits.
const MAX_ROWS: usize = 1 << 16;
const BETWEEN_MODULES: u16 = 0x50;
const INSIDE_A_MODULE: u16 = 0x40;

/// A row.
struct Row<'t> {
    number: u16,
    time_ns: i64,
    name: &'t str,
}

/// Whether a text holds such a table.
pub(super) fn is_it(text: &str) -> bool {
    text.contains(COLUMNS) && text.lines().any(|line| row(line).is_some())
}

fn row(line: &str) -> Option<Row<'_>> {
    let mut cells = line.split('|').map(str::trim);
    // A serial log may have a stamp of its own before the row.
    let number = cells.next()?.rsplit(char::is_whitespace).next()?;
    let time = cells.next()?.strip_suffix("ms")?.trim();
    let difference = cells.next()?.strip_suffix("ms")?.trim();
    let name = cells.next()?;
    difference.parse::<u64>().ok()?;
    let number = u16::from_str_radix(number, 16).ok().filter(|_| number.len() == 4)?;
    let milliseconds: i64 = time.parse().ok().filter(|&time| time >= 0)?;
    (!name.is_empty()).then_some(Row { number, time_ns: milliseconds.saturating_mul(1_000_000), name })
}

/// The stage of a number.
fn stage(number: u16) -> &'static str {
    match number >> 12 {
        1 => "Stage1A",
        2 => "Stage1B",
        3 => "Stage2",
        _ => "payload",
    }
}

/// Adds the last table of `text`: a log runs over restarts, and each boot writes its own.
pub(super) fn add(name: &str, text: &str, gathering: &mut Gathering) {
    gathering.input(name, FirmwareForm::SlimBootloader);
    let last = text.rfind(COLUMNS).and_then(|at| text.get(at..)).unwrap_or_default();
    let rows: Vec<Row<'_>> = last.lines().filter_map(row).take(MAX_ROWS).collect();
    let mut events = Vec::new();
    let mut measure = |work, class, (start_ns, end_ns): (i64, i64), text: &str| {
        for (edge, time_ns) in [(FirmwareEdge::Begin, start_ns), (FirmwareEdge::End, end_ns)] {
            events.push(FirmwareEvent {
                work,
                edge,
                class,
                time_ns,
                module: FirmwareGuid::default(),
                // A step is the only thing with a name inside a stage.
                module_name: if work == FirmwareWork::InModule { text.to_owned() } else { String::new() },
                caller: None,
                handle: None,
                text: text.to_owned(),
                apic: 0,
            });
        }
    };
    // A stage reaches from the row before its first, where the stage before it ended, to its last.
    let mut from_ns = 0;
    for stage_rows in rows.chunk_by(|one, other| stage(one.number) == stage(other.number)) {
        if let [first, .., last] | [first @ last] = stage_rows {
            measure(FirmwareWork::CrossModule, BETWEEN_MODULES, (from_ns, last.time_ns), stage(first.number));
            from_ns = last.time_ns;
        }
    }
    let mut before_ns = 0;
    for row in &rows {
        measure(FirmwareWork::InModule, INSIDE_A_MODULE, (before_ns, row.time_ns), row.name);
        before_ns = row.time_ns;
    }
    gathering.boot(Boot { from: name.to_owned(), checkpoints: None, events });
}
