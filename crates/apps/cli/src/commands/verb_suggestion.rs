//! Adds the file name, and the verb that reads the file, to an error.

use std::path::PathBuf;

use onoff::identify_other_kind;
use onoff_files::is_standard_input;
use onoff_sources::KnownKind;

use crate::failure::Failure;

/// Names the first of `paths` in a [`Failure::NoData`]; if another verb reads it, names that verb.
pub fn add(failure: Failure, paths: &[PathBuf]) -> Failure {
    let Failure::NoData(message) = failure else { return failure };
    let Some(first) = paths.first() else { return Failure::NoData(message) };
    let name = match (is_standard_input(first), paths.len()) {
        (true, _) => "standard input".to_owned(),
        (false, 1) => first.display().to_string(),
        (false, files) => format!("{} (1 of {files} files)", first.display()),
    };
    let is_named = paths.iter().any(|path| message.contains(&*path.to_string_lossy())) || message.contains(&name);
    let message = if is_named { message } else { format!("{name}: {message}") };
    match identify_other_kind(paths) {
        Some(KnownKind { description: is, read_by, .. }) if !message.contains(is) => {
            Failure::no_data(format!("{message}. It is {is}: {read_by} reads it"))
        }
        _ => Failure::NoData(message),
    }
}
