//! Link-layer addresses.

use std::fmt;

use serde::{Serialize, Serializer};

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Parses `52:54:00:77:00:01`, also with `-` or without separators.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| !matches!(c, ':' | '-')).collect();
        if digits.len() != 12 || !digits.is_ascii() {
            return None;
        }
        let mut bytes = [0; 6];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(index * 2..index * 2 + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// True if the address is a multicast, broadcast or zero address.
    #[must_use]
    pub fn is_group_or_zero(self) -> bool {
        self.0[0] & 1 == 1 || self.0 == [0; 6]
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for MacAddress {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MacAddress".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "mac-address" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_all_spellings() {
        let address = MacAddress([0x52, 0x54, 0, 0x77, 0, 0xAB]);
        for text in ["52:54:00:77:00:ab", "52-54-00-77-00-AB", "5254007700ab"] {
            assert_eq!(MacAddress::parse(text), Some(address), "{text}");
        }
        assert_eq!(address.to_string(), "52:54:00:77:00:ab");
        for text in ["", "192.168.77.80", "52:54:00:77:00", "52:54:00:77:00:zz", "fd77::1"] {
            assert_eq!(MacAddress::parse(text), None, "{text}");
        }
    }
}
