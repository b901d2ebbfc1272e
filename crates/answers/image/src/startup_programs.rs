//! Startup programs from the registry.

use serde::Serialize;

use super::{HiveKind, Image, format_utc};

/// Origin of a startup program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartupOrigin {
    /// A registry value.
    #[default]
    Registry,
    /// A file in a startup folder.
    StartupFolder,
    /// A scheduled task with a boot trigger.
    TaskAtBoot,
    /// A scheduled task with a logon trigger.
    TaskAtLogon,
}

impl StartupOrigin {
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Registry => "registry",
            Self::StartupFolder => "startup folder",
            Self::TaskAtBoot => "task at boot",
            Self::TaskAtLogon => "task at logon",
        }
    }
}

/// A program that starts at boot or logon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartupProgram {
    /// Name of the entry.
    pub name: String,
    /// Command line; empty for a file in a startup folder.
    pub command: String,
    /// Path of its registry key (starting with the hive name), folder or task.
    pub key: String,
    /// File of the hive; empty for folders and tasks.
    pub hive: String,
    /// Origin.
    pub origin: StartupOrigin,
    /// Delay of a task after its trigger, in ISO 8601 (`PT30S`); empty if none.
    pub delay: String,
    /// Time of the last write to the key, file or task, ns since 1970-01-01 UTC.
    pub last_written_unix_ns: Option<i64>,
}

impl StartupProgram {
    /// Returns the evidence for a finding: the entry, its location, and the time of the last write.
    #[must_use]
    pub fn evidence(&self) -> String {
        let written = |what: &str| match self.last_written_unix_ns {
            Some(_) => format!("; {what}last written {} UTC", format_utc(self.last_written_unix_ns)),
            None => String::new(),
        };
        match self.origin {
            StartupOrigin::Registry => {
                format!("{}\\{} = '{}'{}", self.key, self.name, self.command, written("key "))
            }
            StartupOrigin::StartupFolder => format!("{}\\{}{}", self.key, self.name, written("")),
            StartupOrigin::TaskAtBoot | StartupOrigin::TaskAtLogon => {
                let trigger = if self.origin == StartupOrigin::TaskAtBoot { "at boot" } else { "at logon" };
                let delay = if self.delay.is_empty() { String::new() } else { format!(" after {}", self.delay) };
                format!("{} starts '{}' {trigger}{delay}{}", self.key, self.command, written(""))
            }
        }
    }
}

/// Keys with command lines as values.
const RUN_KEYS: [(HiveKind, &str); 8] = [
    (HiveKind::Software, r"Microsoft\Windows\CurrentVersion\Run"),
    (HiveKind::Software, r"Microsoft\Windows\CurrentVersion\RunOnce"),
    (HiveKind::Software, r"Microsoft\Windows\CurrentVersion\RunServices"),
    (HiveKind::Software, r"WOW6432Node\Microsoft\Windows\CurrentVersion\Run"),
    (HiveKind::Software, r"WOW6432Node\Microsoft\Windows\CurrentVersion\RunOnce"),
    (HiveKind::User, r"Software\Microsoft\Windows\CurrentVersion\Run"),
    (HiveKind::User, r"Software\Microsoft\Windows\CurrentVersion\RunOnce"),
    (HiveKind::User, r"Software\WOW6432Node\Microsoft\Windows\CurrentVersion\Run"),
];
/// Keys that record programs disabled by the user.
const APPROVAL_KEYS: [&str; 2] = [
    r"Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run",
    r"Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run32",
];

pub(super) fn read(image: &Image) -> Vec<StartupProgram> {
    let mut programs = Vec::new();
    for (kind, path) in RUN_KEYS {
        for hive in image.hives_of_kind(kind) {
            let Some(key) = hive.hive.key(path) else { continue };
            let prefix = if kind == HiveKind::User { r"Software\" } else { "" };
            let is_disabled = |name: &str| {
                APPROVAL_KEYS.iter().any(|approval_path| {
                    let value = hive.hive.key(&format!("{prefix}{approval_path}")).and_then(|key| key.value(name));
                    // An odd first byte means that the user disabled the program.
                    value.is_some_and(|value| value.data.first().is_some_and(|byte| byte & 1 != 0))
                })
            };
            for value in key.values() {
                let Some(command) = value.string().filter(|command| !command.is_empty()) else { continue };
                if !is_disabled(&value.name) {
                    programs.push(StartupProgram {
                        name: value.name.clone(),
                        command,
                        key: format!("{}\\{path}", kind.as_str()),
                        hive: hive.name.clone(),
                        origin: StartupOrigin::Registry,
                        delay: String::new(),
                        last_written_unix_ns: key.last_written_unix_ns(),
                    });
                }
            }
        }
    }
    programs
}
