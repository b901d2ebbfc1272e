//! Generates the schemas embedded in the library.
//!
//! ```text
//! cargo run -p onoff-etw --example catalog -- ../shared/reference
//! ```
//!
//! The folder must contain `providers.json` and `kernel-mof.json`. The results are written to
//! `crates/formats/etw/src/catalog/`.

mod generate;

use std::path::Path;

fn main() -> anyhow::Result<()> {
    let Some(reference) = std::env::args_os().nth(1) else {
        anyhow::bail!("usage: catalog FOLDER (with providers.json and kernel-mof.json)");
    };
    let reference = Path::new(&reference);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/catalog");
    for (source, target, generate) in [
        ("providers.json", "providers.bin", generate::providers as fn(&str) -> _),
        ("kernel-mof.json", "kernel.bin", generate::kernel),
    ] {
        let json = std::fs::read_to_string(reference.join(source))?;
        let catalog = generate(&json)?;
        std::fs::write(folder.join(target), catalog.encode()?)?;
    }
    Ok(())
}
