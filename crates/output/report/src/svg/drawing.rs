//! Drawing primitives: a self-contained SVG without scripts, fonts or external files, for a README, a pull request or
//! print.

use std::io::{self, Write};

use super::{escaped, step, tick, ticks};

/// Width of every picture.
pub const WIDTH: i64 = 1100;
pub const MARGIN: i64 = 16;
/// Maximum characters per line.
pub const LINE_CHARACTERS: usize = 150;
/// Approximate width of a character.
pub const CHARACTER: f64 = 6.6;

/// Attributes of a headline.
pub const HEADLINE: &str = r##"font-size="17" font-weight="bold" fill="#17202b""##;
/// Attributes of text.
pub const INK: &str = r##"fill="#17202b""##;
/// Attributes of secondary text.
pub const QUIET: &str = r##"fill="#556170""##;
/// Fill colors of neighboring boxes.
pub const SHADES: [&str; 6] = ["#d6e4f7", "#c0d8f0", "#a7cbe9", "#c3e0d0", "#f3e2bd", "#e6e6ea"];

/// Starts a picture of the given height with a white background.
///
/// # Errors
/// Returns errors from `out`.
pub fn open(height: i64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="12"><rect width="{WIDTH}" height="{height}" fill="#ffffff"/>"##
    )
}

/// Ends a picture.
///
/// # Errors
/// Returns errors from `out`.
pub fn close(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "</svg>")
}

/// Writes a line of text with its baseline at `y`.
///
/// # Errors
/// Returns errors from `out`.
pub fn line(x: i64, y: i64, attributes: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    line_at(x as f64, y, attributes, text, out)
}

/// Draws text like [`line()`], but at a fractional position.
///
/// # Errors
/// Returns errors from `out`.
pub fn line_at(x: f64, y: i64, attributes: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, r##"<text x="{x:.1}" y="{y}" {attributes}>{}</text>"##, escaped(&truncated(text, LINE_CHARACTERS)))
}

/// Draws the grid lines of an axis from 0 to `length_ns` between two heights, with their times below.
///
/// # Errors
/// Returns errors from `out`.
pub fn axis(
    length_ns: i64,
    x_of: impl Fn(i64) -> f64,
    (top, bottom): (i64, i64),
    out: &mut dyn Write,
) -> io::Result<()> {
    for tick_ns in ticks(0, length_ns, step(length_ns)) {
        let x = x_of(tick_ns);
        writeln!(out, r##"<line x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}" stroke="#e3e7ec"/>"##)?;
        line_at(x, bottom + 14, r##"text-anchor="middle" fill="#556170""##, &tick(tick_ns), out)?;
    }
    Ok(())
}

/// Draws a box with a tooltip.
///
/// # Errors
/// Returns errors from `out`.
pub fn area(
    (x, y): (f64, i64),
    (width, height): (f64, i64),
    attributes: &str,
    title: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        r##"<rect x="{x:.1}" y="{y}" width="{:.1}" height="{height}" {attributes}><title>{}</title></rect>"##,
        width.max(0.5),
        escaped(title)
    )
}

/// Truncates a text to `max` characters, including an ellipsis.
#[must_use]
pub fn truncated(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

/// Truncates a text to a width; empty below three characters.
#[must_use]
pub fn truncated_to_width(text: &str, width: f64) -> String {
    let max = (width / CHARACTER).max(0.0) as usize;
    if max < 3 { String::new() } else { truncated(text, max) }
}

/// Returns `part_ns` as a share of `total_ns`, from 0 to 1.
#[must_use]
pub fn share(part_ns: i64, total_ns: i64) -> f64 {
    (part_ns.max(0) as f64 / total_ns.max(1) as f64).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncates_by_characters_and_escapes_text() {
        assert_eq!(truncated("überlang", 4), "übe…");
        assert_eq!(truncated_to_width("winlogon.exe", 12.0), "");
        assert_eq!(truncated_to_width("winlogon.exe", 40.0), "winlo…");
        let mut out = Vec::new();
        line(0, 0, INK, "<script>\"&", &mut out).unwrap();
        area((0.0, 0), (0.0, 1), INK, "</title><script>", &mut out).unwrap();
        assert!(!String::from_utf8(out).unwrap().contains("<script>"));
    }

    #[test]
    fn clamps_shares() {
        assert_eq!((share(5, 10), share(-5, 10), share(50, 10), share(1, 0)), (0.5, 0.0, 1.0, 1.0));
    }
}
