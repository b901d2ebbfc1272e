//! The computer that is recorded: its files below a root, its commands, its clocks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;

/// The folder of a job's state on Linux. It is there as long as there is something to put back.
pub const STATE_FOLDER: &str = "/var/lib/onoff-record";
/// What is appended to a file's name while its new contents are written.
const NEW: &str = ".onoff-new";

/// What a command left behind.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained.
    pub stderr: Vec<u8>,
}

/// One reading of the clocks, ns. They are read one after the other, some hundred ns apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// `CLOCK_MONOTONIC`: stands still while the computer sleeps.
    pub monotonic_ns: u64,
    /// `CLOCK_MONOTONIC_RAW`: the same, never slewed.
    pub raw_ns: u64,
    /// `CLOCK_BOOTTIME`: counts on while the computer sleeps.
    pub boot_ns: u64,
    /// `CLOCK_REALTIME`, from 1970.
    pub real_ns: u64,
}

/// The computer that is recorded. Everything that a recording reads or changes goes through it.
pub trait Machine {
    /// The folder that stands for `/`.
    fn root(&self) -> &Path;

    /// Runs a command to its end.
    fn run(&mut self, line: &[&str]) -> io::Result<Outcome>;

    /// Reads the clocks.
    fn clocks(&self) -> Clocks;

    /// Lets time pass.
    fn wait(&mut self, time: Duration);

    /// Tells the person who watches, on one line.
    fn say(&mut self, line: &str);

    /// Whether files of the system may be changed.
    fn is_superuser(&self) -> bool;

    /// Bytes free on the file system of a path, as far as known.
    fn free_bytes(&self, path: &Path) -> Option<u64>;

    /// Lifts the protection that the kernel gives to firmware variables.
    fn unprotect(&mut self, path: &Path) -> io::Result<()>;

    /// The folder in which a job keeps its state; nobody but those who may record can change it.
    fn state_folder(&self) -> &str {
        STATE_FOLDER
    }

    /// Removes a file. Where a program that runs cannot be removed, it is moved out of the way and goes later.
    fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// Called before each change of the file system. A test lets the computer crash here.
    fn before_change(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is done with the files of a machine; paths are absolute, as the machine sees them.
pub trait Files: Machine {
    /// Where a path of the machine lies.
    fn at(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    /// Whether there is anything at a path, a broken link included.
    fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.at(path)).is_ok()
    }

    /// The bytes of a file.
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.at(path)).ok()
    }

    /// The text of a file, bytes that are no text replaced.
    fn read_text(&self, path: &str) -> Option<String> {
        let bytes = self.read(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Makes a folder whose parent exists.
    fn make_folder(&mut self, path: &str) -> Result<(), Error> {
        let place = self.at(path);
        self.before_change().and_then(|()| fs::create_dir(&place)).map_err(Error::file("create", &place))
    }

    /// Makes a folder that only its owner can look into, and what is missing above it.
    fn make_private_folders(&mut self, path: &str) -> Result<(), Error> {
        let place = self.at(path);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        self.before_change().and_then(|()| builder.create(&place)).map_err(Error::file("create", &place))
    }

    /// Makes a file that is not there, for its owner alone. What lies there already, also a link to elsewhere, is removed first.
    fn make_private_file(&mut self, path: &str) -> Result<File, Error> {
        let place = self.at(path);
        self.before_change().and_then(|()| create(&place, 0o600)).map_err(Error::file("write", &place))
    }

    /// Makes a folder and what is missing above it.
    fn make_folders(&mut self, path: &str) -> Result<(), Error> {
        let place = self.at(path);
        self.before_change().and_then(|()| fs::create_dir_all(&place)).map_err(Error::file("create", &place))
    }

    /// Gives a file new contents, all or nothing, and waits until they are on disk.
    fn replace(&mut self, path: &str, contents: &[u8], mode: u32) -> Result<(), Error> {
        let place = self.at(path);
        let new = self.at(&format!("{path}{NEW}"));
        let written = (|| {
            self.before_change()?;
            let mut file = create(&new, mode)?;
            // Half of a file is what a crash leaves; it has to be cleaned up too.
            let (first, second) = contents.split_at(contents.len() / 2);
            file.write_all(first)?;
            self.before_change()?;
            file.write_all(second)?;
            file.sync_all()?;
            self.before_change()?;
            fs::rename(&new, &place)?;
            sync_folder(&place)
        })();
        written.map_err(Error::file("write", &place))
    }

    /// Makes a symbolic link, in place of one that is there.
    fn link(&mut self, path: &str, target: &str) -> Result<(), Error> {
        self.remove(path)?;
        let place = self.at(path);
        self.before_change().and_then(|()| make_link(target, &place)).map_err(Error::file("create", &place))
    }

    /// Writes a value to a file of the kernel's, in one write.
    fn set_value(&mut self, path: &str, value: &[u8]) -> Result<(), Error> {
        let place = self.at(path);
        self.before_change().and_then(|()| open_value(&place)?.write_all(value)).map_err(Error::file("write", &place))
    }

    /// Removes a file or link, and what an interrupted [`Files::replace`] of it left; none is fine.
    fn remove(&mut self, path: &str) -> Result<(), Error> {
        for path in [format!("{path}{NEW}"), path.to_owned()] {
            if !self.exists(&path) {
                continue;
            }
            let place = self.at(&path);
            self.before_change().and_then(|()| self.remove_file(&place)).map_err(Error::file("remove", &place))?;
            sync_folder(&place).map_err(Error::file("write", &place))?;
        }
        Ok(())
    }

    /// Removes a folder if it is there and empty.
    fn remove_empty_folder(&mut self, path: &str) -> Result<(), Error> {
        let place = self.at(path);
        let empty = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_none());
        if !empty {
            return Ok(());
        }
        self.before_change().and_then(|()| fs::remove_dir(&place)).map_err(Error::file("remove", &place))
    }

    /// Removes a folder with all that is in it; none is fine.
    fn remove_tree(&mut self, path: &str) -> Result<(), Error> {
        let place = self.at(path);
        if !self.exists(path) {
            return Ok(());
        }
        self.before_change().and_then(|()| fs::remove_dir_all(&place)).map_err(Error::file("remove", &place))
    }

    /// Runs a command that must succeed, and gives what it printed.
    fn must_run(&mut self, line: &[&str]) -> Result<Vec<u8>, Error> {
        self.must_run_to(line, &[])
    }

    /// Runs a command that must succeed or end with one of the exit codes in `as_good`, and gives what it printed.
    fn must_run_to(&mut self, line: &[&str], as_good: &[i32]) -> Result<Vec<u8>, Error> {
        let failed = |reason: String| Error::Command { line: line.join(" "), reason };
        let outcome = self.run(line).map_err(|error| failed(error.to_string()))?;
        if outcome.code.is_some_and(|code| code == 0 || as_good.contains(&code)) {
            return Ok(outcome.stdout);
        }
        let said = String::from_utf8_lossy(&outcome.stderr);
        let code = outcome.code.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit code {code}"));
        let said = said.trim().lines().last().unwrap_or_default();
        Err(failed(match said {
            "" => code,
            said => format!("{code}: {said}"),
        }))
    }

    /// The id that the kernel gave to this boot.
    fn boot_id(&self) -> String {
        self.read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    }
}

impl<M: Machine + ?Sized> Files for M {}

#[cfg(unix)]
fn make_link(target: &str, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, place)
}

#[cfg(not(unix))]
fn make_link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A new file. What has its name already, such as the rest of an interrupted run or a link that somebody put there, is removed,
/// never written through; and if somebody is quick enough to put another there, this fails.
#[cfg(unix)]
fn create(path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).custom_flags(no_follow).open(path)?;
    // FAT, where boot loaders' entries lie, knows no permissions and refuses to be told any.
    let _ = file.set_permissions(fs::Permissions::from_mode(mode));
    Ok(file)
}

#[cfg(not(unix))]
fn create(path: &Path, _: u32) -> io::Result<File> {
    let _ = fs::remove_file(path);
    File::create_new(path)
}

/// A file of the kernel's, or a firmware variable that may not be there yet; never what a link leads to.
#[cfg(unix)]
fn open_value(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(no_follow).open(path)
}

#[cfg(not(unix))]
fn open_value(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}

/// Makes a folder's entry for `path` last. File systems that cannot are let be.
fn sync_folder(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
    Ok(())
}
