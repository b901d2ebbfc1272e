//! The computer to record: its files below a root folder, its commands, its clocks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;

/// The folder of a job's state on Linux. It exists as long as there is something to restore.
pub const STATE_FOLDER: &str = "/var/lib/onoff-record";
/// Suffix of a file while its new contents are written.
const NEW_SUFFIX: &str = ".onoff-new";

/// Exit code and output of a command.
#[derive(Clone, Debug, Default)]
pub struct CommandOutput {
    /// Exit code; `None` if a signal ended the command.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// One reading of the clocks, in ns. They are read in turn, a few hundred ns apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// `CLOCK_MONOTONIC`: stops while the computer sleeps.
    pub monotonic_ns: u64,
    /// `CLOCK_MONOTONIC_RAW`: like `CLOCK_MONOTONIC`, without NTP adjustments.
    pub raw_ns: u64,
    /// `CLOCK_BOOTTIME`: keeps running while the computer sleeps.
    pub boot_ns: u64,
    /// `CLOCK_REALTIME`: since 1970.
    pub real_ns: u64,
}

/// The computer to record. Everything that a recording reads or changes goes through this trait.
pub trait Machine {
    /// Returns the folder that represents `/`.
    fn root(&self) -> &Path;

    /// Runs a command and waits for it.
    fn run(&mut self, line: &[&str]) -> io::Result<CommandOutput>;

    /// False for a tree of files in place of a computer, which commands would not describe.
    fn runs_commands(&self) -> bool {
        true
    }

    fn clocks(&self) -> Clocks;

    fn wait(&mut self, time: Duration);

    /// Prints one line for the user.
    fn print_line(&mut self, line: &str);

    /// True if system files can be changed.
    fn is_superuser(&self) -> bool;

    /// Returns the free bytes on the file system of a path, if known.
    fn free_bytes(&self, path: &Path) -> Option<u64>;

    /// Removes the kernel's protection of an EFI variable.
    fn unprotect(&mut self, path: &Path) -> io::Result<()>;

    /// Returns the folder of a job's state, writable only by users who are allowed to record.
    fn state_folder(&self) -> &str {
        STATE_FOLDER
    }

    /// Removes a file. If a running program cannot be removed, it is moved away and removed later.
    fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// Does nothing; called before each change of the file system. Tests override it to simulate crashes.
    fn before_change(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// File operations of a machine. Paths are absolute, as the machine sees them.
pub trait MachineFiles: Machine {
    /// Returns the actual path of one of the machine's paths.
    fn host_path(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    /// True if the path exists, even as a broken link.
    fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.host_path(path)).is_ok()
    }

    /// Returns the contents of a file, or `None` if it cannot be read.
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.host_path(path)).ok()
    }

    /// Returns the contents of a file as text, with invalid UTF-8 replaced.
    fn read_text(&self, path: &str) -> Option<String> {
        let bytes = self.read(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Creates a folder whose parent exists.
    fn make_folder(&mut self, path: &str) -> Result<(), Error> {
        let host_path = self.host_path(path);
        self.before_change().and_then(|()| fs::create_dir(&host_path)).map_err(Error::file("create", &host_path))
    }

    /// Creates a folder that only its owner can access, and its missing parents.
    fn make_private_folders(&mut self, path: &str) -> Result<(), Error> {
        let host_path = self.host_path(path);
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        self.before_change().and_then(|()| builder.create(&host_path)).map_err(Error::file("create", &host_path))
    }

    /// Creates a file that only its owner can access. An existing file or link at the path is removed first.
    fn make_private_file(&mut self, path: &str) -> Result<File, Error> {
        let host_path = self.host_path(path);
        self.before_change().and_then(|()| create(&host_path, 0o600)).map_err(Error::file("write", &host_path))
    }

    /// Creates a folder and its missing parents.
    fn make_folders(&mut self, path: &str) -> Result<(), Error> {
        let host_path = self.host_path(path);
        self.before_change().and_then(|()| fs::create_dir_all(&host_path)).map_err(Error::file("create", &host_path))
    }

    /// Replaces a file's contents atomically and waits until they are on disk.
    fn replace(&mut self, path: &str, contents: &[u8], mode: u32) -> Result<(), Error> {
        let host_path = self.host_path(path);
        let new_path = self.host_path(&format!("{path}{NEW_SUFFIX}"));
        let result = (|| {
            self.before_change()?;
            let mut file = create(&new_path, mode)?;
            // Tests crash between the halves: half a file has to be cleaned up too.
            let (first_half, second_half) = contents.split_at(contents.len() / 2);
            file.write_all(first_half)?;
            self.before_change()?;
            file.write_all(second_half)?;
            file.sync_all()?;
            self.before_change()?;
            fs::rename(&new_path, &host_path)?;
            sync_folder(&host_path)
        })();
        result.map_err(Error::file("write", &host_path))
    }

    /// Creates a symbolic link and replaces an existing one.
    fn link(&mut self, path: &str, target: &str) -> Result<(), Error> {
        self.remove(path)?;
        let host_path = self.host_path(path);
        self.before_change().and_then(|()| make_link(target, &host_path)).map_err(Error::file("create", &host_path))
    }

    /// Writes a value to a kernel file, in one write.
    fn set_value(&mut self, path: &str, value: &[u8]) -> Result<(), Error> {
        let host_path = self.host_path(path);
        self.before_change()
            .and_then(|()| open_value(&host_path)?.write_all(value))
            .map_err(Error::file("write", &host_path))
    }

    /// Removes a file or link if it exists, and the leftovers of an interrupted [`MachineFiles::replace`].
    fn remove(&mut self, path: &str) -> Result<(), Error> {
        for path in [format!("{path}{NEW_SUFFIX}"), path.to_owned()] {
            if !self.exists(&path) {
                continue;
            }
            let host_path = self.host_path(&path);
            self.before_change()
                .and_then(|()| self.remove_file(&host_path))
                .map_err(Error::file("remove", &host_path))?;
            sync_folder(&host_path).map_err(Error::file("write", &host_path))?;
        }
        Ok(())
    }

    /// Removes a folder if it exists and is empty.
    fn remove_empty_folder(&mut self, path: &str) -> Result<(), Error> {
        let host_path = self.host_path(path);
        let is_empty = fs::read_dir(&host_path).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            return Ok(());
        }
        self.before_change().and_then(|()| fs::remove_dir(&host_path)).map_err(Error::file("remove", &host_path))
    }

    /// Removes a folder and its contents, if it exists.
    fn remove_tree(&mut self, path: &str) -> Result<(), Error> {
        let host_path = self.host_path(path);
        if !self.exists(path) {
            return Ok(());
        }
        self.before_change().and_then(|()| fs::remove_dir_all(&host_path)).map_err(Error::file("remove", &host_path))
    }

    /// Runs a command that must succeed, and returns its output.
    fn run_checked(&mut self, line: &[&str]) -> Result<Vec<u8>, Error> {
        self.run_accepting(line, &[])
    }

    /// Runs a command that must succeed or exit with one of `accepted_codes`, and returns its output.
    fn run_accepting(&mut self, line: &[&str], accepted_codes: &[i32]) -> Result<Vec<u8>, Error> {
        let command_error = |reason: String| Error::Command { line: line.join(" "), reason };
        let outcome = self.run(line).map_err(|error| command_error(error.to_string()))?;
        if outcome.code.is_some_and(|code| code == 0 || accepted_codes.contains(&code)) {
            return Ok(outcome.stdout);
        }
        let stderr = String::from_utf8_lossy(&outcome.stderr);
        let exit_reason =
            outcome.code.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit code {code}"));
        let last_line = stderr.trim().lines().last().unwrap_or_default();
        Err(command_error(match last_line {
            "" => exit_reason,
            line => format!("{exit_reason}: {line}"),
        }))
    }

    /// Returns the kernel's id of this boot.
    fn boot_id(&self) -> String {
        self.read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    }
}

impl<M: Machine + ?Sized> MachineFiles for M {}

#[cfg(unix)]
fn make_link(target: &str, host_path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, host_path)
}

#[cfg(not(unix))]
fn make_link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Creates a new file. An existing file or link of that name is removed, never followed. Fails if another process
/// creates one in between.
#[cfg(unix)]
fn create(path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).custom_flags(no_follow).open(path)?;
    // Boot loader entries are on FAT, which has no permissions and refuses to set them.
    let _ = file.set_permissions(fs::Permissions::from_mode(mode));
    Ok(file)
}

#[cfg(not(unix))]
fn create(path: &Path, _: u32) -> io::Result<File> {
    let _ = fs::remove_file(path);
    File::create_new(path)
}

/// Opens a kernel file, or an EFI variable that may not exist yet. Links are not followed.
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

/// Syncs the folder entry of `path` to disk. Ignores file systems that cannot.
fn sync_folder(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
    Ok(())
}
