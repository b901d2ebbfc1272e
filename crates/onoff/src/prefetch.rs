//! What Windows reads ahead, from the files it keeps for that.

use std::path::PathBuf;

use onoff_analysis::prefetch::{
    PrefetchFile, PrefetchOptions, PrefetchReport, UnreadablePrefetchFile, VolumeFile, analyse, is_prefetch_file,
};
use onoff_files::open_prefetch;

use crate::error::Error;

/// Looks at the files of prefetch in `paths`: files, folders of them, or the root of a volume of Windows; `programs` are the image names
/// whose files are looked at together, all when empty.
///
/// # Errors
/// A path that cannot be read.
pub fn prefetch(paths: &[PathBuf], programs: Vec<String>) -> Result<PrefetchReport, Error> {
    let found =
        open_prefetch(paths, |name| name.ends_with(".fx") || name.ends_with(".xin") || is_prefetch_file(name, &[]))?;
    let files: Vec<PrefetchFile> = found
        .files
        .into_iter()
        .map(|file| PrefetchFile { name: file.name, bytes: file.bytes, modified_unix_ns: file.modified_unix_ns })
        .collect();
    let lookup = |path: &str| {
        let file = found.volume.as_ref()?.file(path)?;
        Some(VolumeFile { bytes: file.bytes, modified_unix_ns: file.modified_unix_ns })
    };
    let options = PrefetchOptions { programs, volume: found.volume.as_ref().map(|_| &lookup as _) };
    let mut report = analyse(&files, &options);
    let unreadable = found.unreadable.into_iter().map(|(name, reason)| UnreadablePrefetchFile { name, reason });
    report.unreadable.extend(unreadable);
    Ok(report)
}
