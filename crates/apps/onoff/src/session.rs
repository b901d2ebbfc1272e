//! A session: an opened recording and the queries on it.

use onoff_transitions::{Transition, Variant};
use std::sync::{Arc, Mutex, PoisonError};

use onoff_blame::why::{WHY_TABLES, WhyError, WhyQuestion, WhyReport, why};
use onoff_evidence::recording::{Provenance, ProvenanceFile, RecordingSummary, summarize};
use onoff_findings::diagnose;
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions};
use onoff_network::report::NetbootReport;
use onoff_network::{NetbootOptions, NoNetboot};
use onoff_report::text::time_point::TimePoint;
use onoff_sources::{Files, Limits, Options, RecordingKind, files_from_bytes};
use onoff_trace::{RecordedBoot, SystemKind, TableName, TableSet, Trace};
use onoff_transitions::boot::{self, BootOptions, BootReport, NoBoot};
use onoff_transitions::linux;
use onoff_transitions::shutdown::{self, NoShutdown, ShutdownOptions};
use onoff_transitions::suspend::{self, NoSuspend, SuspendOptions};
use onoff_transitions::{NamedPhase, PHASE_TABLES, PhaseNotFound, named_phase};
use onoff_what_if::limit::{Limit, limit};
use onoff_what_if::plan::{Plan, plan};
use onoff_what_if::prediction::{Prediction, WhatIfError, WhatIfQuestion, predict};

use crate::error::{Error, QueryError};
use crate::range::RangeError;
use crate::tables::run_tables;
use crate::transition_answers::{Boot, BootAnswer, Shutdown, ShutdownAnswer, SleepAnswer, Sleeps, TransitionAnswer};

/// An opened recording. All queries start here.
#[derive(Debug)]
pub struct Session {
    files: Files,
    options: Options,
    /// The tables read so far.
    cached: Mutex<Option<Arc<Trace>>>,
    /// The last diagnosis: the answers about transitions share it.
    diagnosed: Mutex<Option<(DiagnosisOptions, Arc<Diagnosis>)>>,
}

/// The transitions found in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transitions {
    /// A full boot or a fast startup.
    pub boot: bool,
    /// A shutdown or restart.
    pub shutdown: bool,
    /// One or more sleeps, hibernations or modern standbys.
    pub sleep: bool,
}

impl Session {
    /// Creates a session on opened files.
    #[must_use]
    pub fn new(files: Files, options: Options) -> Self {
        Self { files, options, cached: Mutex::new(None), diagnosed: Mutex::new(None) }
    }

    /// Creates a session from the names and bytes of the files of one recording, compressed or not.
    ///
    /// # Errors
    /// The bytes are damaged, exceed the size limit when decompressed, or are not a recording.
    pub fn from_bytes(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, Error> {
        Ok(Self::new(files_from_bytes(files, &Limits::default())?, Options::default()))
    }

    /// Opens a recording: files (compressed or not), archives, folders, or standard input.
    ///
    /// # Errors
    /// A file is unreadable, damaged, exceeds the size limit when decompressed, or is not a recording.
    #[cfg(feature = "files")]
    pub fn open(paths: &[std::path::PathBuf], options: &onoff_files::Options) -> Result<Self, Error> {
        let files = onoff_files::open_all(paths, &options.limits)?;
        Ok(Self::new(files, options.read()?))
    }

    #[must_use]
    pub fn kind(&self) -> RecordingKind {
        self.files.kind()
    }

    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns at least the wanted tables. Tables stay cached, so a query that needs no other tables does not read the
    /// recording again.
    ///
    /// # Errors
    /// The recording is damaged beyond repair.
    pub fn tables(&self, wanted: TableSet) -> Result<Arc<Trace>, Error> {
        // A panic in another thread leaves the slot intact or empty.
        let mut slot = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let cached_tables = slot.as_ref().map_or(TableSet::NONE, |trace| trace.requested_tables);
        if let Some(trace) = slot.as_ref().filter(|_| cached_tables.union(wanted) == cached_tables) {
            return Ok(Arc::clone(trace));
        }
        // Free the old tables before reading a larger set.
        *slot = None;
        let trace = Arc::new(onoff_sources::read_tables(&self.files, cached_tables.union(wanted), &self.options)?);
        *slot = Some(Arc::clone(&trace));
        Ok(trace)
    }

    /// Like [`Self::tables`], but rejects network captures.
    pub(crate) fn system_tables(&self, wanted: TableSet) -> Result<Arc<Trace>, Error> {
        if self.kind() == RecordingKind::NetworkCapture {
            // This error names the verb that reads captures.
            return onoff_sources::open_files(&self.files, wanted, &self.options).map(Arc::new);
        }
        self.tables(wanted)
    }

    /// Returns the provenance of the recording, for the head of JSON documents. Hashes the files, which reads every
    /// byte again.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn provenance(&self) -> Result<Provenance, Error> {
        let files = self.files.with_accompanying().map(|file| ProvenanceFile {
            name: file.name().to_owned(),
            bytes: file.bytes().len() as u64,
            sha256: file.sha256(),
        });
        let files = files.collect();
        if self.kind() == RecordingKind::NetworkCapture {
            return Ok(Provenance { files, ..Provenance::default() });
        }
        Ok(Provenance::new(files, &*self.tables(TableSet::NONE)?))
    }

    /// Returns the contents and losses of the recording.
    ///
    /// # Errors
    /// The recording is unreadable, or a network capture.
    pub fn summary(&self) -> Result<RecordingSummary, Error> {
        Ok(summarize(&*self.system_tables(TableSet::from_names(&[TableName::Inventory]))?))
    }

    /// Finds the transitions in the recording.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn transitions(&self) -> Result<Transitions, Error> {
        if self.kind() == RecordingKind::NetworkCapture {
            return Ok(Transitions::default());
        }
        // Read all tables needed below in one pass.
        self.tables(run_tables(None).union(onoff_findings::TABLES))?;
        Ok(Transitions {
            boot: QueryError::optional(self.boot(&BootOptions::default()))?.is_some(),
            shutdown: QueryError::optional(self.shutdown(&ShutdownOptions::default()))?.is_some(),
            sleep: QueryError::optional(self.sleeps(&SuspendOptions::default()))?.is_some(),
        })
    }

    /// Analyzes the boot. If there is a fast startup (a resume with a new session) instead of a full boot, analyzes the
    /// fast startup.
    ///
    /// # Errors
    /// The recording is unreadable, or has no boot.
    pub fn boot(&self, options: &BootOptions) -> Result<BootAnswer, QueryError<Box<NoBoot>>> {
        let trace = self.system_tables(onoff_findings::TABLES)?;
        let diagnosis_options = DiagnosisOptions { boot: options.clone(), ..DiagnosisOptions::default() };
        let report = if trace.system.kind == SystemKind::Linux {
            let report = linux::boot::analyze(&trace, options).map_err(QueryError::Unanswerable)?;
            Boot::Linux(Box::new(add_diagnosis(report, &self.diagnosis(&trace, &diagnosis_options))))
        } else {
            self.windows_boot(&trace, options, &diagnosis_options)?
        };
        Ok(TransitionAnswer { report, recording: Box::new(summarize(&trace)) })
    }

    /// Analyzes the full boot only, for formats that cannot represent a fast startup.
    ///
    /// # Errors
    /// The recording is unreadable, from Linux, or has no boot.
    pub fn full_boot(&self, options: &BootOptions) -> Result<BootReport, QueryError<Box<NoBoot>>> {
        let trace = self.system_tables(boot::TABLES.union(suspend::TABLES).union(linux::boot::TABLES))?;
        boot::analyze(&trace, options).map_err(QueryError::Unanswerable)
    }

    /// Returns the boots in the recording's journals, in order of start; empty without a journal.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn boots(&self) -> Result<Vec<RecordedBoot>, Error> {
        Ok(self.system_tables(TableSet::NONE)?.boots.clone())
    }

    /// Analyzes the shutdown.
    ///
    /// # Errors
    /// The recording is unreadable, or has no shutdown.
    pub fn shutdown(&self, options: &ShutdownOptions) -> Result<ShutdownAnswer, QueryError<Box<NoShutdown>>> {
        let trace = self.system_tables(onoff_findings::TABLES)?;
        let diagnosis_options = DiagnosisOptions { shutdown: *options, ..DiagnosisOptions::default() };
        let report = if trace.system.kind == SystemKind::Linux {
            let report = linux::shutdown::analyze(&trace).map_err(QueryError::Unanswerable)?;
            Shutdown::Linux(Box::new(add_diagnosis(report, &self.diagnosis(&trace, &diagnosis_options))))
        } else {
            let report = shutdown::analyze(&trace, options).map_err(QueryError::Unanswerable)?;
            Shutdown::Windows(Box::new(add_diagnosis(report, &self.diagnosis(&trace, &diagnosis_options))))
        };
        Ok(TransitionAnswer { report, recording: Box::new(summarize(&trace)) })
    }

    /// Analyzes all sleeps and hibernations.
    ///
    /// # Errors
    /// The recording is unreadable, or has no sleep.
    pub fn sleeps(&self, options: &SuspendOptions) -> Result<SleepAnswer, QueryError<NoSuspend>> {
        let trace = self.system_tables(onoff_findings::TABLES)?;
        let boot = BootOptions { idle: options.idle, shell: options.shell.clone(), ..BootOptions::default() };
        let diagnosis_options = DiagnosisOptions { boot, ..DiagnosisOptions::default() };
        let report = if trace.system.kind == SystemKind::Linux {
            let report = linux::suspend::analyze(&trace, options).map_err(QueryError::Unanswerable)?;
            Sleeps::Linux(Box::new(add_diagnosis_to_all(report, &self.diagnosis(&trace, &diagnosis_options))))
        } else {
            let report = suspend::analyze(&trace, options).map_err(QueryError::Unanswerable)?;
            Sleeps::Windows(Box::new(add_diagnosis_to_all(report, &self.diagnosis(&trace, &diagnosis_options))))
        };
        Ok(TransitionAnswer { report, recording: Box::new(summarize(&trace)) })
    }

    /// Checks all transitions of the recording against the rules.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn diagnose(&self, options: &DiagnosisOptions) -> Result<Diagnosis, Error> {
        Ok(Diagnosis::clone(&*self.diagnosis(&*self.system_tables(onoff_findings::TABLES)?, options)))
    }

    /// Returns the diagnosis of the session's tables, which is computed once for the same options.
    fn diagnosis(&self, trace: &Trace, options: &DiagnosisOptions) -> Arc<Diagnosis> {
        // A panic in another thread leaves the slot intact or empty.
        let mut slot = self.diagnosed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((known, diagnosis)) if is_same(known, options) => Arc::clone(diagnosis),
            _ => {
                let diagnosis = Arc::new(diagnose(trace, options));
                *slot = Some((options.clone(), Arc::clone(&diagnosis)));
                diagnosis
            }
        }
    }

    /// Follows the critical path of a phase, service, device, process or thread.
    ///
    /// # Errors
    /// The recording is unreadable, or no wait matches.
    pub fn why(&self, query: &WhyQuestion) -> Result<WhyReport, QueryError<WhyError>> {
        why(&*self.system_tables(Self::WAIT_TABLES)?, query).map_err(QueryError::Unanswerable)
    }

    /// Predicts how long a transition would take after changes.
    ///
    /// # Errors
    /// The recording is unreadable or cannot be replayed, or a change cannot be predicted.
    pub fn what_if(&self, question: &WhatIfQuestion) -> Result<Prediction, QueryError<WhatIfError>> {
        predict(&*self.system_tables(onoff_what_if::TABLES)?, question).map_err(QueryError::Unanswerable)
    }

    /// Searches for the best `steps` changes of a transition, each on top of the ones before.
    ///
    /// # Errors
    /// The recording is unreadable or cannot be replayed.
    pub fn what_if_plan(&self, question: &WhatIfQuestion, steps: u32) -> Result<Plan, QueryError<WhatIfError>> {
        plan(&*self.system_tables(onoff_what_if::TABLES)?, question, steps).map_err(QueryError::Unanswerable)
    }

    /// Returns lower bounds of a transition's duration.
    ///
    /// # Errors
    /// The recording is unreadable or cannot be replayed.
    pub fn what_if_limit(&self, question: &WhatIfQuestion) -> Result<Limit, QueryError<WhatIfError>> {
        limit(&*self.system_tables(onoff_what_if::TABLES)?, question).map_err(QueryError::Unanswerable)
    }

    /// Finds a phase by name.
    ///
    /// # Errors
    /// The recording is unreadable, or does not have the phase.
    pub fn phase(&self, name: &str) -> Result<NamedPhase, QueryError<PhaseNotFound>> {
        named_phase(&*self.system_tables(PHASE_TABLES)?, name).map_err(QueryError::Unanswerable)
    }

    /// Converts `point` to ns from the start of the recording.
    ///
    /// # Errors
    /// The recording is unreadable, or its clock cannot represent the time.
    pub fn resolve_time(&self, point: TimePoint) -> Result<i64, QueryError<RangeError>> {
        let trace = self.system_tables(TableSet::NONE)?;
        point.resolve_on(&trace.clock).ok_or(QueryError::Unanswerable(RangeError::Time))
    }

    /// Analyzes a full boot, or the resume half of a fast startup if there is no full boot.
    fn windows_boot(
        &self,
        trace: &Trace,
        options: &BootOptions,
        diagnosis_options: &DiagnosisOptions,
    ) -> Result<Boot, QueryError<Box<NoBoot>>> {
        let report = boot::analyze(trace, options);
        let is_full_boot = |report: &BootReport| report.variant != Variant::FastStartup;
        if !report.as_ref().is_ok_and(is_full_boot) {
            let options = SuspendOptions { transition: None, idle: options.idle, shell: options.shell.clone() };
            if let Some(report) = suspend::fast_startup(trace, &options) {
                return Ok(Boot::FastStartup(Box::new(add_diagnosis_to_all(
                    report,
                    &self.diagnosis(trace, diagnosis_options),
                ))));
            }
        }
        let report = report.map_err(QueryError::Unanswerable)?;
        Ok(Boot::Windows(Box::new(add_diagnosis(report, &self.diagnosis(trace, diagnosis_options)))))
    }

    /// The tables that [`Session::why`] reads.
    pub const WAIT_TABLES: TableSet = WHY_TABLES.union(boot::TABLES).union(shutdown::TABLES).union(suspend::TABLES);

    /// Analyzes the network boots in a capture.
    ///
    /// # Errors
    /// The recording is not a capture, or has no network boot.
    pub fn netboot(&self, options: &NetbootOptions) -> Result<NetbootReport, QueryError<NoNetboot>> {
        let capture = onoff_sources::read_capture(&self.files, &self.options)?;
        onoff_network::analyze(&capture, options).map_err(QueryError::Unanswerable)
    }
}

/// True if both options lead to one diagnosis of a recording. Firmware data and captures are not compared.
fn is_same(one: &DiagnosisOptions, other: &DiagnosisOptions) -> bool {
    let parts = |options: &DiagnosisOptions| {
        let DiagnosisOptions { boot, shutdown, noise_ns } = options.clone();
        let BootOptions { idle, shell, expected_processes, firmware, capture } = boot;
        let is_alone = firmware.is_none() && capture.is_none();
        is_alone.then_some((idle, shell, expected_processes, shutdown, noise_ns))
    };
    parts(one).is_some_and(|parts_of_one| Some(parts_of_one) == parts(other))
}

/// Adds the culprits and the first fix to the transition, and marks the units that it waited for.
fn add_diagnosis<D>(transition: Transition<D>, diagnosis: &Diagnosis) -> Transition<D> {
    let Some(result) = diagnosis.transition(transition.kind, transition.number) else { return transition };
    let mut transition =
        Transition { culprits: result.culprits.clone(), fix_first: result.fix_first.clone(), ..transition };
    for unit in &mut transition.units {
        unit.on_path |= result.waited_for.iter().any(|name| name.eq_ignore_ascii_case(&unit.name));
    }
    transition
}

fn add_diagnosis_to_all<D>(
    report: onoff_transitions::Transitions<D>,
    diagnosis: &Diagnosis,
) -> onoff_transitions::Transitions<D> {
    let transitions = report.transitions.into_iter().map(|transition| add_diagnosis(transition, diagnosis)).collect();
    onoff_transitions::Transitions { transitions, ..report }
}
