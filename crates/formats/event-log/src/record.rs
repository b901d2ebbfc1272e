//! A record and access to its fields.

/// A record of an event log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Name of the provider, e.g. `Microsoft-Windows-Kernel-General`.
    pub provider: String,
    /// Event id.
    pub id: u32,
    /// Version of the event; 0 for classic events.
    pub version: u8,
    /// Severity: 1 critical, 2 error, 3 warning, 4 information, 5 verbose, 0 always.
    pub level: u8,
    /// When it was written, by the wall clock of that moment, ns since 1970-01-01 UTC.
    pub time_ns: i64,
    /// Record number in the channel, ascending in the order of writing.
    pub number: u64,
    /// Channel, e.g. `System`.
    pub channel: String,
    /// Computer name at that time.
    pub computer: String,
    /// Security identifier of the user; empty for none.
    pub user: String,
    /// Process that wrote the event; 0 if not recorded.
    pub process_id: u32,
    /// Thread that wrote the event; 0 if not recorded.
    pub thread_id: u32,
    /// Activity id in braces; empty for none.
    pub activity_id: String,
    /// The event's own data, in order.
    pub fields: Vec<Field>,
}

/// A piece of the event's own data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Empty for classic events, whose data have no names.
    pub name: String,
    /// The value in the text form of Windows: decimal, hexadecimal with `0x`, `true` and `false`, times as
    /// `2024-11-15T14:28:34.8747054Z`, bytes as hexadecimal digits.
    pub value: String,
}

impl Record {
    /// The text of a field; `None` if the event has no such field.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.value.as_str())
    }

    /// The text of the data without a name at `index`; `None` if there are fewer.
    #[must_use]
    pub fn unnamed(&self, index: usize) -> Option<&str> {
        self.fields.iter().filter(|field| field.name.is_empty()).nth(index).map(|field| field.value.as_str())
    }

    /// The value of a numeric field. Booleans are 0 and 1, times are `FILETIME`s (100 ns since 1601-01-01 UTC).
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        let text = self.text(name)?;
        match text {
            "true" => Some(1),
            "false" => Some(0),
            _ => match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok().or_else(|| file_time(time_ns(text)?)),
            },
        }
    }

    /// The value of a signed numeric field.
    #[must_use]
    pub fn signed(&self, name: &str) -> Option<i64> {
        let text = self.text(name)?;
        text.parse().ok().or_else(|| self.number(name)?.try_into().ok())
    }

    /// The value of a time field, ns since 1970-01-01 UTC.
    #[must_use]
    pub fn time(&self, name: &str) -> Option<i64> {
        time_ns(self.text(name)?)
    }
}

/// `FILETIME` ticks from 1601-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 116_444_736_000_000_000;

fn file_time(unix_ns: i64) -> Option<u64> {
    (unix_ns.div_euclid(100)).checked_add(UNIX_EPOCH_TICKS)?.try_into().ok()
}

/// Parses an RFC 3339 time, ns since 1970-01-01 UTC; `None` for other text and for times outside of 1678 to 2262.
pub(crate) fn time_ns(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok()?.as_nanosecond().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_convert_by_their_text_form() {
        let field = |name: &str, value: &str| Field { name: name.to_owned(), value: value.to_owned() };
        let record = Record {
            fields: vec![
                field("decimal", "4311"),
                field("hex", "0x10"),
                field("yes", "true"),
                field("negative", "-5"),
                field("time", "1970-01-01T00:00:00.0000001Z"),
                field("early", "1601-01-01T00:00:00.0000002Z"),
                field("text", "4311 ms"),
                field("", "first"),
                field("", "second"),
            ],
            ..Record::default()
        };
        let numbers = ["decimal", "hex", "yes", "negative", "time", "text", "absent"].map(|name| record.number(name));
        let epoch = Some(UNIX_EPOCH_TICKS as u64 + 1);
        assert_eq!(numbers, [Some(4311), Some(16), Some(1), None, epoch, None, None]);
        assert_eq!(record.signed("negative"), Some(-5));
        assert_eq!((record.time("time"), record.time("early"), record.time("decimal")), (Some(100), None, None));
        assert_eq!((record.unnamed(1), record.unnamed(2)), (Some("second"), None));
    }
}
