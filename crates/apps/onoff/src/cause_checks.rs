//! Checks the causes that a comparison names, by replays of its recordings.

use onoff_compare::cause_check::{RunToPredict, cause_questions};
use onoff_compare::{Comparison, RunSubject};
use onoff_report::text::causes::with_causes;
use onoff_what_if::prediction::Prediction;

use crate::configurations::{ReadRuns, RunsQuery};
use crate::error::Error;
use crate::session::Session;

/// Predicts the slower runs without the causes that `comparison` names, and adds the checks to it. Reads the recordings
/// of these runs again.
pub fn check_causes(comparison: &mut Comparison, read: &ReadRuns, query: &RunsQuery) {
    let subject = comparison.transition;
    let questions = cause_questions(&read.configurations, comparison).into_iter();
    let checks = questions.map(|question| {
        let slow = predict(&question.slow, subject, read, query);
        let fast = question.fast.as_ref().map(|fast| predict(fast, subject, read, query));
        question.check(slow, fast)
    });
    comparison.cause_checks = checks.collect();
}

/// Predicts a run. Returns why there is no prediction, as a clause.
fn predict(run: &RunToPredict, subject: RunSubject, read: &ReadRuns, query: &RunsQuery) -> Result<Prediction, String> {
    let all_files = read.files.get(run.configuration).map_or(&[][..], Vec::as_slice);
    let files = all_files.get(run.run).filter(|files| !files.is_empty());
    let files = files.ok_or_else(|| "a saved baseline has no recording to replay".to_owned())?;
    let kind = subject.transition().ok_or_else(|| "only boots, shutdowns and sleeps are replayed".to_owned())?;
    // The transitions of one recording are consecutive runs.
    let first = all_files.iter().position(|other| other == files).unwrap_or(run.run);
    let number =
        query.transition.number.or_else(|| u32::try_from(run.run.saturating_sub(first).saturating_add(1)).ok());
    let unreadable = |error: Error| with_causes(&error);
    let session = Session::open(files, &query.options).map_err(unreadable)?;
    let trace = session.system_tables(onoff_what_if::TABLES).map_err(unreadable)?;
    run.predict(&trace, kind, number)
}
