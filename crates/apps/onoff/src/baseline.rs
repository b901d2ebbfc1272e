//! Baselines: the runs of a comparison that are kept, so that their recordings need not be.

use std::io::{self, Write};

use onoff_compare::baseline::{Baseline, BaselineHead, MAX_BASELINE_BYTES};
use onoff_compare::{Run, RunSubject};
use onoff_sections::json::escape::write_compact;

use crate::error::Error;

/// Writes `runs` as a baseline.
///
/// # Errors
/// Those of `out`.
pub fn write_baseline(runs: &[Run], out: &mut dyn Write) -> io::Result<()> {
    let transition = runs.first().map_or(RunSubject::Boot, |run| run.transition);
    write_compact(&Baseline::of(transition, runs.to_vec()), out)?;
    writeln!(out)
}

/// Reads the runs of the baseline called `name`, and of which transition they are.
///
/// # Errors
/// Bytes that are no baseline of ours, or one that cannot be.
pub fn read_baseline(name: &str, bytes: &[u8]) -> Result<(RunSubject, Vec<Run>), Error> {
    let failed = |reason: String| Error::Document { name: name.to_owned(), reason };
    if bytes.len() as u64 > MAX_BASELINE_BYTES {
        return Err(failed(format!("larger than any baseline ({} MiB)", MAX_BASELINE_BYTES >> 20)));
    }
    let wrong = |error: serde_json::Error| failed(format!("no baseline of onoff: {error}"));
    let head: BaselineHead = serde_json::from_slice(bytes).map_err(wrong)?;
    head.check().map_err(|error| failed(error.to_string()))?;
    let baseline: Baseline = serde_json::from_slice(bytes).map_err(wrong)?;
    let transition = baseline.transition;
    let runs = baseline.validated().map_err(|error| failed(format!("no baseline of onoff: {error}")))?;
    Ok((transition, runs))
}
