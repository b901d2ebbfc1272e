//! Compares the row counts of every table of every real recording with stored counts. To rewrite the counts and review
//! them as a diff, run `ONOFF_WRITE_GOLDEN=1 cargo test -p onoff-sources golden` or `make golden`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onoff_sources::{Options, read_tables};
use onoff_trace::registry::DECLARATIONS;
use onoff_trace::{TableSet, Trace};

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden_rows.txt");

/// Sample folders with recordings that can be read.
const FOLDERS: [&str; 4] = ["etl", "fpdt", "linux", "netboot"];

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn describe(trace: &Trace, lines: &mut String) {
    for table in DECLARATIONS {
        let view = trace.table(table.name);
        if view.is_empty() {
            continue;
        }
        writeln!(lines, "  {}: {}", table.name.as_str(), view.len()).unwrap();
    }
    for loss in trace.losses.iter() {
        writeln!(lines, "  lost {}: {}", loss.counter, loss.count).unwrap();
    }
}

#[test]
fn row_counts_match_stored_counts() {
    let mut lines = String::new();
    let mut read = 0;
    for folder in FOLDERS {
        let Some(root) = onoff_testkit::real_recordings::samples_folder(folder) else { return };
        let mut paths = Vec::new();
        files_below(&root, &mut paths);
        for path in paths {
            let name = path.strip_prefix(&root).unwrap().display().to_string().replace('\\', "/");
            let options = Options::default();
            // The folders also contain notes, logs and the output of other readers.
            let Ok(files) = onoff_files::open_all(std::slice::from_ref(&path), &options.limits) else { continue };
            let Ok(trace) = read_tables(&files, TableSet::all(), &options) else {
                writeln!(lines, "{folder}/{name}: not read").unwrap();
                continue;
            };
            read += 1;
            writeln!(lines, "{folder}/{name}: {}", files.kind().as_str()).unwrap();
            describe(&trace, &mut lines);
        }
    }
    assert!(read > 50, "{read} samples read");
    if std::env::var_os("ONOFF_WRITE_GOLDEN").is_some() {
        std::fs::write(STORED, &lines).unwrap();
    }
    let stored = std::fs::read_to_string(STORED).unwrap_or_default().replace("\r\n", "\n");
    let difference = stored.lines().zip(lines.lines()).find(|(stored, current)| stored != current);
    assert_eq!(stored.lines().count(), lines.lines().count(), "number of lines; first difference: {difference:?}");
    assert_eq!(difference, None, "first difference (stored, current)");
}
