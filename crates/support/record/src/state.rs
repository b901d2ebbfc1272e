//! The persistent state of a job: its settings, its progress, and how to undo its changes.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::job::Job;
use crate::machine::{Machine, MachineFiles};
use crate::step::{Step, Undo};

const VERSION: u32 = 1;

/// Persistent state of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    pub job: Job,
    /// The mark of this job's boots.
    pub id: String,
    /// The current run, from 1.
    pub run: u32,
    /// Number of attempts at this run.
    pub attempts: u32,
    /// The boot in which this run was started.
    pub boot_id: String,
    /// Folder that keeps a shutdown recording until the next boot.
    pub staging: Option<String>,
    /// Time of this run's restart request, in ns since 1970.
    #[serde(default)]
    pub restart_ns: u64,
    /// Paths of the recordings made so far.
    pub recordings: Vec<String>,
    /// How to undo the changes, to be performed in reverse order.
    pub undo: Vec<Undo>,
}

impl State {
    /// Creates the state of a job that has not changed anything yet.
    #[must_use]
    pub fn new(job: Job, id: String, staging: Option<String>) -> Self {
        Self {
            version: VERSION,
            job,
            id,
            run: 1,
            attempts: 0,
            boot_id: String::new(),
            staging,
            restart_ns: 0,
            recordings: Vec::new(),
            undo: Vec::new(),
        }
    }

    /// Loads the state from disk, if there is one.
    pub fn load(machine: &mut dyn Machine) -> Result<Option<Self>, Error> {
        let file = state_file(machine);
        let Some(bytes) = machine.read(&file) else { return Ok(None) };
        let state: Self = serde_json::from_slice(&bytes).map_err(|error| {
            Error::Refused(format!(
                "{file} is not a valid job state ({error}); undo the changes of the recording manually"
            ))
        })?;
        if state.version != VERSION {
            return Err(Error::Refused(format!(
                "{file} has format version {} of another onoff; use that onoff to restore the computer",
                state.version
            )));
        }
        Ok(Some(state))
    }

    /// Saves the state. It is on disk when this returns.
    pub fn save(&self, machine: &mut dyn Machine) -> Result<(), Error> {
        for folder in [machine.state_folder().to_owned(), backup_folder(machine)] {
            if !machine.exists(&folder) {
                machine.make_private_folders(&folder)?;
            }
        }
        let file = state_file(machine);
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::File {
            verb: "write",
            path: file.clone().into(),
            source: error.into(),
        })?;
        machine.replace(&file, &text, 0o600)
    }

    /// Performs a step after saving how to undo it.
    pub fn perform(&mut self, machine: &mut dyn Machine, step: &Step) -> Result<(), Error> {
        // Steps before each run need to be undone only once.
        let is_known = match step {
            Step::OneShot { path, .. } => self.undo.contains(&Undo::RemoveFile { path: path.clone() }),
            Step::Command { undo: Some(undo), .. } => self.undo.contains(undo),
            _ => false,
        };
        let backups = backup_folder(machine);
        if !is_known && let Some(undo) = step.undo(machine, &backups, self.undo.len())? {
            self.undo.push(undo);
            self.save(machine)?;
        }
        step.perform(machine)
    }

    /// Undoes all changes in reverse order. A change that cannot be undone does not prevent the others from being
    /// undone; it stays on disk for another attempt.
    pub fn restore(mut self, machine: &mut dyn Machine) -> Result<(), Error> {
        let mut failures = Vec::new();
        let mut remaining = Vec::new();
        for undo in self.undo.drain(..).rev() {
            if let Err(error) = undo.perform(machine) {
                failures.push(error.to_string());
                remaining.push(undo);
            }
        }
        if failures.is_empty() {
            return remove(machine);
        }
        remaining.reverse();
        self.undo = remaining;
        self.save(machine)?;
        Err(Error::NotRestored(failures))
    }
}

/// Removes the folder of the state when there is nothing left to undo.
pub fn remove(machine: &mut dyn Machine) -> Result<(), Error> {
    let folder = machine.state_folder().to_owned();
    machine.remove_tree(&folder)
}

fn state_file(machine: &dyn Machine) -> String {
    format!("{}/state.json", machine.state_folder())
}

fn backup_folder(machine: &dyn Machine) -> String {
    format!("{}/before", machine.state_folder())
}
