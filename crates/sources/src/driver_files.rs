//! Drivers' files from the recorded computer's disk: how they are signed.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use goblin::pe::PE;
use goblin::pe::options::ParseOptions;
use memchr::memmem;
use onoff_trace::DriverFile;

use crate::error::Error;

/// Folders inside each other that are looked into.
const DEEPEST: usize = 8;
/// Files that are looked at.
const MOST_FILES: usize = 1 << 14;
/// The largest file that is read, bytes: drivers are a few MiB.
const MOST_BYTES: u64 = 256 << 20;
/// Names in certificates that are made for tests: that of the driver kit's tools, and those of Microsoft's roots for tests.
const TEST_CERTIFICATES: [&[u8]; 4] =
    [b"WDKTestCert", b"Microsoft Testing Root", b"Microsoft Testing PCA", b"Microsoft Test Root"];

/// Looks at every driver (`.sys`) in `folders` and below: `Windows\System32\drivers` of a disk's image or a copy of it.
///
/// Files that are no programs of Windows, or cannot be read, say nothing and are left out.
///
/// # Errors
/// A folder given that cannot be read.
pub(crate) fn read(folders: &[PathBuf]) -> Result<Vec<DriverFile>, Error> {
    let mut found = Vec::new();
    for folder in folders {
        let failed = |source| Error::Read { path: folder.clone(), source };
        fs::read_dir(folder).map_err(failed)?;
        look_into(folder, DEEPEST, &mut found);
    }
    found.sort_by(|a: &DriverFile, b| a.name.cmp(&b.name));
    Ok(found)
}

fn look_into(folder: &Path, deeper: usize, found: &mut Vec<DriverFile>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if found.len() >= MOST_FILES {
            return;
        }
        let path = entry.path();
        // Links are not followed: a tree of them need not end.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && deeper > 0 {
            look_into(&path, deeper - 1, found);
        } else if kind.is_file()
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
            && name.to_ascii_lowercase().ends_with(".sys")
            && let Some(bytes) = bytes_of(&path)
            && let Some(file) = driver_file(name, &bytes)
        {
            found.push(file);
        }
    }
}

fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// How a program of Windows is signed; `None` when the bytes are none.
fn driver_file(name: &str, bytes: &[u8]) -> Option<DriverFile> {
    let mut options = ParseOptions::default();
    options.resolve_rva = false;
    let program = PE::parse_with_opts(bytes, &options).ok()?;
    let names_test =
        |certificate: &[u8]| TEST_CERTIFICATES.iter().any(|test| memmem::find(certificate, test).is_some());
    let certificates = &program.certificates;
    Some(DriverFile {
        name: name.to_ascii_lowercase(),
        embedded_signature: !certificates.is_empty(),
        signed_for_tests: certificates.iter().any(|one| names_test(one.certificate)),
    })
}

#[cfg(test)]
mod tests {
    use onoff_testkit::program;

    use super::*;

    #[test]
    fn signatures_are_told_from_their_absence_and_from_tests() {
        let folder = tempfile::tempdir().unwrap();
        let drivers = folder.path().join("System32/drivers");
        fs::create_dir_all(&drivers).unwrap();
        fs::write(drivers.join("Catalogue.sys"), program(None)).unwrap();
        fs::write(drivers.join("own.sys"), program(Some(b"CN=A Company...."))).unwrap();
        fs::write(drivers.join("test.SYS"), program(Some(b"CN=WDKTestCert someone,1"))).unwrap();
        fs::write(drivers.join("text.sys"), b"not a program").unwrap();
        fs::write(drivers.join("own.dll"), program(None)).unwrap();
        let found: Vec<_> = read(&[folder.path().to_owned()])
            .unwrap()
            .into_iter()
            .map(|file| (file.name, file.embedded_signature, file.signed_for_tests))
            .collect();
        assert_eq!(
            found,
            [
                ("catalogue.sys".to_owned(), false, false),
                ("own.sys".to_owned(), true, false),
                ("test.sys".to_owned(), true, true),
            ]
        );
        assert!(read(&[folder.path().join("nowhere")]).is_err());
    }
}
