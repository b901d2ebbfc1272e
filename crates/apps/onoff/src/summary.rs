//! Summarizes many recordings, one row per transition.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use onoff_compare::sleep_statistics::{SleepSample, sleeps, statistics};
use onoff_compare::summary::{self, Summary, SummaryRow};
use onoff_findings::diagnose;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_network::NetbootOptions;
use onoff_sources::RecordingKind;
use rayon::prelude::*;

use crate::tables::run_tables;
use crate::{Error, QueryError, Session};

/// The rows of one recording, and the measures of its sleeps.
type RecordingResult = (Vec<SummaryRow>, Vec<SleepSample>);

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
                let (session, name) = (Session::open(paths, options)?, joined_paths(paths));
                Ok::<_, Error>((session.summary_rows(&name)?, session.sleep_samples(&name)?))
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
            Ok((rows, _)) if rows.is_empty() => {
                summary.without_transition += 1;
                let reason = "no boot, shutdown, sleep or network boot in this recording";
                summary.rows.push(SummaryRow::from_error(joined_paths(paths), reason.to_owned()));
            }
            Ok((rows, sleep_samples)) => {
                sleeps.extend(sleep_samples);
                summary.transitions += rows.len() as u64;
                summary.rows.extend(rows);
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

impl Session {
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
