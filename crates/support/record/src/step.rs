//! What is done to the computer, one change at a time, and what undoes it.

use serde::{Deserialize, Serialize};

use crate::alarm;
use crate::error::Error;
use crate::machine::{Files, Machine};

/// A file of the kernel's and what is written to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The file.
    pub path: String,
    /// What is written.
    pub value: String,
}

impl Value {
    /// `value` for the file at `path`.
    #[must_use]
    pub fn new(path: impl Into<String>, value: &str) -> Self {
        Self { path: path.into(), value: value.to_owned() }
    }
}

/// Values of a step that its sentence shows.
const SHOWN_VALUES: usize = 3;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Makes a folder, if it is not there.
    Folder {
        /// Where.
        path: String,
    },
    /// Writes a file.
    File {
        /// Where.
        path: String,
        /// What it is, as a phrase.
        what: String,
        /// Its text.
        contents: String,
        /// Its permissions.
        mode: u32,
    },
    /// Copies a file.
    Copy {
        /// From where.
        from: String,
        /// To where.
        to: String,
        /// What it is, as a phrase.
        what: String,
        /// Permissions of the copy.
        mode: u32,
    },
    /// Makes a symbolic link.
    Link {
        /// Where.
        path: String,
        /// What it leads to.
        target: String,
    },
    /// Writes values to files of the kernel's. They last until the next restart.
    Values {
        /// What they set, as a phrase.
        what: String,
        /// The values, in order.
        values: Vec<Value>,
    },
    /// Sets a firmware variable for the boot loader to the name of an entry, for one boot.
    OneShot {
        /// The variable's file.
        path: String,
        /// The entry.
        entry: String,
    },
    /// Sets the clock's alarm, before each sleep. An alarm that was set before comes back at the end.
    Alarm {
        /// Seconds from when the computer is sent to sleep.
        seconds: u64,
    },
    /// Runs a command, and another to undo it.
    Command {
        /// What for, as a phrase.
        what: String,
        /// The command; none when it is only to be run after the undoing of all later steps.
        line: Option<Vec<String>>,
        /// What undoes it.
        undo: Option<Undo>,
    },
}

/// What undoes a change. Each can be done more than once, and also when the change was never made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Undo {
    /// Removes what was not there before.
    RemoveFile {
        /// Where.
        path: String,
    },
    /// Puts a file back.
    RestoreFile {
        /// Where.
        path: String,
        /// Where its former contents lie.
        backup: String,
        /// Its former permissions.
        mode: u32,
    },
    /// Removes a folder that was not there before, unless others have put something into it.
    RemoveFolder {
        /// Where.
        path: String,
    },
    /// Puts values back, in reverse order.
    Values {
        /// The former values.
        values: Vec<Value>,
        /// The boot in which they hold; another has forgotten them.
        boot_id: String,
    },
    /// Puts the clock's alarm back.
    Alarm {
        /// When it was set to, s since 1970 by the clock itself; `None` when it was not set.
        before_s: Option<u64>,
    },
    /// Runs a command.
    Run {
        /// The command.
        line: Vec<String>,
        /// Exit codes that say that there is nothing to undo.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nothing_there: Vec<i32>,
    },
}

/// A command as a person types it.
fn as_typed(line: &[String]) -> String {
    let quoted = |word: &String| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() };
    line.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

impl Undo {
    /// The command `line` undoes a change; run without the change it does no harm.
    #[must_use]
    pub fn run(line: &[&str]) -> Self {
        Self::Run { line: line.iter().map(|&word| word.to_owned()).collect(), nothing_there: Vec::new() }
    }
}

impl Step {
    /// What is done, as a sentence without its full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Folder { path } => format!("Make the folder {path}"),
            Self::File { path, what, .. } => format!("Write {what}: {path}"),
            Self::Copy { to, what, .. } => format!("Copy {what} to {to}"),
            Self::Link { path, target } => format!("Link {path} to {target}"),
            Self::Values { what, values } => {
                let shown = values.iter().take(SHOWN_VALUES).map(|value| format!("{} = {}", value.path, value.value));
                let shown: Vec<String> = shown.collect();
                let more = match values.len().saturating_sub(SHOWN_VALUES) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("Set {what}: {}{more}", shown.join(", "))
            }
            Self::OneShot { entry, .. } => {
                format!("Have the boot loader take {entry} at the next boot, once")
            }
            Self::Alarm { seconds } => format!(
                "Before each sleep, set the clock's alarm to wake the computer after {seconds} s; an alarm that is set now comes back at the end"
            ),
            Self::Command { what, line: Some(line), .. } => format!("Run '{}' ({what})", as_typed(line)),
            Self::Command { what, undo: Some(Undo::Run { line, .. }), .. } => {
                format!("At the end, run '{}' ({what})", as_typed(line))
            }
            Self::Command { what, .. } => format!("At the end, undo: {what}"),
        }
    }

    /// What will undo it, from what is there now. Former contents of files go below `backups`, named by `number`.
    pub(crate) fn undo(&self, machine: &mut dyn Machine, backups: &str, number: usize) -> Result<Option<Undo>, Error> {
        Ok(match self {
            Self::Folder { path } => (!machine.exists(path)).then(|| Undo::RemoveFolder { path: path.clone() }),
            Self::File { path, .. } | Self::Copy { to: path, .. } => {
                let Some(before) = machine.read(path) else { return Ok(Some(Undo::RemoveFile { path: path.clone() })) };
                let backup = format!("{backups}/{number}");
                machine.replace(&backup, &before, 0o600)?;
                let mode = mode_of(machine, path);
                let path = path.clone();
                Some(Undo::RestoreFile { path, backup, mode })
            }
            Self::Values { values, .. } => {
                let before = values.iter().filter_map(|value| {
                    let text = machine.read_text(&value.path)?;
                    Some(Value::new(value.path.clone(), current_value(&text)))
                });
                Some(Undo::Values { values: before.collect(), boot_id: machine.boot_id() })
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
                let place = machine.at(from);
                let bytes = std::fs::read(&place).map_err(Error::file("read", &place))?;
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
                machine.set_value(path, &variable(entry))
            }
            // Each sleep sets it.
            Self::Alarm { .. } | Self::Command { line: None, .. } => Ok(()),
            Self::Command { line: Some(line), .. } => run(machine, line, &[]),
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
                let place = machine.at(backup);
                let before = std::fs::read(&place).map_err(Error::file("read", &place))?;
                if machine.read(path).as_deref() == Some(&before) {
                    return remove_unfinished(machine, path);
                }
                machine.replace(path, &before, *mode)
            }
            Self::RemoveFolder { path } => machine.remove_empty_folder(path),
            Self::Values { values, boot_id } => {
                if machine.boot_id() != *boot_id {
                    return Ok(());
                }
                for value in values.iter().rev() {
                    let now = machine.read_text(&value.path).unwrap_or_default();
                    if current_value(&now) != value.value {
                        machine.set_value(&value.path, value.value.as_bytes())?;
                    }
                }
                Ok(())
            }
            Self::Alarm { before_s } => alarm::put_back(machine, *before_s),
            Self::Run { line, nothing_there } => run(machine, line, nothing_there),
        }
    }
}

/// What an interrupted replacement left beside a file that still has its former contents.
fn remove_unfinished(machine: &mut dyn Machine, path: &str) -> Result<(), Error> {
    // `remove` takes both away: the file itself must not be named to it.
    machine.remove(&format!("{path}.onoff-new"))
}

fn run(machine: &mut dyn Machine, line: &[String], as_good: &[i32]) -> Result<(), Error> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    machine.must_run_to(&line, as_good).map(|_| ())
}

/// Firmware variables are protected against a mere `rm`.
fn remove_variable(machine: &mut dyn Machine, path: &str) -> Result<(), Error> {
    if !machine.exists(path) {
        return Ok(());
    }
    let place = machine.at(path);
    machine.unprotect(&place).map_err(Error::file("change", &place))?;
    machine.remove(path)
}

/// A text variable of the boot loader interface: attributes (non-volatile, boot service and run-time access), then UTF-16
/// with a zero at its end.
fn variable(text: &str) -> Vec<u8> {
    let mut bytes = 7_u32.to_le_bytes().to_vec();
    bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    bytes
}

/// The value that is in force, in the form in which it can be written: `local [mono]` is `mono`, `7 (expanded: 1408)` is
/// 1408, which is what the buffer had room for once it was used.
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
fn mode_of(machine: &dyn Machine, path: &str) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(machine.at(path)).map_or(0o644, |it| it.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode_of(_: &dyn Machine, _: &str) -> u32 {
    0o644
}
