//! Reads driver files from folders of the recorded computer.

use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_sources::{Error, driver_file};
use onoff_trace::DriverFile;

use crate::volume::Volume;
use crate::walk::{WalkEntry, walk};

/// Maximum number of bytes to read from a file. Drivers have a few MiB.
const MAX_BYTES: u64 = 256 << 20;

/// Signatures of driver files, and the files without one that can be read.
#[derive(Debug, Default)]
pub struct DriverFiles {
    /// Signatures, by file name.
    pub drivers: Vec<DriverFile>,
    /// Paths of files that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Reads every driver (`.sys`) in `folders` and their subfolders, e.g. `Windows\System32\drivers` of a disk image or a
/// copy of it.
///
/// # Errors
/// A folder in `folders` cannot be read.
pub(crate) fn read(folders: &[PathBuf]) -> Result<DriverFiles, Error> {
    let mut files = DriverFiles::default();
    for folder in folders {
        walk(folder, |entry| {
            if let WalkEntry::File(path, _) = entry
                && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("sys"))
            {
                files.add(path);
            }
        })?;
    }
    files.drivers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Reads the drivers at `paths` below the root of a volume. Paths without a file are skipped.
#[must_use]
pub fn read_drivers(volume: &Volume, paths: &[String]) -> DriverFiles {
    let mut files = DriverFiles::default();
    for path in paths.iter().filter_map(|path| volume.find(path)).filter(|path| path.is_file()) {
        files.add(&path);
    }
    files
}

impl DriverFiles {
    fn add(&mut self, path: &Path) {
        match read_driver(path) {
            Ok(driver) => self.drivers.push(driver),
            Err(reason) => self.unreadable.push((path.display().to_string(), reason)),
        }
    }
}

fn read_driver(path: &Path) -> Result<DriverFile, String> {
    let mut bytes = Vec::new();
    crate::open_file(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    driver_file(&name, &bytes).map_err(str::to_owned)
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
        let files = read(&[folder.path().to_owned()]).unwrap();
        let actual: Vec<_> = files
            .drivers
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
        let [(name, reason)] = files.unreadable.as_slice() else { panic!("{:?}", files.unreadable) };
        assert!(name.ends_with("text.sys") && reason == "not a Windows program", "{name}: {reason}");
        assert!(read(&[folder.path().join("nowhere")]).is_err());
    }

    #[test]
    fn reads_drivers_of_volume_by_path() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("Windows/System32/DriverStore/FileRepository/a.inf_1");
        fs::create_dir_all(&store).unwrap();
        fs::write(store.join("A.sys"), program(Some(b"CN=A Company...."))).unwrap();
        fs::write(folder.path().join("Windows/cut.sys"), b"MZ").unwrap();
        let volume = Volume::open(folder.path()).unwrap();
        let paths =
            [r"\Windows\system32\driverstore\filerepository\a.inf_1\a.sys", r"\Windows\b.sys", r"\Windows\Cut.sys"];
        let files = read_drivers(&volume, &paths.map(str::to_owned));
        assert_eq!(files.drivers.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a.sys"]);
        assert_eq!(files.unreadable.len(), 1);
    }
}
