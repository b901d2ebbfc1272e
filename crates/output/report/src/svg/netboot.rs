//! Network boots as Gantt charts: one chart per boot, one row per stage.

use std::io::{self, Write};

use onoff_network::outcome::Verdict;
use onoff_network::report::{NetbootReport, NetworkBoot, Stage, StageKind};
use onoff_network::stages::is_wait;

use super::{escaped, step, tick, ticks};
use onoff_sections::terminal::quantity::{duration, percent};

const WIDTH: i64 = 1100;
const LABELS: i64 = 300;
const MARGIN: i64 = 16;
/// Space for the duration next to the last bar.
const LENGTHS: i64 = 130;
const ROW: i64 = 22;
const HEAD: i64 = 62;
const FOOT: i64 = 40;
/// Maximum number of rows per boot, longest stages first.
const MAX_ROWS: usize = 40;
/// Pauses with a smaller share of the boot than this, in percent, get no row.
const BRIEF_PERCENT: f64 = 0.5;
/// Maximum characters of a label.
const LABEL_CHARACTERS: usize = 40;

/// Writes the chart.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &NetbootReport, out: &mut dyn Write) -> io::Result<()> {
    let charts: Vec<(&NetworkBoot, Vec<&Stage>)> = report.boots.iter().map(|boot| (boot, rows(boot))).collect();
    let height: i64 = charts.iter().map(|(_, rows)| chart_height(rows.len())).sum();
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12">"#
    )?;
    writeln!(out, r##"<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>"##)?;
    writeln!(
        out,
        r##"<defs><pattern id="wait" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#f2f2f2"/><line x1="0" y1="0" x2="0" y2="6" stroke="#9a9a9a" stroke-width="2"/></pattern></defs>"##
    )?;
    let mut top = 0;
    for (boot, rows) in &charts {
        chart(boot, rows, top, out)?;
        top += chart_height(rows.len());
    }
    writeln!(out, "</svg>")
}

fn chart_height(rows: usize) -> i64 {
    HEAD + ROW * i64::try_from(rows).unwrap_or(0) + FOOT
}

fn rows(boot: &NetworkBoot) -> Vec<&Stage> {
    let mut rows: Vec<&Stage> = boot
        .stages
        .iter()
        .filter(|stage| stage.kind != StageKind::Client || stage.share_percent >= BRIEF_PERCENT)
        .collect();
    rows.sort_by_key(|stage| std::cmp::Reverse(stage.duration_ns));
    rows.truncate(MAX_ROWS);
    rows.sort_by_key(|stage| stage.start_ns);
    rows
}

fn chart(boot: &NetworkBoot, rows: &[&Stage], top: i64, out: &mut dyn Write) -> io::Result<()> {
    let name = match (boot.client.mac, boot.client.addresses.first()) {
        (Some(mac), _) => mac.to_string(),
        (None, address) => address.cloned().unwrap_or_default(),
    };
    writeln!(
        out,
        r##"<text x="{MARGIN}" y="{}" font-size="16" font-weight="bold" fill="#1a1a1a">Network boot of {}: {}{}</text>"##,
        top + 26,
        escaped(&name),
        duration(boot.duration_ns),
        escaped(&outcome(boot))
    )?;
    axis(boot, rows, top, out)?;
    failure_mark(boot, rows, top, out)?;
    for (index, stage) in rows.iter().enumerate() {
        let y = top + HEAD + ROW * i64::try_from(index).unwrap_or(0);
        bar(boot, stage, y, out)?;
    }
    Ok(())
}

/// Describes the outcome of a boot that did not load, with the first error code of its screen.
fn outcome(boot: &NetworkBoot) -> String {
    let outcome = &boot.outcome;
    let stage = outcome.stage.map_or_else(String::new, |stage| format!(" in the {} stage", stage.as_str()));
    let code = outcome.codes.first().map_or_else(String::new, |code| format!(", {}", code.code));
    let reason = outcome.reason.as_str().replace('_', " ");
    match outcome.verdict {
        Verdict::Loaded => String::new(),
        Verdict::Failed => {
            let likely = if outcome.certain { "" } else { "probably " };
            format!(", {likely}failed{stage}: {reason}{code}")
        }
        Verdict::Unknown => format!(", outcome unknown: {reason}"),
    }
}

/// Marks the time of the failure across the rows.
fn failure_mark(boot: &NetworkBoot, rows: &[&Stage], top: i64, out: &mut dyn Write) -> io::Result<()> {
    if boot.outcome.verdict != Verdict::Failed {
        return Ok(());
    }
    let x = x_of(boot, boot.outcome.time_ns);
    let bottom = top + chart_height(rows.len()) - FOOT;
    writeln!(
        out,
        r##"<g><title>{}</title><line x1="{x:.1}" y1="{}" x2="{x:.1}" y2="{bottom}" stroke="#c00000" stroke-width="2" stroke-dasharray="4 3"/></g>"##,
        escaped(&boot.outcome.description),
        top + HEAD - 8
    )
}

/// Returns the horizontal position of a time.
fn x_of(boot: &NetworkBoot, time_ns: i64) -> f64 {
    let total_ns = boot.duration_ns.max(1) as f64;
    let width = (WIDTH - LABELS - LENGTHS) as f64;
    let share = time_ns.saturating_sub(boot.start_ns) as f64 / total_ns;
    LABELS as f64 + width * share.clamp(0.0, 1.0)
}

fn axis(boot: &NetworkBoot, rows: &[&Stage], top: i64, out: &mut dyn Write) -> io::Result<()> {
    let bottom = top + chart_height(rows.len()) - FOOT;
    for offset_ns in ticks(0, boot.duration_ns, step(boot.duration_ns)) {
        let x = x_of(boot, boot.start_ns.saturating_add(offset_ns));
        writeln!(
            out,
            r##"<line x1="{x:.1}" y1="{}" x2="{x:.1}" y2="{bottom}" stroke="#e3e3e3"/><text x="{x:.1}" y="{}" text-anchor="middle" fill="#6b6b6b">{}</text>"##,
            top + HEAD - 8,
            top + HEAD - 14,
            tick(offset_ns)
        )?;
    }
    Ok(())
}

fn bar(boot: &NetworkBoot, stage: &Stage, y: i64, out: &mut dyn Write) -> io::Result<()> {
    let label = if stage.detail.is_empty() {
        stage.kind.as_str().to_owned()
    } else {
        format!("{}: {}", stage.kind.as_str(), stage.detail)
    };
    let (start_x, end_x) = (x_of(boot, stage.start_ns), x_of(boot, stage.end_ns));
    // The shortest bars are still visible as a line.
    let width = (end_x - start_x).max(1.0);
    let length = duration(stage.duration_ns);
    let share = percent(stage.share_percent);
    let share = escaped(&share);
    writeln!(
        out,
        r##"<g><title>{label}
{from_text} to {to_text}: {length}, {share}
{rule}</title><text x="{x}" y="{baseline}" text-anchor="end" fill="#1a1a1a">{short}</text><rect x="{start_x:.1}" y="{bar_y}" width="{width:.1}" height="{bar_height}" rx="2" fill="{color}"/><text x="{after:.1}" y="{baseline}" fill="#6b6b6b">{length} ({share})</text></g>"##,
        label = escaped(&label),
        from_text = duration(stage.start_ns.saturating_sub(boot.start_ns)),
        to_text = duration(stage.end_ns.saturating_sub(boot.start_ns)),
        rule = escaped(&stage.rule.to_string()),
        x = LABELS - 10,
        baseline = y + 15,
        short = escaped(&shortened(&label)),
        bar_y = y + 3,
        bar_height = ROW - 6,
        color = if is_wait(stage) { "url(#wait)" } else { color(stage.kind) },
        after = start_x + width + 6.0,
    )
}

/// Removes the middle of a long text: both ends of a path matter.
fn shortened(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= LABEL_CHARACTERS {
        return text.to_owned();
    }
    let half = (LABEL_CHARACTERS - 1) / 2;
    let head: String = characters.iter().take(half).collect();
    let tail: String = characters.iter().skip(characters.len() - half).collect();
    format!("{head}…{tail}")
}

/// Colors from the color-blind safe palette of Okabe and Ito.
fn color(kind: StageKind) -> &'static str {
    match kind {
        StageKind::Link | StageKind::Client => "#e6e6e6",
        StageKind::Dhcp | StageKind::BootServer => "#e69f00",
        StageKind::Menu => "#f0e442",
        StageKind::SizeProbe | StageKind::Refused => "#d55e00",
        StageKind::BootProgram | StageKind::Loader | StageKind::Configuration => "#56b4e9",
        StageKind::Kernel | StageKind::Ramdisk | StageKind::OtherFile | StageKind::Http => "#0072b2",
        StageKind::OperatingSystem => "#009e73",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_few_round_steps() {
        for (duration_ns, expected) in
            [(4_930_000_000, 500_000_000), (110_500_000_000, 20_000_000_000), (9_999_999_999, 1_000_000_000), (0, 1)]
        {
            assert_eq!(step(duration_ns), expected, "{duration_ns}");
        }
        assert!(i64::MAX / step(i64::MAX) < 10);
        assert_eq!(tick(500_000_000), "500 ms");
        assert_eq!(tick(1_500_000_000), "1.5 s");
        assert_eq!(tick(20_000_000_000), "20 s");
    }

    #[test]
    fn shortens_long_names_in_the_middle() {
        let name = "ramdisk: ".to_owned() + &"x".repeat(60) + "boot.wim";
        let short = shortened(&name);
        assert_eq!(short.chars().count(), 39);
        assert!(short.starts_with("ramdisk: x") && short.ends_with("boot.wim"));
    }
}
