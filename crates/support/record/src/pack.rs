//! A folder becomes a recording: `.tar.gz`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::Error;
use crate::machine::{Files, Machine};
use crate::private;

/// The name of a recording that is being written.
#[must_use]
pub fn unfinished(to: &str) -> String {
    format!("{to}.unfinished")
}

/// Packs what is in `folder` below the name `name` into `to`, all or nothing, and removes the folder.
///
/// The folder of the recordings must be as safe as it was at the start: between two restarts somebody may have changed it.
pub fn pack(
    machine: &mut dyn Machine,
    folder: &str,
    name: &str,
    to: &str,
    owner: Option<(u32, u32)>,
) -> Result<(), Error> {
    let place = machine.at(to);
    let unfinished_path = unfinished(to);
    let unfinished = machine.at(&unfinished_path);
    private::check(machine, folder_of(to), owner)?;
    let file = machine.make_private_file(&unfinished_path)?;
    let packed = (|| {
        let file = BufWriter::new(file);
        let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        archive.mode(tar::HeaderMode::Deterministic);
        archive.follow_symlinks(false);
        archive.append_dir_all(name, machine.at(folder))?;
        let mut file = archive.into_inner()?.finish()?;
        file.flush()?;
        file.get_ref().sync_all()?;
        give(file.get_ref(), owner);
        machine.before_change()?;
        fs::rename(&unfinished, &place)
    })();
    packed.map_err(Error::file("write", &place))?;
    machine.remove_tree(folder)
}

/// Gives a recording to the user who asked for it. A file system without owners keeps it root's.
#[cfg(unix)]
fn give(file: &File, owner: Option<(u32, u32)>) {
    if let Some((user, group)) = owner {
        let _ = std::os::unix::fs::fchown(file, Some(user), Some(group));
    }
}

#[cfg(not(unix))]
fn give(_: &File, _: Option<(u32, u32)>) {}

/// The folder that a recording lies in.
fn folder_of(recording: &str) -> &str {
    recording.rsplit_once('/').map_or("/", |(folder, _)| folder)
}
