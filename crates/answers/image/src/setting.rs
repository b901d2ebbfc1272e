//! A registry value with its location.

use std::fmt;

use onoff_hive::{Key, ValueKind};
use serde::Serialize;

/// Content of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SettingValue {
    /// A number.
    Number(u64),
    /// Text.
    Text(String),
    /// List of texts.
    Texts(Vec<String>),
    /// The first 16 bytes, in hexadecimal.
    Bytes {
        /// The bytes.
        bytes: String,
    },
}

/// A registry value with its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Path of the key, starting with the hive name.
    pub key: String,
    /// Name.
    pub name: String,
    /// Content.
    pub value: SettingValue,
    /// Time of the last write to the key, ns since 1970-01-01 UTC; `None` if unknown.
    pub last_written_unix_ns: Option<i64>,
}

impl Setting {
    /// Reads the value `name` of `key`, whose path is `path`.
    #[must_use]
    pub fn from_key(key: &Key<'_>, path: &str, name: &str) -> Option<Self> {
        let value = key.value(name)?;
        let content = match value.kind {
            ValueKind::U32 | ValueKind::U32BigEndian | ValueKind::U64 => SettingValue::Number(value.number()?),
            ValueKind::String | ValueKind::ExpandableString | ValueKind::Link => SettingValue::Text(value.string()?),
            ValueKind::MultiString => SettingValue::Texts(value.strings()?),
            _ => SettingValue::Bytes {
                bytes: value.data.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
            },
        };
        Some(Self {
            key: path.to_owned(),
            name: value.name,
            value: content,
            last_written_unix_ns: key.last_written_unix_ns(),
        })
    }

    /// Returns the number, even if stored as text.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match &self.value {
            SettingValue::Number(number) => Some(*number),
            SettingValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns the value as it is shown to people.
    #[must_use]
    pub fn value_text(&self) -> String {
        match &self.value {
            SettingValue::Number(number) => number.to_string(),
            SettingValue::Text(text) => text.clone(),
            SettingValue::Texts(texts) => texts.join(", "),
            SettingValue::Bytes { bytes } => bytes.clone(),
        }
    }

    #[must_use]
    pub fn text(&self) -> Option<String> {
        match &self.value {
            SettingValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns the list of texts; a single text is a list with one element.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<String>> {
        match &self.value {
            SettingValue::Texts(texts) => Some(texts.clone()),
            SettingValue::Text(text) if text.is_empty() => Some(Vec::new()),
            SettingValue::Text(text) => Some(vec![text.clone()]),
            _ => None,
        }
    }

    /// Returns the evidence for a finding: the value, its location, and the time of the last write to its key.
    #[must_use]
    pub fn evidence(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "(default)" } else { &self.name };
        write!(formatter, "{}\\{name} = ", self.key)?;
        match &self.value {
            SettingValue::Number(number) => write!(formatter, "{number}")?,
            SettingValue::Text(text) => write!(formatter, "'{text}'")?,
            SettingValue::Texts(texts) => write!(formatter, "'{}'", texts.join("', '"))?,
            SettingValue::Bytes { bytes } => write!(formatter, "{bytes}")?,
        }
        match self.last_written_unix_ns {
            Some(_) => write!(formatter, "; key last written {} UTC", super::format_utc(self.last_written_unix_ns)),
            None => Ok(()),
        }
    }
}
