//! Writes the event logs of a Windows computer with planted names: `write_event_logs FOLDER`, or `write_event_logs FOLDER
//! xml` for their exports.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap());
    let files = match std::env::args().nth(2).as_deref() {
        Some("xml") => onoff_testkit::planted_logs::exports(),
        _ => onoff_testkit::planted_logs::files(),
    };
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
