//! Files that describe events: those that are named, and those that a named folder holds.

use std::fs;
use std::path::{Path, PathBuf};

use onoff_sources::{Error, NamedBytes, describes_events};

use crate::failed;
use crate::walk::{Found, walk};

/// The largest file of a folder that is looked at, bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Bytes that are kept of a folder's files.
const MAX_KEPT_BYTES: usize = 1 << 30;

/// Reads the files, and of folders and what is below them all that describe event providers: instrumentation manifests
/// (`.man`), and programs and libraries of Windows with one in their resources. Other files of a folder are passed
/// over.
///
/// # Errors
/// A file or folder that cannot be read; a folder with no such file, or with too much.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<NamedBytes>, Error> {
    let mut manifests = Vec::new();
    for path in paths {
        if path.is_dir() {
            manifests.extend(of_folder(path)?);
        } else {
            manifests.push(named(path)?);
        }
    }
    Ok(manifests)
}

fn named(path: &Path) -> Result<NamedBytes, Error> {
    let bytes = fs::read(path).map_err(failed(path))?;
    Ok(NamedBytes { name: path.display().to_string(), bytes })
}

fn of_folder(folder: &Path) -> Result<Vec<NamedBytes>, Error> {
    let mut found = Vec::new();
    let mut kept_bytes = 0_usize;
    let mut refusal = None;
    walk(folder, |each| match each {
        Found::File(path, length) if length <= MAX_BYTES && may_describe(path) => {
            // What cannot be read is passed over like what describes nothing.
            if let Ok(file) = named(path)
                && describes_events(&file.bytes)
            {
                kept_bytes = kept_bytes.saturating_add(file.bytes.len());
                if kept_bytes <= MAX_KEPT_BYTES {
                    found.push(file);
                } else {
                    refusal = Some("its files that describe events are over 1 GiB: name some of them".to_owned());
                }
            }
        }
        Found::File(..) | Found::Unreadable(..) => {}
    })?;
    if found.is_empty() && refusal.is_none() {
        refusal = Some("no file in it describes event providers".to_owned());
    }
    match refusal {
        Some(reason) => Err(Error::Schema { path: folder.to_owned(), reason }),
        None => Ok(found),
    }
}

fn may_describe(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["man", "dll", "exe", "sys", "mui"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
        <provider name="Fabrikam-Widget" guid="{11111111-2222-3333-4444-555555555555}" symbol="W" resourceFileName="w" messageFileName="w">
        <events><event symbol="Turned" value="1" version="0"/></events></provider></events></instrumentation></instrumentationManifest>"#;

    #[test]
    fn of_a_folder_only_what_describes_events_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("drivers/widget");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("Widget.MAN"), MANIFEST).unwrap();
        fs::write(below.join("widget.txt"), MANIFEST).unwrap();
        fs::write(below.join("ls.man"), ".TH LS 1").unwrap();
        fs::write(below.join("plain.dll"), onoff_testkit::program(None)).unwrap();
        fs::write(below.join("torn.sys"), b"MZ").unwrap();
        let names = |read: Vec<NamedBytes>| -> Vec<String> { read.into_iter().map(|file| file.name).collect() };
        let widget = below.join("Widget.MAN").display().to_string();
        assert_eq!(names(read(&[folder.path().to_owned()]).unwrap()), [widget]);
        // A file that is named is taken as it is: who reads it says what is wrong with it.
        assert_eq!(read(&[below.join("ls.man")]).unwrap().len(), 1);
    }

    #[test]
    fn a_folder_without_any_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = read(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no file in it describes event providers"), "{error}");
        assert!(read(&[folder.path().join("absent")]).is_err());
    }
}
