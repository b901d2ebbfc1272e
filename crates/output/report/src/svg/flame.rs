//! Flame graphs as SVG: width is time, and a box contains what it called or waited for.

use std::io::{self, Write};

use onoff_lists::flame::Flame;

use super::drawing::{self, HEADLINE, INK, MARGIN, QUIET, SHADES, WIDTH, fitting};
use onoff_sections::terminal::quantity::{duration, percent};

const ROW: i64 = 18;
const TOP: i64 = 62;
/// Boxes narrower than the inverse of this of the total are not drawn: about a third of a pixel.
const MIN_SHARE_DIVISOR: i64 = 3_000;
/// Maximum number of boxes, outer levels first.
const MAX_BOXES: usize = 6_000;

/// Writes a flame graph with a title; `of` names the kind of time.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(flame: &Flame, title: &str, of: &str, out: &mut dyn Write) -> io::Result<()> {
    let arranged = flame.layout(flame.total_ns / MIN_SHARE_DIVISOR);
    let drawn = &arranged[..arranged.len().min(MAX_BOXES)];
    let depth = drawn.iter().map(|(_, node)| node.depth).max().unwrap_or(0);
    let rows = i64::try_from(depth).unwrap_or(0).saturating_add(1);
    drawing::open(TOP + rows * ROW + MARGIN, out)?;
    drawing::line(MARGIN, 28, HEADLINE, title, out)?;
    let omitted = flame.nodes.len().saturating_sub(drawn.len());
    let rest = if omitted == 0 { String::new() } else { format!("; {omitted} boxes too narrow to be drawn") };
    drawing::line(MARGIN, 48, QUIET, &format!("{of}: {}{rest}", duration(flame.total_ns)), out)?;
    let room = (WIDTH - 2 * MARGIN) as f64;
    let place = |ns: i64| MARGIN as f64 + drawing::share(ns, flame.total_ns) * room;
    for (start_ns, node) in drawn {
        let (x, end) = (place(*start_ns), place(start_ns.saturating_add(node.total_ns)));
        let y = TOP + i64::try_from(node.depth).unwrap_or(0) * ROW;
        let share = percent(drawing::share(node.total_ns, flame.total_ns) * 100.0);
        let title = format!("{}: {}, {share}", node.name, duration(node.total_ns));
        let look = format!(r##"fill="{}" stroke="#ffffff" stroke-width="0.5""##, shade(&node.name));
        drawing::area((x, y), (end - x, ROW - 1), &look, &title, out)?;
        let name = label(&node.name, end - x - 6.0);
        if !name.is_empty() {
            drawing::line_at(x + 3.0, y + 13, INK, &name, out)?;
        }
    }
    drawing::close(out)
}

/// As much of a name as fits into a box; if the whole name does not fit, the function without its module.
fn label(name: &str, wide: f64) -> String {
    let whole = fitting(name, wide);
    match name.split_once('!') {
        Some((_, function)) if whole != name => fitting(function, wide),
        _ => whole,
    }
}

/// The same shade for the same name.
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
                let from = line.find(&format!(" {key}=\"")).unwrap() + key.len() + 3;
                line[from..].split('"').next().unwrap().parse::<f64>().unwrap()
            };
            (value("x"), value("y"), value("width"))
        };
        let ((x, y, wide), (other_x, other_y, other_wide)) = (box_of("a.exe"), box_of("ntdll.dll"));
        assert_eq!((x, wide, y + ROW as f64), (other_x, other_wide, other_y));
        let b = box_of("b&lt;x&gt;.exe");
        assert!((b.0 - (x + wide)).abs() < 0.2 && (b.2 * 3.0 - wide).abs() < 1.0, "{b:?}");
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
