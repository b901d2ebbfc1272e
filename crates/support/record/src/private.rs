//! Folders in which root can write without harm: nobody else can put a link where a file is about to be made.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::machine::{Files, Machine};

/// Makes the folder of the recordings, or takes one that is there if it is safe. Gives its path without links.
///
/// # Errors
/// Somebody else could put something into it.
pub fn prepare(machine: &mut dyn Machine, folder: &str, owner: Option<(u32, u32)>) -> Result<String, Error> {
    if !machine.exists(folder) {
        machine.make_private_folders(folder)?;
        give(&machine.at(folder), owner);
    }
    // Links on the way are followed once, now; what they led to is what is checked and used from here on.
    let place = machine.at(folder);
    let resolved = fs::canonicalize(&place).map_err(Error::file("read", &place))?;
    let root = fs::canonicalize(machine.root()).map_err(Error::file("read", &place))?;
    let folder = match resolved.strip_prefix(&root).ok().and_then(Path::to_str) {
        Some(below) => format!("/{below}"),
        None => return Err(Error::Refused(format!("{}: is outside {}", resolved.display(), root.display()))),
    };
    check(machine, &folder, owner)?;
    Ok(folder)
}

/// Refuses a folder that others than root and the owner of the recordings could change.
///
/// # Errors
/// They could; the text says what to do.
pub fn check(machine: &dyn Machine, folder: &str, owner: Option<(u32, u32)>) -> Result<(), Error> {
    let place = machine.at(folder);
    match unsafe_part(&place, owner) {
        None => Ok(()),
        Some((part, why)) => Err(Error::Refused(format!(
            "{folder}: recordings hold the whole journal, and {} {why}; give a folder of your own with '--out', such as \
             /var/tmp/boots, which is made for you alone",
            part.display()
        ))),
    }
}

/// The part of a path that others could change, and how.
#[cfg(unix)]
fn unsafe_part(place: &Path, owner: Option<(u32, u32)>) -> Option<(PathBuf, &'static str)> {
    use std::os::unix::fs::MetadataExt;

    const STICKY: u32 = 0o1000;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let own = [0, rustix::process::geteuid().as_raw(), owner.map_or(0, |(user, _)| user)];
    for (depth, part) in place.ancestors().enumerate() {
        let found = match fs::symlink_metadata(part) {
            Err(_) => Some("is not there"),
            Ok(metadata) if metadata.is_symlink() => Some("is a link"),
            Ok(metadata) if !own.contains(&metadata.uid()) => Some("belongs to somebody else"),
            // Above it, a folder like /tmp is fine: nobody can take away or replace what is not theirs.
            Ok(metadata)
                if metadata.mode() & WRITABLE_BY_OTHERS != 0 && (depth == 0 || metadata.mode() & STICKY == 0) =>
            {
                Some("can be changed by others")
            }
            Ok(_) => None,
        };
        if let Some(why) = found {
            return Some((part.to_owned(), why));
        }
    }
    None
}

#[cfg(not(unix))]
fn unsafe_part(_: &Path, _: Option<(u32, u32)>) -> Option<(PathBuf, &'static str)> {
    None
}

/// Gives the folder to the user who asked for the recordings. A file system without owners keeps it root's.
#[cfg(unix)]
fn give(folder: &Path, owner: Option<(u32, u32)>) {
    if let Some((user, group)) = owner {
        let _ = std::os::unix::fs::lchown(folder, Some(user), Some(group));
    }
}

#[cfg(not(unix))]
fn give(_: &Path, _: Option<(u32, u32)>) {}
