//! Real recordings, which are not in the repository.

use std::path::{Path, PathBuf};

/// Returns the folder of real recordings: `ONOFF_SAMPLES`, or `shared/samples` next to the workspace. If `part` of it
/// (`etl`, …) does not exist, prints a message and returns `None`, so that the test skips its work.
#[must_use]
#[allow(clippy::print_stdout, reason = "tests print what they skip")]
pub fn samples_folder(part: &str) -> Option<PathBuf> {
    let default_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/samples");
    let folder = std::env::var_os("ONOFF_SAMPLES").map_or(default_folder, PathBuf::from).join(part);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no recordings in {} (set ONOFF_SAMPLES)", folder.display());
    None
}
