//! Reading terminates on any input.

use onoff_hive::Hive;
use onoff_testkit::hive::{HiveKey, interrupted_write};
use proptest::prelude::*;

/// Surveys the hive and reads the values of the top-level keys. Returns the number of keys in the survey.
fn read_everything(hive: &Hive) -> u64 {
    let survey = hive.survey();
    for key in hive.root().subkeys() {
        for value in key.values() {
            let _ = (value.number(), value.string(), value.strings());
        }
    }
    survey.keys
}

proptest! {
    #[test]
    fn accepts_damaged_hives(changes in prop::collection::vec((0..20_000_usize, any::<u8>()), 0..60), log_changes in prop::collection::vec((0..9_000_usize, any::<u8>()), 0..20)) {
        let mut root = HiveKey::root();
        for index in 0..40_u32 {
            root.subkey(&format!(r"A\B{}\C{index}", index % 3))
                .set_value("Number", index)
                .set_value("Text", "text of some length")
                .set_value("Many", ["a", "b"].as_slice());
        }
        let old = root.to_hive();
        root.subkey("A").set_value("New", vec![1_u8; 5000]);
        let (mut hive, mut log) = interrupted_write(&old, &root.to_hive());
        for (index, byte) in changes {
            let length = hive.len();
            // Keep the signature.
            hive[(4 + index) % length] = if (4 + index) % length < 4 { hive[(4 + index) % length] } else { byte };
        }
        for (index, byte) in log_changes {
            let length = log.len();
            log[index % length] = byte;
        }
        let max = (hive.len() + log.len()) as u64 / 8;
        if let Ok(hive) = Hive::read(hive, &[&log]) {
            prop_assert!(read_everything(&hive) <= max);
        }
    }

    #[test]
    fn accepts_any_cells(cells in prop::collection::vec(any::<u8>(), 0..3000)) {
        let mut hive = vec![0; 4096];
        hive[..4].copy_from_slice(b"regf");
        hive[36] = 32;
        hive.extend_from_slice(&cells);
        if let Ok(hive) = Hive::read(hive, &[&cells]) {
            read_everything(&hive);
        }
    }
}
