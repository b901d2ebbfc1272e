//! The embedded catalogs match the output of the generator.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test that reports what it skips")]

#[path = "../examples/catalog/generate.rs"]
mod generate;

use std::path::{Path, PathBuf};

use generate::Catalog;

/// Returns the folder `ONOFF_REFERENCE`, otherwise the one next to the samples or to the workspace.
fn reference() -> PathBuf {
    let folder_next_to = |samples| Path::new(&samples).with_file_name("reference");
    std::env::var_os("ONOFF_REFERENCE")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("ONOFF_SAMPLES").map(folder_next_to))
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/reference"))
}

fn assert_current(source: &str, embedded: &[u8], generate: fn(&str) -> anyhow::Result<Catalog>) {
    let path = reference().join(source);
    let Ok(json) = std::fs::read_to_string(&path) else {
        println!("skipped: {} not found", path.display());
        return;
    };
    let generated = generate(&json).expect("valid reference");
    // The compression of the blocks may differ, but not their contents.
    let embedded = Catalog::decode(embedded).expect("valid embedded catalog");
    let stale = "is stale: cargo run -p onoff-etw --example catalog -- ../shared/reference";
    assert!(generated == embedded, "the catalog of {source} {stale}");
}

#[test]
fn providers_are_current() {
    assert_current("providers.json", include_bytes!("../src/catalog/providers.bin"), generate::providers);
}

#[test]
fn kernel_events_are_current() {
    assert_current("kernel-mof.json", include_bytes!("../src/catalog/kernel.bin"), generate::kernel);
}
