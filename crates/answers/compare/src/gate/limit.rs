//! Parses limits such as `boot.total 5% and 500ms`.

use std::fmt;

use onoff_trace::Pattern;
use thiserror::Error;

use crate::run::MeasureUnit;

/// A maximum increase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Percent of the baseline's median.
    Percent(f64),
    /// Nanoseconds, bytes or a count.
    Absolute(i64, MeasureUnit),
}

impl Amount {
    /// Returns true if the amount applies to measures of `unit`.
    #[must_use]
    pub fn applies_to(&self, unit: MeasureUnit) -> bool {
        match self {
            Self::Percent(_) => true,
            Self::Absolute(_, amount_unit) => *amount_unit == unit,
        }
    }

    fn is_exceeded(&self, difference: i64, baseline: i64) -> bool {
        match *self {
            // Any increase from zero exceeds any percentage.
            Self::Percent(limit) if baseline > 0 => difference as f64 * 100.0 / baseline as f64 > limit,
            Self::Percent(_) => difference > 0,
            Self::Absolute(limit, _) => difference > limit,
        }
    }
}

/// A limit on the increase of a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    key: String,
    pattern: Pattern,
    /// Groups of amounts. The limit is exceeded if all amounts of any group are exceeded.
    amount_groups: Vec<Vec<Amount>>,
}

/// A limit that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "invalid limit '{text}': {reason}; write a measure and the allowed increase without blanks in the amounts, as in \
     'boot.total 5% and 500ms'"
)]
pub struct LimitParseError {
    text: String,
    reason: String,
}

/// Maximum length of a limit, bytes.
const MAX_BYTES: usize = 1_024;

impl Limit {
    /// Parses `KEY AMOUNT [and|or AMOUNT]...`. `and` binds tighter than `or`. `*` in the key matches any text.
    ///
    /// # Errors
    /// The text is not a valid limit.
    pub fn parse(text: &str) -> Result<Self, LimitParseError> {
        let error =
            |reason: &str| LimitParseError { text: text.chars().take(200).collect(), reason: reason.to_owned() };
        if text.len() > MAX_BYTES {
            return Err(error("too long"));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        // Keys may contain blanks (file names), so amounts are read from the end.
        let mut amount_groups: Vec<Vec<Amount>> = Vec::new();
        let mut group: Vec<Amount> = Vec::new();
        let mut remaining_words = words.as_slice();
        while let [preceding_words @ .., last_word] = remaining_words {
            let amount = parse_amount(last_word)
                .ok_or_else(|| error(&format!("'{last_word}' is not an amount such as 5%, 500ms, 2s, 10MiB or 3")))?;
            group.push(amount);
            remaining_words = preceding_words;
            match remaining_words {
                [preceding_words @ .., word] if word.eq_ignore_ascii_case("and") => remaining_words = preceding_words,
                [preceding_words @ .., word] if word.eq_ignore_ascii_case("or") => {
                    amount_groups.push(std::mem::take(&mut group));
                    remaining_words = preceding_words;
                }
                _ => break,
            }
        }
        amount_groups.push(group);
        let key = remaining_words.join(" ");
        if key.is_empty() {
            return Err(error("the measure is missing"));
        }
        if amount_groups.iter().any(Vec::is_empty) {
            return Err(error("an amount is missing"));
        }
        Ok(Self { text: words.join(" "), pattern: Pattern::new(&key), key, amount_groups })
    }

    /// Parses a maximum, `KEY AMOUNT [and|or AMOUNT]...`, which cannot be relative to a baseline.
    ///
    /// # Errors
    /// The text is not a valid limit, or has a percentage.
    pub fn parse_maximum(text: &str) -> Result<Self, LimitParseError> {
        let maximum = Self::parse(text)?;
        if maximum.amounts().any(|amount| matches!(amount, Amount::Percent(_))) {
            let reason = "a maximum is an amount such as 20s, not a percentage of a baseline".to_owned();
            return Err(LimitParseError { text: maximum.text.chars().take(200).collect(), reason });
        }
        Ok(maximum)
    }

    /// Returns the amounts as given, without the key.
    #[must_use]
    pub fn amount_text(&self) -> &str {
        self.text.strip_prefix(&self.key).unwrap_or(&self.text).trim_start()
    }

    /// Returns the key of the measure, or a pattern of keys.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns true if the key is a pattern.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.key.contains('*')
    }

    /// Returns true if the limit applies to the measure with this key.
    #[must_use]
    pub fn matches(&self, key: &str) -> bool {
        self.pattern.matches(key)
    }

    /// Returns all amounts of the limit.
    pub fn amounts(&self) -> impl Iterator<Item = &Amount> {
        self.amount_groups.iter().flatten()
    }

    /// Returns true if an increase by `difference` from `baseline` exceeds the limit.
    #[must_use]
    pub fn is_exceeded(&self, difference: i64, baseline: i64) -> bool {
        self.amount_groups.iter().any(|group| group.iter().all(|amount| amount.is_exceeded(difference, baseline)))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Parses a number and its unit without a blank in between.
fn parse_amount(word: &str) -> Option<Amount> {
    let number_len = word.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(number_len);
    let number: f64 = number.parse().ok()?;
    let (factor, measure_unit) = match unit {
        "%" => return Some(Amount::Percent(number)),
        "ns" => (1.0, MeasureUnit::Ns),
        "us" | "µs" => (1e3, MeasureUnit::Ns),
        "ms" => (1e6, MeasureUnit::Ns),
        "s" => (1e9, MeasureUnit::Ns),
        "min" => (6e10, MeasureUnit::Ns),
        "B" => (1.0, MeasureUnit::Bytes),
        "KiB" => (1024.0, MeasureUnit::Bytes),
        "MiB" => (1_048_576.0, MeasureUnit::Bytes),
        "GiB" => (1_073_741_824.0, MeasureUnit::Bytes),
        "" => (1.0, MeasureUnit::Count),
        _ => return None,
    };
    let value = number * factor;
    // Larger values are not exact in floating point.
    #[allow(clippy::cast_possible_truncation, reason = "checked to be below 2^53")]
    (value <= 9e15).then(|| Amount::Absolute(value.round() as i64, measure_unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn and_binds_tighter_than_or() {
        let limit = Limit::parse("boot.total 5% and 500ms or 10s").unwrap();
        assert_eq!(limit.key(), "boot.total");
        let exceeded = |difference_ms: i64, baseline_ms: i64| limit.is_exceeded(difference_ms * MS, baseline_ms * MS);
        assert!(exceeded(600, 10_000), "6 % and 600 ms");
        assert!(!exceeded(600, 20_000), "3 % only");
        assert!(!exceeded(400, 4_000), "10 %, but 400 ms only");
        assert!(exceeded(10_001, 1_000_000), "1 %, but over 10 s");
        assert!(!exceeded(-20_000, 40_000));
        assert!(!Limit::parse("a 5%").unwrap().is_exceeded(5, 100), "5 % is within 5 %");
    }

    #[test]
    fn keys_may_contain_blanks_and_asterisks() {
        let limit = Limit::parse("  boot.file.*Program Files*and more.dll   250us ").unwrap();
        assert_eq!(limit.key(), "boot.file.*Program Files*and more.dll");
        assert!(limit.matches("boot.file.\\Program Files\\X and more.dll"));
        assert!(limit.is_pattern());
        assert_eq!(limit.amounts().collect::<Vec<_>>(), [&Amount::Absolute(250_000, MeasureUnit::Ns)]);
        let limit = Limit::parse("boot.disk_read 1.5MiB").unwrap();
        assert_eq!(limit.amounts().collect::<Vec<_>>(), [&Amount::Absolute(1_572_864, MeasureUnit::Bytes)]);
        assert!(!limit.amounts().next().unwrap().applies_to(MeasureUnit::Ns));
    }

    #[test]
    fn growth_from_zero_exceeds_any_percentage() {
        let limit = Limit::parse("boot.cpu.* 50% and 20ms").unwrap();
        assert!(limit.is_exceeded(21 * MS, 0));
        assert!(!limit.is_exceeded(19 * MS, 0));
    }

    #[test]
    fn rejects_invalid_limits() {
        for (text, part) in [
            ("", "the measure is missing"),
            ("boot.total", "'boot.total' is not an amount"),
            ("5%", "the measure is missing"),
            ("boot.total 5 percent", "'percent' is not an amount"),
            ("boot.total and 5%", ""),
            ("boot.total -5%", "'-5%' is not an amount"),
            ("boot.total 1e999s", "not an amount"),
            ("boot.total 99999999999999999999s", "not an amount"),
            ("boot.total NaN%", "not an amount"),
            ("boot.total 5% and", "'and' is not an amount"),
        ] {
            match Limit::parse(text) {
                Err(error) => assert!(error.to_string().contains(part), "{error}"),
                // Parsed as a key that matches no measure, which the gate reports.
                Ok(limit) => assert_eq!(limit.key(), "boot.total", "{text}"),
            }
        }
        assert!(Limit::parse(&"a".repeat(2_000)).is_err());
    }
}
