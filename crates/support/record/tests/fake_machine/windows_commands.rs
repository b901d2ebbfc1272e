//! Fakes of the Windows programs that a recording job runs. They reject arguments that the published syntax does not
//! allow, and simulate the programs' effects on a tree of files.
//!
//! Based on Microsoft's pages ("WPR Command-Line Options", "schtasks create", "schtasks delete", "shutdown", "icacls",
//! "reg query", "whoami", "wevtutil", "Powercfg command-line options", `Form.SetSuspendState`). Uses only the standard
//! library, because this file is also compiled into a program for Wine.

use std::fs;
use std::path::{Path, PathBuf};

/// Exit code and output of a program.
pub struct CommandOutput {
    pub code: i32,
    pub output: String,
}

const NOT_RECORDING: i32 = 0xC558_3000_u32.cast_signed();
const NO_SUCH_FILE: i32 = 0x8007_0002_u32.cast_signed();

fn success(output: &str) -> CommandOutput {
    CommandOutput { code: 0, output: output.to_owned() }
}

fn failure(code: i32, output: impl Into<String>) -> CommandOutput {
    CommandOutput { code, output: output.into() }
}

/// A Windows computer in the folder `root`, which is empty if the fakes run as real programs.
pub struct Computer<'a> {
    pub root: &'a Path,
}

impl Computer<'_> {
    /// Returns the actual path of `C:\folder\file`.
    pub fn local_path(&self, path: &str) -> PathBuf {
        self.root.join(path.replace('\\', "/"))
    }

    /// Returns the path of a file with the state of the fakes, which no job changes.
    fn state_file(&self, name: &str) -> PathBuf {
        self.local_path(&format!("C:/fake/{name}"))
    }

    pub fn remember(&self, name: &str, text: &str) {
        let path = self.state_file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn recall(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.state_file(name)).ok()
    }

    fn forget(&self, name: &str) -> bool {
        fs::remove_file(self.state_file(name)).is_ok()
    }

    /// Runs the fake of a program.
    pub fn run(&self, program: &str, arguments: &[String]) -> CommandOutput {
        let log = self.recall("ran").unwrap_or_default();
        self.remember("ran", &format!("{log}{program} {}\n", arguments.join(" ")));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match program {
            "wpr" => self.wpr(&arguments),
            "schtasks" => self.schtasks(&arguments),
            "shutdown" => self.shutdown(&arguments),
            "icacls" => self.icacls(&arguments),
            "powershell" => self.powershell(&arguments),
            "reg" => self.reg(&arguments),
            "wevtutil" => self.wevtutil(&arguments),
            "powercfg" => self.powercfg(&arguments),
            "whoami" => match arguments.as_slice() {
                ["/groups", "/fo", "csv", "/nh"] => {
                    success("\"Mandatory Label\\High Mandatory Level\",\"Label\",\"S-1-16-12288\",\"\"\r\n")
                }
                _ => failure(1, "ERROR: Invalid argument/option"),
            },
            program => failure(9009, format!("{program}: no such program")),
        }
    }

    /// `wpr -boottrace -addboot PROFILE [-filemode] [-recordtempto FOLDER]`, `-stopboot FILE [DESCRIPTION]`,
    /// `-cancelboot`; `wpr -start PROFILE [-filemode] [-recordtempto FOLDER]`, `-stop FILE [DESCRIPTION]`, `-cancel`.
    fn wpr(&self, arguments: &[&str]) -> CommandOutput {
        match arguments {
            ["-boottrace", "-addboot", profile, options @ ..] => self.begin("armed", profile, options),
            ["-boottrace", "-stopboot", file] | ["-boottrace", "-stopboot", file, _] => {
                self.finish("recorded-boot", file)
            }
            ["-boottrace", "-cancelboot"] => {
                let (armed, recorded) = (self.forget("armed"), self.forget("recorded-boot"));
                if armed || recorded { success("") } else { not_recording() }
            }
            ["-start", profile, options @ ..] => self.begin("recording", profile, options),
            ["-stop", file] | ["-stop", file, _] => self.finish("recording", file),
            ["-cancel"] => {
                if self.forget("recording") {
                    success("")
                } else {
                    not_recording()
                }
            }
            _ => failure(1, "\tInvalid command syntax."),
        }
    }

    fn begin(&self, state: &str, profile: &str, options: &[&str]) -> CommandOutput {
        if self.recall(state).is_some() {
            return failure(0xC558_3001_u32.cast_signed(), "\tThe profiles are already running.");
        }
        let Some((file, name)) = profile.rsplit_once('!') else {
            return failure(1, format!("\t{profile} is not a built-in profile of this test."));
        };
        let (name, detail) = name.split_once('.').unwrap_or((name, "Verbose"));
        let Ok(text) = fs::read_to_string(self.local_path(file)) else {
            return failure(NO_SUCH_FILE, format!("\t{file}: the system cannot find the file specified."));
        };
        let mode = if options.contains(&"-filemode") { "File" } else { "Memory" };
        let has_profile = text.lines().any(|line| {
            line.contains("<Profile ")
                && line.contains(&format!("Name=\"{name}\""))
                && line.contains(&format!("DetailLevel=\"{detail}\""))
                && line.contains(&format!("LoggingMode=\"{mode}\""))
        });
        if !has_profile {
            return failure(1, format!("\t{file} has no profile {name}.{detail} for {mode}."));
        }
        let mut remaining = options;
        loop {
            remaining = match remaining {
                [] => break,
                ["-filemode", next @ ..] => next,
                ["-recordtempto", folder, next @ ..] if self.local_path(folder).is_dir() => next,
                ["-recordtempto", folder, ..] => return failure(1, format!("\t{folder} is not a folder.")),
                _ => return failure(1, "\tInvalid command syntax."),
            };
        }
        self.remember(state, profile);
        success("")
    }

    fn finish(&self, state: &str, file: &str) -> CommandOutput {
        if self.recall(state).is_none() {
            return not_recording();
        }
        let path = self.local_path(file);
        if !file.ends_with(".etl") || !path.parent().is_some_and(Path::is_dir) {
            return failure(1, format!("\t{file} cannot be written."));
        }
        let recording = self.state_file(if state == "recording" { "sleep.etl" } else { "boot.etl" });
        let bytes = fs::read(recording).unwrap_or_else(|_| b"what the recorder wrote".to_vec());
        fs::write(path, bytes).unwrap();
        self.forget(state);
        success("")
    }

    /// `schtasks /create /tn NAME /xml FILE [/f] [/hresult]`, `schtasks /delete /tn NAME /f [/hresult]`.
    fn schtasks(&self, arguments: &[&str]) -> CommandOutput {
        match arguments {
            ["/create", "/tn", name, "/xml", file, "/f", "/hresult"] => match fs::read_to_string(self.local_path(file))
            {
                Err(_) => failure(NO_SUCH_FILE, "ERROR: The system cannot find the file specified."),
                Ok(text) if !text.is_ascii() || !text.starts_with("<?xml version=\"1.0\"?>") => {
                    failure(0x8004_131A_u32.cast_signed(), "ERROR: unable to switch the encoding")
                }
                Ok(text) => {
                    self.remember(&format!("task-{name}.xml"), &text);
                    success("SUCCESS")
                }
            },
            ["/delete", "/tn", name, "/f", "/hresult"] => match self.forget(&format!("task-{name}.xml")) {
                true => success("SUCCESS"),
                false => failure(NO_SUCH_FILE, "ERROR: The specified task name does not exist."),
            },
            _ => failure(1, "ERROR: Invalid syntax."),
        }
    }

    /// `shutdown /r /t SECONDS`, `shutdown /h`.
    fn shutdown(&self, arguments: &[&str]) -> CommandOutput {
        match arguments {
            ["/r", "/t", seconds] if seconds.parse::<u32>().is_ok_and(|seconds| seconds <= 315_360_000) => {
                self.remember("restart", "");
                success("")
            }
            ["/h"] => {
                self.remember("asleep", "hibernate");
                success("")
            }
            _ => failure(1, "Usage: shutdown [/i | /l | /s | /r | /h ...]"),
        }
    }

    fn icacls(&self, arguments: &[&str]) -> CommandOutput {
        match arguments {
            [folder, "/inheritance:r", "/grant:r", grants @ ..]
                if !grants.is_empty() && grants.iter().all(|grant| grant.ends_with(":(OI)(CI)F")) =>
            {
                if !self.local_path(folder).is_dir() {
                    return failure(2, format!("{folder}: The system cannot find the file specified."));
                }
                self.remember("closed", folder);
                success("Successfully processed 1 files; Failed processing 0 files")
            }
            _ => failure(87, "Invalid parameter"),
        }
    }

    fn powershell(&self, arguments: &[&str]) -> CommandOutput {
        match arguments {
            ["-NoProfile", "-NonInteractive", "-Command", script]
                if script.contains("Add-Type -AssemblyName System.Windows.Forms")
                    && script
                        .contains("[System.Windows.Forms.Application]::SetSuspendState('Suspend', $false, $false)") =>
            {
                self.remember("asleep", "suspend");
                success("")
            }
            _ => failure(1, "The term is not recognized."),
        }
    }

    fn reg(&self, arguments: &[&str]) -> CommandOutput {
        let missing = failure(1, "ERROR: The system was unable to find the specified registry key or value.");
        match arguments {
            ["query", key, "/v", name] if key.starts_with("HKLM\\") => {
                let Some(value) = self.recall(&format!("registry-{name}")) else {
                    return missing;
                };
                success(&format!("\r\nHKEY_LOCAL_MACHINE{}\r\n    {name}    REG_DWORD    {value}\r\n\r\n", &key[4..]))
            }
            _ => failure(1, "ERROR: Invalid syntax."),
        }
    }

    /// `wevtutil epl CHANNEL FILE`. The log service has the logs in `C:\fake\logs`.
    fn wevtutil(&self, arguments: &[&str]) -> CommandOutput {
        match arguments {
            ["epl", channel, file] => {
                let log = self.state_file(&format!("logs/{}.evtx", channel.replace('/', "%4")));
                let target = self.local_path(file);
                if target.exists() {
                    failure(80, format!("Failed to export log {channel}. The file exists."))
                } else if fs::copy(log, target).is_ok() {
                    success("")
                } else {
                    failure(5, format!("Failed to export log {channel}.\r\nAccess is denied."))
                }
            }
            _ => failure(87, "Invalid option. The parameter is incorrect."),
        }
    }

    /// `powercfg /sleepstudy /output FILE`.
    fn powercfg(&self, arguments: &[&str]) -> CommandOutput {
        match arguments {
            ["/sleepstudy", "/output", file] => match self.recall("sleepstudy.html") {
                Some(report) => {
                    fs::write(self.local_path(file), report).unwrap();
                    success("Sleep Study report saved to file path.")
                }
                None => failure(1, "Unable to perform operation. An unexpected error (0x5) has occurred."),
            },
            _ => failure(1, "Invalid Parameters -- try \"/?\" for help"),
        }
    }

    /// Simulates a restart: increments the boot number, logs the shutdown, and records an armed boot.
    pub fn restart(&self) {
        let number: u64 = self.recall("registry-BootId").and_then(|text| parse_hex(&text)).unwrap_or(1);
        self.remember("registry-BootId", &format!("0x{:x}", number + 1));
        self.forget("restart");
        if let Some(profile) = self.recall("armed") {
            self.forget("armed");
            self.remember("recorded-boot", &profile);
        }
        if self.recall("no-shutdown-log").is_none() {
            let log = self.local_path("C:/Windows/System32/WDI/LogFiles/ShutdownPerfDiagLogger.etl");
            fs::create_dir_all(log.parent().unwrap()).unwrap();
            let bytes = fs::read(self.state_file("shutdown.etl")).unwrap_or_else(|_| b"what Windows logged".to_vec());
            fs::write(log, bytes).unwrap();
        }
    }
}

fn parse_hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

fn not_recording() -> CommandOutput {
    failure(NOT_RECORDING, "\tThere are no trace profiles running.\r\n\r\n\tError code: 0xc5583000")
}
