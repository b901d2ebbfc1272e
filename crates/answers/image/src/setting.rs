//! A value of the registry, with where it was read.

use std::fmt;

use onoff_hive::{Key, ValueKind};
use serde::Serialize;

/// What a value holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SettingValue {
    /// A number.
    Number(u64),
    /// Text.
    Text(String),
    /// Texts.
    Texts(Vec<String>),
    /// Bytes, in hexadecimal, at most the first 16.
    Bytes {
        /// The bytes.
        bytes: String,
    },
}

/// A value, with where it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Path of its key, from the hive's name on.
    pub key: String,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub value: SettingValue,
    /// When the key was last written, ns since 1970-01-01 UTC; `None` where it does not say.
    pub last_written_unix_ns: Option<i64>,
}

impl Setting {
    /// The value `name` of `key`, which lies at `path`.
    pub(crate) fn of(key: &Key<'_>, path: &str, name: &str) -> Option<Self> {
        let value = key.value(name)?;
        let held = match value.kind {
            ValueKind::U32 | ValueKind::U32BigEndian | ValueKind::U64 => SettingValue::Number(value.number()?),
            ValueKind::Text | ValueKind::ExpandableText | ValueKind::Link => SettingValue::Text(value.text()?),
            ValueKind::Texts => SettingValue::Texts(value.texts()?),
            _ => SettingValue::Bytes {
                bytes: value.data.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
            },
        };
        Some(Self {
            key: path.to_owned(),
            name: value.name,
            value: held,
            last_written_unix_ns: key.last_written_unix_ns(),
        })
    }

    /// The number; also of a text that is one.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match &self.value {
            SettingValue::Number(number) => Some(*number),
            SettingValue::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        match &self.value {
            SettingValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The texts; a single text is a list of one.
    #[must_use]
    pub fn texts(&self) -> Option<Vec<String>> {
        match &self.value {
            SettingValue::Texts(texts) => Some(texts.clone()),
            SettingValue::Text(text) if text.is_empty() => Some(Vec::new()),
            SettingValue::Text(text) => Some(vec![text.clone()]),
            _ => None,
        }
    }

    /// The value, where it is, and when its key was last written: what a finding rests on.
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
            Some(_) => write!(formatter, "; key last written {} UTC", super::second(self.last_written_unix_ns)),
            None => Ok(()),
        }
    }
}
