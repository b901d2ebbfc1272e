//! Runs the real program on recordings made for the test.

pub mod symbols;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use onoff_simulator::{Scenario, Truth};
use tempfile::TempDir;

/// A temporary folder with recordings.
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub fn file(&self, name: &str, bytes: &[u8]) -> &Self {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    /// Simulates a scenario and writes `boot.etl`.
    pub fn boot(scenario: &str) -> Self {
        Self::boot_and_truth(scenario).0
    }

    /// Simulates a scenario, writes `boot.etl`, and returns the simulated truth.
    pub fn boot_and_truth(scenario: &str) -> (Self, Truth) {
        Self::simulated(scenario, |_| ())
    }

    /// Simulates a scenario after a change.
    pub fn simulated(scenario: &str, change: impl FnOnce(&mut Scenario)) -> (Self, Truth) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios").join(scenario);
        let text = std::fs::read_to_string(path).unwrap();
        let mut scenario = Scenario::from_toml(&text).unwrap();
        change(&mut scenario);
        let simulated = scenario.simulate().unwrap();
        let folder = Self::new();
        folder.file("boot.etl", &simulated.files[0]);
        (folder, simulated.truth)
    }

    /// Returns a command that runs the program in the folder; blanks separate the arguments.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onoff"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path()).stdin(Stdio::null());
        command
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("_NT_SYMBOL_PATH")
            .env_remove("ONOFF_OFFLINE");
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command whose stdout is a pipe that the reader closed before the first byte.
    pub fn run_with_closed_pipe(&self, mut command: Command) -> Output {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap()
    }

    /// Runs the program, which must succeed, and returns stdout.
    pub fn answer(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "onoff {arguments}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program, which must print a table without rows, exit with 0 and print the reason on stderr. Returns
    /// stdout and stderr.
    pub fn empty_table(&self, arguments: &str) -> (String, String) {
        let output = self.run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "onoff {arguments}: {stderr}");
        assert!(!output.stdout.is_empty(), "onoff {arguments}");
        (String::from_utf8(output.stdout).unwrap(), stderr)
    }

    /// Runs the program, which must fail with empty stdout and one line on stderr. Returns the exit code and stderr.
    pub fn failure(&self, arguments: &str) -> (i32, String) {
        let output = self.run(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "onoff {arguments}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.lines().count(), 1, "onoff {arguments}: {stderr}");
        (output.status.code().unwrap(), stderr)
    }
}

/// The parts of a small Linux recording. `slow.service` takes 6 s on the critical path to the default target,
/// `side.service` takes 8 s in parallel. The journal also has an earlier boot.
pub const LINUX_BOOT: [(&str, &str); 3] = [
    (
        "manager.txt",
        "Version=252\nFirmwareTimestampMonotonic=5448538\nLoaderTimestampMonotonic=269138\nKernelTimestampMonotonic=0\n\
         InitRDTimestampMonotonic=0\nUserspaceTimestampMonotonic=11261759\nFinishTimestampMonotonic=34678924\n\
         GeneratorsStartTimestampMonotonic=12191558\nGeneratorsFinishTimestampMonotonic=13753609\n\
         UnitsLoadStartTimestampMonotonic=13754114\nUnitsLoadFinishTimestampMonotonic=14459293\n",
    ),
    (
        "units.txt",
        "Id=-.slice\nLoadState=loaded\nInactiveExitTimestampMonotonic=14463484\nActiveEnterTimestampMonotonic=14463484\n\n\
         Id=slow.service\nLoadState=loaded\nAfter=-.slice\nExecMainPID=217\nExecMainStartTimestampMonotonic=17174263\n\
         ExecStart={ path=/bin/sleep ; argv[]=/bin/sleep 6 ; ignore_errors=no }\n\
         InactiveExitTimestampMonotonic=17175001\nActiveEnterTimestampMonotonic=23282470\n\n\
         Id=side.service\nLoadState=loaded\nAfter=-.slice\nInactiveExitTimestampMonotonic=15000000\n\
         ActiveEnterTimestampMonotonic=23000000\n\n\
         Id=failed.service\nLoadState=loaded\nResult=exit-code\nActiveState=failed\nAfter=slow.service\n\
         InactiveExitTimestampMonotonic=24000000\nInactiveEnterTimestampMonotonic=25000000\n\n\
         Id=multi-user.target\nNames=multi-user.target default.target\nLoadState=loaded\nAfter=slow.service side.service\n\
         InactiveExitTimestampMonotonic=23290000\nActiveEnterTimestampMonotonic=23290000\n",
    ),
    (
        "journal.export",
        "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1700000000000000\n__MONOTONIC_TIMESTAMP=1000000\n\
         _BOOT_ID=000000000000000000000000000000aa\n_PID=1\n_COMM=systemd\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff\n\
         KERNEL_USEC=2000000\nUSERSPACE_USEC=3000000\n\
         MESSAGE=Startup finished in 1.5s (firmware) + 500ms (loader) + 2s (kernel) + 3s (userspace) = 7s.\n\n\
         __CURSOR=s=2\n__REALTIME_TIMESTAMP=1700000100000000\n__MONOTONIC_TIMESTAMP=34679602\n\
         _BOOT_ID=000000000000000000000000000000bb\n_PID=1\n_COMM=systemd\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff\n\
         KERNEL_USEC=11261759\nUSERSPACE_USEC=23417165\nMESSAGE=Startup finished in 34.678s.\n\n",
    ),
];

impl Folder {
    /// Writes [`LINUX_BOOT`] to the folder `linux`.
    pub fn linux_boot() -> Self {
        let folder = Self::new();
        std::fs::create_dir(folder.path("linux")).unwrap();
        for (name, text) in LINUX_BOOT {
            folder.file(&format!("linux/{name}"), text.as_bytes());
        }
        folder
    }
}

/// Splits a command line into words; keeps `'…'` and `"…"` together.
pub fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in line.chars() {
        match quote {
            Some(mark) if mark == character => quote = None,
            Some(_) => words.last_mut().unwrap().push(character),
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None if character == ' ' => words.push(String::new()),
            None => words.last_mut().unwrap().push(character),
        }
    }
    words
}
