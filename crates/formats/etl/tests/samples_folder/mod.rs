//! Loads the real recordings and the facts documented about them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    dead_code,
    reason = "shared by tests that use different parts of it"
)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A decompressed recording.
pub struct Sample {
    /// File name without `.xz`, with the prefix `sawbuck/` for files in that folder.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// A row of `SOURCES.md`.
pub struct Row {
    pub events: u64,
    pub os_build: u32,
    pub bits: u32,
    pub processors: u32,
}

/// The folder of all samples, if present.
pub fn folder() -> Option<PathBuf> {
    onoff_testkit::real_recordings::samples_folder("")
}

/// All recordings, decompressed once; empty if the folder is missing.
pub fn samples() -> &'static [Sample] {
    static SAMPLES: OnceLock<Vec<Sample>> = OnceLock::new();
    SAMPLES.get_or_init(read_samples)
}

fn read_samples() -> Vec<Sample> {
    let Some(folder) = folder() else {
        return Vec::new();
    };
    let mut samples = Vec::new();
    for (directory, prefix) in [("etl", ""), ("etl/sawbuck", "sawbuck/")] {
        for entry in std::fs::read_dir(folder.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let bytes = if name.ends_with(".etl") {
                std::fs::read(&path).unwrap()
            } else if name.ends_with(".etl.xz") {
                unpack(&path)
            } else {
                continue;
            };
            let name = format!("{prefix}{}", name.trim_end_matches(".xz"));
            samples.push(Sample { name, bytes });
        }
    }
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

fn unpack(path: &Path) -> Vec<u8> {
    let packed = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut bytes = Vec::new();
    lzma_rust2::XzReader::new(packed, true).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Reads the table in `SOURCES.md`, by file name.
pub fn sources_table() -> BTreeMap<String, Row> {
    let Some(folder) = folder() else {
        return BTreeMap::new();
    };
    let text = std::fs::read_to_string(folder.join("etl/SOURCES.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, events, os_build, bits, processors, ..] = cells[..] else {
            return None;
        };
        let number = |text: &str| text.parse::<u32>().ok();
        let row = Row {
            events: u64::from(number(events)?),
            os_build: number(os_build)?,
            bits: number(bits)?,
            processors: number(processors)?,
        };
        Some((name.to_owned(), row))
    });
    let table: BTreeMap<_, _> = rows.collect();
    assert!(table.len() >= 20, "SOURCES.md has {} readable rows", table.len());
    table
}

/// Lists all files below `folder` with the extension `extension`.
pub fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|actual| actual == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}
