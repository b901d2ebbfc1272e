//! Reads event manifests from files and folders.

use std::io::Read;
use std::path::{Path, PathBuf};

use onoff_sources::{Error, NamedBytes, describes_events};

use crate::walk::{WalkEntry, walk};
use crate::{open_file, read_error};

/// Maximum size of a file in a folder, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Maximum total size of the manifests in a folder, in bytes.
const MAX_TOTAL_BYTES: usize = 1 << 30;

/// Reads manifests. In folders and their subfolders, it uses all files that describe event providers: instrumentation
/// manifests (`.man`), trace message format files (`.tmf`), and Windows programs and libraries with an embedded
/// manifest. It skips other files.
///
/// # Errors
/// A file or folder cannot be read, or a folder has no manifests or too many.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<NamedBytes>, Error> {
    let mut manifests = Vec::new();
    for path in paths {
        if path.is_dir() {
            manifests.extend(read_folder(path)?);
        } else {
            manifests.push(read_file(path)?);
        }
    }
    Ok(manifests)
}

fn read_file(path: &Path) -> Result<NamedBytes, Error> {
    let mut bytes = Vec::new();
    open_file(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(read_error(path))?;
    Ok(NamedBytes { name: path.display().to_string(), bytes })
}

fn read_folder(folder: &Path) -> Result<Vec<NamedBytes>, Error> {
    let mut manifests = Vec::new();
    let mut total_bytes = 0_usize;
    let mut problem = None;
    walk(folder, |entry| match entry {
        WalkEntry::File(path, length) if length <= MAX_BYTES && may_describe_events(path) => {
            // Unreadable files are skipped, like files without events.
            if let Ok(file) = read_file(path)
                && describes_events(&file.bytes)
            {
                total_bytes = total_bytes.saturating_add(file.bytes.len());
                if total_bytes <= MAX_TOTAL_BYTES {
                    manifests.push(file);
                } else {
                    problem =
                        Some("the event manifests in this folder exceed 1 GiB; name some of them instead".to_owned());
                }
            }
        }
        WalkEntry::File(..) | WalkEntry::Unreadable(..) => {}
    })?;
    if manifests.is_empty() && problem.is_none() {
        problem = Some("no file in this folder describes event providers".to_owned());
    }
    match problem {
        Some(reason) => Err(Error::Schema { path: folder.to_owned(), reason }),
        None => Ok(manifests),
    }
}

fn may_describe_events(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["man", "tmf", "dll", "exe", "sys", "mui"].iter().any(|candidate| extension.eq_ignore_ascii_case(candidate))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
        <provider name="Fabrikam-Widget" guid="{11111111-2222-3333-4444-555555555555}" symbol="W" resourceFileName="w" messageFileName="w">
        <events><event symbol="Turned" value="1" version="0"/></events></provider></events></instrumentation></instrumentationManifest>"#;

    #[test]
    fn reads_only_manifests_from_folders() {
        let folder = tempfile::tempdir().unwrap();
        let subfolder = folder.path().join("drivers/widget");
        fs::create_dir_all(&subfolder).unwrap();
        fs::write(subfolder.join("Widget.MAN"), MANIFEST).unwrap();
        let formats = "11111111-2222-3333-4444-555555555555 widget\n#typev a_c1 10 \"%0x\"\n";
        fs::write(subfolder.join("formats.tmf"), formats).unwrap();
        fs::write(subfolder.join("empty.tmf"), "// PDB: widget.pdb\n").unwrap();
        fs::write(subfolder.join("widget.txt"), MANIFEST).unwrap();
        fs::write(subfolder.join("ls.man"), ".TH LS 1").unwrap();
        fs::write(subfolder.join("plain.dll"), onoff_testkit::program(None)).unwrap();
        fs::write(subfolder.join("torn.sys"), b"MZ").unwrap();
        let names =
            |manifests: Vec<NamedBytes>| -> BTreeSet<String> { manifests.into_iter().map(|file| file.name).collect() };
        let expected = ["Widget.MAN", "formats.tmf"].map(|name| subfolder.join(name).display().to_string());
        assert_eq!(names(read(&[folder.path().to_owned()]).unwrap()), BTreeSet::from(expected));
        // A file passed by path is returned unchanged; its reader reports problems.
        assert_eq!(read(&[subfolder.join("ls.man")]).unwrap().len(), 1);
    }

    #[test]
    fn rejects_folder_without_manifests() {
        let folder = tempfile::tempdir().unwrap();
        let error = read(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no file in this folder describes event providers"), "{error}");
        assert!(read(&[folder.path().join("absent")]).is_err());
    }
}
