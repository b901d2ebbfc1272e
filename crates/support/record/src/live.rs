//! The local Linux computer.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags, statvfs};
use rustix::time::{ClockId, clock_gettime};

use crate::machine::{Clocks, CommandOutput, Machine};

/// The local computer, or a tree of files in its place, which is enough for planning.
#[derive(Debug)]
pub struct LiveMachine {
    root: PathBuf,
}

impl LiveMachine {
    /// Creates a computer whose files are below `root`.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }
}

impl Machine for LiveMachine {
    fn root(&self) -> &Path {
        &self.root
    }

    fn run(&mut self, line: &[&str]) -> io::Result<CommandOutput> {
        let Some((program, arguments)) = line.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
        if !self.runs_commands() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let output = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .env("SYSTEMD_COLORS", "0")
            .env("SYSTEMD_PAGER", "")
            .output()?;
        Ok(CommandOutput { code: output.status.code(), stdout: output.stdout, stderr: output.stderr })
    }

    fn runs_commands(&self) -> bool {
        self.root == Path::new("/")
    }

    fn clocks(&self) -> Clocks {
        let read = |clock| {
            let time = clock_gettime(clock);
            let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
            let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or_default();
            seconds.saturating_mul(1_000_000_000) + nanoseconds
        };
        Clocks {
            monotonic_ns: read(ClockId::Monotonic),
            raw_ns: read(ClockId::MonotonicRaw),
            boot_ns: read(ClockId::Boottime),
            real_ns: read(ClockId::Realtime),
        }
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn print_line(&mut self, line: &str) {
        // Under systemd stdout is the journal and the console; in the shutdown hook it is the console.
        let _ = writeln!(io::stdout(), "{line}");
    }

    fn is_superuser(&self) -> bool {
        rustix::process::geteuid().is_root()
    }

    fn free_bytes(&self, path: &Path) -> Option<u64> {
        let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
        let free = statvfs(existing).ok()?;
        Some(free.f_bavail.saturating_mul(free.f_frsize))
    }

    fn unprotect(&mut self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        match ioctl_getflags(&file) {
            Ok(flags) => Ok(ioctl_setflags(&file, flags - IFlags::IMMUTABLE)?),
            // The file system has no such flags, so nothing is protected.
            Err(_) => Ok(()),
        }
    }
}
