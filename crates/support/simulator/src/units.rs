//! Durations and sizes in scenarios.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// Clock rate of every simulated machine: the 10 MHz counter of current Windows.
pub const TICKS_PER_SECOND: u64 = 10_000_000;

/// A duration in clock ticks (100 ns), written `1.5s`, `10753.3ms`, `250us` or `100ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TickDuration(pub u64);

impl TickDuration {
    #[must_use]
    pub const fn as_ns(self) -> i64 {
        (self.0 * (1_000_000_000 / TICKS_PER_SECOND)) as i64
    }
}

impl FromStr for TickDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let per_unit: u64 = match unit {
            "s" => TICKS_PER_SECOND,
            "ms" => TICKS_PER_SECOND / 1000,
            "us" => TICKS_PER_SECOND / 1_000_000,
            "ns" => 0,
            _ => {
                return Err(format!("`{text}` is not a duration: expected s, ms, us or ns"));
            }
        };
        if unit == "ns" {
            let value: u64 = number.parse().map_err(|_| format!("`{text}` is not a duration"))?;
            return Ok(Self(value / 100));
        }
        // Avoids floating point, so that the truth stays exact.
        let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
        let integer: u64 = integer.parse().map_err(|_| format!("`{text}` is not a duration"))?;
        let mut ticks = integer.checked_mul(per_unit).ok_or_else(|| format!("`{text}` is too long"))?;
        let mut weight = per_unit;
        for digit in fraction.chars() {
            let digit = digit.to_digit(10).ok_or_else(|| format!("`{text}` is not a duration"))?;
            weight /= 10;
            ticks += u64::from(digit) * weight;
        }
        Ok(Self(ticks))
    }
}

impl<'de> Deserialize<'de> for TickDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for TickDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:04} ms", self.0 / 10_000, self.0 % 10_000)
    }
}

/// A size in bytes, written `512`, `64KiB`, `8MiB` or `1GiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let factor: u64 = match unit {
            "" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(format!("`{text}` is not a size: expected KiB, MiB or GiB")),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|value| value.checked_mul(factor))
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a size"))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let unit_start = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    (&text[..unit_start], text[unit_start..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_decimals() {
        assert_eq!("10753.3ms".parse(), Ok(TickDuration(107_533_000)));
        assert_eq!("1.5s".parse(), Ok(TickDuration(15_000_000)));
        assert_eq!("0.1us".parse(), Ok(TickDuration(1)));
        assert_eq!("300ns".parse(), Ok(TickDuration(3)));
        assert!("5".parse::<TickDuration>().is_err());
        assert!("fast".parse::<TickDuration>().is_err());
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!("64KiB".parse(), Ok(Size(65536)));
        assert_eq!("7".parse(), Ok(Size(7)));
        assert!("7KB".parse::<Size>().is_err());
    }
}
