//! Defines the baseline file: the measures of its runs in one small file that replaces the recordings.

use crate::RunSubject;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::run::{Category, Run};

/// Format name in a baseline file.
pub const BASELINE_FORMAT: &str = "onoff-baseline";

/// The format version that is written, and the only version that can be read.
pub const BASELINE_VERSION: u32 = 2;

/// Maximum size of a baseline file: 64 MiB, enough for hundreds of runs.
pub const MAX_BASELINE_BYTES: u64 = 64 << 20;

const MAX_RUNS: usize = 1_000;
const MAX_MEASURES: usize = 50_000;
/// There are about a dozen kinds of work.
const MAX_WORK_SHARES: usize = 64;
const MAX_TEXT_BYTES: usize = 4_096;
/// Ten years, ns: longer than any transition, and small enough to sum without overflow.
const MAX_VALUE: i64 = 315_360_000_000_000_000;

/// The content of a baseline file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// [`BASELINE_FORMAT`].
    pub format: String,
    /// [`BASELINE_VERSION`].
    pub version: u32,
    /// The transition of all runs.
    pub transition: RunSubject,
    /// The runs, including runs that a comparison would exclude.
    pub runs: Vec<Run>,
}

/// The header of a baseline file, readable in any version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BaselineHeader {
    /// [`BASELINE_FORMAT`].
    pub format: String,
    pub version: u32,
}

/// Why a baseline file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidBaseline {
    /// The file has another format.
    #[error("not an onoff baseline (format '{0}')")]
    UnknownFormat(String),
    /// The file was written by an incompatible version of onoff.
    #[error("unsupported baseline version {0} (this onoff reads version {BASELINE_VERSION}); save the baseline again")]
    UnsupportedVersion(u32),
    /// The content is invalid.
    #[error("{0}")]
    InvalidContent(String),
}

impl BaselineHeader {
    /// Checks whether the rest of the file can be read.
    ///
    /// # Errors
    /// The format or version is not supported.
    pub fn check(&self) -> Result<(), InvalidBaseline> {
        if self.format != BASELINE_FORMAT {
            let format = self.format.chars().take(80).collect();
            return Err(InvalidBaseline::UnknownFormat(format));
        }
        if self.version != BASELINE_VERSION {
            return Err(InvalidBaseline::UnsupportedVersion(self.version));
        }
        Ok(())
    }
}

impl Baseline {
    /// Returns a baseline of runs of one transition.
    #[must_use]
    pub fn new(transition: RunSubject, runs: Vec<Run>) -> Self {
        Self { format: BASELINE_FORMAT.to_owned(), version: BASELINE_VERSION, transition, runs }
    }

    /// Checks the content, which is untrusted, and returns the runs.
    ///
    /// # Errors
    /// The content is invalid; the error describes the first problem.
    pub fn into_valid_runs(self) -> Result<Vec<Run>, InvalidBaseline> {
        if self.runs.is_empty() {
            return Err(invalid("no runs".to_owned()));
        }
        if self.runs.len() > MAX_RUNS {
            let count = self.runs.len();
            return Err(invalid(format!("{count} runs; the maximum is {MAX_RUNS}")));
        }
        for (number, run) in (1_usize..).zip(&self.runs) {
            check(run, self.transition).map_err(|reason| invalid(format!("run {number}: {reason}")))?;
        }
        Ok(self.runs)
    }
}

fn invalid(reason: String) -> InvalidBaseline {
    InvalidBaseline::InvalidContent(reason)
}

fn check(run: &Run, transition: RunSubject) -> Result<(), String> {
    if run.transition != transition {
        return Err("its transition differs from the transition in the file".to_owned());
    }
    if run.measures.len() > MAX_MEASURES || run.exclusions.len() > 16 {
        return Err("too many measures".to_owned());
    }
    let mut texts = vec![&run.name, &run.kind, &run.outcome];
    texts.extend(run.exclusions.iter().map(|exclusion| &exclusion.text));
    texts.extend(
        run.machine.iter().flat_map(|machine| [&machine.computer, &machine.model, &machine.system, &machine.processor]),
    );
    if !(0..=MAX_VALUE).contains(&run.user_input_ns) {
        return Err("the time spent waiting for user input is out of range".to_owned());
    }
    let mut keys: HashSet<String> = HashSet::new();
    for measure in &run.measures {
        texts.extend([&measure.key]);
        texts.extend(&measure.phase);
        if let Some(subject) = &measure.subject {
            texts.extend([&subject.name]);
            if subject.actions.len() > MAX_WORK_SHARES
                || subject.actions.iter().any(|action| !(0..=MAX_VALUE).contains(&action.ns))
            {
                return Err(format!(
                    "'{}' has an invalid work time",
                    measure.key.chars().take(200).collect::<String>()
                ));
            }
        }
        let key = || measure.key.chars().take(200).collect::<String>();
        let key_in_transition =
            measure.key.strip_prefix(transition.as_str()).and_then(|suffix| suffix.strip_prefix('.'));
        let name = match measure.category {
            Category::Total => key_in_transition,
            category => key_in_transition
                .and_then(|suffix| suffix.strip_prefix(category.as_str()))
                .and_then(|suffix| suffix.strip_prefix('.')),
        };
        if name.is_none_or(str::is_empty) {
            return Err(format!("'{}' does not match its category", key()));
        }
        if (measure.category == Category::Account && measure.phase.is_some()) != measure.subject.is_some() {
            return Err(format!("'{}' must have a subject if and only if it is part of an account", key()));
        }
        if !keys.insert(super::match_key(&measure.key, run.is_case_sensitive())) {
            return Err(format!("'{}' occurs twice", key()));
        }
        if !(0..=MAX_VALUE).contains(&measure.value) {
            return Err(format!("the value of '{}' is out of range", key()));
        }
        if measure.since_phase_ns.is_some_and(|ns| ns.unsigned_abs() > MAX_VALUE.unsigned_abs()) {
            return Err(format!("the start of '{}' is out of range", key()));
        }
    }
    if texts.iter().any(|text| text.len() > MAX_TEXT_BYTES) {
        return Err("a text is too long".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, MeasureUnit};

    fn baseline() -> Baseline {
        let measure = |key: &str, category| Measure {
            key: key.to_owned(),
            category,
            unit: MeasureUnit::Ns,
            value: 5,
            phase: None,
            since_phase_ns: Some(-3),
            doubtful: false,
            subject: None,
        };
        let run = Run {
            name: "a.etl".to_owned(),
            transition: RunSubject::Boot,
            kind: "cold".to_owned(),
            exclusions: Vec::new(),
            machine: None,
            recording: None,
            user_input_ns: 0,
            settings: String::new(),
            outcome: String::new(),
            measures: vec![measure("boot.total", Category::Total), measure("boot.service.a.b", Category::Service)],
        };
        Baseline::new(RunSubject::Boot, vec![run])
    }

    #[test]
    fn accepts_valid_baseline() {
        assert_eq!(baseline().into_valid_runs().unwrap().len(), 1);
    }

    #[test]
    fn rejects_invalid_content() {
        type Corrupt = fn(&mut Baseline);
        let cases: [(Corrupt, &str); 10] = [
            (|baseline| baseline.runs.clear(), "no runs"),
            (|baseline| baseline.runs = vec![baseline.runs[0].clone(); 1_001], "1001 runs"),
            (|baseline| baseline.runs[0].transition = RunSubject::Shutdown, "run 1: its transition differs"),
            (|baseline| baseline.runs[0].measures[0].value = -1, "the value of 'boot.total'"),
            (|baseline| baseline.runs[0].measures[0].value = i64::MAX, "the value of 'boot.total'"),
            (|baseline| baseline.runs[0].measures[1].since_phase_ns = Some(i64::MIN), "the start of"),
            (|baseline| baseline.runs[0].measures[1].key = "boot.service.".to_owned(), "does not match its category"),
            (|baseline| baseline.runs[0].measures[1].key = "boot.device.x".to_owned(), "does not match its category"),
            (
                |baseline| {
                    let twice = baseline.runs[0].measures[1].clone();
                    baseline.runs[0].measures.push(twice);
                },
                "twice",
            ),
            (|baseline| baseline.runs[0].name = "x".repeat(5_000), "too long"),
        ];
        for (corrupt, part) in cases {
            let mut corrupted = baseline();
            corrupt(&mut corrupted);
            let error = corrupted.into_valid_runs().unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn rejects_other_formats_and_versions() {
        let header = |format: &str, version| BaselineHeader { format: format.to_owned(), version };
        assert_eq!(header(BASELINE_FORMAT, BASELINE_VERSION).check(), Ok(()));
        assert_eq!(header(BASELINE_FORMAT, 1).check(), Err(InvalidBaseline::UnsupportedVersion(1)));
        assert_eq!(header("x", 1).check(), Err(InvalidBaseline::UnknownFormat("x".to_owned())));
    }
}
