//! Checks that root can write to a folder safely: no other user can place a link where a file will be created.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::machine::{Machine, MachineFiles};

/// Creates the folder of the recordings, or checks that an existing one is safe. Returns its resolved path.
///
/// # Errors
/// Another user could write to it.
pub fn prepare(machine: &mut dyn Machine, folder: &str, owner: Option<(u32, u32)>) -> Result<String, Error> {
    if !machine.exists(folder) {
        machine.make_private_folders(folder)?;
        set_owner(&machine.host_path(folder), owner);
    }
    // Links in the path are resolved once, here; only the resolved path is checked and used from here on.
    let host_path = machine.host_path(folder);
    let resolved = fs::canonicalize(&host_path).map_err(Error::file("read", &host_path))?;
    let root = fs::canonicalize(machine.root()).map_err(Error::file("read", &host_path))?;
    let folder = match resolved.strip_prefix(&root).ok().and_then(Path::to_str) {
        Some(relative_path) => format!("/{relative_path}"),
        None => return Err(Error::Refused(format!("{} is outside {}", resolved.display(), root.display()))),
    };
    check(machine, &folder, owner)?;
    Ok(folder)
}

/// Checks that only root and the owner of the recordings can change a folder.
///
/// # Errors
/// Another user can change it; the text says what to do.
pub fn check(machine: &dyn Machine, folder: &str, owner: Option<(u32, u32)>) -> Result<(), Error> {
    let host_path = machine.host_path(folder);
    match unsafe_component(&host_path, owner) {
        None => Ok(()),
        Some((component, problem)) => Err(Error::Refused(format!(
            "{folder}: recordings contain the whole journal, but {} {problem}; choose a private folder with '--out', such as \
             /var/tmp/boots, which onoff creates for you alone",
            component.display()
        ))),
    }
}

/// Returns the component of a path that another user could change, and the reason.
#[cfg(unix)]
fn unsafe_component(host_path: &Path, owner: Option<(u32, u32)>) -> Option<(PathBuf, &'static str)> {
    use std::os::unix::fs::MetadataExt;

    const STICKY: u32 = 0o1000;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let trusted = [0, rustix::process::geteuid().as_raw(), owner.map_or(0, |(user, _)| user)];
    for (depth, component) in host_path.ancestors().enumerate() {
        let problem = match fs::symlink_metadata(component) {
            Err(_) => Some("does not exist"),
            Ok(metadata) if metadata.is_symlink() => Some("is a link"),
            Ok(metadata) if !trusted.contains(&metadata.uid()) => Some("belongs to another user"),
            // A parent like /tmp is safe: with the sticky bit, users cannot remove or rename each other's files.
            Ok(metadata)
                if metadata.mode() & WRITABLE_BY_OTHERS != 0 && (depth == 0 || metadata.mode() & STICKY == 0) =>
            {
                Some("is writable by other users")
            }
            Ok(_) => None,
        };
        if let Some(problem) = problem {
            return Some((component.to_owned(), problem));
        }
    }
    None
}

#[cfg(not(unix))]
fn unsafe_component(_: &Path, _: Option<(u32, u32)>) -> Option<(PathBuf, &'static str)> {
    None
}

/// Makes the user who started the job the owner of the folder. On a file system without owners, root remains the owner.
#[cfg(unix)]
fn set_owner(folder: &Path, owner: Option<(u32, u32)>) {
    if let Some((user, group)) = owner {
        let _ = std::os::unix::fs::lchown(folder, Some(user), Some(group));
    }
}

#[cfg(not(unix))]
fn set_owner(_: &Path, _: Option<(u32, u32)>) {}
