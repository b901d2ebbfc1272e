//! Many recordings at once, a row each transition.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use onoff_compare::sleep_statistics::{OneSleep, sleeps, statistics};
use onoff_compare::summary::{self, Summary, SummaryRow};
use onoff_findings::diagnose;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_network::NetbootOptions;
use onoff_sources::RecordingKind;
use rayon::prelude::*;

use crate::tables::tables_of_runs;
use crate::{Error, Refusal, Session};

/// What one recording says: its rows, and what is kept of its sleeps.
type Answer = (Vec<SummaryRow>, Vec<OneSleep>);

/// The transitions of `recordings`, each the paths of its files ([`onoff_files::FoundRecordings::all`]), read on all processors. One that cannot
/// be read is a row that says why, whatever is wrong with it. `done` hears of each, from any thread.
#[must_use]
pub fn summarize_all(recordings: &[Vec<PathBuf>], options: &onoff_files::Options, done: &(dyn Fn() + Sync)) -> Summary {
    let answers: Vec<Result<Answer, String>> = recordings
        .par_iter()
        .map(|paths| {
            let answer = catch_unwind(AssertUnwindSafe(|| {
                let (session, name) = (Session::open(paths, options)?, name(paths));
                Ok::<_, Error>((session.summary_rows(&name)?, session.sleeps_of_many(&name)?))
            }));
            done();
            match answer {
                Ok(answer) => answer.map_err(|error| onoff_report::text::causes::with_causes(&error)),
                // A fault of ours about one file is no reason to say nothing about the others.
                Err(_) => Err("onoff failed on it; please report it".to_owned()),
            }
        })
        .collect();
    let mut summary = Summary { recordings: recordings.len() as u64, ..Summary::default() };
    let mut sleeps = Vec::new();
    for (answer, paths) in answers.into_iter().zip(recordings) {
        match answer {
            Ok((rows, _)) if rows.is_empty() => {
                summary.without_transition += 1;
                let nothing = "it holds no boot, shutdown, sleep or network boot";
                summary.rows.push(SummaryRow::failed(name(paths), nothing.to_owned()));
            }
            Ok((rows, its)) => {
                sleeps.extend(its);
                summary.transitions += rows.len() as u64;
                summary.rows.extend(rows);
            }
            Err(error) => {
                summary.unreadable += 1;
                summary.rows.push(SummaryRow::failed(name(paths), error));
            }
        }
    }
    summary.sleeps = statistics(&sleeps);
    summary
}

fn name(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join("+")
}

impl Session {
    /// The recording's transitions, a row each; none where it holds none. The recording is called `name`.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn summary_rows(&self, name: &str) -> Result<Vec<SummaryRow>, Error> {
        if self.kind() == RecordingKind::NetworkCapture {
            let report = Refusal::optional(self.netboot(&NetbootOptions::default()))?;
            return Ok(report.map_or_else(Vec::new, |report| summary::rows_of_capture(name, &report)));
        }
        let trace = self.system_tables(tables_of_runs(None).union(onoff_findings::TABLES))?;
        let diagnosis = diagnose(&trace, &DiagnosisOptions::default());
        Ok(summary::rows(name, &trace, |kind, number| diagnosis.transition(kind, number)?.fix_first.clone()))
    }

    /// What statistics of many recordings keep of this one's sleeps: it was read for its rows already.
    fn sleeps_of_many(&self, name: &str) -> Result<Vec<OneSleep>, Error> {
        match self.kind() {
            RecordingKind::Linux => {
                Ok(sleeps(name, &*self.system_tables(tables_of_runs(None).union(onoff_findings::TABLES))?))
            }
            _ => Ok(Vec::new()),
        }
    }
}
