//! Running the real program on recordings made for the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use onoff_testkit::simulate::{Scenario, Truth};
use tempfile::TempDir;

/// A folder with recordings, gone at the end of the test.
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with these bytes.
    pub fn file(&self, name: &str, bytes: &[u8]) -> &Self {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    /// The boot of one of the simulator's scenarios, as `boot.etl`.
    pub fn boot(scenario: &str) -> Self {
        Self::boot_and_truth(scenario).0
    }

    /// The same, with what really happened in it.
    pub fn boot_and_truth(scenario: &str) -> (Self, Truth) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../testkit/scenarios")
            .join(scenario);
        let text = std::fs::read_to_string(path).unwrap();
        let simulated = Scenario::from_toml(&text).unwrap().simulate().unwrap();
        let folder = Self::new();
        folder.file("boot.etl", &simulated.files[0]);
        (folder, simulated.truth)
    }

    /// The program, to be run in the folder with arguments separated by blanks.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onoff"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Stdout of a run that must answer.
    pub fn answer(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "onoff {arguments}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code and stderr of a run that must not answer: nothing on stdout, one line on stderr.
    pub fn refusal(&self, arguments: &str) -> (i32, String) {
        let output = self.run(arguments);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "",
            "onoff {arguments}"
        );
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().count(), 1, "onoff {arguments}: {stderr}");
        (output.status.code().unwrap(), stderr)
    }
}
