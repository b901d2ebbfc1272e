//! Self-contained SVG pictures, without scripts, fonts or external files.

pub mod chain;
pub mod drawing;
pub mod flame;
pub mod netboot;
pub mod summary;

use std::borrow::Cow;

use onoff_sections::terminal::printable::printable;

/// Escapes `text` for an element or an attribute.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    Cow::Owned(safe)
}

/// Returns the label of a time on an axis.
#[must_use]
pub fn tick(ns: i64) -> String {
    if ns < 0 {
        return format!("-{}", tick(ns.saturating_neg()));
    }
    let seconds = ns as f64 / 1e9;
    if ns == 0 || ns >= 1_000_000_000 {
        let text = format!("{seconds:.1}");
        format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
    } else if ns >= 1_000_000 {
        format!("{:.0} ms", ns as f64 / 1e6)
    } else {
        format!("{:.0} µs", ns as f64 / 1e3)
    }
}

/// Returns a round distance between at most ten grid lines, in ns.
#[must_use]
pub fn step(duration_ns: i64) -> i64 {
    let mut step = 1_i64;
    loop {
        for factor in [1, 2, 5] {
            let candidate = step.saturating_mul(factor);
            if duration_ns / candidate < 10 {
                return candidate;
            }
        }
        step = step.saturating_mul(10);
    }
}

/// Returns the positions of grid lines: every `step_ns` from `first_ns` to `last_ns`.
pub fn ticks(first_ns: i64, last_ns: i64, step_ns: i64) -> impl Iterator<Item = i64> {
    std::iter::successors(Some(first_ns), move |tick_ns| tick_ns.checked_add(step_ns))
        .take_while(move |&tick_ns| tick_ns <= last_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup_and_control_characters() {
        assert_eq!(escaped("boot.wim"), "boot.wim");
        assert_eq!(escaped("<script>a&\"b'\u{1b}"), "&lt;script&gt;a&amp;&quot;b&#39;\\u{1b}");
    }
}
