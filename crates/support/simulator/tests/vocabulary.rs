//! Checks the simulated events against the schemas of the reader. Both were written independently from the same
//! layouts, so all sizes must be equal.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use onoff_etl::{HeaderKind, Input, Recording};
use onoff_etw::{Fields, Schemas};
use onoff_simulator::Scenario;

#[test]
fn every_simulated_event_decodes_to_its_exact_size() {
    let (kernel, manifest) = assert_exact("slow-boot");
    assert!(manifest > 200 && kernel > 40_000, "{manifest} manifest, {kernel} kernel events");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            if !Scenario::from_toml(&text).unwrap().is_boot() {
                let (kernel, _) = assert_exact(path.file_stem().unwrap().to_str().unwrap());
                assert!(kernel > 0, "{}", path.display());
            }
        }
    }
}

/// Checks that all events of a scenario decode exactly; returns the numbers of kernel and manifest events.
fn assert_exact(name: &str) -> (u64, u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
    let simulated = Scenario::from_toml(&text).unwrap().simulate().unwrap();
    let inputs = [Input { name, bytes: &simulated.files[0] }];
    let recording = Recording::open(&inputs).unwrap();
    let mut schemas = Schemas::new();
    let schema_walk = recording.for_each(|record| {
        schemas.observe(record);
        ControlFlow::<()>::Continue(())
    });
    let mut inexact = BTreeSet::new();
    let (mut kernel, mut manifest) = (0, 0);
    assert!(schema_walk.losses.is_empty());
    let walk = recording.for_each(|record| {
        let mut fields = Fields::new();
        let decoded = schemas.decode(record, &mut fields);
        match record.kind() {
            HeaderKind::Event => manifest += 1,
            _ => kernel += 1,
        }
        if !(decoded.is_exact() && decoded.exact_version) {
            let description = schemas.describe(record);
            inexact.insert(format!(
                "{} {} {} v{}: {:?}, {} of {} bytes",
                description.provider,
                description.task,
                description.event,
                record.version(),
                decoded.status,
                decoded.consumed,
                decoded.size
            ));
        }
        ControlFlow::<()>::Continue(())
    });
    assert!(walk.losses.is_empty());
    assert!(inexact.is_empty(), "{name}: {inexact:#?}");
    (kernel, manifest)
}
