//! Saved baselines: the measures of runs, which can be compared without keeping the recordings.

use std::io::{self, Write};

use onoff_compare::baseline::{Baseline, BaselineHeader, MAX_BASELINE_BYTES};
use onoff_compare::{Run, RunSubject};
use onoff_sections::json::escape::write_compact;

use crate::error::Error;

/// Writes `runs` as a baseline (JSON).
///
/// # Errors
/// Write errors of `out`.
pub fn write_baseline(runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    let transition = runs.first().map_or(RunSubject::Boot, |run| run.transition);
    write_compact(&Baseline::new(transition, runs.to_vec()), out)?;
    writeln!(out)
}

/// Reads a baseline; `name` appears in error messages. Returns the transition and its runs.
///
/// # Errors
/// The bytes are not a baseline, or have impossible values.
pub fn read_baseline(name: &str, bytes: &[u8]) -> Result<(RunSubject, Vec<Run>), Error> {
    let document_error = |reason: String| Error::Document { name: name.to_owned(), reason };
    if bytes.len() as u64 > MAX_BASELINE_BYTES {
        return Err(document_error(format!("larger than the limit for a baseline, {} MiB", MAX_BASELINE_BYTES >> 20)));
    }
    let invalid = |error: serde_json::Error| document_error(format!("not an onoff baseline: {error}"));
    let header: BaselineHeader = serde_json::from_slice(bytes).map_err(invalid)?;
    header.check().map_err(|error| document_error(error.to_string()))?;
    let baseline: Baseline = serde_json::from_slice(bytes).map_err(invalid)?;
    let transition = baseline.transition;
    let runs = baseline.into_valid_runs().map_err(|error| document_error(format!("not an onoff baseline: {error}")))?;
    Ok((transition, runs))
}
