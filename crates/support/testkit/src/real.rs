//! Real recordings, which stay outside the repository.

use std::path::{Path, PathBuf};

/// The folder of real samples: `ONOFF_SAMPLES`, or `shared/samples` beside the workspace. `None`, and said on standard
/// output, when `part` of it (`etl`, …) is not there: the test that asked then has nothing to look at.
#[must_use]
#[allow(clippy::print_stdout, reason = "a test says what it skips")]
pub fn samples(part: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/samples");
    let folder = std::env::var_os("ONOFF_SAMPLES").map_or(beside, PathBuf::from).join(part);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no recordings in {} (set ONOFF_SAMPLES)", folder.display());
    None
}
