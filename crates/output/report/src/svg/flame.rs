//! Flame graphs as SVG: width is time, and a box contains what it called or waited for.

use std::io::{self, Write};

use onoff_lists::flame::Flame;

use super::drawing::{self, HEADLINE, INK, MARGIN, QUIET, SHADES, WIDTH, truncated_to_width};
use onoff_sections::terminal::quantity::{duration, percent};

const ROW: i64 = 18;
const TOP: i64 = 62;
/// Boxes narrower than this fraction of the total (1/3000, about a third of a pixel) are not drawn.
const MIN_SHARE_DIVISOR: i64 = 3_000;
/// Maximum number of boxes, outer levels first.
const MAX_BOXES: usize = 6_000;

/// Writes a flame graph with a title. `time_kind` names the kind of time.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(flame: &Flame, title: &str, time_kind: &str, out: &mut dyn Write) -> io::Result<()> {
    let boxes = flame.layout(flame.total_ns / MIN_SHARE_DIVISOR);
    let drawn = &boxes[..boxes.len().min(MAX_BOXES)];
    let depth = drawn.iter().map(|(_, node)| node.depth).max().unwrap_or(0);
    let rows = i64::try_from(depth).unwrap_or(0).saturating_add(1);
    drawing::open(TOP + rows * ROW + MARGIN, out)?;
    drawing::line(MARGIN, 28, HEADLINE, title, out)?;
    let omitted = flame.nodes.len().saturating_sub(drawn.len());
    let omitted_note = if omitted == 0 { String::new() } else { format!("; {omitted} boxes too narrow to be drawn") };
    drawing::line(MARGIN, 48, QUIET, &format!("{time_kind}: {}{omitted_note}", duration(flame.total_ns)), out)?;
    let width = (WIDTH - 2 * MARGIN) as f64;
    let x_of = |ns: i64| MARGIN as f64 + drawing::share(ns, flame.total_ns) * width;
    for (start_ns, node) in drawn {
        let (x, end) = (x_of(*start_ns), x_of(start_ns.saturating_add(node.total_ns)));
        let y = TOP + i64::try_from(node.depth).unwrap_or(0) * ROW;
        let share = percent(drawing::share(node.total_ns, flame.total_ns) * 100.0);
        let title = format!("{}: {}, {share}", node.name, duration(node.total_ns));
        let attributes = format!(r##"fill="{}" stroke="#ffffff" stroke-width="0.5""##, shade(&node.name));
        drawing::area((x, y), (end - x, ROW - 1), &attributes, &title, out)?;
        let name = label(&node.name, end - x - 6.0);
        if !name.is_empty() {
            drawing::line_at(x + 3.0, y + 13, INK, &name, out)?;
        }
    }
    drawing::close(out)
}

/// Truncates a name to the width of a box. If the full name does not fit, shows the function without its module.
fn label(name: &str, width: f64) -> String {
    let full = truncated_to_width(name, width);
    match name.split_once('!') {
        Some((_, function)) if full != name => truncated_to_width(function, width),
        _ => full,
    }
}

/// Picks a shade by name, so that equal names have equal shades.
fn shade(name: &str) -> &'static str {
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    SHADES[sum as usize % SHADES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(flame: &Flame) -> String {
        let mut out = Vec::new();
        write(flame, "Boot", "samples", &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prefers_function_over_module_in_narrow_boxes() {
        assert_eq!(label("driver.sys!Wait", 200.0), "driver.sys!Wait");
        assert_eq!(label("driver.sys!Wait", 60.0), "Wait");
        assert!(label("driver.sys", 40.0).starts_with("dri"));
        assert_eq!(label("driver.sys!Wait", 1.0), "");
    }

    #[test]
    fn draws_boxes_below_their_parent_with_width_by_time() {
        let mut flame = Flame::default();
        flame.add(["a.exe", "ntdll.dll"], 3_000);
        flame.add(["b<x>.exe"], 1_000);
        let picture = drawn(&flame);
        assert!(picture.contains("a.exe: 3.00 µs, 75 %") && picture.contains("ntdll.dll: 3.00 µs, 75 %"), "{picture}");
        assert!(picture.contains("b&lt;x&gt;.exe: 1.00 µs, 25 %") && !picture.contains("<x>"));
        let box_of = |name: &str| {
            let line = picture.lines().find(|line| line.contains(&format!("<title>{name}"))).unwrap();
            let value = |key: &str| {
                let start = line.find(&format!(" {key}=\"")).unwrap() + key.len() + 3;
                line[start..].split('"').next().unwrap().parse::<f64>().unwrap()
            };
            (value("x"), value("y"), value("width"))
        };
        let ((x, y, width), (child_x, child_y, child_width)) = (box_of("a.exe"), box_of("ntdll.dll"));
        assert_eq!((x, width, y + ROW as f64), (child_x, child_width, child_y));
        let b = box_of("b&lt;x&gt;.exe");
        assert!((b.0 - (x + width)).abs() < 0.2 && (b.2 * 3.0 - width).abs() < 1.0, "{b:?}");
    }

    #[test]
    fn counts_boxes_too_narrow_to_draw() {
        let mut flame = Flame::default();
        flame.add(["long.exe"], 1_000_000_000);
        for index in 0..100 {
            flame.add([format!("brief{index}").as_str()], 1);
        }
        let picture = drawn(&flame);
        assert!(picture.contains("100 boxes too narrow to be drawn"));
        assert!(!picture.contains("brief"));
        assert!(drawn(&Flame::default()).trim_end().ends_with("</svg>"));
    }
}
