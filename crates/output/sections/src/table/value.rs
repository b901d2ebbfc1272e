//! Values of cells.

use std::borrow::Cow;
use std::cmp::Ordering;

use onoff_trace::duration::ExactTime;

use super::Kind;
use crate::terminal::quantity::{count, duration, percent, size};

/// The value of a cell, with its unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Empty.
    Nothing,
    /// Shown as "unknown" to people.
    Unknown,
    Text(Cow<'a, str>),
    /// A number that identifies something, such as a process or a processor.
    Id(i64),
    Count(u64),
    /// A point in time, ns.
    Time(i64),
    /// A point in time, ns, shown to people relative to `origin_ns`.
    Since {
        ns: i64,
        origin_ns: i64,
    },
    /// A duration, ns.
    Duration(i64),
    /// A lower bound of a duration, ns. Empty in CSV and JSON, where the bound has its own column.
    AtLeast(i64),
    /// An upper bound of a duration, ns. In CSV and JSON, another column marks it as a bound.
    AtMost(i64),
    Bytes(u64),
    /// A share in percent.
    Percent(f64),
    /// A real number; `decimals` applies to CSV.
    Real {
        value: f64,
        decimals: usize,
    },
    Flag(bool),
}

impl<'a> Value<'a> {
    /// Creates a text; nothing if it is empty.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(Cow::Borrowed(text)) }
    }

    /// Creates a text; unknown if it is empty.
    #[must_use]
    pub fn text_or_unknown(text: &'a str) -> Self {
        if text.is_empty() { Self::Unknown } else { Self::Text(Cow::Borrowed(text)) }
    }

    /// Creates an id, if there is one.
    #[must_use]
    pub fn id(number: Option<impl Into<i64>>) -> Self {
        Self::from_option(number, |number| Self::Id(number.into()))
    }

    /// Returns `kind(value)`, or nothing if there is no value.
    #[must_use]
    pub fn from_option<T>(value: Option<T>, kind: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Nothing, kind)
    }

    /// True for a quantity of zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match *self {
            Self::Count(number) | Self::Bytes(number) => number == 0,
            Self::Duration(ns) | Self::AtMost(ns) => ns == 0,
            Self::Percent(value) | Self::Real { value, .. } => value == 0.0,
            Self::Flag(flag) => !flag,
            Self::Nothing
            | Self::Unknown
            | Self::AtLeast(_)
            | Self::Text(_)
            | Self::Id(_)
            | Self::Time(_)
            | Self::Since { .. } => false,
        }
    }

    /// Returns the text for people.
    #[must_use]
    pub fn display_text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Unknown => Cow::Borrowed("unknown"),
            Self::Text(text) => Cow::Borrowed(text),
            // Zero needs no unit.
            Self::Duration(0) | Self::Bytes(0) => Cow::Borrowed("0"),
            Self::Percent(share) if *share == 0.0 => Cow::Borrowed("0"),
            Self::Id(number) => number.to_string().into(),
            Self::Count(number) => count(*number).into(),
            Self::Time(ns) => ExactTime(*ns).to_string().into(),
            Self::Since { ns, origin_ns } => duration(ns.saturating_sub(*origin_ns)).into(),
            Self::Duration(ns) => duration(*ns).into(),
            Self::AtLeast(ns) => format!("at least {}", duration(*ns)).into(),
            Self::AtMost(ns) => format!("at most {}", duration(*ns)).into(),
            Self::Bytes(bytes) => size(*bytes).into(),
            Self::Percent(share) => percent(*share).into(),
            Self::Real { value, .. } => format!("{value:.2}").into(),
            Self::Flag(true) => Cow::Borrowed("yes"),
            Self::Flag(false) => Cow::Borrowed("no"),
        }
    }

    /// Returns the text for programs: numbers without units, which are in the name of the column.
    #[must_use]
    pub fn machine_text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing | Self::Unknown | Self::AtLeast(_) => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Id(number)
            | Self::Time(number)
            | Self::Duration(number)
            | Self::AtMost(number)
            | Self::Since { ns: number, .. } => number.to_string().into(),
            Self::Count(number) | Self::Bytes(number) => number.to_string().into(),
            Self::Percent(share) => format!("{share:.4}").into(),
            Self::Real { value, decimals } => format!("{value:.decimals$}").into(),
            Self::Flag(true) => Cow::Borrowed("true"),
            Self::Flag(false) => Cow::Borrowed("false"),
        }
    }

    /// Compares two values of a column. Unknown values come last in any column.
    pub(super) fn compare(&self, other: &Self, kind: Kind) -> Ordering {
        match (self.is_known(), other.is_known()) {
            (false, false) => Ordering::Equal,
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (true, true) => {
                let order = self.compare_ascending(other);
                if kind == Kind::Quantity { order.reverse() } else { order }
            }
        }
    }

    fn is_known(&self) -> bool {
        !matches!(self, Self::Nothing | Self::Unknown)
    }

    fn compare_ascending(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.to_lowercase().cmp(&b.to_lowercase()).then(a.cmp(b)),
            (Self::Percent(a), Self::Percent(b)) | (Self::Real { value: a, .. }, Self::Real { value: b, .. }) => {
                a.total_cmp(b)
            }
            _ => self.number().cmp(&other.number()),
        }
    }

    fn number(&self) -> i128 {
        match *self {
            Self::Id(number)
            | Self::Time(number)
            | Self::Duration(number)
            | Self::AtLeast(number)
            | Self::AtMost(number)
            | Self::Since { ns: number, .. } => number.into(),
            Self::Count(number) | Self::Bytes(number) => number.into(),
            Self::Flag(flag) => flag.into(),
            Self::Nothing | Self::Unknown | Self::Text(_) | Self::Percent(_) | Self::Real { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_for_people_and_programs() {
        for (value, shown, plain) in [
            (Value::Nothing, "", ""),
            (Value::Unknown, "unknown", ""),
            (Value::AtLeast(2_500_000_000), "at least 2.50 s", ""),
            (Value::AtMost(2_500_000_000), "at most 2.50 s", "2500000000"),
            (Value::text("a.exe"), "a.exe", "a.exe"),
            (Value::text(""), "", ""),
            (Value::Id(12345), "12345", "12345"),
            (Value::Count(12345), "12,345", "12345"),
            (Value::Time(12_345_678_901), "12.345679s", "12345678901"),
            (Value::Time(i64::MIN), "-9223372036.854776s", "-9223372036854775808"),
            (Value::Duration(12_345_678_901), "12.3 s", "12345678901"),
            (Value::Bytes(2048), "2 KiB", "2048"),
            (Value::Bytes(0), "0", "0"),
            (Value::Percent(12.34567), "12 %", "12.3457"),
        ] {
            assert_eq!((&*value.display_text(), &*value.machine_text()), (shown, plain));
        }
    }

    #[test]
    fn recognizes_zero_quantities() {
        for value in [Value::Count(0), Value::Bytes(0), Value::Duration(0), Value::Percent(0.0)] {
            assert!(value.is_zero(), "{value:?}");
        }
        for value in [Value::Nothing, Value::Id(0), Value::Time(0), Value::Count(1)] {
            assert!(!value.is_zero(), "{value:?}");
        }
    }

    #[test]
    fn formats_times_as_range_options_accept_them() {
        use onoff_report::text::time_point::TimePoint;
        let shown = Value::Time(1_234_567_000).display_text().into_owned();
        assert_eq!(TimePoint::parse(&shown), Some(TimePoint::SinceStart(1_234_567_000)));
    }
}
