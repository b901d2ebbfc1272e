//! A critical path as an SVG chart: one row per step at its time, with its sentence above it and an arrow to the step
//! it readied.

use std::io::{self, Write};

use onoff_blame::waits::{PathStep, StepKind};
use onoff_blame::why::{ExplainedInterval, WhyReport};
use onoff_evidence::Certainty;

use super::drawing::{self, CHARACTER, HEADLINE, INK, LINE_CHARACTERS, MARGIN, QUIET, WIDTH, truncated};
use crate::text::phases::display_name;
use crate::text::why;
use onoff_sections::terminal::quantity::duration;

/// Maximum number of charts.
const MAX_INTERVALS: usize = 12;
/// Maximum number of steps per chart, longest first.
const MAX_STEPS: usize = 30;
const HEAD: i64 = 76;
const ROW: i64 = 32;
const FOOT: i64 = 44;

/// Writes one chart per interval.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &WhyReport, out: &mut dyn Write) -> io::Result<()> {
    let charts: Vec<(&ExplainedInterval, Vec<&PathStep>)> =
        report.intervals.iter().take(MAX_INTERVALS).map(|interval| (interval, longest(interval))).collect();
    let chart_height = |steps: &[&PathStep]| HEAD + ROW * i64::try_from(steps.len()).unwrap_or(0) + FOOT;
    let omitted = report.intervals.len().saturating_sub(charts.len());
    let footer_height = if omitted > 0 { 24 } else { 0 };
    drawing::open(charts.iter().map(|(_, steps)| chart_height(steps)).sum::<i64>() + footer_height, out)?;
    let mut top = 0;
    for (interval, steps) in &charts {
        chart(interval, steps, top, out)?;
        top += chart_height(steps);
    }
    if omitted > 0 {
        drawing::line(
            MARGIN,
            top + 8,
            QUIET,
            &format!("{omitted} more not drawn; select one, for example with --phase"),
            out,
        )?;
    }
    drawing::close(out)
}

/// Returns the longest steps, in time order.
fn longest(interval: &ExplainedInterval) -> Vec<&PathStep> {
    let mut steps: Vec<&PathStep> = interval.path.steps.iter().filter(|step| step.duration_ns > 0).collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.duration_ns));
    // Steps below 1 % of the path explain little.
    let min_ns = interval.path.duration_ns / 100;
    let long_count = steps.partition_point(|step| step.duration_ns >= min_ns);
    steps.truncate(long_count.clamp(steps.len().min(1), MAX_STEPS));
    steps.sort_by_key(|step| step.start_ns);
    steps
}

fn chart(interval: &ExplainedInterval, steps: &[&PathStep], top: i64, out: &mut dyn Write) -> io::Result<()> {
    let path = &interval.path;
    let title = match interval.name.as_str() {
        "" => interval.thread.as_ref().map_or_else(
            || interval.action.clone(),
            |thread| format!("wait of {}: {}", thread.process, interval.action),
        ),
        name => display_name(name),
    };
    drawing::line(MARGIN, top + 28, HEADLINE, &format!("{title}: {}", duration(path.duration_ns)), out)?;
    let kinds: Vec<String> =
        path.kinds.iter().map(|share| format!("{} {}", duration(share.ns), why::state(share.kind))).collect();
    drawing::line(MARGIN, top + 48, QUIET, &kinds.join(", "), out)?;
    let width = (WIDTH - 2 * MARGIN) as f64;
    let x_of = |ns: i64| MARGIN as f64 + drawing::share(ns.saturating_sub(path.start_ns), path.duration_ns) * width;
    let bottom = top + HEAD + ROW * i64::try_from(steps.len()).unwrap_or(0);
    let x_of_offset = |ns: i64| x_of(path.start_ns.saturating_add(ns));
    drawing::axis(path.duration_ns, x_of_offset, (top + HEAD - 12, bottom), out)?;
    for (step, index) in steps.iter().zip(0_i64..) {
        let y = top + HEAD + index * ROW;
        let (x, end) = (x_of(step.start_ns), x_of(step.end_ns));
        let sentence = truncated(&format!("{}  {}", duration(step.duration_ns), why::step(step)), LINE_CHARACTERS);
        let sentence_width = sentence.chars().count() as f64 * CHARACTER;
        drawing::line_at(x.min((WIDTH - MARGIN) as f64 - sentence_width).max(MARGIN as f64), y, INK, &sentence, out)?;
        let dashes =
            if step.certainty == Certainty::Measured { "" } else { r##" stroke="#17202b" stroke-dasharray="3 2""## };
        let attributes = format!(r##"fill="{}"{dashes}"##, color(step.kind));
        drawing::area((x, y + 4), (end - x, 12), &attributes, &why::step(step), out)?;
        // No arrow across short steps that are not drawn.
        let next = steps.get(usize::try_from(index).unwrap_or(usize::MAX).saturating_add(1));
        if next.is_some_and(|next| step.end_ns == next.start_ns && step.readies_tid == Some(next.thread.tid)) {
            let (arrow_start, arrow_end) = (y + 16, y + ROW + 4);
            writeln!(
                out,
                r##"<path d="M{end:.1} {arrow_start}V{arrow_end}m-3 -5l3 5l3 -5" fill="none" stroke="#17202b" stroke-width="1.2"/>"##
            )?;
        }
    }
    let listed_ns = steps.iter().fold(0_i64, |sum, step| sum.saturating_add(step.duration_ns));
    let hidden_ns = path.duration_ns.saturating_sub(listed_ns);
    if hidden_ns > 0 {
        let text = format!("shorter steps, not drawn: {}", duration(hidden_ns));
        drawing::line(MARGIN, bottom + 32, QUIET, &text, out)?;
    }
    Ok(())
}

/// Returns the colors of the interactive report.
const fn color(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Cpu => "#2e8b57",
        StepKind::Ready => "#c9a227",
        StepKind::Disk => "#7a4fb5",
        StepKind::Timer => "#d07c1f",
        StepKind::Device => "#c2417a",
        StepKind::ServiceDependency => "#2b8a99",
        StepKind::Other => "#9a9a9a",
    }
}
