//! Adds the file name, and the verb that reads the file, to an error.

use std::path::PathBuf;

use onoff::identify_other_kind;
use onoff_files::is_standard_input;
use onoff_sources::KnownKind;

use crate::failure::Failure;

/// Adds the first of `paths` to the message of a [`Failure::NoData`], and the verb that reads this file, if any.
pub fn add(failure: Failure, paths: &[PathBuf]) -> Failure {
    let Failure::NoData(message) = failure else { return failure };
    // Another verb would not help.
    let is_about_option = message.starts_with("--");
    let Some(first) = paths.first() else { return Failure::NoData(message) };
    let name = match (is_standard_input(first), paths.len()) {
        (true, _) => "standard input".to_owned(),
        (false, 1) => first.display().to_string(),
        (false, files) => format!("{} (1 of {files} files)", first.display()),
    };
    let names_file = paths.iter().any(|path| message.contains(&*path.to_string_lossy())) || message.contains(&name);
    let message = if names_file { message } else { format!("{name}: {message}") };
    match identify_other_kind(paths) {
        // The message may name the recording already.
        Some(KnownKind { description, read_by, .. })
            if !is_about_option && !message.contains(description.trim_start_matches("a ")) =>
        {
            Failure::no_data(format!("{message}. It is {description}: {read_by} reads it"))
        }
        _ => Failure::NoData(message),
    }
}
