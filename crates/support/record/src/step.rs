//! Changes to the computer, and how to undo them.

use serde::{Deserialize, Serialize};

use crate::alarm;
use crate::error::Error;
use crate::machine::{Machine, MachineFiles};

/// A kernel file and the value to write to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    pub path: String,
    pub value: String,
}

impl Value {
    #[must_use]
    pub fn new(path: impl Into<String>, value: &str) -> Self {
        Self { path: path.into(), value: value.to_owned() }
    }
}

/// Maximum number of values in the description of a step.
const MAX_SHOWN_VALUES: usize = 3;

/// A change to the computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Creates a folder if it does not exist.
    Folder { path: String },
    /// Writes a file.
    File {
        path: String,
        /// Description, as a phrase.
        what: String,
        contents: String,
        mode: u32,
    },
    /// Copies a file.
    Copy {
        from: String,
        to: String,
        /// Description, as a phrase.
        what: String,
        mode: u32,
    },
    /// Creates a symbolic link.
    Link { path: String, target: String },
    /// Writes values to kernel files. They last until the next restart.
    Values {
        /// Description, as a phrase.
        what: String,
        values: Vec<Value>,
    },
    /// Sets an EFI variable to the entry that the boot loader should start once.
    OneShot {
        /// Path of the variable.
        path: String,
        entry: String,
    },
    /// Sets the RTC alarm before each sleep. The previous alarm is restored at the end.
    Alarm {
        /// Seconds after the sleep request.
        seconds: u64,
    },
    /// Runs a command, which another command undoes.
    Command {
        /// Purpose, as a phrase.
        what: String,
        /// The command; `None` if there is only a command to undo the later steps.
        line: Option<Vec<String>>,
        /// How to undo the command.
        undo: Option<Undo>,
    },
}

/// How to undo a change. Undoing is idempotent and harmless if the change was never made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Undo {
    /// Removes a file or link that did not exist before.
    RemoveFile { path: String },
    /// Restores a file.
    RestoreFile {
        path: String,
        /// Path of the copy of its previous contents.
        backup: String,
        /// Previous permissions.
        mode: u32,
    },
    /// Removes a folder that did not exist before, if it is empty.
    RemoveFolder { path: String },
    /// Restores values, in reverse order.
    Values {
        /// Previous values.
        values: Vec<Value>,
        /// The boot in which the values were changed; the kernel does not keep them across boots.
        boot_id: String,
    },
    /// Restores the RTC alarm.
    Alarm {
        /// Previous alarm, in RTC seconds since 1970; `None` if there was none.
        before_s: Option<u64>,
    },
    /// Runs a command.
    Run {
        /// The command.
        line: Vec<String>,
        /// Exit codes that mean that there is nothing to undo.
        #[serde(default, rename = "nothing_there", skip_serializing_if = "Vec::is_empty")]
        nothing_to_undo: Vec<i32>,
    },
}

/// Formats the command line as the user would type it.
fn format_command_line(line: &[String]) -> String {
    let quoted = |word: &String| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() };
    line.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

impl Undo {
    /// Undoes a change by running `line`, which must be harmless if the change was never made.
    #[must_use]
    pub fn run(line: &[&str]) -> Self {
        Self::Run { line: line.iter().map(|&word| word.to_owned()).collect(), nothing_to_undo: Vec::new() }
    }
}

impl Step {
    /// Describes the step in a sentence without a period.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Folder { path } => format!("Create the folder {path}"),
            Self::File { path, what, .. } => format!("Write the {what}: {path}"),
            Self::Copy { to, what, .. } => format!("Copy {what} to {to}"),
            Self::Link { path, target } => format!("Link {path} to {target}"),
            Self::Values { what, values } => {
                let shown =
                    values.iter().take(MAX_SHOWN_VALUES).map(|value| format!("{} = {}", value.path, value.value));
                let shown: Vec<String> = shown.collect();
                let suffix = match values.len().saturating_sub(MAX_SHOWN_VALUES) {
                    0 => String::new(),
                    hidden => format!(" and {hidden} more"),
                };
                format!("Set {what}: {}{suffix}", shown.join(", "))
            }
            Self::OneShot { entry, .. } => {
                format!("Select {entry} in the boot loader, for the next boot only")
            }
            Self::Alarm { seconds } => format!(
                "Before each sleep, set the RTC alarm to wake the computer after {seconds} s; restore the current alarm at the end"
            ),
            Self::Command { what, line: Some(line), .. } => format!("Run '{}' ({what})", format_command_line(line)),
            Self::Command { what, undo: Some(Undo::Run { line, .. }), .. } => {
                format!("At the end, run '{}' ({what})", format_command_line(line))
            }
            Self::Command { what, .. } => format!("At the end, undo: {what}"),
        }
    }

    /// Determines how to undo the step from the current state. Saves the contents of a file in `backups` under the name
    /// `number`.
    pub(crate) fn undo(&self, machine: &mut dyn Machine, backups: &str, number: usize) -> Result<Option<Undo>, Error> {
        Ok(match self {
            Self::Folder { path } => (!machine.exists(path)).then(|| Undo::RemoveFolder { path: path.clone() }),
            Self::File { path, .. } | Self::Copy { to: path, .. } => {
                let Some(contents) = machine.read(path) else {
                    return Ok(Some(Undo::RemoveFile { path: path.clone() }));
                };
                let backup = format!("{backups}/{number}");
                machine.replace(&backup, &contents, 0o600)?;
                let mode = file_mode(machine, path);
                let path = path.clone();
                Some(Undo::RestoreFile { path, backup, mode })
            }
            Self::Values { values, .. } => {
                let previous_values = values.iter().filter_map(|value| {
                    let text = machine.read_text(&value.path)?;
                    Some(Value::new(value.path.clone(), current_value(&text)))
                });
                Some(Undo::Values { values: previous_values.collect(), boot_id: machine.boot_id() })
            }
            Self::OneShot { path, .. } | Self::Link { path, .. } => Some(Undo::RemoveFile { path: path.clone() }),
            Self::Alarm { .. } => Some(Undo::Alarm { before_s: alarm::read(machine) }),
            Self::Command { undo, .. } => undo.clone(),
        })
    }

    /// Makes the change.
    pub(crate) fn perform(&self, machine: &mut dyn Machine) -> Result<(), Error> {
        match self {
            Self::Folder { path } if machine.exists(path) => Ok(()),
            Self::Folder { path } => machine.make_folder(path),
            Self::File { path, contents, mode, .. } => machine.replace(path, contents.as_bytes(), *mode),
            Self::Copy { from, to, mode, .. } => {
                let host_path = machine.host_path(from);
                let bytes = std::fs::read(&host_path).map_err(Error::file("read", &host_path))?;
                machine.replace(to, &bytes, *mode)
            }
            Self::Link { path, target } => machine.link(path, target),
            Self::Values { values, .. } => {
                for value in values {
                    machine.set_value(&value.path, value.value.as_bytes())?;
                }
                Ok(())
            }
            Self::OneShot { path, entry } => {
                if machine.exists(path) {
                    remove_variable(machine, path)?;
                }
                machine.set_value(path, &encode_variable(entry))
            }
            // The alarm is set before each sleep.
            Self::Alarm { .. } | Self::Command { line: None, .. } => Ok(()),
            Self::Command { line: Some(line), .. } => run_command(machine, line, &[]),
        }
    }
}

impl Undo {
    /// Undoes the change.
    pub(crate) fn perform(&self, machine: &mut dyn Machine) -> Result<(), Error> {
        match self {
            Self::RemoveFile { path } if path.contains("/efivars/") => remove_variable(machine, path),
            Self::RemoveFile { path } => machine.remove(path),
            Self::RestoreFile { path, backup, mode } => {
                let host_path = machine.host_path(backup);
                let previous_contents = std::fs::read(&host_path).map_err(Error::file("read", &host_path))?;
                if machine.read(path).as_deref() == Some(&previous_contents) {
                    return remove_unfinished(machine, path);
                }
                machine.replace(path, &previous_contents, *mode)
            }
            Self::RemoveFolder { path } => machine.remove_empty_folder(path),
            Self::Values { values, boot_id } => {
                if machine.boot_id() != *boot_id {
                    return Ok(());
                }
                for value in values.iter().rev() {
                    let text = machine.read_text(&value.path).unwrap_or_default();
                    if current_value(&text) != value.value {
                        machine.set_value(&value.path, value.value.as_bytes())?;
                    }
                }
                Ok(())
            }
            Self::Alarm { before_s } => alarm::restore(machine, *before_s),
            Self::Run { line, nothing_to_undo } => run_command(machine, line, nothing_to_undo),
        }
    }
}

/// Removes the leftovers of an interrupted replacement; the file itself still has its previous contents.
fn remove_unfinished(machine: &mut dyn Machine, path: &str) -> Result<(), Error> {
    // Not `remove(path)`, which would remove the file as well.
    machine.remove(&format!("{path}.onoff-new"))
}

fn run_command(machine: &mut dyn Machine, line: &[String], accepted_codes: &[i32]) -> Result<(), Error> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    machine.run_accepting(&line, accepted_codes).map(|_| ())
}

/// Removes an EFI variable, which is protected against a plain `rm`.
fn remove_variable(machine: &mut dyn Machine, path: &str) -> Result<(), Error> {
    if !machine.exists(path) {
        return Ok(());
    }
    let host_path = machine.host_path(path);
    machine.unprotect(&host_path).map_err(Error::file("change", &host_path))?;
    machine.remove(path)
}

/// Encodes a text variable of the Boot Loader Interface: attributes (non-volatile, boot service and runtime access),
/// then zero-terminated UTF-16.
fn encode_variable(text: &str) -> Vec<u8> {
    let mut bytes = 7_u32.to_le_bytes().to_vec();
    bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    bytes
}

/// Returns the current value in the form in which it can be written: `mono` for `local [mono]`, and for `7 (expanded:
/// 1408)` the buffer size after expansion, 1408.
fn current_value(text: &str) -> &str {
    let text = text.trim();
    if let Some((_, rest)) = text.split_once('[')
        && let Some((value, _)) = rest.split_once(']')
    {
        return value;
    }
    if let Some((_, rest)) = text.split_once("(expanded: ")
        && let Some((value, _)) = rest.split_once(')')
    {
        return value;
    }
    text
}

#[cfg(unix)]
fn file_mode(machine: &dyn Machine, path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(machine.host_path(path)).map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn file_mode(_: &dyn Machine, _: &str) -> u32 {
    0o644
}
