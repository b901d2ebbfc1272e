//! Identifies a recording by its contents, and detects changes of its files without reading them.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of the contents of a recording's files, in hexadecimal, independent of names and locations.
pub(crate) fn content_hash(paths: &[PathBuf]) -> io::Result<String> {
    let files = files(paths)?;
    if files.iter().all(|path| fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)) {
        // Empty files would all have the same hash.
        return Err(io::Error::other("the file is empty"));
    }
    let mut hashes = files.iter().map(|path| file_hash(path)).collect::<io::Result<Vec<String>>>()?;
    hashes.sort_unstable();
    Ok(match hashes.as_slice() {
        [hash] => hash.clone(),
        hashes => hex(Sha256::digest(hashes.join("\n"))),
    })
}

/// The state of a recording's files.
#[derive(Debug, Default)]
pub(crate) struct Stamp {
    pub(crate) size_bytes: u64,
    /// Latest modification time, in nanoseconds since 1970.
    pub(crate) modified_ns: Option<u64>,
    /// Size, modification time and inode of one file, or a hash of several; `None` where files have no inode.
    pub(crate) text: Option<String>,
}

/// Returns the state of a recording's files, to detect changes.
pub(crate) fn stamp(paths: &[PathBuf]) -> io::Result<Stamp> {
    let mut stamp = Stamp::default();
    let mut states = Vec::new();
    for path in files(paths)? {
        let metadata = fs::metadata(&path)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let modified_ns = u64::try_from(modified).unwrap_or_default();
        stamp.size_bytes = stamp.size_bytes.saturating_add(metadata.len());
        stamp.modified_ns = stamp.modified_ns.max(Some(modified_ns));
        let state = inode(&metadata).map(|inode| format!("{}:{modified_ns}:{inode}", metadata.len()));
        states.push((path.display().to_string(), state));
    }
    stamp.text = match states.as_slice() {
        [(_, state)] => state.clone(),
        states => {
            let lines: Option<Vec<String>> =
                states.iter().map(|(name, state)| Some(format!("{name}:{}", state.as_ref()?))).collect();
            lines.map(|lines| hex(Sha256::digest(lines.join("\n"))))
        }
    };
    Ok(stamp)
}

/// Returns the files of a recording; of a folder, first the files by name, then the files of the subfolders by name.
fn files(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    while let Some(path) = pending.pop() {
        if !path.is_dir() {
            found.push(path);
            continue;
        }
        let mut entries = fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
        entries.sort_unstable();
        // Links to folders are not followed, because they may form cycles.
        let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|path| path.is_dir());
        found.extend(files);
        pending.extend(folders.into_iter().rev().filter(|folder| !folder.is_symlink()));
    }
    Ok(found)
}

fn file_hash(path: &Path) -> io::Result<String> {
    const BLOCK_BYTES: usize = 1 << 20;
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hex(hash.finalize())),
            count => hash.update(block.get(..count).unwrap_or_default()),
        }
    }
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(metadata))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<u64> {
    None
}
