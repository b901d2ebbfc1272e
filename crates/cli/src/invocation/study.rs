//! A study: more than two configurations, in a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use onoff_analysis::compare::Factor;
use onoff_analysis::compare::table::TableSpecification;
use serde::Deserialize;

use super::compare::ConfigurationSource;
use crate::failure::Failure;

/// A file of a study is no larger: 1 MiB.
const MOST_BYTES: u64 = 1 << 20;

/// A study as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Which transition; what the first recording holds when missing.
    pub transition: Option<String>,
    /// The configurations; the first is the baseline.
    #[serde(rename = "configuration")]
    configurations: Vec<StudyConfiguration>,
    /// Tables to show.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableSpecification>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyConfiguration {
    name: String,
    /// Recordings and folders, from the study's own folder.
    files: Vec<PathBuf>,
    #[serde(default)]
    factors: BTreeMap<String, String>,
}

impl Study {
    /// Reads a study.
    pub fn read(path: &Path) -> Result<(Self, Vec<ConfigurationSource>), Failure> {
        let failed = |reason: String| Failure::Unreadable(format!("{}: {reason}", path.display()));
        let bytes = std::fs::metadata(path)
            .map_err(|error| failed(error.to_string()))?
            .len();
        if bytes > MOST_BYTES {
            return Err(failed("larger than any study (1 MiB)".to_owned()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let mut study: Self = toml::from_str(&text)
            .map_err(|error| failed(format!("no study: {}", one_line(&error))))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let sources: Vec<ConfigurationSource> = std::mem::take(&mut study.configurations)
            .into_iter()
            .map(|configuration| ConfigurationSource {
                name: configuration.name,
                factors: configuration
                    .factors
                    .into_iter()
                    .map(|(name, level)| Factor { name, level })
                    .collect(),
                paths: configuration
                    .files
                    .into_iter()
                    .map(|file| folder.join(file))
                    .collect(),
            })
            .collect();
        for (at, source) in sources.iter().enumerate() {
            if source.paths.is_empty() {
                return Err(failed(format!(
                    "configuration '{}' has no files",
                    source.name
                )));
            }
            if sources
                .iter()
                .take(at)
                .any(|other| other.name == source.name)
            {
                return Err(failed(format!(
                    "two configurations are called '{}'",
                    source.name
                )));
            }
        }
        Ok((study, sources))
    }
}

/// The message and its line; the quoted text of the file would take more lines.
fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().collect::<Vec<_>>().join(" ")
}
