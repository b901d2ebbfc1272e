//! Loads the real recordings, if present.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use onoff_etl::{Input, Record, Recording};
use onoff_etw::Schemas;

/// Returns the folder of samples: `ONOFF_SAMPLES`, otherwise next to the workspace.
pub fn folder() -> PathBuf {
    std::env::var_os("ONOFF_SAMPLES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/samples")),
        PathBuf::from,
    )
}

/// Reads and decompresses a sample file. Prints a message and returns `None` if it is missing.
pub fn read(name: &str) -> Option<Vec<u8>> {
    let path = folder().join("etl").join(name);
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: {} not found", path.display());
        return None;
    };
    if !name.ends_with(".xz") {
        return Some(bytes);
    }
    let mut unpacked = Vec::new();
    lzma_rust2::XzReader::new(&bytes[..], true).read_to_end(&mut unpacked).expect("valid .xz");
    Some(unpacked)
}

/// Visits all records of a file in time order. Returns their number.
pub fn for_each(bytes: &[u8], mut visit: impl FnMut(&Record<'_>)) -> u64 {
    let recording = Recording::open(&[Input { name: "sample", bytes }]).expect("a recording");
    let mut count = 0;
    let _walk = recording.for_each(|record| {
        count += 1;
        visit(record);
        ControlFlow::<()>::Continue(())
    });
    count
}

/// Returns the schemas learned from a file, in addition to the built-in schemas.
pub fn learn(bytes: &[u8]) -> Schemas {
    let mut schemas = Schemas::new();
    for_each(bytes, |record| schemas.observe(record));
    schemas
}
