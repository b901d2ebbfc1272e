//! The local Windows computer.

use std::fs;
use std::io::{self, Write};
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::commands::{Installation, to_windows_path};
use crate::error::Error;
use crate::machine::{Clocks, CommandOutput, Machine};

/// Security identifiers of the integrity levels of administrators' and system processes.
const HIGH_INTEGRITY: [&str; 2] = ["S-1-16-12288", "S-1-16-16384"];

/// The local computer, or a tree of files in its place, which is enough for reading event logs.
#[derive(Debug)]
pub struct WindowsMachine {
    /// Empty for the local computer.
    root: PathBuf,
    installation: Installation,
    state_folder: String,
    created: Instant,
}

impl WindowsMachine {
    /// Finds the folders of the local computer in its environment variables.
    ///
    /// # Errors
    /// A variable that Windows always sets is missing.
    pub fn new() -> Result<Self, Error> {
        let variable = |name: &str| match std::env::var(name) {
            Ok(value) if !value.is_empty() => Ok(value.replace('\\', "/")),
            _ => Err(Error::Refused(format!("the environment variable {name} is missing; Windows normally sets it"))),
        };
        let installation = Installation {
            windows: variable("SystemRoot")?,
            user: match variable("USERDOMAIN") {
                Ok(domain) => format!("{domain}\\{}", variable("USERNAME")?),
                Err(_) => variable("USERNAME")?,
            },
        };
        let state_folder = format!("{}/onoff-record", variable("ProgramFiles")?);
        Ok(Self { root: PathBuf::new(), installation, state_folder, created: Instant::now() })
    }

    /// Creates a computer whose Windows folder is in `root`. It runs no commands, because they would describe the local
    /// computer.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        let installation = Installation { windows: "Windows".to_owned(), user: String::new() };
        Self { root, installation, state_folder: String::new(), created: Instant::now() }
    }

    #[must_use]
    pub fn installation(&self) -> &Installation {
        &self.installation
    }
}

impl Machine for WindowsMachine {
    fn root(&self) -> &Path {
        &self.root
    }

    fn run(&mut self, line: &[&str]) -> io::Result<CommandOutput> {
        let Some((program, arguments)) = line.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
        if !self.runs_commands() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
        Ok(CommandOutput { code: output.status.code(), stdout: output.stdout, stderr: output.stderr })
    }

    fn runs_commands(&self) -> bool {
        self.root.as_os_str().is_empty()
    }

    fn clocks(&self) -> Clocks {
        let elapsed_ns = u64::try_from(self.created.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let real = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let real_ns = u64::try_from(real).unwrap_or(u64::MAX);
        Clocks { monotonic_ns: elapsed_ns, raw_ns: elapsed_ns, boot_ns: elapsed_ns, real_ns }
    }

    fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn print_line(&mut self, line: &str) {
        let _ = writeln!(io::stdout(), "{line}");
    }

    fn is_superuser(&self) -> bool {
        let line = self.installation.groups();
        let Some((program, arguments)) = line.split_first() else { return false };
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
        let printed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        HIGH_INTEGRITY.iter().any(|identifier| printed.contains(identifier))
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        None
    }

    fn unprotect(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn state_folder(&self) -> &str {
        &self.state_folder
    }

    fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let Err(error) = fs::remove_file(path) else { return Ok(()) };
        // A running program can be moved within its volume but not removed.
        let running = std::env::current_exe().and_then(fs::canonicalize).ok();
        if error.kind() == io::ErrorKind::NotFound || running.is_none() || fs::canonicalize(path).ok() != running {
            return Err(error);
        }
        let folder = PathBuf::from(&self.installation.windows).join("Temp");
        let moved = folder.join(format!("onoff-record-{}.exe", std::process::id()));
        fs::rename(path, &moved)?;
        // Removes the file a few seconds later, after this program has exited.
        let delayed_removal =
            format!("ping -n 4 127.0.0.1 >nul & del \"{}\"", to_windows_path(&moved.display().to_string()));
        Command::new(self.installation.program("cmd"))
            .raw_arg(format!("/d /s /c \"{delayed_removal}\""))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(|_| ())
    }
}
