//! A cell's value, with its unit.

use std::borrow::Cow;
use std::cmp::Ordering;

use onoff_trace::duration::ExactTime;

use super::Kind;
use crate::terminal::quantity::{count, duration, percent, size};

/// A cell's value, with its unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing to say.
    Nothing,
    /// Not known, where a person would ask.
    Unknown,
    /// A name.
    Text(Cow<'a, str>),
    /// A number that names something: a process, a processor.
    Id(i64),
    /// How many.
    Count(u64),
    /// A point in time, ns.
    Time(i64),
    /// A point in time, ns, which people see as the time since another.
    Since {
        /// When.
        ns: i64,
        /// What people count from.
        origin_ns: i64,
    },
    /// A length of time, ns.
    Duration(i64),
    /// A length of time of which only a lower bound is known, ns. Programs get nothing: the bound has another column.
    AtLeast(i64),
    /// An upper bound of a length of time, ns. Another column tells programs that it is one.
    AtMost(i64),
    /// Bytes.
    Bytes(u64),
    /// A share, percent.
    Percent(f64),
    /// A number with decimals.
    Real {
        /// The number.
        value: f64,
        /// Its decimals, for programs.
        decimals: usize,
    },
    /// Whether it is so.
    Flag(bool),
}

impl<'a> Value<'a> {
    /// A name; nothing when it is empty.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(Cow::Borrowed(text)) }
    }

    /// A name; unknown when it is empty.
    #[must_use]
    pub fn text_or_unknown(text: &'a str) -> Self {
        if text.is_empty() { Self::Unknown } else { Self::Text(Cow::Borrowed(text)) }
    }

    /// A number that names something, if there is one.
    #[must_use]
    pub fn id(number: Option<impl Into<i64>>) -> Self {
        Self::of(number, |number| Self::Id(number.into()))
    }

    /// `value`, if there is one, as what `kind` makes of it.
    #[must_use]
    pub fn of<T>(value: Option<T>, kind: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Nothing, kind)
    }

    /// Whether it is a quantity, and none of it.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match *self {
            Self::Count(number) | Self::Bytes(number) => number == 0,
            Self::Duration(ns) | Self::AtMost(ns) => ns == 0,
            Self::Percent(value) | Self::Real { value, .. } => value == 0.0,
            Self::Flag(is) => !is,
            Self::Nothing
            | Self::Unknown
            | Self::AtLeast(_)
            | Self::Text(_)
            | Self::Id(_)
            | Self::Time(_)
            | Self::Since { .. } => false,
        }
    }

    /// As a person reads it.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Unknown => Cow::Borrowed("unknown"),
            Self::Text(text) => Cow::Borrowed(text),
            // Nothing at all needs no unit, and is seen at once without it.
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

    /// As a program reads it: numbers without their unit, which the column's name tells.
    #[must_use]
    pub fn plain(&self) -> Cow<'_, str> {
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

    /// Which of two values of a column comes first. What is not known comes last, whatever the column holds.
    pub(super) fn compare(&self, other: &Self, kind: Kind) -> Ordering {
        match (self.is_known(), other.is_known()) {
            (false, false) => Ordering::Equal,
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (true, true) => {
                let ascending = self.ascending(other);
                if kind == Kind::Quantity { ascending.reverse() } else { ascending }
            }
        }
    }

    fn is_known(&self) -> bool {
        !matches!(self, Self::Nothing | Self::Unknown)
    }

    fn ascending(&self, other: &Self) -> Ordering {
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
            Self::Flag(is) => is.into(),
            Self::Nothing | Self::Unknown | Self::Text(_) | Self::Percent(_) | Self::Real { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_units_and_programs_whole_numbers() {
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
            (Value::Bytes(2048), "2.00 KiB", "2048"),
            (Value::Bytes(0), "0", "0"),
            (Value::Percent(12.34567), "12 %", "12.3457"),
        ] {
            assert_eq!((&*value.shown(), &*value.plain()), (shown, plain));
        }
    }

    #[test]
    fn zero_is_a_quantity_and_no_id() {
        for value in [Value::Count(0), Value::Bytes(0), Value::Duration(0), Value::Percent(0.0)] {
            assert!(value.is_zero(), "{value:?}");
        }
        for value in [Value::Nothing, Value::Id(0), Value::Time(0), Value::Count(1)] {
            assert!(!value.is_zero(), "{value:?}");
        }
    }

    #[test]
    fn a_point_in_time_is_one_that_a_range_takes() {
        use onoff_report::text::time_point::TimePoint;
        let shown = Value::Time(1_234_567_000).shown().into_owned();
        assert_eq!(TimePoint::parse(&shown), Some(TimePoint::SinceStart(1_234_567_000)));
    }
}
