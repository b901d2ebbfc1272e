//! Refusals that name the file, and the verb that answers about it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_files::is_standard_input;
use onoff_sources::{KnownKind, LOOKED_AT, Limits, RecordingKind, known_kind};

use crate::failure::Failure;

/// The same refusal, with what the first of `paths` is where another verb reads it.
pub fn point(failure: Failure, paths: &[PathBuf]) -> Failure {
    let Failure::NothingToAnswer(message) = failure else {
        return failure;
    };
    let Some(first) = paths.first() else {
        return Failure::NothingToAnswer(message);
    };
    let name = match (is_standard_input(first), paths.len()) {
        (true, _) => "standard input".to_owned(),
        (false, 1) => first.display().to_string(),
        (false, files) => format!("{} (1 of {files} files)", first.display()),
    };
    let names_it = paths.iter().any(|path| message.contains(&*path.to_string_lossy())) || message.contains(&name);
    let message = if names_it { message } else { format!("{name}: {message}") };
    match other_kind(first).or_else(|| kind_inside(paths)) {
        Some(KnownKind { is, read_by, .. }) if !message.contains(is) => {
            Failure::NothingToAnswer(format!("{message}. It is {is}: {read_by} reads it"))
        }
        _ => Failure::NothingToAnswer(message),
    }
}

/// What packed files hold, if it is no recording of a system.
fn kind_inside(paths: &[PathBuf]) -> Option<KnownKind> {
    if paths.iter().any(|path| is_standard_input(path)) {
        return None;
    }
    let files = onoff_files::open_all(paths, &Limits::default()).ok()?;
    let is_of_a_system = matches!(files.kind(), RecordingKind::EventTraceLog | RecordingKind::Linux);
    (!is_of_a_system).then(|| KnownKind { is: files.kind().as_str(), read_by: files.kind().read_by(), instead: "" })
}

/// What a file is, if it is of those kinds that are easily taken for a recording of a system.
fn other_kind(path: &Path) -> Option<KnownKind> {
    if is_standard_input(path) || !path.is_file() {
        return None;
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(LOOKED_AT as u64).read_to_end(&mut head).ok()?;
    let kind = known_kind(&path.display().to_string(), &head)?;
    let is_of_a_system = kind.read_by.contains("'onoff boot',");
    (!is_of_a_system && !kind.read_by.is_empty()).then_some(kind)
}
