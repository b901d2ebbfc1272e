//! What is on disk about a job: what it is, how far it has come, and what undoes it.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::job::Job;
use crate::machine::{Files, Machine};
use crate::step::{Step, Undo};

const VERSION: u32 = 1;

/// How far a job has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// What is to be recorded.
    pub job: Job,
    /// What marks a boot as this job's.
    pub id: String,
    /// The run that is under way, from 1.
    pub run: u32,
    /// How often this run was begun.
    pub attempts: u32,
    /// The boot in which this run was begun.
    pub boot_id: String,
    /// Where the shutdown's recording waits for the next boot.
    pub staging: Option<String>,
    /// When this run's restart was requested, ns since 1970.
    #[serde(default)]
    pub restart_ns: u64,
    /// Recordings made.
    pub recordings: Vec<String>,
    /// What undoes what was done, to be done from the last to the first.
    pub undo: Vec<Undo>,
}

impl State {
    /// The state of a job that has changed nothing yet.
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

    /// The state on disk, if there is one.
    pub fn load(machine: &mut dyn Machine) -> Result<Option<Self>, Error> {
        let file = file(machine);
        let Some(bytes) = machine.read(&file) else { return Ok(None) };
        let state: Self = serde_json::from_slice(&bytes).map_err(|error| {
            Error::Refused(format!(
                "{file} is no state of a recording job ({error}); what it would have undone has to be undone by hand"
            ))
        })?;
        if state.version != VERSION {
            return Err(Error::Refused(format!(
                "{file} was written by another version of onoff ({}); use that one to put things back",
                state.version
            )));
        }
        Ok(Some(state))
    }

    /// Writes the state; it is on disk when this returns.
    pub fn save(&self, machine: &mut dyn Machine) -> Result<(), Error> {
        for folder in [machine.state_folder().to_owned(), backups(machine)] {
            if !machine.exists(&folder) {
                machine.make_private_folders(&folder)?;
            }
        }
        let file = file(machine);
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::File {
            verb: "write",
            path: file.clone().into(),
            source: error.into(),
        })?;
        machine.replace(&file, &text, 0o600)
    }

    /// Makes a change, what undoes it being on disk before.
    pub fn perform(&mut self, machine: &mut dyn Machine, step: &Step) -> Result<(), Error> {
        // What is done before each run needs undoing once.
        let known = match step {
            Step::OneShot { path, .. } => self.undo.contains(&Undo::RemoveFile { path: path.clone() }),
            Step::Command { undo: Some(undo), .. } => self.undo.contains(undo),
            _ => false,
        };
        let backups = backups(machine);
        if !known && let Some(undo) = step.undo(machine, &backups, self.undo.len())? {
            self.undo.push(undo);
            self.save(machine)?;
        }
        step.perform(machine)
    }

    /// Undoes everything, from the last change to the first. What cannot be undone does not keep the rest from being undone;
    /// it stays on disk for another try.
    pub fn restore(mut self, machine: &mut dyn Machine) -> Result<(), Error> {
        let mut failed = Vec::new();
        let mut left = Vec::new();
        for undo in self.undo.drain(..).rev() {
            if let Err(error) = undo.perform(machine) {
                failed.push(error.to_string());
                left.push(undo);
            }
        }
        if failed.is_empty() {
            return forget(machine);
        }
        left.reverse();
        self.undo = left;
        self.save(machine)?;
        Err(Error::NotRestored(failed))
    }
}

/// Removes the state's folder: there is nothing left to put back.
pub fn forget(machine: &mut dyn Machine) -> Result<(), Error> {
    // The state last: as long as it is there, a second try finds its backups or needs none.
    let folder = machine.state_folder().to_owned();
    machine.remove_tree(&folder)
}

fn file(machine: &dyn Machine) -> String {
    format!("{}/state.json", machine.state_folder())
}

fn backups(machine: &dyn Machine) -> String {
    format!("{}/before", machine.state_folder())
}
