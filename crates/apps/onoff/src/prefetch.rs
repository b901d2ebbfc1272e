//! Analyzes the prefetch files of Windows.

use std::path::{Path, PathBuf};

use onoff_files::{open_image, open_prefetch};
use onoff_image::prefetch::{
    PrefetchFile, PrefetchOptions, PrefetchReport, UnreadablePrefetchFile, VolumeFile, analyze, is_prefetch_file,
};
use onoff_image::{HiveKind, Image, ImageHive};

use crate::error::Error;

/// Analyzes the prefetch files in `paths`: files, folders, or the root of a Windows volume. `programs` are the image
/// names whose file lists are combined; empty means all.
///
/// # Errors
/// A path is unreadable.
pub fn prefetch(paths: &[PathBuf], programs: Vec<String>) -> Result<PrefetchReport, Error> {
    let opened =
        open_prefetch(paths, |name| name.ends_with(".fx") || name.ends_with(".xin") || is_prefetch_file(name, &[]))?;
    let files: Vec<PrefetchFile> = opened
        .files
        .into_iter()
        .map(|file| PrefetchFile { name: file.name, bytes: file.bytes, modified_unix_ns: file.modified_unix_ns })
        .collect();
    let find_file = |path: &str| {
        let file = opened.volume.as_ref()?.file(path)?;
        Some(VolumeFile { bytes: file.bytes, modified_unix_ns: file.modified_unix_ns })
    };
    let options = PrefetchOptions { programs, volume: opened.volume.as_ref().map(|_| &find_file as _) };
    let mut report = analyze(&files, &options);
    let unreadable = opened.unreadable.into_iter().map(|(name, reason)| UnreadablePrefetchFile { name, reason });
    report.unreadable.extend(unreadable);
    if let Some(hive_path) = opened.volume.as_ref().and_then(|volume| volume.find(r"Windows\System32\config\SYSTEM")) {
        add_registry(&hive_path, &mut report);
    }
    Ok(report)
}

/// Adds the prefetch settings from the SYSTEM hive; an unreadable hive is listed in the report.
fn add_registry(hive_path: &Path, report: &mut PrefetchReport) {
    const PREFETCH: &str = r"CS\Control\Session Manager\Memory Management\PrefetchParameters";
    let name = hive_path.display().to_string();
    let hive = open_image(&[hive_path.to_owned()]).map_err(|error| error.to_string()).and_then(|opened| {
        let file = opened.hives.into_iter().next().ok_or_else(|| "not a registry hive".to_owned())?;
        let logs: Vec<&[u8]> = file.logs.iter().map(Vec::as_slice).collect();
        onoff_hive::Hive::read(file.bytes, &logs).map_err(|error| error.to_string())
    });
    match hive {
        Ok(hive) => {
            let hives = vec![ImageHive { name, kind: HiveKind::System, hive }];
            let image = Image { hives, ..Image::default() };
            report.add_registry(image.number(PREFETCH, "BootId"), image.number(PREFETCH, "EnablePrefetcher"));
        }
        Err(reason) => report.unreadable.push(UnreadablePrefetchFile { name, reason }),
    }
}
