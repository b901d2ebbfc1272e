//! The one walk through a folder and the folders below it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use onoff_order::InOrder;
use onoff_sources::Error;

use crate::failed;

/// Most files that are looked at in a folder, and how deep.
pub(crate) const MOST_FILES: usize = 20_000;
pub(crate) const MOST_DEPTH: usize = 8;

/// What a walk meets.
pub(crate) enum Found<'a> {
    /// A regular file and its length, bytes.
    File(&'a Path, u64),
    /// A folder below the first that cannot be read.
    Unreadable(&'a Path, io::Error),
    /// There are more files than are looked at; the walk ends.
    TooMany,
}

/// Shows `visit` every regular file in `root` and below: the files of a folder by name, then its folders by name. Links are not
/// followed, as they may lead anywhere, also back.
///
/// # Errors
/// `root` itself cannot be read.
pub(crate) fn walk(root: &Path, mut visit: impl FnMut(Found<'_>)) -> Result<(), Error> {
    let mut looked_at = 0;
    let mut folders = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(source) if depth == 0 => return Err(failed(&folder)(source)),
            Err(source) => {
                visit(Found::Unreadable(&folder, source));
                continue;
            }
        };
        // One more than is looked at says that there are more.
        let mut paths: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).take(MOST_FILES - looked_at + 1).collect();
        paths.order();
        let mut deeper = Vec::new();
        for path in paths {
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() && depth < MOST_DEPTH {
                deeper.push((path, depth + 1));
            } else if metadata.is_file() {
                if looked_at == MOST_FILES {
                    visit(Found::TooMany);
                    return Ok(());
                }
                looked_at += 1;
                visit(Found::File(&path, metadata.len()));
            }
        }
        folders.extend(deeper.into_iter().rev());
    }
    Ok(())
}
