//! The summary of many recordings: one bar per transition on a common scale, with its longest phase marked.

use std::io::{self, Write};

use onoff_compare::summary::{Summary, SummaryRow};

use super::drawing::{self, HEADLINE, INK, MARGIN, QUIET, WIDTH, truncated, truncated_to_width};
use crate::text::phases::display_name;
use onoff_sections::lists::summary::kind;
use onoff_sections::terminal::quantity::{counted, duration};

const ROW: i64 = 30;
const TOP: i64 = 64;
const LABELS: i64 = 300;
const MAX_ROWS: usize = 200;
const LABEL_CHARACTERS: usize = 42;

/// Writes the picture.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let rows = &summary.rows[..summary.rows.len().min(MAX_ROWS)];
    let omitted = summary.rows.len() - rows.len();
    let bottom = TOP + ROW * i64::try_from(rows.len()).unwrap_or(0);
    drawing::open(bottom + 46, out)?;
    let (transitions, recordings) =
        (counted(summary.transitions, "transition"), counted(summary.recordings, "recording"));
    drawing::line(MARGIN, 28, HEADLINE, &format!("{transitions} in {recordings}"), out)?;
    let max_ns = rows.iter().map(took_ns).max().unwrap_or(0).max(1);
    let left = MARGIN + LABELS;
    let width = (WIDTH - left - MARGIN) as f64;
    let x_of = |ns: i64| left as f64 + drawing::share(ns, max_ns) * width;
    drawing::axis(max_ns, x_of, (TOP - 14, bottom), out)?;
    for (row, index) in rows.iter().zip(0_i64..) {
        let y = TOP + index * ROW;
        let name = row.recording.rsplit(['/', '\\']).next().unwrap_or(&row.recording);
        let label = match row.boot.as_str() {
            "" => name.to_owned(),
            boot => format!("{name} {boot}"),
        };
        drawing::line(MARGIN, y, INK, &truncated(&label, LABEL_CHARACTERS), out)?;
        if !row.error.is_empty() {
            drawing::line(left, y, r##"fill="#a11818""##, &truncated(&row.error, 120), out)?;
            continue;
        }
        drawing::line(MARGIN, y + 14, QUIET, &truncated(&kind(row), LABEL_CHARACTERS), out)?;
        let bar = |ns: i64, attributes: &str, title: &str, out: &mut dyn Write| {
            drawing::area((left as f64, y - 10), (x_of(ns) - left as f64, 12), attributes, title, out)
        };
        // A lower bound has a dashed outline.
        let shown_ns = took_ns(row);
        let outline = if row.duration_ns.is_none() { r##" stroke="#556170" stroke-dasharray="4 3""## } else { "" };
        let duration_text = match row.duration_ns {
            Some(_) => duration(shown_ns),
            None if shown_ns > 0 => format!("at least {}", duration(shown_ns)),
            None => "duration unknown".to_owned(),
        };
        bar(shown_ns, &format!(r##"fill="#c0d8f0"{outline}"##), &duration_text, out)?;
        let mut text = duration_text;
        if let Some(phase_ns) = row.phase_ns.filter(|_| !row.phase.is_empty()) {
            let phase = format!("{} {}", display_name(&row.phase), duration(phase_ns));
            bar(phase_ns, r##"fill="#1f5fb4""##, &phase, out)?;
            text = format!("{text}; longest phase: {phase}");
            if let Some(ns) = row.subject_ns.filter(|_| !row.subject.is_empty()) {
                text = format!("{text}, {} {}", row.subject, duration(ns));
            }
        }
        drawing::line(left, y + 14, QUIET, &truncated_to_width(&text, width), out)?;
    }
    let footer = match omitted {
        0 => "dark: longest phase, drawn from the left".to_owned(),
        omitted => format!("{omitted} more not drawn"),
    };
    drawing::line(MARGIN, bottom + 34, QUIET, &footer, out)?;
    drawing::close(out)
}

fn took_ns(row: &SummaryRow) -> i64 {
    row.duration_ns.unwrap_or(row.at_least_ns).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_bars_with_longest_phase_and_errors_without() {
        let boot = |recording: &str, seconds: i64| SummaryRow {
            recording: recording.to_owned(),
            transition: "boot",
            duration_ns: Some(seconds * 1_000_000_000),
            phase: "user_space".to_owned(),
            phase_ns: Some(seconds * 500_000_000),
            subject: "a<b>.service".to_owned(),
            subject_ns: Some(1_000_000_000),
            ..SummaryRow::default()
        };
        let failed = SummaryRow::from_error("bad.etl".to_owned(), "is no recording".to_owned());
        let summary = Summary {
            rows: vec![boot("runs/one.etl", 20), boot("two.etl", 10), failed],
            recordings: 3,
            transitions: 2,
            ..Summary::default()
        };
        let mut out = Vec::new();
        write(&summary, &mut out).unwrap();
        let picture = String::from_utf8(out).unwrap();
        for text in [
            "2 transitions in 3 recordings",
            ">one.etl<",
            "20.0 s; longest phase: user space 10.0 s, a&lt;b&gt;.service 1.00 s",
            "is no recording",
        ] {
            assert!(picture.contains(text), "{text}: {picture}");
        }
        assert!(!picture.contains("<b>"));
        assert_eq!(picture.matches("#1f5fb4").count(), 2, "no bar for unreadable recordings");
    }
}
