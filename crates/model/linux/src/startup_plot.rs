//! Reads `systemd-analyze plot`: an SVG chart of the startup with the start time and duration of each unit.
//!
//! Each element is on a separate line. A unit has a bar `activating`, further bars, and a text with its name and, in
//! parentheses, the duration from `systemd-analyze blame`. The kernel's start is at x = 0. A second is 100 wide; in a
//! scaled chart, the width follows from the kernel's bar (source: the output of systemd 252). The chart does not show
//! whether a unit failed.

use onoff_trace::counters;

use super::assembly::Assembly;
use super::parts::{Part, PartKind};
use super::startup_times::{self, StartupTimes};
use super::unit_rows;
use onoff_linux_log::duration::duration_ns;
use onoff_linux_log::unit_names::is_unit;

pub(super) const EVENT: &str = "systemd-analyze plot";

/// Width of a second in an unscaled chart.
const SECOND_WIDTH: f64 = 100.0;

const MAX_UNITS: usize = 100_000;

counters! {
    UNREADABLE = "chart_units_unreadable", Notice, [ServiceTransitions],
        "Units in the chart of systemd-analyze plot were skipped: no readable bar, or too many units.";
}

/// Comment near the beginning of the file.
const MARK: &str = "This file is a systemd-analyze SVG file";

pub(super) fn recognizes(text: &str) -> bool {
    text.contains(MARK)
}

/// Returns the value of an attribute.
fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = line.split_once(&format!(" {name}=\""))?;
    value.split('"').next()
}

fn number(line: &str, name: &str) -> Option<f64> {
    attribute(line, name)?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns the text of an element, up to the end of the line.
fn content(line: &str) -> Option<String> {
    const ENTITIES: [(&str, &str); 5] =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let (_, content) = line.split_once('>')?;
    let text = content.split("</text>").next()?;
    Some(ENTITIES.into_iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character)))
}

pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    let sentence = text.find("Startup finished in ").and_then(|start| text.get(start..)?.split("</text>").next());
    let mut second_width = SECOND_WIDTH;
    if let Some(sentence) = sentence {
        let bytes = sentence.as_bytes();
        startup_times::read(&Part { kind: PartKind::StartupTimes, name: part.name, bytes }, assembly);
        let kernel = text.lines().find(|line| line.contains("<rect class=\"kernel\""));
        let width = kernel.and_then(|line| number(line, "width")).filter(|&width| width > 0.0);
        if let (Some(width), Some(times)) = (width, StartupTimes::read(sentence))
            && times.kernel_ns > 0
        {
            second_width = width * 1e9 / times.kernel_ns as f64;
        }
    }
    let ns = |width: f64| (width / second_width * 1e9).round() as i64;
    let mut bar: Option<(f64, f64)> = None;
    let mut units = 0;
    for (line_number, line) in (1_u64..).zip(text.lines()) {
        if line.contains("<rect class=\"activating\"") {
            bar = number(line, "x").zip(number(line, "width")).filter(|&(x, width)| x >= 0.0 && width >= 0.0);
            continue;
        }
        let Some(label) = line.contains("<text class=").then(|| content(line)).flatten() else { continue };
        let (name, label_ns) = match label.rsplit_once(" (") {
            Some((name, duration)) => (name, duration_ns(duration.trim_end_matches(')'))),
            None => (label.as_str(), None),
        };
        if !is_unit(name) {
            continue;
        }
        let Some((x, width)) = bar.take().filter(|_| units < MAX_UNITS) else {
            assembly.losses.add_at(&UNREADABLE, || format!("{}, line {line_number}", part.name));
            continue;
        };
        units += 1;
        let start_ns = ns(x);
        let end_ns = start_ns.saturating_add(label_ns.unwrap_or_else(|| ns(width)));
        unit_rows::add_start(name, start_ns, end_ns, EVENT, assembly);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{ServiceTransition, TableSet};

    fn chart(kernel_width: &str, units: &str) -> String {
        format!(
            "<svg>\n<!-- {MARK}. -->\n<text x=\"20\" y=\"50\">Startup finished in 2s (kernel) + 8s (userspace) = 10s \n\
             graphical.target reached after 7s in userspace.</text>\n\
             \u{20} <rect class=\"kernel\" x=\"0.000\" y=\"0\" width=\"{kernel_width}\" height=\"19.000\" />\n\
             \u{20} <text class=\"left\" x=\"5.000\" y=\"54.000\">kernel</text>\n{units}</svg>\n"
        )
    }

    fn unit(name: &str, x: &str, width: &str) -> String {
        format!(
            "  <rect class=\"activating\" x=\"{x}\" y=\"20.000\" width=\"{width}\" height=\"19.000\" />\n\
             \u{20} <rect class=\"active\" x=\"9\" y=\"20.000\" width=\"9\" height=\"19.000\" />\n\
             \u{20} <text class=\"left\" x=\"5.000\" y=\"14.000\">{name}</text>\n"
        )
    }

    fn read(text: &str) -> (Vec<(String, i64, i64)>, u64) {
        let mut assembly = Assembly::new(TableSet::all());
        super::read(&Part { kind: PartKind::StartupPlot, name: "plot.svg", bytes: text.as_bytes() }, &mut assembly);
        let lost = assembly.losses.iter().map(|loss| loss.count).sum();
        let trace = crate::unit_reconciliation::reconciled_trace(assembly);
        let ms = |ns: i64| ns / 1_000_000;
        let rows = trace.service_transitions.iter();
        let mut rows: Vec<_> =
            rows.map(|row| (trace.text(row.service).to_owned(), ms(row.start_ns), ms(row.end_ns.unwrap()))).collect();
        rows.sort_by_key(|row| row.1);
        (rows, lost)
    }

    #[test]
    fn reads_start_from_bar_and_duration_from_text() {
        let units = unit("slow.service (3.290s)", "250.000", "329.048")
            + &unit("a&amp;b.socket", "260.500", "0.000")
            + &unit("graphical.target", "900.000", "0.000")
            + &unit("Activating", "0.000", "30.000");
        let (rows, lost) = read(&chart("200.000", &units));
        let expected = [("slow.service", 2500, 5790), ("a&b.socket", 2605, 2605), ("graphical.target", 9000, 9000)];
        assert_eq!(rows, expected.map(|(name, start, end)| (name.to_owned(), start, end)));
        assert_eq!(lost, 0);
        // A chart drawn twice as wide gives the same times.
        let wide = unit("slow.service (3.290s)", "500.000", "658.096");
        assert_eq!(read(&chart("400.000", &wide)).0, [("slow.service".to_owned(), 2500, 5790)]);
    }

    #[test]
    fn merges_start_with_its_journal_message() {
        let mut assembly = Assembly::new(TableSet::all());
        let text =
            chart("200.000", &(unit("slow.service (3.290s)", "250.000", "329.048") + &unit("a.service", "300", "0")));
        super::read(&Part { kind: PartKind::StartupPlot, name: "plot.svg", bytes: text.as_bytes() }, &mut assembly);
        let chart = assembly.service_transitions[0];
        let event = assembly.intern("journal");
        // The first message is the same start, 20 ms late; the second is a restart 10 s later.
        for late_ns in [20_000_000, 10_000_000_000] {
            let late = |ns: i64| ns + late_ns;
            let row =
                ServiceTransition { start_ns: late(chart.start_ns), end_ns: chart.end_ns.map(late), event, ..chart };
            assembly.service_transitions.push(row);
        }
        let trace = crate::unit_reconciliation::reconciled_trace(assembly);
        let slow: Vec<i64> = trace
            .service_transitions
            .iter()
            .filter(|row| trace.text(row.service) == "slow.service")
            .map(|row| row.start_ns / 1_000_000)
            .collect();
        assert_eq!(slow, [2500, 12_500]);
    }

    #[test]
    fn counts_units_without_bar_and_ignores_other_text() {
        let text = "  <text class=\"left\" x=\"5\" y=\"1\">lost.service (1s)</text>\n  <text class=\"left\" x=\"5\" y=\"1\">Generators</text>\n";
        let (rows, lost) = read(&chart("200.000", text));
        assert_eq!((rows.len(), lost), (0, 1));
        let (rows, lost) = read(&chart("200.000", &unit("bad.service", "NaN", "1")));
        assert_eq!((rows.len(), lost), (0, 1));
        assert!(!recognizes("<svg>\n<text>Startup finished in 1s</text>"));
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String, x in "[0-9e.+-]{0,12}", width in "[0-9e.+-]{0,12}") {
            let _ = read(&text);
            let _ = read(&chart(&width, &unit("a.service (1s)", &x, &width)));
        }
    }
}
