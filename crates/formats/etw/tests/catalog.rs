//! The embedded catalogs are what the generator makes of the reference.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test that says what it skipped")]

#[path = "../examples/catalog/generate.rs"]
mod generate;

use std::path::{Path, PathBuf};

use generate::Catalog;

/// `ONOFF_REFERENCE`, else beside the samples, else beside the workspace.
fn reference() -> PathBuf {
    let beside = |samples| Path::new(&samples).with_file_name("reference");
    std::env::var_os("ONOFF_REFERENCE")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("ONOFF_SAMPLES").map(beside))
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/reference"))
}

fn is_current(source: &str, embedded: &[u8], generate: fn(&str) -> anyhow::Result<Catalog>) {
    let path = reference().join(source);
    let Ok(json) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let generated = generate(&json).expect("a reference the generator understands");
    // What compresses the blocks may change; what they say may not.
    let embedded = Catalog::decoded(embedded).expect("an embedded catalog");
    let stale = "is stale: cargo run -p onoff-etw --example catalog -- ../shared/reference";
    assert!(generated == embedded, "the catalog of {source} {stale}");
}

#[test]
fn providers_are_current() {
    is_current("providers.json", include_bytes!("../src/catalog/providers.bin"), generate::providers);
}

#[test]
fn kernel_events_are_current() {
    is_current("kernel-mof.json", include_bytes!("../src/catalog/kernel.bin"), generate::kernel);
}
