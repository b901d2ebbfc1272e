//! A baseline that is kept: the measures of its runs in one small file, so that recordings need not be.

use crate::RunSubject;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::run::{Category, Run};

/// What a file that holds a baseline says it is.
pub const BASELINE_FORMAT: &str = "onoff-baseline";

/// The version of the format that is written, and the only one that is read.
pub const BASELINE_VERSION: u32 = 1;

/// A file of a baseline holds no more bytes than this: 64 MiB, which is hundreds of runs.
pub const MAX_BASELINE_BYTES: u64 = 64 << 20;

const MAX_RUNS: usize = 1_000;
const MAX_MEASURES: usize = 50_000;
/// Ways to spend time are a dozen.
const MAX_DONE: usize = 64;
const MAX_TEXT_BYTES: usize = 4_096;
/// Ten years, ns: no transition is longer. It also leaves room to add any of them up.
const MAX_VALUE: i64 = 315_360_000_000_000_000;

/// A baseline as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// [`BASELINE_FORMAT`].
    pub format: String,
    /// [`BASELINE_VERSION`].
    pub version: u32,
    /// Which transition.
    pub transition: RunSubject,
    /// The runs, those that would be set apart too.
    pub runs: Vec<Run>,
}

/// The part of a baseline that says what it is, whatever else a later version holds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BaselineHead {
    /// [`BASELINE_FORMAT`].
    pub format: String,
    /// Version of the format.
    pub version: u32,
}

/// A file is no baseline that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidBaseline {
    /// It is something else.
    #[error("it is no baseline of onoff (its format is '{0}')")]
    OtherFormat(String),
    /// Another version of onoff wrote it.
    #[error("version {0} of the format, and this onoff reads version {BASELINE_VERSION}; save the baseline anew")]
    OtherVersion(u32),
    /// Something in it cannot be.
    #[error("{0}")]
    Impossible(String),
}

impl BaselineHead {
    /// Whether the rest can be read.
    ///
    /// # Errors
    /// It is of another format or version.
    pub fn check(&self) -> Result<(), InvalidBaseline> {
        if self.format != BASELINE_FORMAT {
            let format = self.format.chars().take(80).collect();
            return Err(InvalidBaseline::OtherFormat(format));
        }
        if self.version != BASELINE_VERSION {
            return Err(InvalidBaseline::OtherVersion(self.version));
        }
        Ok(())
    }
}

impl Baseline {
    /// A baseline of runs of one transition.
    #[must_use]
    pub fn of(transition: RunSubject, runs: Vec<Run>) -> Self {
        Self { format: BASELINE_FORMAT.to_owned(), version: BASELINE_VERSION, transition, runs }
    }

    /// The runs, when everything in them can be: a file comes from elsewhere.
    ///
    /// # Errors
    /// Something in it cannot be; the error says what and where.
    pub fn validated(self) -> Result<Vec<Run>, InvalidBaseline> {
        if self.runs.is_empty() {
            return Err(impossible("it holds no run".to_owned()));
        }
        if self.runs.len() > MAX_RUNS {
            let count = self.runs.len();
            return Err(impossible(format!("{count} runs; at most {MAX_RUNS} are read")));
        }
        for (at, run) in self.runs.iter().enumerate() {
            check(run, self.transition).map_err(|reason| impossible(format!("run {}: {reason}", at + 1)))?;
        }
        Ok(self.runs)
    }
}

fn impossible(reason: String) -> InvalidBaseline {
    InvalidBaseline::Impossible(reason)
}

fn check(run: &Run, transition: RunSubject) -> Result<(), String> {
    if run.transition != transition {
        return Err("it is of another transition than the file".to_owned());
    }
    if run.measures.len() > MAX_MEASURES || run.set_apart.len() > 16 {
        return Err("more measures than any run has".to_owned());
    }
    let mut texts = vec![&run.name, &run.kind];
    texts.extend(run.set_apart.iter().map(|apart| &apart.text));
    texts.extend(run.machine.iter().flat_map(|it| [&it.computer, &it.model, &it.system, &it.processor]));
    if !(0..=MAX_VALUE).contains(&run.person_ns) {
        return Err("a person was waited for longer than can be".to_owned());
    }
    let mut keys: HashSet<String> = HashSet::new();
    for measure in &run.measures {
        texts.extend([&measure.key]);
        texts.extend(&measure.phase);
        if let Some(subject) = &measure.subject {
            texts.extend([&subject.name]);
            if subject.did.len() > MAX_DONE || subject.did.iter().any(|did| !(0..=MAX_VALUE).contains(&did.ns)) {
                return Err(format!("'{}' did what cannot be", measure.key.chars().take(200).collect::<String>()));
            }
        }
        let place = || measure.key.chars().take(200).collect::<String>();
        let rest = measure.key.strip_prefix(transition.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let named = match measure.category {
            Category::Total => rest,
            category => {
                rest.and_then(|rest| rest.strip_prefix(category.as_str())).and_then(|rest| rest.strip_prefix('.'))
            }
        };
        if named.is_none_or(str::is_empty) {
            return Err(format!("'{}' is no key of its category", place()));
        }
        if (measure.category == Category::Account && measure.phase.is_some()) != measure.subject.is_some() {
            return Err(format!("'{}' has no subject, or is none", place()));
        }
        if !keys.insert(super::matching(&measure.key, run.keeps_case())) {
            return Err(format!("'{}' is there twice", place()));
        }
        if !(0..=MAX_VALUE).contains(&measure.value) {
            return Err(format!("'{}' has a value that cannot be", place()));
        }
        if measure.since_phase_ns.is_some_and(|ns| ns.unsigned_abs() > MAX_VALUE.unsigned_abs()) {
            return Err(format!("'{}' has a begin that cannot be", place()));
        }
    }
    if texts.iter().any(|text| text.len() > MAX_TEXT_BYTES) {
        return Err("a text longer than any name".to_owned());
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
            set_apart: Vec::new(),
            machine: None,
            recording: None,
            person_ns: 0,
            settings: String::new(),
            measures: vec![measure("boot.total", Category::Total), measure("boot.service.a.b", Category::Service)],
        };
        Baseline::of(RunSubject::Boot, vec![run])
    }

    #[test]
    fn what_was_kept_is_valid() {
        assert_eq!(baseline().validated().unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        type Break = fn(&mut Baseline);
        let cases: [(Break, &str); 10] = [
            (|it| it.runs.clear(), "no run"),
            (|it| it.runs = vec![it.runs[0].clone(); 1_001], "1001 runs"),
            (|it| it.runs[0].transition = RunSubject::Shutdown, "run 1: it is of another"),
            (|it| it.runs[0].measures[0].value = -1, "'boot.total' has a value"),
            (|it| it.runs[0].measures[0].value = i64::MAX, "'boot.total' has a value"),
            (|it| it.runs[0].measures[1].since_phase_ns = Some(i64::MIN), "has a begin"),
            (|it| it.runs[0].measures[1].key = "boot.service.".to_owned(), "no key of its category"),
            (|it| it.runs[0].measures[1].key = "boot.device.x".to_owned(), "no key of its category"),
            (
                |it| {
                    let twice = it.runs[0].measures[1].clone();
                    it.runs[0].measures.push(twice);
                },
                "twice",
            ),
            (|it| it.runs[0].name = "x".repeat(5_000), "longer than any name"),
        ];
        for (spoil, part) in cases {
            let mut spoilt = baseline();
            spoil(&mut spoilt);
            let refusal = spoilt.validated().unwrap_err().to_string();
            assert!(refusal.contains(part), "{part}: {refusal}");
        }
    }

    #[test]
    fn other_formats_and_versions_are_told_before_the_rest_is_read() {
        let head = |format: &str, version| BaselineHead { format: format.to_owned(), version };
        assert_eq!(head(BASELINE_FORMAT, 1).check(), Ok(()));
        assert_eq!(head(BASELINE_FORMAT, 2).check(), Err(InvalidBaseline::OtherVersion(2)));
        assert_eq!(head("x", 1).check(), Err(InvalidBaseline::OtherFormat("x".to_owned())));
    }
}
