//! Programs that start with the session.

use serde::Serialize;

use super::{HiveKind, Image, second};

/// A program that starts with the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StartProgram {
    /// Name of the entry.
    pub name: String,
    /// Command line.
    pub command: String,
    /// Path of its key, from the hive's name on.
    pub key: String,
    /// File of the hive.
    pub hive: String,
    /// When the key was last written, ns since 1970-01-01 UTC.
    pub last_written_unix_ns: Option<i64>,
}

impl StartProgram {
    /// The entry, where it is, and when its key was last written.
    #[must_use]
    pub fn evidence(&self) -> String {
        let written = second(self.last_written_unix_ns);
        format!("{}\\{} = '{}'; key last written {written} UTC", self.key, self.name, self.command)
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
                        last_written_unix_ns: key.last_written_unix_ns(),
                    });
                }
            }
        }
    }
    programs
}
