//! Identifies files that are not recordings of a system, and the verb that reads them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_files::{is_standard_input, open_all};
use onoff_sources::{KnownKind, Limits, RecordingKind, SNIFF_LEN, known_kind};

/// Identifies the first of `paths`, or the contents of compressed files, if it is a kind that is easily mistaken for a
/// recording of a system.
#[must_use]
pub fn identify_other_kind(paths: &[PathBuf]) -> Option<KnownKind> {
    kind_of_file(paths.first()?).or_else(|| kind_of_contents(paths))
}

fn kind_of_contents(paths: &[PathBuf]) -> Option<KnownKind> {
    if paths.iter().any(|path| is_standard_input(path)) {
        return None;
    }
    let files = open_all(paths, &Limits::default()).ok()?;
    let is_system_recording = matches!(files.kind(), RecordingKind::EventTraceLog | RecordingKind::Linux);
    (!is_system_recording).then(|| KnownKind {
        description: files.kind().as_str(),
        read_by: files.kind().read_by(),
        advice: "",
    })
}

fn kind_of_file(path: &Path) -> Option<KnownKind> {
    if is_standard_input(path) || !path.is_file() {
        return None;
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(SNIFF_LEN as u64).read_to_end(&mut head).ok()?;
    let kind = known_kind(&path.display().to_string(), &head)?;
    let is_system_recording = kind.read_by.contains("'onoff boot',");
    (!is_system_recording && !kind.read_by.is_empty()).then_some(kind)
}
