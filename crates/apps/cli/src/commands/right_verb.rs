//! Refusals that name the file, and the verb that answers about it.

use std::path::PathBuf;

use onoff::other_kind;
use onoff_files::is_standard_input;
use onoff_sources::KnownKind;

use crate::failure::Failure;

/// The same refusal, with what the first of `paths` is where another verb reads it.
pub fn point(failure: Failure, paths: &[PathBuf]) -> Failure {
    let Failure::NothingToAnswer(message) = failure else { return failure };
    let Some(first) = paths.first() else { return Failure::NothingToAnswer(message) };
    let name = match (is_standard_input(first), paths.len()) {
        (true, _) => "standard input".to_owned(),
        (false, 1) => first.display().to_string(),
        (false, files) => format!("{} (1 of {files} files)", first.display()),
    };
    let names_it = paths.iter().any(|path| message.contains(&*path.to_string_lossy())) || message.contains(&name);
    let message = if names_it { message } else { format!("{name}: {message}") };
    match other_kind(paths) {
        Some(KnownKind { is, read_by, .. }) if !message.contains(is) => {
            Failure::nothing(format!("{message}. It is {is}: {read_by} reads it"))
        }
        _ => Failure::NothingToAnswer(message),
    }
}
