//! A real PDB in folders and stores. `data/driver.pdb.gz` was built from `data/driver.rs.txt` with
//!
//! ```text
//! rustc +nightly --target x86_64-pc-windows-msvc --emit=obj -C debuginfo=2 -C opt-level=0 -C panic=abort driver.rs
//! rust-lld -flavor link /debug:full /subsystem:native /driver /entry:DriverEntry /nodefaultlib /Brepro driver.obj
//! ```
//!
//! The addresses match `llvm-pdbutil dump -publics`: section 1, which starts at 0x1000, plus 0, 32, 64.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use onoff_symbols::{SymbolError, SymbolPath, Symbols};

const IDENTITY: &str = "662C43260F04F9624C4C44205044422E1";

fn write_pdb(path: &Path) {
    let packed = include_bytes!("data/driver.pdb.gz");
    let mut pdb = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut pdb).unwrap();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, pdb).unwrap();
}

fn names(symbols: &Symbols) -> Vec<Option<String>> {
    symbols.functions([0x1000, 0x1020, 0x1025, 0x1040, 0x9000]).unwrap()
}

#[test]
fn finds_functions_in_stores_and_folders() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    write_pdb(&store.join("driver.pdb").join(IDENTITY).join("driver.pdb"));
    let plain = folder.path().join("plain");
    write_pdb(&plain.join("driver.pdb"));
    for text in [
        format!("srv*{}*https://example.invalid/symbols", store.display()),
        format!("/nowhere;{}", plain.display()),
        store.display().to_string(),
    ] {
        let symbols =
            Symbols::find(&SymbolPath::parse(&text), r"D:\build\driver.pdb", &IDENTITY.to_lowercase()).unwrap();
        let expected = [
            Some("t::DriverEntry"),
            Some("t::start_device"),
            Some("t::start_device"),
            Some("t::wait_for_hardware"),
            None,
        ];
        let names = names(&symbols);
        let names: Vec<Option<&str>> = names.iter().map(Option::as_deref).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn distinguishes_missing_damaged_and_other_build() {
    let folder = tempfile::tempdir().unwrap();
    let path = SymbolPath::parse(&folder.path().display().to_string());
    let find = |name: &str, identity: &str| Symbols::find(&path, name, identity).err().unwrap();
    assert!(matches!(find("driver.pdb", IDENTITY), SymbolError::NotFound));
    write_pdb(&folder.path().join("driver.pdb"));
    let other_build = IDENTITY.replace('6', "7");
    assert!(matches!(find("driver.pdb", &other_build), SymbolError::OtherBuild(_)));
    std::fs::write(folder.path().join("broken.pdb"), b"Microsoft C/C++ MSF 7.00").unwrap();
    assert!(matches!(find("broken.pdb", IDENTITY), SymbolError::Damaged(..)));
}
