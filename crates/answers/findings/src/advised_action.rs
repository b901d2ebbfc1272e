//! The changes to an installation that findings advise, as data: what to run, how to undo it, and what it breaks.

use onoff_image::{ServiceEntry, ServiceStart, Setting, SettingValue};
use serde::Serialize;

/// A change to an installation that a finding advises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdvisedAction {
    /// What the change sets: a registry value, a boot setting, or the start type of a service.
    pub target: String,
    /// Its new value; empty if it is deleted.
    pub value: String,
    /// Command for an administrator's prompt on the running installation; `None` if no single command makes the change.
    pub command: Option<String>,
    /// Command that restores the present state; `None` if there is none.
    pub undo: Option<String>,
    /// What stops working, is lost, or must be done first.
    pub breaks: String,
    /// Editions of Windows that have the setting.
    pub editions: &'static str,
    /// True if a write filter discards the change at the next restart.
    pub is_lost_at_restart: bool,
}

/// Editions of a setting that every Windows has.
const ALL_EDITIONS: &str = "all";

impl AdvisedAction {
    /// Creates a change without an undo.
    #[must_use]
    pub fn new(target: impl Into<String>, value: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            value: value.into(),
            command: Some(command.into()),
            editions: ALL_EDITIONS,
            ..Self::default()
        }
    }

    /// Sets a registry value to a number. The value keeps its type.
    #[must_use]
    pub fn set_number(setting: &Setting, number: u64) -> Self {
        let value = match setting.value {
            SettingValue::Text(_) => SettingValue::Text(number.to_string()),
            _ => SettingValue::Number(number),
        };
        Self::set(setting, &value)
    }

    /// Sets a registry value, and restores the present one.
    #[must_use]
    pub fn set(setting: &Setting, value: &SettingValue) -> Self {
        let key = command_key(&setting.key);
        let value_text = Setting { value: value.clone(), ..setting.clone() }.value_text();
        let action = Self::new(target(setting), value_text, add_command(&key, &setting.name, value));
        match setting.value {
            // Only the first bytes are known.
            SettingValue::Bytes { .. } => action,
            _ => action.undo(add_command(&key, &setting.name, &setting.value)),
        }
    }

    /// Deletes a registry value, and restores it.
    #[must_use]
    pub fn delete(setting: &Setting) -> Self {
        let key = command_key(&setting.key);
        let command = format!("reg delete \"{key}\" /v {} /f", quoted(&setting.name));
        let action = Self::new(target(setting), "", command);
        match setting.value {
            SettingValue::Bytes { .. } => action,
            _ => action.undo(add_command(&key, &setting.name, &setting.value)),
        }
    }

    /// Sets the start type of a service. In PowerShell, `sc` without `.exe` writes a file.
    #[must_use]
    pub fn start_service(service: &ServiceEntry, start: &'static str) -> Self {
        let present = match service.start {
            ServiceStart::Auto if service.is_delayed => "delayed-auto",
            start => start.as_str(),
        };
        let command = |start: &str| format!("sc.exe config {} start= {start}", quoted(&service.name));
        Self::new(format!("start type of {}", service.name.to_lowercase()), start, command(start))
            .undo(command(present))
    }

    /// Changes the boot configuration. `undo` restores the present state.
    #[must_use]
    pub fn boot_entry(
        target: impl Into<String>,
        value: impl Into<String>,
        command: impl Into<String>,
        undo: impl Into<String>,
        breaks: &str,
    ) -> Self {
        Self::new(target, value, command).undo(undo).breaks(format!(
            "{breaks}; if the volume is encrypted with BitLocker, suspend it first ('manage-bde -protectors -disable C:'), or the \
             next start asks for the recovery key"
        ))
    }

    #[must_use]
    pub fn undo(mut self, command: impl Into<String>) -> Self {
        self.undo = Some(command.into());
        self
    }

    #[must_use]
    pub fn breaks(mut self, text: impl Into<String>) -> Self {
        self.breaks = text.into();
        self
    }

    #[must_use]
    pub const fn editions(mut self, editions: &'static str) -> Self {
        self.editions = editions;
        self
    }
}

fn target(setting: &Setting) -> String {
    format!("{}\\{}", setting.key, setting.name)
}

/// Returns the key of a hive path as `reg` names it on the running installation.
fn command_key(key: &str) -> String {
    let (hive, path) = key.split_once('\\').unwrap_or((key, ""));
    // The control set of the next boot is the current one on the running installation.
    let path = match path.split_once('\\') {
        Some((set, rest)) if hive == "SYSTEM" && set.to_ascii_lowercase().starts_with("controlset") => {
            format!(r"CurrentControlSet\{rest}")
        }
        _ => path.to_owned(),
    };
    if hive == "NTUSER" { format!(r"HKCU\{path}") } else { format!(r"HKLM\{hive}\{path}") }
}

fn add_command(key: &str, name: &str, value: &SettingValue) -> String {
    let (kind, data) = match value {
        SettingValue::Number(number) => ("REG_DWORD", number.to_string()),
        SettingValue::Text(text) => ("REG_SZ", format!("\"{}\"", text.replace('"', "\\\""))),
        SettingValue::Texts(texts) => ("REG_MULTI_SZ", format!("\"{}\"", texts.join("\\0").replace('"', "\\\""))),
        SettingValue::Bytes { bytes } => ("REG_BINARY", bytes.replace(' ', "")),
    };
    format!("reg add \"{key}\" /v {} /t {kind} /d {data} /f", quoted(name))
}

/// Quotes a name that contains spaces.
fn quoted(name: &str) -> String {
    if name.contains(' ') { format!("\"{name}\"") } else { name.to_owned() }
}
