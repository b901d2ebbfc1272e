//! Packs a folder into a recording (`.tar.gz`).

use std::fs::{self, File};
use std::io::{BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::Error;
use crate::machine::{Machine, MachineFiles};
use crate::private;

/// Returns the path of a recording while it is being written.
#[must_use]
pub fn unfinished_path(target: &str) -> String {
    format!("{target}.unfinished")
}

/// Packs the contents of `folder`, under the name `name`, atomically into `target`, and removes the folder.
///
/// Checks again that the folder of the recordings is safe: another user may have changed it between two restarts.
pub fn pack(
    machine: &mut dyn Machine,
    folder: &str,
    name: &str,
    target: &str,
    owner: Option<(u32, u32)>,
) -> Result<(), Error> {
    let host_path = machine.host_path(target);
    let unfinished_path = unfinished_path(target);
    let unfinished_host_path = machine.host_path(&unfinished_path);
    private::check(machine, parent_of(target), owner)?;
    let file = machine.make_private_file(&unfinished_path)?;
    let result = (|| {
        let file = BufWriter::new(file);
        let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        archive.mode(tar::HeaderMode::Deterministic);
        archive.follow_symlinks(false);
        archive.append_dir_all(name, machine.host_path(folder))?;
        let mut file = archive.into_inner()?.finish()?;
        file.flush()?;
        file.get_ref().sync_all()?;
        set_owner(file.get_ref(), owner);
        machine.before_change()?;
        fs::rename(&unfinished_host_path, &host_path)
    })();
    result.map_err(Error::file("write", &host_path))?;
    machine.remove_tree(folder)
}

/// Makes the user who started the job the owner of a recording. On a file system without owners, root remains the
/// owner.
#[cfg(unix)]
fn set_owner(file: &File, owner: Option<(u32, u32)>) {
    if let Some((user, group)) = owner {
        let _ = std::os::unix::fs::fchown(file, Some(user), Some(group));
    }
}

#[cfg(not(unix))]
fn set_owner(_: &File, _: Option<(u32, u32)>) {}

/// Returns the parent folder of a recording.
fn parent_of(recording: &str) -> &str {
    recording.rsplit_once('/').map_or("/", |(folder, _)| folder)
}
