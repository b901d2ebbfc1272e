//! A recording that questions are asked of.

use onoff_transitions::{Transition, Variant};
use std::sync::{Arc, Mutex, PoisonError};

use onoff_blame::why::{NoWhy, WHY_TABLES, WhyQuestion, WhyReport, why};
use onoff_evidence::recording::{Provenance, ProvenanceFile, RecordingSummary, summarize};
use onoff_findings::diagnose;
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions};
use onoff_network::report::NetbootReport;
use onoff_network::{NetbootOptions, NoNetboot};
use onoff_report::text::time_point::TimePoint;
use onoff_sources::{Files, Limits, Options, RecordingKind, files_from_bytes};
use onoff_trace::{RecordedBoot, SystemKind, TableName, Tables, Trace};
use onoff_transitions::boot::{self, BootOptions, BootReport, NotABoot};
use onoff_transitions::linux;
use onoff_transitions::shutdown::{self, NotAShutdown, ShutdownOptions};
use onoff_transitions::suspend::{self, NoSuspend, SuspendOptions};
use onoff_transitions::{NamedPhase, NoSuchPhase, PHASE_TABLES, named_phase};

use crate::error::{Error, Refusal};
use crate::range::OutOfRange;
use crate::tables::tables_of_runs;
use crate::transition_answers::{Boot, BootAnswer, Shutdown, ShutdownAnswer, SleepAnswer, Sleeps, TransitionAnswer};

/// A recording, opened; every question about it is asked here.
#[derive(Debug)]
pub struct Session {
    files: Files,
    options: Options,
    /// The tables that were read last.
    read: Mutex<Option<Arc<Trace>>>,
}

/// Which transitions a recording holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transitions {
    /// A boot, from off or by fast startup.
    pub boot: bool,
    /// A shutdown or restart.
    pub shutdown: bool,
    /// One or more sleeps, hibernations or modern standbys.
    pub sleep: bool,
}

impl Session {
    /// A session about `files`, which will be read with `options`.
    #[must_use]
    pub fn of(files: Files, options: Options) -> Self {
        Self { files, options, read: Mutex::new(None) }
    }

    /// A session about files whose names and bytes are at hand: one recording, packed or not, in one file or several.
    ///
    /// # Errors
    /// Bytes that are damaged, expand too far, or are no recording.
    pub fn from_bytes(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, Error> {
        Ok(Self::of(files_from_bytes(files, &Limits::default())?, Options::default()))
    }

    /// A session about the recording in `paths`: files, packed or not, archives and folders of them, or streams.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, expands too far, or is no recording.
    #[cfg(feature = "files")]
    pub fn open(paths: &[std::path::PathBuf], options: &onoff_files::Options) -> Result<Self, Error> {
        let files = onoff_files::open_all(paths, &options.limits)?;
        Ok(Self::of(files, options.read()?))
    }

    /// What kind of recording it is.
    #[must_use]
    pub fn kind(&self) -> RecordingKind {
        self.files.kind()
    }

    /// Its files.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// How it is read.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The recording's tables, at least the wanted ones. Those of the last question stay at hand: a question that needs no
    /// others reads nothing.
    ///
    /// # Errors
    /// A recording damaged beyond use.
    pub fn tables(&self, wanted: Tables) -> Result<Arc<Trace>, Error> {
        // A panic elsewhere leaves the slot as it was: whole, or empty.
        let mut slot = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let before = slot.as_ref().map_or(Tables::NONE, |trace| trace.wanted);
        if let Some(trace) = slot.as_ref().filter(|_| before.union(wanted) == before) {
            return Ok(Arc::clone(trace));
        }
        // What was read before is given back before it is read again with more.
        *slot = None;
        let trace = Arc::new(onoff_sources::read_tables(&self.files, before.union(wanted), &self.options)?);
        *slot = Some(Arc::clone(&trace));
        Ok(trace)
    }

    /// The tables of a recording of an operating system.
    pub(crate) fn system_tables(&self, wanted: Tables) -> Result<Arc<Trace>, Error> {
        if self.kind() == RecordingKind::NetworkCapture {
            // The refusal of a capture names the verb that reads it.
            return onoff_sources::open_files(&self.files, wanted, &self.options).map(Arc::new);
        }
        self.tables(wanted)
    }

    /// Where answers about the recording come from: what its documents begin with. Reads every byte of it once more.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn provenance(&self) -> Result<Provenance, Error> {
        let files = self.files.iter().map(|file| ProvenanceFile {
            name: file.name().to_owned(),
            bytes: file.bytes().len() as u64,
            sha256: file.sha256(),
        });
        let files = files.collect();
        if self.kind() == RecordingKind::NetworkCapture {
            return Ok(Provenance { files, ..Provenance::default() });
        }
        Ok(Provenance::of(files, &*self.tables(Tables::NONE)?))
    }

    /// What the recording holds, and what its recorder lost.
    ///
    /// # Errors
    /// A recording that cannot be read, or that is a network capture.
    pub fn summary(&self) -> Result<RecordingSummary, Error> {
        Ok(summarize(&*self.system_tables(Tables::of(&[TableName::Inventory]))?))
    }

    /// Which transitions the recording holds.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn transitions(&self) -> Result<Transitions, Error> {
        if self.kind() == RecordingKind::NetworkCapture {
            return Ok(Transitions::default());
        }
        // All that the three need, read at once.
        self.tables(tables_of_runs(None).union(onoff_findings::TABLES))?;
        Ok(Transitions {
            boot: Refusal::optional(self.boot(&BootOptions::default()))?.is_some(),
            shutdown: Refusal::optional(self.shutdown(&ShutdownOptions::default()))?.is_some(),
            sleep: Refusal::optional(self.sleeps(&SuspendOptions::default()))?.is_some(),
        })
    }

    /// Where the time of the boot went. On a computer with fast startup a boot is a resume with a new session: where the recording
    /// holds no boot from off, that is the answer.
    ///
    /// # Errors
    /// A recording that cannot be read, or holds no boot.
    pub fn boot(&self, options: &BootOptions) -> Result<BootAnswer, Refusal<Box<NotABoot>>> {
        let trace = self.system_tables(onoff_findings::TABLES)?;
        let how = DiagnosisOptions { boot: options.clone(), ..DiagnosisOptions::default() };
        let report = if trace.system.kind == SystemKind::Linux {
            let report = linux::boot::analyze(&trace, options).map_err(Refusal::Nothing)?;
            Boot::Linux(Box::new(diagnosed(report, &diagnose(&trace, &how))))
        } else {
            of_windows(&trace, options, &how)?
        };
        Ok(TransitionAnswer { report, recording: Box::new(summarize(&trace)) })
    }

    /// The boot from off, whether the recording also holds a fast startup or not; for documents that have no place for the latter.
    ///
    /// # Errors
    /// A recording that cannot be read, is of Linux, or holds no boot.
    pub fn boot_from_off(&self, options: &BootOptions) -> Result<BootReport, Refusal<Box<NotABoot>>> {
        let trace = self.system_tables(boot::TABLES.union(suspend::TABLES).union(linux::boot::TABLES))?;
        boot::analyze(&trace, options).map_err(Refusal::Nothing)
    }

    /// The boots that the recording's journals hold, in the order in which they began; none where there is no journal.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn boots(&self) -> Result<Vec<RecordedBoot>, Error> {
        Ok(self.system_tables(Tables::NONE)?.boots.clone())
    }

    /// Where the time of the shutdown went.
    ///
    /// # Errors
    /// A recording that cannot be read, or holds no shutdown.
    pub fn shutdown(&self, options: &ShutdownOptions) -> Result<ShutdownAnswer, Refusal<Box<NotAShutdown>>> {
        let trace = self.system_tables(onoff_findings::TABLES)?;
        let how = DiagnosisOptions { shutdown: *options, ..DiagnosisOptions::default() };
        let report = if trace.system.kind == SystemKind::Linux {
            let report = linux::shutdown::analyze(&trace).map_err(Refusal::Nothing)?;
            Shutdown::Linux(Box::new(diagnosed(report, &diagnose(&trace, &how))))
        } else {
            let report = shutdown::analyze(&trace, options).map_err(Refusal::Nothing)?;
            Shutdown::Windows(Box::new(diagnosed(report, &diagnose(&trace, &how))))
        };
        Ok(TransitionAnswer { report, recording: Box::new(summarize(&trace)) })
    }

    /// Where the time of sleeping and waking went.
    ///
    /// # Errors
    /// A recording that cannot be read, or holds no sleep.
    pub fn sleeps(&self, options: &SuspendOptions) -> Result<SleepAnswer, Refusal<NoSuspend>> {
        let trace = self.system_tables(onoff_findings::TABLES)?;
        let boot = BootOptions { idle: options.idle, shell: options.shell.clone(), ..BootOptions::default() };
        let how = DiagnosisOptions { boot, ..DiagnosisOptions::default() };
        let report = if trace.system.kind == SystemKind::Linux {
            let report = linux::suspend::analyze(&trace, options).map_err(Refusal::Nothing)?;
            Sleeps::Linux(Box::new(all_diagnosed(report, &diagnose(&trace, &how))))
        } else {
            let report = suspend::analyze(&trace, options).map_err(Refusal::Nothing)?;
            Sleeps::Windows(Box::new(all_diagnosed(report, &diagnose(&trace, &how))))
        };
        Ok(TransitionAnswer { report, recording: Box::new(summarize(&trace)) })
    }

    /// What to change in every transition that the recording holds.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn diagnose(&self, options: &DiagnosisOptions) -> Result<Diagnosis, Error> {
        Ok(diagnose(&*self.system_tables(onoff_findings::TABLES)?, options))
    }

    /// What something waited for.
    ///
    /// # Errors
    /// A recording that cannot be read, or in which nobody waits as the question says.
    pub fn why(&self, question: &WhyQuestion) -> Result<WhyReport, Refusal<NoWhy>> {
        why(&*self.system_tables(Self::TABLES_OF_WAITS)?, question).map_err(Refusal::Nothing)
    }

    /// The phase called `name`.
    ///
    /// # Errors
    /// A recording that cannot be read, or without such a phase.
    pub fn phase(&self, name: &str) -> Result<NamedPhase, Refusal<NoSuchPhase>> {
        named_phase(&*self.system_tables(PHASE_TABLES)?, name).map_err(Refusal::Nothing)
    }

    /// Where `point` lies in the recording, ns from its start.
    ///
    /// # Errors
    /// A recording that cannot be read, or whose clock has no such time.
    pub fn time(&self, point: TimePoint) -> Result<i64, Refusal<OutOfRange>> {
        let trace = self.system_tables(Tables::NONE)?;
        point.resolve_on(&trace.clock).ok_or(Refusal::Nothing(OutOfRange::Time))
    }

    /// The tables that [`Session::why`] reads.
    pub const TABLES_OF_WAITS: Tables = WHY_TABLES.union(boot::TABLES).union(shutdown::TABLES).union(suspend::TABLES);

    /// Where the time of the network boots in a capture went.
    ///
    /// # Errors
    /// A recording that is no capture, or a capture without a network boot.
    pub fn netboot(&self, options: &NetbootOptions) -> Result<NetbootReport, Refusal<NoNetboot>> {
        let capture = onoff_sources::read_capture(&self.files, &self.options)?;
        onoff_network::analyze(&capture, options).map_err(Refusal::Nothing)
    }
}

/// The boot of a computer with Windows: from off, or else the half of a fast startup that comes back.
fn of_windows(trace: &Trace, options: &BootOptions, how: &DiagnosisOptions) -> Result<Boot, Refusal<Box<NotABoot>>> {
    let report = boot::analyze(trace, options);
    let from_off = |report: &BootReport| report.variant != Variant::FastStartup;
    if !report.as_ref().is_ok_and(from_off) {
        let options = SuspendOptions { transition: None, idle: options.idle, shell: options.shell.clone() };
        if let Some(report) = suspend::fast_startup(trace, &options) {
            return Ok(Boot::FastStartup(Box::new(all_diagnosed(report, &diagnose(trace, how)))));
        }
    }
    let report = report.map_err(Refusal::Nothing)?;
    Ok(Boot::Windows(Box::new(diagnosed(report, &diagnose(trace, how)))))
}

/// The transition with who made it slow and what to change first.
fn diagnosed<D>(transition: Transition<D>, diagnosis: &Diagnosis) -> Transition<D> {
    let Some(known) = diagnosis.transition(transition.kind, transition.number) else { return transition };
    Transition { culprits: known.culprits.clone(), fix_first: known.fix_first.clone(), ..transition }
}

fn all_diagnosed<D>(
    found: onoff_transitions::Transitions<D>,
    diagnosis: &Diagnosis,
) -> onoff_transitions::Transitions<D> {
    let transitions = found.transitions.into_iter().map(|one| diagnosed(one, diagnosis)).collect();
    onoff_transitions::Transitions { transitions, ..found }
}
