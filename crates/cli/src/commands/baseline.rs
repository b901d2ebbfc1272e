//! Baselines in files.

use onoff_analysis::compare::RunSubject;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use onoff_analysis::compare::Run;
use onoff_analysis::compare::baseline::{Baseline, BaselineHead, MOST_BASELINE_BYTES};
use onoff_output::OutputFile;
use onoff_report::json::escape::write_compact;

use crate::failure::Failure;

/// Whether a path names a kept baseline, not a recording.
pub fn is_baseline(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Writes runs.
pub fn save(path: &Path, runs: &[Run]) -> Result<(), Failure> {
    let transition = runs.first().map_or(RunSubject::Boot, |run| run.transition);
    let failed =
        |error: std::io::Error| Failure::Unreadable(format!("{}: cannot write the baseline: {error}", path.display()));
    let mut out = BufWriter::new(OutputFile::create(path).map_err(failed)?);
    let baseline = Baseline::of(transition, runs.to_vec());
    write_compact(&baseline, &mut out).map_err(failed)?;
    writeln!(out).map_err(failed)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?.commit().map_err(failed)
}

/// Reads runs, and of which transition they are.
pub fn read(path: &Path) -> Result<(RunSubject, Vec<Run>), Failure> {
    let failed = |reason: String| Failure::Unreadable(format!("{}: {reason}", path.display()));
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut text = Vec::new();
    file.take(MOST_BASELINE_BYTES + 1).read_to_end(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > MOST_BASELINE_BYTES {
        return Err(failed(format!("larger than any baseline ({} MiB)", MOST_BASELINE_BYTES >> 20)));
    }
    let wrong = |error: serde_json::Error| failed(format!("no baseline of onoff: {error}"));
    let head: BaselineHead = serde_json::from_slice(&text).map_err(wrong)?;
    head.check().map_err(|error| failed(error.to_string()))?;
    let baseline: Baseline = serde_json::from_slice(&text).map_err(wrong)?;
    let transition = baseline.transition;
    let runs = baseline.validated().map_err(|error| failed(format!("no baseline of onoff: {error}")))?;
    Ok((transition, runs))
}
