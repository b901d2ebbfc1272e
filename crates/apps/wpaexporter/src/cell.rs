//! Values of a row, and how WPA writes them.
//!
//! WPA formats times with a unit (`s`, `m`, `u`, `n`, with an `N` for thousands separators), sizes as `B` to `GB`,
//! addresses as `x`, shares as `N2`. The unit is in the title of the column. Source: the formats in published profiles,
//! the titles that public readers of the files expect, and the formatters of the Microsoft Performance Toolkit SDK.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use onoff_sections::terminal::printable::printable;

#[derive(Clone, Debug, Default)]
pub enum Cell {
    #[default]
    Empty,
    Text(Arc<str>),
    Number(i64),
    /// Time or duration, ns.
    Time(i64),
    Bytes(u64),
    Address(u64),
    Percent(f64),
}

/// Kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Time,
    Bytes,
    Address,
    Percent,
    /// Call stack, a text whose title depends on how the stack is shown.
    Stack,
}

impl Cell {
    pub fn text(text: &str) -> Self {
        Self::Text(Arc::from(text))
    }

    pub fn time(ns: Option<i64>) -> Self {
        ns.map_or(Self::Empty, Self::Time)
    }

    pub fn number(number: Option<impl Into<i64>>) -> Self {
        number.map_or(Self::Empty, |number| Self::Number(number.into()))
    }

    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns the value for averages; `None` for a text.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Number(value) | Self::Time(value) => Some(value as f64),
            Self::Bytes(value) | Self::Address(value) => Some(value as f64),
            Self::Percent(value) => Some(value),
            Self::Empty | Self::Text(_) => None,
        }
    }

    /// Returns a cell of the same kind with another value.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub fn with_f64(&self, value: f64) -> Self {
        match self {
            Self::Number(_) => Self::Number(value.round() as i64),
            Self::Time(_) => Self::Time(value.round() as i64),
            Self::Bytes(_) => Self::Bytes(value.round() as u64),
            Self::Address(_) => Self::Address(value.round() as u64),
            _ => Self::Percent(value),
        }
    }

    /// Adds a value of the same kind.
    pub fn add(&mut self, other: &Self) {
        *self = match (&*self, other) {
            (Self::Number(a), Self::Number(b)) => Self::Number(a.saturating_add(*b)),
            (Self::Time(a), Self::Time(b)) => Self::Time(a.saturating_add(*b)),
            (Self::Bytes(a), Self::Bytes(b)) => Self::Bytes(a.saturating_add(*b)),
            (Self::Percent(a), Self::Percent(b)) => Self::Percent(a + b),
            (Self::Empty, other) => other.clone(),
            _ => return,
        };
    }

    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) | (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) | (Self::Address(a), Self::Address(b)) => a.cmp(b),
            (Self::Percent(a), Self::Percent(b)) => a.total_cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Empty => 0,
            Self::Text(_) => 1,
            Self::Number(_) => 2,
            Self::Time(_) => 3,
            Self::Bytes(_) => 4,
            Self::Address(_) => 5,
            Self::Percent(_) => 6,
        }
    }

    /// Formats the value like WPA, in the format of its column.
    pub fn format(&self, format: &str) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => printable(text).into_owned(),
            Self::Number(number) if format.starts_with('N') => grouped(&number.to_string()),
            Self::Number(number) => number.to_string(),
            Self::Time(ns) => format_time(*ns, format),
            Self::Bytes(bytes) => format_bytes(*bytes, format),
            Self::Address(address) => format!("0x{address:x}"),
            Self::Percent(percent) => {
                let digits = format.strip_prefix(['N', 'F']).and_then(|digits| digits.parse().ok()).unwrap_or(2_usize);
                grouped(&format!("{percent:.*}", digits.min(9)))
            }
        }
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Equal
    }
}

impl Eq for Cell {}

impl Hash for Cell {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.rank().hash(hasher);
        match self {
            Self::Empty => {}
            Self::Text(text) => text.hash(hasher),
            Self::Number(value) | Self::Time(value) => value.hash(hasher),
            Self::Bytes(value) | Self::Address(value) => value.hash(hasher),
            Self::Percent(value) => value.to_bits().hash(hasher),
        }
    }
}

/// Unit of a time format, decimals, and ns per unit. Seconds are the default.
fn time_unit(format: &str) -> (&'static str, usize, u64) {
    match format.chars().find(|c| matches!(c, 's' | 'm' | 'u' | 'n')) {
        Some('m') => ("ms", 6, 1_000_000),
        Some('u') => ("µs", 3, 1_000),
        Some('n') => ("ns", 0, 1),
        _ => ("s", 9, 1_000_000_000),
    }
}

fn format_time(ns: i64, format: &str) -> String {
    let (_, digits, unit) = time_unit(format);
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let mut text = format!("{sign}{}", ns / unit);
    if digits > 0 {
        text.push_str(&format!(".{:0digits$}", ns % unit));
    }
    if format.contains('N') { grouped(&text) } else { text }
}

/// Unit of a size, and its bytes. `MB` is the default.
fn size_unit(format: &str) -> (&'static str, u64) {
    match format {
        "B" => ("B", 1),
        "KB" => ("KB", 1 << 10),
        "GB" => ("GB", 1 << 30),
        _ => ("MB", 1 << 20),
    }
}

fn format_bytes(bytes: u64, format: &str) -> String {
    match size_unit(format) {
        (_, 1) => grouped(&bytes.to_string()),
        (_, unit) => grouped(&format!("{:.3}", bytes as f64 / unit as f64)),
    }
}

/// Writes commas between groups of three digits.
fn grouped(number: &str) -> String {
    let (integer, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let digits = integer.trim_start_matches('-');
    let mut text = String::with_capacity(number.len() + digits.len() / 3);
    text.push_str(&integer[..integer.len() - digits.len()]);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text.push_str(fraction);
    text
}

/// Returns the title of a column: its name, and the unit of its values.
pub fn title(name: &str, kind: Kind, format: &str, stack_mode: &str) -> String {
    let unit = match kind {
        Kind::Time => time_unit(format).0,
        Kind::Bytes => size_unit(format).0,
        Kind::Stack if stack_mode == "FrameTags" => "Frame Tags",
        Kind::Stack if stack_mode == "StackTag" => return with_suffix(name, " Tag"),
        _ => return name.to_owned(),
    };
    with_suffix(name, &format!(" ({unit})"))
}

/// Adds a suffix that the name does not have already: older profiles save names with their units.
fn with_suffix(name: &str, suffix: &str) -> String {
    if name.ends_with(suffix) { name.to_owned() } else { format!("{name}{suffix}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_values_like_published_files() {
        // From UIforETW: `Idle (0),7237,"26,420.482528"` and "20,726,984.943082".
        assert_eq!(Cell::Time(26_420_482_528).format("mN"), "26,420.482528");
        assert_eq!(Cell::Time(20_726_984_943_082).format("mN"), "20,726,984.943082");
        assert_eq!(Cell::Number(23_871_651).format(""), "23871651");
        // From a posted table of processes: `337.181087819`.
        assert_eq!(Cell::Time(337_181_087_819).format(""), "337.181087819");
        assert_eq!(Cell::Time(1_500).format("uN"), "1.500");
        assert_eq!(Cell::Time(-1_234_567_000).format("uN"), "-1,234,567.000");
        assert_eq!(Cell::Time(12_345).format("nN"), "12,345");
        assert_eq!(Cell::Bytes(1_536).format("B"), "1,536");
        assert_eq!(Cell::Bytes(1_536).format("KB"), "1.500");
        assert_eq!(Cell::Percent(12.3456).format("N3"), "12.346");
        assert_eq!(Cell::Address(0x7ff6_0000_1000).format("x"), "0x7ff600001000");
        assert_eq!(Cell::text("a\u{1b}b").format(""), r"a\u{1b}b", "safe for a terminal");
    }

    #[test]
    fn titles_have_units_once() {
        assert_eq!(title("CPU Usage (in view)", Kind::Time, "mN", ""), "CPU Usage (in view) (ms)");
        assert_eq!(title("Waits", Kind::Time, "uN", ""), "Waits (µs)");
        assert_eq!(title("Switch-In Time", Kind::Time, "", ""), "Switch-In Time (s)");
        assert_eq!(title("Start Time (s)", Kind::Time, "", ""), "Start Time (s)");
        assert_eq!(title("Size", Kind::Bytes, "B", ""), "Size (B)");
        assert_eq!(title("Stack", Kind::Stack, "", "FrameTags"), "Stack (Frame Tags)");
        assert_eq!(title("% Weight", Kind::Percent, "N2", ""), "% Weight");
    }
}
