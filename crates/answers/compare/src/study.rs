//! A study: more than two configurations and the tables to show of them, as a file holds it.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use serde::Deserialize;

use super::table::TableSpecification;

/// A file of a study holds no more bytes than this: 1 MiB.
pub const MAX_STUDY_BYTES: u64 = 1 << 20;

/// A study as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Which transition; what the first recording holds when missing.
    pub transition: Option<String>,
    /// The configurations; the first is the baseline.
    #[serde(rename = "configuration")]
    pub configurations: Vec<StudyConfiguration>,
    /// Tables to show.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableSpecification>,
}

/// A configuration of a study as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyConfiguration {
    /// Its name.
    pub name: String,
    /// Recordings and folders, from the study's own folder.
    pub files: Vec<String>,
    /// What it is made of, e.g. the release and whether a filter is on.
    #[serde(default)]
    pub factors: BTreeMap<String, String>,
}

impl Study {
    /// Whether it can be answered.
    ///
    /// # Errors
    /// A configuration has no files, or two have one name; the error says which.
    pub fn check(&self) -> Result<(), String> {
        let mut names: HashSet<&str> = HashSet::new();
        for configuration in &self.configurations {
            let name = &configuration.name;
            if configuration.files.is_empty() {
                return Err(format!("configuration '{name}' has no files"));
            }
            if !names.insert(name) {
                return Err(format!("two configurations are called '{name}'"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_files_are_there() {
        let configuration = |name: &str, files: &[&str]| StudyConfiguration {
            name: name.to_owned(),
            files: files.iter().map(|&file| file.to_owned()).collect(),
            factors: BTreeMap::new(),
        };
        let of =
            |configurations: Vec<StudyConfiguration>| Study { transition: None, configurations, tables: Vec::new() };
        let study = |names: [&str; 2], files: &[&str]| of(names.map(|name| configuration(name, files)).into()).check();
        assert_eq!(study(["on", "off"], &["a.etl"]), Ok(()));
        let twice = "two configurations are called 'on'";
        assert_eq!(study(["on", "on"], &["a.etl"]), Err(twice.to_owned()));
        let empty = "configuration 'on' has no files";
        assert_eq!(study(["on", "off"], &[]), Err(empty.to_owned()));
        assert_eq!(of(Vec::new()).check(), Ok(()));
    }
}
