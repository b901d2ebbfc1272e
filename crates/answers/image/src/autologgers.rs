//! Autologgers: event-trace sessions that start at boot.

use serde::Serialize;

use super::{HiveKind, Image};

/// An event-trace session that starts at boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Autologger {
    /// Name.
    pub name: String,
    /// True if enabled.
    pub is_enabled: bool,
    /// Log file; empty for a session in memory.
    pub file: String,
    /// Buffer size, bytes.
    pub buffer_bytes: Option<u64>,
    /// Maximum file size, bytes.
    pub max_bytes: Option<u64>,
    /// Path of the key, starting with the hive name.
    pub key: String,
    /// Time of the last write to the key, ns since 1970-01-01 UTC.
    pub last_written_unix_ns: Option<i64>,
}

pub(super) fn read(image: &Image) -> Vec<Autologger> {
    let Some((loggers, path)) = image.key(HiveKind::System, r"CS\Control\WMI\Autologger") else { return Vec::new() };
    let keys = loggers.subkeys();
    let loggers = keys.iter().filter_map(|key| {
        let number = |name: &str| key.value(name).and_then(|value| value.number());
        let name = key.name();
        Some(Autologger {
            is_enabled: number("Start")? == 1,
            file: key.value("FileName").and_then(|value| value.string()).unwrap_or_default(),
            buffer_bytes: number("BufferSize").and_then(|kibibytes| kibibytes.checked_mul(1024)),
            max_bytes: number("MaxFileSize")
                .filter(|&mebibytes| mebibytes > 0)
                .and_then(|mebibytes| mebibytes.checked_mul(1 << 20)),
            key: format!("{path}\\{name}"),
            last_written_unix_ns: key.last_written_unix_ns(),
            name,
        })
    });
    let mut loggers: Vec<Autologger> = loggers.collect();
    loggers.sort_by_key(|logger| logger.name.to_lowercase());
    loggers
}
