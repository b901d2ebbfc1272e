//! A recorded program with symbols.

use std::io::Read;

use flate2::read::GzDecoder;
use onoff_simulator::Scenario;

use super::Folder;

/// A recording of a program that waits with a known call stack. Its PDB is in `crates/support/symbols/tests`.
const WITH_SYMBOLS: &str = r#"
name = "A program with symbols"
seed = 7
[machine]
processors = 2
mhz = 2400
build = 19041
[recording]
tail = "1s"
at_most = "6s"
readied_by_dpc = true
switch_stacks_percent = 100
[[process]]
image = "driver.exe"
at = "500ms"
symbols = "662C4326-0F04-F962-4C4C-44205044422E"
stack = [0x1045, 0x1025, 0x1005]
[[process.thread]]
work = ["cpu 1ms", "sleep 3s", "cpu 1ms"]
"#;
/// The identity of the PDB.
pub const PDB_IDENTITY: &str = "662C43260F04F9624C4C44205044422E1";

/// Writes the recording as `boot.etl`.
pub fn with_symbols() -> Folder {
    simulate(WITH_SYMBOLS)
}

/// Writes the recording with samples: 50 ms in the innermost function of the program.
pub fn with_samples() -> Folder {
    let scenario = WITH_SYMBOLS.replace("tail =", "sample_interval = \"1ms\"\ntail =");
    simulate(&scenario.replace("cpu 1ms\", \"sleep", "cpu 50ms\", \"sleep"))
}

fn simulate(scenario: &str) -> Folder {
    let simulation = Scenario::from_toml(scenario).unwrap().simulate().unwrap();
    let folder = Folder::new();
    folder.file("boot.etl", &simulation.files[0]);
    folder
}

/// Returns the bytes of the PDB.
pub fn pdb() -> Vec<u8> {
    let packed = include_bytes!("../../../../support/symbols/tests/data/driver.pdb.gz");
    let mut pdb = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut pdb).unwrap();
    pdb
}
