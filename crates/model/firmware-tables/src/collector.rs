//! Combines the data of all inputs into one boot.

use onoff_trace::Severity;
use onoff_trace::firmware::{
    FirmwareCheckpoints, FirmwareDuration, FirmwareEvent, FirmwareFormat, FirmwareInput, FirmwareLoggedBoot,
    FirmwareProblem, FirmwareProblemKind, FirmwareRecording, FirmwareResume, FirmwareSuspend, FirmwareTable,
};

use onoff_input::content_hash::sha256;

/// Maximum number of listed problems; a malicious input may have one per byte.
const MAX_PROBLEMS: usize = 1000;

/// A boot from one input.
#[derive(Debug, Default)]
pub(crate) struct Boot {
    pub(crate) from: String,
    pub(crate) checkpoints: Option<FirmwareCheckpoints>,
    pub(crate) events: Vec<FirmwareEvent>,
}

impl Boot {
    fn completeness(&self) -> (bool, bool) {
        (!self.events.is_empty(), self.checkpoints.is_some())
    }
}

/// Data collected from the inputs so far.
#[derive(Debug, Default)]
pub struct FirmwareTableCollector {
    inputs: Vec<FirmwareInput>,
    tables: Vec<FirmwareTable>,
    boots: Vec<Boot>,
    /// Boot of a serial log to use: 0 is the last boot, -1 the boot before it.
    pub selected_boot: i64,
    logged_boots: Vec<FirmwareLoggedBoot>,
    durations: Vec<FirmwareDuration>,
    resume: Option<FirmwareResume>,
    suspend: Option<FirmwareSuspend>,
    problems: Vec<FirmwareProblem>,
    unlisted_problems: u64,
    unlisted_skipped_bytes: u64,
}

impl FirmwareTableCollector {
    pub(crate) fn add_input(&mut self, name: &str, form: FirmwareFormat) {
        self.inputs.push(FirmwareInput { name: name.to_owned(), form, bytes: 0, sha256: String::new() });
    }

    /// Sets the content of the last input, a file.
    pub(crate) fn set_content(&mut self, bytes: &[u8]) {
        if let Some(input) = self.inputs.last_mut() {
            input.bytes = bytes.len() as u64;
            input.sha256 = sha256(bytes, |_| ());
        }
    }

    pub(crate) fn add_table(&mut self, table: FirmwareTable) {
        self.tables.push(table);
    }

    pub(crate) fn add_boot(&mut self, boot: Boot) {
        if boot.completeness() != (false, false) {
            self.boots.push(boot);
        }
    }

    /// Adds a duration without a known start time.
    pub(crate) fn add_duration(&mut self, duration: FirmwareDuration) {
        self.durations.push(duration);
    }

    /// Adds a boot of a serial log.
    pub(crate) fn add_logged_boot(&mut self, boot: FirmwareLoggedBoot) {
        self.logged_boots.push(boot);
    }

    pub(crate) fn add_resume(&mut self, resume: FirmwareResume) {
        self.resume.get_or_insert(resume);
    }

    pub(crate) fn add_suspend(&mut self, suspend: FirmwareSuspend) {
        self.suspend.get_or_insert(suspend);
    }

    pub fn add_problem(
        &mut self,
        kind: FirmwareProblemKind,
        severity: Severity,
        place: String,
        text: String,
        skipped_bytes: u64,
    ) {
        if self.problems.len() == MAX_PROBLEMS {
            self.unlisted_problems += 1;
            self.unlisted_skipped_bytes = self.unlisted_skipped_bytes.saturating_add(skipped_bytes);
            return;
        }
        self.problems.push(FirmwareProblem { kind, severity, place, text, skipped_bytes });
    }

    /// Converts a time to the model's type. A time beyond 292 years is reported as a problem and gives `None`.
    pub(crate) fn time_ns(&mut self, stored: u64, description: &str, place: &str) -> Option<i64> {
        let time_ns = i64::try_from(stored).ok();
        if time_ns.is_none() {
            self.add_problem(
                FirmwareProblemKind::ImpossibleTime,
                Severity::Warning,
                place.to_owned(),
                format!("{description} is implausible and was skipped: {stored} ns"),
                0,
            );
        }
        time_ns
    }

    pub fn finish(mut self) -> FirmwareRecording {
        // Use the first of the most complete boots.
        let most_complete = (0..self.boots.len()).rev().max_by_key(|&index| self.boots[index].completeness());
        let mut selected = most_complete.map(|index| self.boots.remove(index)).unwrap_or_default();
        for other in std::mem::take(&mut self.boots) {
            match (selected.checkpoints, other.checkpoints) {
                (None, Some(times)) => selected.checkpoints = Some(times),
                (Some(times), Some(other_times)) if times != other_times => self.add_problem(
                    FirmwareProblemKind::SeveralBoots,
                    Severity::Warning,
                    other.from,
                    format!("skipped: from a different boot than {}", selected.from),
                    0,
                ),
                _ => {}
            }
        }
        if self.unlisted_problems > 0 {
            self.problems.push(FirmwareProblem {
                kind: FirmwareProblemKind::TooManyRecords,
                severity: Severity::Error,
                place: String::new(),
                text: format!("{} more faults are not listed", self.unlisted_problems),
                skipped_bytes: self.unlisted_skipped_bytes,
            });
        }
        FirmwareRecording {
            inputs: self.inputs,
            tables: self.tables,
            checkpoints: selected.checkpoints,
            boot_from: selected.from,
            events: selected.events,
            durations: self.durations,
            resume: self.resume,
            suspend: self.suspend,
            boots: self.logged_boots,
            problems: self.problems,
        }
    }
}
