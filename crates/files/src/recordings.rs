//! The recordings among files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use onoff_order::InOrder;
use onoff_sources::{Bytes, Error, FileRole, file_role, group};

use crate::failed;
use crate::mapped::Mapped;
use crate::standard_input::is_standard_input;
use crate::walk::{MOST_DEPTH, MOST_FILES};

/// The recordings among `paths`, each as the paths of its files: logs that were recorded together are one, and so are the loose parts
/// of a Linux recording; an archive is one by itself. Of a folder: it is a recording itself if it holds parts of a Linux
/// recording and no other recording, else each recording in it and in the folders below. Links in folders are not followed, and
/// what is no recording there is passed over.
///
/// # Errors
/// A path that cannot be read.
pub fn recordings(paths: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, Error> {
    let mut files = Vec::new();
    let mut all = Vec::new();
    for path in paths {
        if !is_standard_input(path) && fs::metadata(path).map_err(failed(path))?.is_dir() {
            let mut looked_at = 0;
            in_folder(path, 0, &mut looked_at, &mut all)?;
        } else {
            files.push(path.clone());
        }
    }
    // What was named is a recording until its reader says otherwise.
    let named = |path: &PathBuf| match role(path) {
        FileRole::Nothing => FileRole::Whole,
        role => role,
    };
    all.splice(0..0, grouped(&files, &files.iter().map(named).collect::<Vec<_>>()));
    Ok(all)
}

fn in_folder(folder: &Path, depth: usize, looked_at: &mut usize, all: &mut Vec<Vec<PathBuf>>) -> Result<(), Error> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if depth == 0 => return Err(failed(folder)(source)),
        // A folder below that cannot be read hides nothing from who may not look.
        Err(_) => return Ok(()),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.order();
    let (mut files, mut roles, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() && depth < MOST_DEPTH {
            folders.push(path);
        } else if metadata.is_file() && metadata.len() > 0 && *looked_at < MOST_FILES {
            *looked_at += 1;
            match role(&path) {
                FileRole::Nothing => {}
                role => {
                    files.push(path);
                    roles.push(role);
                }
            }
        }
    }
    if !roles.is_empty() && roles.iter().all(|role| matches!(role, FileRole::LinuxPart)) {
        // Folders below hold more of it, as /sys/firmware/acpi/fpdt does.
        all.push(vec![folder.to_path_buf()]);
        return Ok(());
    }
    all.extend(grouped(&files, &roles));
    folders.iter().try_for_each(|folder| in_folder(folder, depth + 1, looked_at, all))
}

fn grouped(files: &[PathBuf], roles: &[FileRole]) -> Vec<Vec<PathBuf>> {
    let path = |at: usize| files.get(at).cloned();
    group(roles).into_iter().map(|group| group.into_iter().filter_map(path).collect()).collect()
}

fn role(path: &Path) -> FileRole {
    // A stream is read once, by who answers; what cannot be read says so there.
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) {
        return FileRole::Whole;
    }
    match Mapped::open(path) {
        Ok(mapped) => file_role(&path.display().to_string(), mapped.bytes()),
        Err(_) => FileRole::Whole,
    }
}
