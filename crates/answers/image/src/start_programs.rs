//! Programs that start with the computer or the session.

use serde::Serialize;

use super::{HiveKind, Image, second};

/// What starts a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartOrigin {
    /// A value of the registry.
    #[default]
    Registry,
    /// A file in a startup folder.
    StartupFolder,
    /// A scheduled task, when the computer starts.
    TaskAtBoot,
    /// A scheduled task, when somebody logs on.
    TaskAtLogon,
}

impl StartOrigin {
    /// In words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Registry => "registry",
            Self::StartupFolder => "startup folder",
            Self::TaskAtBoot => "task at boot",
            Self::TaskAtLogon => "task at logon",
        }
    }
}

/// A program that starts with the computer or the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartProgram {
    /// Name of the entry.
    pub name: String,
    /// Command line; empty for a file in a startup folder.
    pub command: String,
    /// Path of its key, from the hive's name on; of its folder; or of its task.
    pub key: String,
    /// File of the hive; empty for folders and tasks.
    pub hive: String,
    /// What starts it.
    pub origin: StartOrigin,
    /// How long a task waits after its trigger, as ISO 8601 has it (`PT30S`); empty for none.
    pub delay: String,
    /// When the key, file or task was last written, ns since 1970-01-01 UTC.
    pub last_written_unix_ns: Option<i64>,
}

impl StartProgram {
    /// The entry, where it is, and when its key was last written.
    #[must_use]
    pub fn evidence(&self) -> String {
        let written = second(self.last_written_unix_ns);
        match self.origin {
            StartOrigin::Registry => {
                format!("{}\\{} = '{}'; key last written {written} UTC", self.key, self.name, self.command)
            }
            StartOrigin::StartupFolder => format!("{}\\{}; last written {written} UTC", self.key, self.name),
            StartOrigin::TaskAtBoot | StartOrigin::TaskAtLogon => {
                let when = if self.origin == StartOrigin::TaskAtBoot { "at boot" } else { "at logon" };
                let delay = if self.delay.is_empty() { String::new() } else { format!(" after {}", self.delay) };
                format!("{} starts '{}' {when}{delay}; last written {written} UTC", self.key, self.command)
            }
        }
    }
}

/// Keys whose values are command lines.
const KEYS: [(HiveKind, &str); 8] = [
    (HiveKind::Software, r"Microsoft\Windows\CurrentVersion\Run"),
    (HiveKind::Software, r"Microsoft\Windows\CurrentVersion\RunOnce"),
    (HiveKind::Software, r"Microsoft\Windows\CurrentVersion\RunServices"),
    (HiveKind::Software, r"WOW6432Node\Microsoft\Windows\CurrentVersion\Run"),
    (HiveKind::Software, r"WOW6432Node\Microsoft\Windows\CurrentVersion\RunOnce"),
    (HiveKind::User, r"Software\Microsoft\Windows\CurrentVersion\Run"),
    (HiveKind::User, r"Software\Microsoft\Windows\CurrentVersion\RunOnce"),
    (HiveKind::User, r"Software\WOW6432Node\Microsoft\Windows\CurrentVersion\Run"),
];
/// Where a person's choice is kept to leave a program off.
const APPROVED: [&str; 2] = [
    r"Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run",
    r"Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run32",
];

pub(super) fn read(image: &Image) -> Vec<StartProgram> {
    let mut programs = Vec::new();
    for (kind, path) in KEYS {
        for hive in image.of_kind(kind) {
            let Some(key) = hive.hive.key(path) else { continue };
            let root = if kind == HiveKind::User { r"Software\" } else { "" };
            let is_off = |name: &str| {
                APPROVED.iter().any(|approved| {
                    let value = hive.hive.key(&format!("{root}{approved}")).and_then(|key| key.value(name));
                    // An odd first byte is a program that somebody turned off.
                    value.is_some_and(|value| value.data.first().is_some_and(|first| first & 1 != 0))
                })
            };
            for value in key.values() {
                let Some(command) = value.text().filter(|command| !command.is_empty()) else { continue };
                if !is_off(&value.name) {
                    programs.push(StartProgram {
                        name: value.name.clone(),
                        command,
                        key: format!("{}\\{path}", kind.as_str()),
                        hive: hive.name.clone(),
                        origin: StartOrigin::Registry,
                        delay: String::new(),
                        last_written_unix_ns: key.last_written_unix_ns(),
                    });
                }
            }
        }
    }
    programs
}
