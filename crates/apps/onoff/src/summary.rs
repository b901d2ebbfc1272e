//! Summarizes many recordings, one row per transition.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use onoff_compare::sleep_statistics::{SleepSample, sleeps, statistics};
use onoff_compare::summary::{self, Summary, SummaryRow, UnreadableLog};
use onoff_findings::diagnose;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_network::NetbootOptions;
use onoff_sources::RecordingKind;
use onoff_trace::RecordedBoot;
use onoff_transitions::TransitionKind;
use rayon::prelude::*;

use crate::tables::run_tables;
use crate::{Error, QueryError, Session};

/// What a summary needs of one recording.
#[derive(Default)]
struct RecordingResult {
    rows: Vec<SummaryRow>,
    sleeps: Vec<SleepSample>,
    boots_without_duration: u64,
}

/// Summarizes `recordings`, each given by the paths of its files ([`onoff_files::RecordingGroups::into_all_paths`]), in parallel.
/// An unreadable recording becomes a row with the error. Calls `on_recording_done` after each recording, from any
/// thread.
#[must_use]
pub fn summarize_all(
    recordings: &[Vec<PathBuf>],
    options: &onoff_files::Options,
    on_recording_done: &(dyn Fn() + Sync),
) -> Summary {
    let results: Vec<Result<RecordingResult, String>> = recordings
        .par_iter()
        .map(|paths| {
            let result = catch_unwind(AssertUnwindSafe(|| {
                let session = Session::open(paths, options)?;
                if session.kind() == RecordingKind::WindowsEventLogs {
                    return session.logged_boots(&name_of_logs(paths));
                }
                let name = joined_paths(paths);
                let (rows, sleeps) = (session.summary_rows(&name)?, session.sleep_samples(&name)?);
                Ok::<_, Error>(RecordingResult { rows, sleeps, ..RecordingResult::default() })
            }));
            on_recording_done();
            match result {
                Ok(result) => result.map_err(|error| onoff_report::text::causes::with_causes(&error)),
                // A panic on one recording must not stop the others.
                Err(_) => Err("onoff crashed on this recording; please report it".to_owned()),
            }
        })
        .collect();
    let mut summary = Summary { recordings: recordings.len() as u64, ..Summary::default() };
    let mut sleeps = Vec::new();
    for (result, paths) in results.into_iter().zip(recordings) {
        match result {
            Ok(RecordingResult { rows, boots_without_duration, .. }) if rows.is_empty() => {
                summary.without_transition += 1;
                summary.boots_without_duration += boots_without_duration;
                let (name, reason) = match boots_without_duration {
                    0 => (joined_paths(paths), "no boot, shutdown, sleep or network boot in this recording"),
                    _ => (name_of_logs(paths), "no boot of which Windows wrote an account"),
                };
                summary.rows.push(SummaryRow::from_error(name, reason.to_owned()));
            }
            Ok(result) => {
                sleeps.extend(result.sleeps);
                summary.boots_without_duration += result.boots_without_duration;
                summary.transitions += result.rows.len() as u64;
                summary.rows.extend(result.rows);
            }
            Err(error) if paths.iter().all(|path| is_log_name(path)) => {
                summary.unreadable += 1;
                summary.recordings -= 1;
                summary.unreadable_logs.push(UnreadableLog { file: joined_paths(paths), error });
            }
            Err(error) => {
                summary.unreadable += 1;
                summary.rows.push(SummaryRow::from_error(joined_paths(paths), error));
            }
        }
    }
    summary.sleeps = statistics(&sleeps);
    summary
}

fn joined_paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join("+")
}

/// True if the file name is that of an event log.
fn is_log_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("evtx"))
}

/// Names a set of event logs: a single log by its path, several by their folder. A computer has hundreds of them.
fn name_of_logs(paths: &[PathBuf]) -> String {
    match paths {
        [first, _, ..] => {
            let folder = first.parent().filter(|folder| paths.iter().all(|path| path.parent() == Some(folder)));
            folder.map_or_else(|| joined_paths(paths), |folder| folder.display().to_string())
        }
        _ => joined_paths(paths),
    }
}

impl Session {
    /// Summarizes all boots of event logs, which are read once.
    fn logged_boots(&self, name: &str) -> Result<RecordingResult, Error> {
        let mut result = RecordingResult::default();
        let wanted = run_tables(None).union(onoff_findings::TABLES);
        let all = |boots: &[RecordedBoot]| (0..boots.len()).collect();
        onoff_sources::read_each_boot(self.files(), wanted, &all, &mut |boot, trace| {
            let diagnosis = diagnose(trace, &DiagnosisOptions::default());
            let fix_first = |kind, number| diagnosis.transition(kind, number)?.fix_first.clone();
            let rows = summary::logged_boot_rows(name, boot, trace, fix_first);
            if !rows.iter().any(|row| row.transition == TransitionKind::Boot.as_str()) {
                result.boots_without_duration += 1;
            }
            result.rows.extend(rows);
        })?;
        Ok(result)
    }

    /// Returns one row per transition, possibly none. `name` identifies the recording in the rows.
    ///
    /// # Errors
    /// The recording is unreadable.
    pub fn summary_rows(&self, name: &str) -> Result<Vec<SummaryRow>, Error> {
        if self.kind() == RecordingKind::NetworkCapture {
            let report = QueryError::optional(self.netboot(&NetbootOptions::default()))?;
            return Ok(report.map_or_else(Vec::new, |report| summary::capture_rows(name, &report)));
        }
        let trace = self.system_tables(run_tables(None).union(onoff_findings::TABLES))?;
        let diagnosis = diagnose(&trace, &DiagnosisOptions::default());
        Ok(summary::summary_rows(name, &trace, |kind, number| diagnosis.transition(kind, number)?.fix_first.clone()))
    }

    /// Measures the sleeps for statistics over many recordings, with the tables that were read for the rows.
    fn sleep_samples(&self, name: &str) -> Result<Vec<SleepSample>, Error> {
        match self.kind() {
            RecordingKind::Linux => {
                Ok(sleeps(name, &*self.system_tables(run_tables(None).union(onoff_findings::TABLES))?))
            }
            _ => Ok(Vec::new()),
        }
    }
}
