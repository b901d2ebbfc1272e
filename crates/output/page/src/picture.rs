//! Page content as a self-contained SVG (no scripts, fonts or external files) for READMEs, pull requests and print.

use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_report::svg::drawing::{
    HEADLINE, INK, LINE_CHARACTERS, MARGIN, QUIET, WIDTH, line, line_at, open, truncated,
};
use onoff_report::svg::{escaped, step, tick, ticks};
use onoff_report::text::quantity::duration;

use crate::compare::{PageComparison, PageMeasure};
use crate::page::{PageAccountEntry, PagePhase, PageRecording, PageTransition};
use crate::shades;

/// Widths of the names on the left and of the durations on the right.
const LABELS: i64 = 250;
const DURATIONS: i64 = 90;
const ROW: i64 = 20;
/// Maximum length of a name, characters.
const MAX_LABEL_LEN: usize = 36;
/// Maximum number of rows per phase, and the minimum share of the transition for a row, percent.
const MAX_ENTRIES: usize = 5;
const MIN_PERCENT: i64 = 1;
const MAX_FINDINGS: usize = 5;
/// Colors of phases, as in the light theme of the page.
const PHASE_SHADES: [&str; shades::COUNT] =
    ["#d9dee7", "#f1dfb8", "#cfe0f5", "#cbe3cf", "#d8d0ef", "#c6e3e1", "#ead3e2", "#b9cfe8", "#dde6c0", "#f6dcc6"];

/// Writes a transition: phases with their breakdown, and findings.
///
/// # Errors
/// Returns errors from `out`.
pub fn transition(recording: &PageRecording, transition: &PageTransition, out: &mut dyn Write) -> io::Result<()> {
    let start_ns = transition.start_ns;
    let axis = Axis { start_ns, length_ns: transition.end_ns.saturating_sub(start_ns).max(1) };
    let rows: Vec<(&PagePhase, &PageAccountEntry)> = transition
        .phases
        .iter()
        .flat_map(|phase| {
            let is_notable = move |entry: &&PageAccountEntry| {
                entry.kind != "idle" && entry.ns.saturating_mul(100 / MIN_PERCENT) >= axis.length_ns
            };
            let mut entries: Vec<&PageAccountEntry> =
                phase.account.iter().filter(is_notable).take(MAX_ENTRIES).collect();
            entries.sort_by_key(|entry| entry.intervals.iter().map(|interval| interval.0).min());
            entries.into_iter().map(move |entry| (phase, entry))
        })
        .collect();
    let findings = transition.findings.iter().take(MAX_FINDINGS);
    // Skip an idle search that starts at the end of the picture.
    let band = transition
        .band
        .as_ref()
        .filter(|band| band.slices.first().is_some_and(|slice| slice.start_ns < transition.end_ns));
    let bands = i64::from(band.is_some());
    let count = |length: usize| i64::try_from(length).unwrap_or(0);
    let subtitle = 48 + if transition.fix_first.is_empty() { 0 } else { ROW };
    let ribbon_top = subtitle + 26;
    let chart_top = ribbon_top + 40 + bands * ROW;
    let findings_top = chart_top + count(rows.len()) * ROW + 38;
    let height = findings_top + count(findings.len()) * ROW + if findings.len() > 0 { 30 } else { 4 };
    open(height, out)?;
    let title = transition.headline.first().map_or(transition.title.as_str(), String::as_str);
    line(MARGIN, 28, HEADLINE, title, out)?;
    if !transition.fix_first.is_empty() {
        line(MARGIN, 48, INK, &truncated(&transition.fix_first, LINE_CHARACTERS), out)?;
    }
    line(MARGIN, subtitle, QUIET, &format!("{} · {}", recording.name, recording.machine), out)?;
    axis.write(ribbon_top - 6, findings_top - 28, out)?;
    for phase in &transition.phases {
        write_ribbon(&axis, phase, (ribbon_top, PHASE_SHADES[phase.shade % PHASE_SHADES.len()]), out)?;
    }
    if let Some(band) = band {
        let y = ribbon_top + 34;
        line(MARGIN, y + 13, QUIET, "idle so far", out)?;
        for slice in &band.slices {
            let fill = if slice.state == "idle" { "#b9dfc6" } else { "#d98a2b" };
            let (x, width) = axis.bounds(slice.start_ns, slice.end_ns);
            writeln!(out, r##"<rect x="{x:.1}" y="{y}" width="{width:.1}" height="14" fill="{fill}"/>"##)?;
        }
    }
    for ((phase, entry), index) in rows.iter().zip(0_i64..) {
        account_row(&axis, phase, entry, chart_top + index * ROW, out)?;
    }
    for (finding, index) in findings.zip(0_i64..) {
        let at_most = if finding.cost_is_upper_bound { "≤ " } else { "" };
        let cost = finding.cost_ns.map_or_else(|| "cost unknown".to_owned(), |ns| format!("{at_most}{}", duration(ns)));
        let y = findings_top + 12 + index * ROW;
        line(MARGIN, y, r##"font-weight="bold" fill="#a11818""##, &cost, out)?;
        line(MARGIN + 110, y, INK, &finding.title, out)?;
    }
    writeln!(out, "</svg>")
}

fn write_ribbon(axis: &Axis, phase: &PagePhase, (y, fill): (i64, &str), out: &mut dyn Write) -> io::Result<()> {
    let (x, width) = axis.bounds(phase.start_ns, phase.end_ns);
    let stroke =
        if phase.certainty == Certainty::Measured { "" } else { r##" stroke="#556170" stroke-dasharray="4 3""## };
    let duration_ns = phase.end_ns.saturating_sub(phase.start_ns).saturating_sub(phase.idle_ns);
    let at_least = if phase.is_open { "at least " } else { "" };
    let text = format!("{}: {at_least}{}", phase.title, duration(duration_ns));
    writeln!(
        out,
        r##"<rect x="{x:.1}" y="{y}" width="{:.1}" height="28" fill="{fill}"{stroke}><title>{}</title></rect>"##,
        (width - 1.0).max(0.5),
        escaped(&format!("{text}; ends with {} ({})", phase.rule, phase.certainty.as_str()))
    )?;
    // A character is about 6.6 units wide at this font size.
    let max_chars = ((width - 8.0) / 6.6).max(0.0) as usize;
    let label = if max_chars >= text.chars().count() { text } else { duration(duration_ns) };
    if max_chars >= label.chars().count() {
        line_at(x + 5.0, y + 18, INK, &label, out)?;
    }
    Ok(())
}

fn account_row(
    axis: &Axis,
    phase: &PagePhase,
    entry: &PageAccountEntry,
    y: i64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = truncated(&entry.subject, MAX_LABEL_LEN);
    line(MARGIN, y + 14, INK, &name, out)?;
    let fill = match entry.certainty {
        Certainty::Measured => r##"fill="#1f5fb4""##,
        Certainty::Inferred => r##"fill="#8fb3e0" stroke="#1f5fb4" stroke-dasharray="3 2""##,
        Certainty::Missing => r##"fill="#ffffff" stroke="#7f7f7f" stroke-dasharray="2 2""##,
    };
    let mut end = axis.bounds(phase.start_ns, phase.start_ns).0;
    for &(start_ns, end_ns) in &entry.intervals {
        let (x, width) = axis.bounds(start_ns, end_ns);
        end = end.max(x + width);
        writeln!(out, r##"<rect x="{x:.1}" y="{}" width="{width:.1}" height="13" {fill}/>"##, y + 4)?;
    }
    line_at(end + 5.0, y + 14, INK, &duration(entry.ns), out)
}

/// Writes a comparison: a dot per run for the total and each phase, and the explanation of the difference.
///
/// # Errors
/// Returns errors from `out`.
pub fn comparison(comparison: &PageComparison, out: &mut dyn Write) -> io::Result<()> {
    const DOTS_WIDTH: i64 = 420;
    const ROW_HEIGHT: i64 = 30;
    let lists = comparison.lists.iter().filter(|list| matches!(list.category, "total" | "phase"));
    let rows: Vec<&PageMeasure> = lists.flat_map(|list| &list.rows).filter(|row| row.unit == "ns").collect();
    let sentences: Vec<&str> =
        comparison.explanations.iter().take(4).map(|explanation| explanation.sentence.as_str()).collect();
    let count = |length: usize| i64::try_from(length).unwrap_or(0);
    let top = 66 + count(sentences.len()) * ROW;
    open(top + 26 + count(rows.len()) * ROW_HEIGHT + 10, out)?;
    let answer = comparison.answer.first().map_or("", String::as_str);
    line(MARGIN, 28, HEADLINE, answer, out)?;
    for (sentence, index) in sentences.into_iter().zip(0_i64..) {
        line(MARGIN, 52 + index * ROW, INK, sentence, out)?;
    }
    let runs: Vec<String> =
        comparison.sides.iter().map(|side| format!("{} ({} runs)", side.name, side.runs.len())).collect();
    line(
        MARGIN + LABELS,
        top,
        QUIET,
        &format!(
            "rings: {}; squares: {}",
            runs.first().map_or("", String::as_str),
            runs.get(1).map_or("", String::as_str)
        ),
        out,
    )?;
    let columns = [
        MARGIN + LABELS + DOTS_WIDTH + 20,
        MARGIN + LABELS + DOTS_WIDTH + 100,
        MARGIN + LABELS + DOTS_WIDTH + 190,
        WIDTH - 110,
    ];
    for (x, title) in columns.iter().zip(["baseline", "candidate", "change", "verdict"]) {
        line(*x, top, QUIET, title, out)?;
    }
    for (row, index) in rows.into_iter().zip(0_i64..) {
        let y = top + 12 + index * ROW_HEIGHT;
        line(MARGIN, y + 19, INK, &truncated(&row.label, MAX_LABEL_LEN), out)?;
        let largest = row.values.iter().flatten().flatten().copied().max().unwrap_or(1).max(1);
        let x_of = |ns: i64| (MARGIN + LABELS) as f64 + ns.max(0) as f64 / largest as f64 * DOTS_WIDTH as f64;
        let (left, right) = (MARGIN + LABELS, MARGIN + LABELS + DOTS_WIDTH);
        writeln!(out, r##"<line x1="{left}" y1="{0}" x2="{right}" y2="{0}" stroke="#dfe4ea"/>"##, y + 15)?;
        for (values, side) in row.values.iter().zip(0_i64..) {
            let center = y + 8 + side * 14;
            for ns in values.iter().flatten() {
                let x = x_of(*ns);
                if side == 0 {
                    writeln!(
                        out,
                        r##"<circle cx="{x:.1}" cy="{center}" r="3.6" fill="none" stroke="#556170" stroke-width="1.6"/>"##
                    )?;
                } else {
                    writeln!(
                        out,
                        r##"<rect x="{:.1}" y="{}" width="7" height="7" fill="#1f5fb4" fill-opacity="0.75"/>"##,
                        x - 3.5,
                        center - 3
                    )?;
                }
            }
        }
        let median = |side: usize| row.medians.get(side).copied().flatten().map_or_else(|| "-".to_owned(), duration);
        let sign = if row.difference.is_some_and(|ns| ns > 0) { "+" } else { "" };
        let change = row.difference.map_or_else(String::new, |ns| format!("{sign}{}", duration(ns)));
        let (verdict, fill) = match row.verdict {
            "same" => ("within noise", QUIET),
            "unknown" => ("", QUIET),
            "slower" | "new" => (row.verdict, r##"font-weight="bold" fill="#a11818""##),
            verdict => (verdict, r##"font-weight="bold" fill="#14663a""##),
        };
        for (x, text, attributes) in [
            (columns[0], median(0), INK),
            (columns[1], median(1), INK),
            (columns[2], change, INK),
            (columns[3], verdict.to_owned(), fill),
        ] {
            line(x, y + 19, attributes, &text, out)?;
        }
    }
    writeln!(out, "</svg>")
}

/// Horizontal time axis.
struct Axis {
    start_ns: i64,
    length_ns: i64,
}

impl Axis {
    /// Returns the left edge and width of an interval, clipped to the picture and at least 0.7 units wide.
    fn bounds(&self, start_ns: i64, end_ns: i64) -> (f64, f64) {
        let chart_width = (WIDTH - LABELS - DURATIONS - MARGIN) as f64;
        let share = |ns: i64| {
            (i128::from(ns) - i128::from(self.start_ns)).clamp(0, i128::from(self.length_ns)) as f64
                / self.length_ns as f64
        };
        let (left, right) = (share(start_ns) * chart_width, share(end_ns) * chart_width);
        ((LABELS + MARGIN) as f64 + left, (right - left).max(0.7))
    }

    fn write(&self, top: i64, bottom: i64, out: &mut dyn Write) -> io::Result<()> {
        let step_ns = step(self.length_ns);
        // Stages before the kernel have negative times; otherwise count from the start of the transition.
        let zero_ns = if self.start_ns < 0 { 0 } else { self.start_ns };
        let lead_ns = zero_ns.saturating_sub(self.start_ns);
        let first_ns = -(lead_ns / step_ns).saturating_mul(step_ns);
        for tick_ns in ticks(first_ns, self.length_ns.saturating_sub(lead_ns), step_ns) {
            let (x, _) = self.bounds(zero_ns.saturating_add(tick_ns), zero_ns.saturating_add(tick_ns));
            writeln!(
                out,
                r##"<line x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}" stroke="#e3e7ec"/><text x="{x:.1}" y="{}" text-anchor="middle" fill="#556170">{}</text>"##,
                bottom + 14,
                tick(tick_ns)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageFinding;

    fn drawn() -> String {
        let entry = |subject: &str, ns: i64, certainty| PageAccountEntry {
            subject: subject.to_owned(),
            kind: "service".to_owned(),
            ns,
            certainty,
            intervals: vec![(2_000_000_000, 2_000_000_000 + ns)],
            ..PageAccountEntry::default()
        };
        let phase = PagePhase {
            name: "WinLogonInit".to_owned(),
            title: "WinLogonInit".to_owned(),
            start_ns: 1_000_000_000,
            end_ns: 10_000_000_000,
            certainty: Certainty::Inferred,
            account: vec![
                entry("<script>Spooler</script>", 6_000_000_000, Certainty::Measured),
                entry("brief", 1_000, Certainty::Measured),
            ],
            ..PagePhase::default()
        };
        let finding = PageFinding { title: "a & b".to_owned(), cost_ns: Some(6_000_000_000), ..PageFinding::default() };
        let page_transition = PageTransition {
            headline: vec!["Boot: 9.00 s.".to_owned()],
            fix_first: "Fix first: service Sound. Cost: 6.00 s.".to_owned(),
            start_ns: 0,
            end_ns: 10_000_000_000,
            phases: vec![phase],
            findings: vec![finding],
            ..PageTransition::default()
        };
        let mut out = Vec::new();
        transition(&PageRecording::default(), &page_transition, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn draws_phases_breakdown_and_findings() {
        let picture = drawn();
        assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
        for text in [
            "Boot: 9.00 s.",
            "Fix first: service Sound",
            "WinLogonInit: 9.00 s",
            "6.00 s",
            "a &amp; b",
            "stroke-dasharray",
        ] {
            assert!(picture.contains(text), "{text}");
        }
        assert!(!picture.contains(">brief<"), "entries below 1 % have no row");
    }

    #[test]
    fn escapes_names_and_loads_nothing() {
        let picture = drawn();
        assert!(picture.contains("&lt;script&gt;Spooler"));
        for loading in ["<script", "href", "url(", "@import", "<image"] {
            assert!(!picture.contains(loading), "{loading}");
        }
    }

    #[test]
    fn clips_extreme_times() {
        let axis = Axis { start_ns: i64::MIN, length_ns: i64::MAX };
        let (x, width) = axis.bounds(i64::MIN, i64::MAX);
        assert!(x >= 0.0 && x + width <= WIDTH as f64, "{x} {width}");
        let mut out = Vec::new();
        axis.write(0, 10, &mut out).unwrap();
        assert!(out.len() < 10_000);
    }
}
