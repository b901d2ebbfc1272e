//! Defines the study file: several configurations and the tables to show for them.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use serde::Deserialize;

use super::table::TableSpecification;

/// Maximum size of a study file: 1 MiB.
pub const MAX_STUDY_BYTES: u64 = 1 << 20;

/// The content of a study file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The transition; by default, the transition in the first recording.
    pub transition: Option<String>,
    /// The configurations; the first is the baseline.
    #[serde(rename = "configuration")]
    pub configurations: Vec<StudyConfiguration>,
    /// Tables to show.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableSpecification>,
}

/// A configuration in a study file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyConfiguration {
    pub name: String,
    /// Recordings and folders, relative to the study file.
    pub files: Vec<String>,
    /// Factors, e.g. the release, or whether a filter is on.
    #[serde(default)]
    pub factors: BTreeMap<String, String>,
}

impl Study {
    /// Checks the configurations.
    ///
    /// # Errors
    /// A configuration has no files, or two configurations have the same name.
    pub fn check(&self) -> Result<(), String> {
        let mut names: HashSet<&str> = HashSet::new();
        for configuration in &self.configurations {
            let name = &configuration.name;
            if configuration.files.is_empty() {
                return Err(format!("configuration '{name}' has no files"));
            }
            if !names.insert(name) {
                return Err(format!("two configurations are named '{name}'"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_names_and_files() {
        let configuration = |name: &str, files: &[&str]| StudyConfiguration {
            name: name.to_owned(),
            files: files.iter().map(|&file| file.to_owned()).collect(),
            factors: BTreeMap::new(),
        };
        let study_of =
            |configurations: Vec<StudyConfiguration>| Study { transition: None, configurations, tables: Vec::new() };
        let study =
            |names: [&str; 2], files: &[&str]| study_of(names.map(|name| configuration(name, files)).into()).check();
        assert_eq!(study(["on", "off"], &["a.etl"]), Ok(()));
        let twice = "two configurations are named 'on'";
        assert_eq!(study(["on", "on"], &["a.etl"]), Err(twice.to_owned()));
        let empty = "configuration 'on' has no files";
        assert_eq!(study(["on", "off"], &[]), Err(empty.to_owned()));
        assert_eq!(study_of(Vec::new()).check(), Ok(()));
    }
}
