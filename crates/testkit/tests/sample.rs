//! The recordings in `samples/` are what their scenarios give.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use onoff_testkit::simulate::Scenario;

#[test]
fn the_committed_sample_is_what_the_generator_makes() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(crate_folder.join("scenarios/slow-boot.toml")).unwrap();
    let simulated = Scenario::from_toml(&text).unwrap().simulate().unwrap();
    let committed = std::fs::read(crate_folder.join("../../samples/slow-boot.etl")).unwrap();
    assert_eq!(simulated.files.len(), 1);
    assert!(
        simulated.files[0] == committed,
        "samples/slow-boot.etl differs from its scenario; samples/README.md says how to make it"
    );
}
