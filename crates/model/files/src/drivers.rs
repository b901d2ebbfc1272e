//! Reads driver files from folders of the recorded computer.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_sources::{Error, driver_file};
use onoff_trace::DriverFile;

use crate::walk::{WalkEntry, walk};

/// Maximum number of bytes to read from a file. Drivers have a few MiB.
const MAX_BYTES: u64 = 256 << 20;

/// Reads every driver (`.sys`) in `folders` and their subfolders, e.g. `Windows\System32\drivers` of a disk image or a
/// copy of it.
///
/// Files that are not Windows programs, or cannot be read, are skipped.
///
/// # Errors
/// A folder in `folders` cannot be read.
pub(crate) fn read(folders: &[PathBuf]) -> Result<Vec<DriverFile>, Error> {
    let mut drivers: Vec<DriverFile> = Vec::new();
    for folder in folders {
        walk(folder, |entry| {
            if let WalkEntry::File(path, _) = entry {
                drivers.extend(read_driver(path));
            }
        })?;
    }
    drivers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(drivers)
}

fn read_driver(path: &Path) -> Option<DriverFile> {
    let name = path.file_name()?.to_str()?;
    if !name.to_ascii_lowercase().ends_with(".sys") {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    driver_file(name, &bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use onoff_testkit::program;

    use super::*;

    #[test]
    fn detects_embedded_and_test_signatures() {
        let folder = tempfile::tempdir().unwrap();
        let drivers = folder.path().join("System32/drivers");
        fs::create_dir_all(&drivers).unwrap();
        fs::write(drivers.join("Catalog.sys"), program(None)).unwrap();
        fs::write(drivers.join("own.sys"), program(Some(b"CN=A Company...."))).unwrap();
        fs::write(drivers.join("test.SYS"), program(Some(b"CN=WDKTestCert someone,1"))).unwrap();
        fs::write(drivers.join("text.sys"), b"not a program").unwrap();
        fs::write(drivers.join("own.dll"), program(None)).unwrap();
        let actual: Vec<_> = read(&[folder.path().to_owned()])
            .unwrap()
            .into_iter()
            .map(|file| (file.name, file.has_embedded_signature, file.is_test_signed))
            .collect();
        assert_eq!(
            actual,
            [
                ("catalog.sys".to_owned(), false, false),
                ("own.sys".to_owned(), true, false),
                ("test.sys".to_owned(), true, true),
            ]
        );
        assert!(read(&[folder.path().join("nowhere")]).is_err());
    }
}
