//! Tables of power requests to devices and of notifications to programs in a range.

use onoff_evidence::Interval;
use onoff_report::text::printable::printable;
use onoff_sections::table::Value;
use onoff_trace::Trace;

use crate::table::{PageColumn, PageTable, seconds};

/// Maximum number of rows.
const MAX_ROWS: usize = 20_000;

/// A row: its interval, and its texts without start and duration.
struct SentRequest<const N: usize> {
    start_ns: i64,
    end_ns: Option<i64>,
    texts: [String; N],
}

/// Lists the power requests that were in progress in `range`, in order of time.
pub(crate) fn power(trace: &Trace, range: Interval) -> PageTable {
    let rows = trace.power_requests.iter().map(|row| SentRequest {
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        texts: [
            printable(trace.text(row.device)).into_owned(),
            printable(trace.text(row.driver)).into_owned(),
            row.kind.as_str().replace('_', " "),
            row.tid.map_or_else(String::new, |tid| tid.to_string()),
            row.status.map_or_else(String::new, |status| format!("{status:#x}")),
        ],
    });
    let titles =
        [("device", "device"), ("driver", "driver"), ("kind", "request"), ("tid", "thread"), ("status", "status")];
    list(rows, titles, (range, trace.duration_ns), "No power requests in this range.")
}

/// Lists the notifications that were unanswered in `range`, in order of time.
pub(crate) fn notifications(trace: &Trace, range: Interval) -> PageTable {
    let rows = trace.notifications.iter().map(|row| SentRequest {
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        texts: [
            printable(trace.text(row.name)).into_owned(),
            row.kind.as_str().replace('_', " "),
            row.pid.map_or_else(String::new, |pid| pid.to_string()),
            row.tid.map_or_else(String::new, |tid| tid.to_string()),
        ],
    });
    let titles = [("name", "recipient"), ("kind", "notification"), ("pid", "process id"), ("tid", "thread")];
    list(rows, titles, (range, trace.duration_ns), "No notifications in this range.")
}

fn list<const N: usize>(
    rows: impl Iterator<Item = SentRequest<N>>,
    titles: [(&'static str, &'static str); N],
    (range, recorded_ns): (Interval, i64),
    empty_message: &str,
) -> PageTable {
    let mut table = PageTable::default();
    let [first, rest @ ..] = titles.as_slice() else { return table };
    let column =
        |name: &'static str, title: &'static str, number| PageColumn { name: name.into(), title: title.into(), number };
    let text_column = |&(name, title): &(&'static str, &'static str)| column(name, title, false);
    table.columns.push(text_column(first));
    table.columns.extend([column("start_ns", "start (s)", true), column("duration_ns", "duration", true)]);
    table.columns.extend(rest.iter().map(text_column));
    for row in rows {
        let end_ns = row.end_ns.unwrap_or(recorded_ns);
        if row.start_ns >= range.end_ns || end_ns < range.start_ns {
            continue;
        }
        table.of = table.of.saturating_add(1);
        if table.rows.len() >= MAX_ROWS {
            continue;
        }
        let duration_ns = row.end_ns.map(|end_ns| end_ns.saturating_sub(row.start_ns));
        let duration_text = match duration_ns {
            Some(ns) => Value::Duration(ns).display_text().into_owned(),
            None => "did not end".to_owned(),
        };
        let mut cells = row.texts.to_vec();
        cells.splice(1..1, [seconds(row.start_ns), duration_text]);
        let mut numbers = vec![None; cells.len()];
        for (number, value) in numbers.iter_mut().skip(1).zip([Some(row.start_ns), duration_ns]) {
            *number = value.map(|value| value as f64);
        }
        table.rows.push(cells);
        table.numbers.push(numbers);
        table.spans.push((row.start_ns, end_ns.max(row.start_ns)));
    }
    if table.rows.is_empty() {
        table.nothing = empty_message.to_owned();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{self, MS};
    use onoff_trace::NotificationKind;

    #[test]
    fn lists_unanswered_notifications() {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        for (pid, end_ns) in [(7, None), (8, Some(11 * MS))] {
            let kind = NotificationKind::ALL[0];
            synthetic::notification(&mut trace, (kind, Some(pid), None, 1), 10 * MS, end_ns);
        }
        let table = notifications(&trace, Interval::new(50 * MS, 60 * MS));
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.rows[0][1..3], ["0.0100000", "did not end"]);
        assert_eq!(table.rows[0][4], "7");
        assert!(power(&trace, Interval::new(0, MS)).nothing.contains("No power requests"));
    }
}
