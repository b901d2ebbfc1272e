//! The files in `samples/` match the output of the simulator.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use onoff_simulator::Scenario;

#[test]
fn committed_samples_match_their_scenarios() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["slow-boot", "slow-shutdown", "slow-sleep"] {
        let scenario = crate_folder.join(format!("scenarios/{name}.toml"));
        let text = std::fs::read_to_string(scenario).unwrap();
        let simulated = Scenario::from_toml(&text).unwrap().simulate().unwrap();
        let sample = crate_folder.join(format!("../../../samples/{name}.etl"));
        let committed = std::fs::read(sample).unwrap();
        assert_eq!(simulated.files.len(), 1);
        assert!(simulated.files[0] == committed, "samples/{name}.etl differs from its scenario; run `make samples`");
    }
}

#[test]
fn committed_installations_match_the_writer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/image");
    for (name, is_updated) in [("before", false), ("after", true)] {
        for (path, bytes) in onoff_simulator::sample_image::files(is_updated) {
            let path = folder.join(name).join(path);
            if std::env::var_os("ONOFF_WRITE_SAMPLES").is_some() {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, &bytes).unwrap();
            }
            let committed = std::fs::read(&path).unwrap_or_default();
            assert!(committed == bytes, "{} differs; run `make samples`", path.display());
        }
    }
}
