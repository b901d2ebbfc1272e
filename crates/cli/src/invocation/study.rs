//! A study: more than two configurations, in a file.

use std::io::Read;
use std::path::Path;

use onoff_analysis::compare::Factor;
use onoff_analysis::compare::study::{MOST_STUDY_BYTES, Study};

use super::compare::ConfigurationSource;
use crate::failure::Failure;

/// Reads a study, and what its configurations are made of.
pub fn read(path: &Path) -> Result<(Study, Vec<ConfigurationSource>), Failure> {
    let failed = |reason: String| Failure::Unreadable(format!("{}: {reason}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut text = String::new();
    file.take(MOST_STUDY_BYTES + 1).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > MOST_STUDY_BYTES {
        return Err(failed("larger than any study (1 MiB)".to_owned()));
    }
    let mut study: Study = toml::from_str(&text).map_err(|error| failed(format!("no study: {}", one_line(&error))))?;
    study.check().map_err(failed)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let sources = std::mem::take(&mut study.configurations)
        .into_iter()
        .map(|configuration| ConfigurationSource {
            name: configuration.name,
            factors: configuration.factors.into_iter().map(|(name, level)| Factor { name, level }).collect(),
            paths: configuration.files.into_iter().map(|file| folder.join(file)).collect(),
        })
        .collect();
    Ok((study, sources))
}

/// The message and its line; the quoted text of the file would take more lines.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}
