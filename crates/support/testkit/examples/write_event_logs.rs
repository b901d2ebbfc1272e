//! Writes the event logs of a Windows computer with planted names: `write_event_logs FOLDER`.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap());
    for (name, bytes) in onoff_testkit::planted_logs::files() {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
