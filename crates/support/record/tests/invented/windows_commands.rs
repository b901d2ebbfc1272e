//! Stand-ins for the programs of Windows that a recording job runs: they refuse what the published syntax does not allow, and do on a tree
//! of files what the real ones do to a computer.
//!
//! Written for this from Microsoft's pages ("WPR Command-Line Options", "schtasks create", "schtasks delete", "shutdown", "icacls", "reg query",
//! "whoami", `Form.SetSuspendState`), with the standard library alone: the same file is compiled into a program for Wine.

use std::fs;
use std::path::{Path, PathBuf};

/// What a program left behind.
pub struct Answer {
    pub code: i32,
    pub printed: String,
}

const NOTHING_RECORDED: i32 = 0xC558_3000_u32.cast_signed();
const NO_SUCH_FILE: i32 = 0x8007_0002_u32.cast_signed();

fn done(printed: &str) -> Answer {
    Answer { code: 0, printed: printed.to_owned() }
}

fn fault(code: i32, said: impl Into<String>) -> Answer {
    Answer { code, printed: said.into() }
}

/// A computer with Windows below `root`, which is empty on a computer where the stand-ins really run.
pub struct Computer<'a> {
    pub root: &'a Path,
}

impl Computer<'_> {
    /// Where `C:\folder\file` is.
    pub fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.replace('\\', "/"))
    }

    /// What the stand-ins remember: outside of all that a job may touch.
    fn memory(&self, name: &str) -> PathBuf {
        self.place(&format!("C:/stand-in/{name}"))
    }

    pub fn remember(&self, name: &str, text: &str) {
        let place = self.memory(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    pub fn recall(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.memory(name)).ok()
    }

    fn forget(&self, name: &str) -> bool {
        fs::remove_file(self.memory(name)).is_ok()
    }

    /// Runs the stand-in of a program.
    pub fn run(&self, program: &str, words: &[String]) -> Answer {
        let log = self.recall("ran").unwrap_or_default();
        self.remember("ran", &format!("{log}{program} {}\n", words.join(" ")));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match program {
            "wpr" => self.wpr(&words),
            "schtasks" => self.schtasks(&words),
            "shutdown" => self.shutdown(&words),
            "icacls" => self.icacls(&words),
            "powershell" => self.powershell(&words),
            "reg" => self.reg(&words),
            "whoami" => match words.as_slice() {
                ["/groups", "/fo", "csv", "/nh"] => {
                    done("\"Mandatory Label\\High Mandatory Level\",\"Label\",\"S-1-16-12288\",\"\"\r\n")
                }
                _ => fault(1, "ERROR: Invalid argument/option"),
            },
            program => fault(9009, format!("{program}: no such program")),
        }
    }

    /// `wpr -boottrace -addboot PROFILE [-filemode] [-recordtempto FOLDER]`, `-stopboot FILE [DESCRIPTION]`, `-cancelboot`;
    /// `wpr -start PROFILE [-filemode] [-recordtempto FOLDER]`, `-stop FILE [DESCRIPTION]`, `-cancel`.
    fn wpr(&self, words: &[&str]) -> Answer {
        match words {
            ["-boottrace", "-addboot", profile, rest @ ..] => self.begin("armed", profile, rest),
            ["-boottrace", "-stopboot", file] | ["-boottrace", "-stopboot", file, _] => {
                self.finish("recorded-boot", file)
            }
            ["-boottrace", "-cancelboot"] => {
                let (armed, recorded) = (self.forget("armed"), self.forget("recorded-boot"));
                if armed || recorded { done("") } else { nothing_recorded() }
            }
            ["-start", profile, rest @ ..] => self.begin("recording", profile, rest),
            ["-stop", file] | ["-stop", file, _] => self.finish("recording", file),
            ["-cancel"] => {
                if self.forget("recording") {
                    done("")
                } else {
                    nothing_recorded()
                }
            }
            _ => fault(1, "\tInvalid command syntax."),
        }
    }

    fn begin(&self, what: &str, profile: &str, options: &[&str]) -> Answer {
        if self.recall(what).is_some() {
            return fault(0xC558_3001_u32.cast_signed(), "\tThe profiles are already running.");
        }
        let Some((file, name)) = profile.rsplit_once('!') else {
            return fault(1, format!("\t{profile} is no built-in profile of this test."));
        };
        let (name, detail) = name.split_once('.').unwrap_or((name, "Verbose"));
        let Ok(text) = fs::read_to_string(self.place(file)) else {
            return fault(NO_SUCH_FILE, format!("\t{file}: the system cannot find the file specified."));
        };
        let mode = if options.contains(&"-filemode") { "File" } else { "Memory" };
        let has_profile = text.lines().any(|line| {
            line.contains("<Profile ")
                && line.contains(&format!("Name=\"{name}\""))
                && line.contains(&format!("DetailLevel=\"{detail}\""))
                && line.contains(&format!("LoggingMode=\"{mode}\""))
        });
        if !has_profile {
            return fault(1, format!("\t{file} holds no profile {name}.{detail} for {mode}."));
        }
        let mut left = options;
        loop {
            left = match left {
                [] => break,
                ["-filemode", rest @ ..] => rest,
                ["-recordtempto", folder, rest @ ..] if self.place(folder).is_dir() => rest,
                ["-recordtempto", folder, ..] => return fault(1, format!("\t{folder} is no folder.")),
                _ => return fault(1, "\tInvalid command syntax."),
            };
        }
        self.remember(what, profile);
        done("")
    }

    fn finish(&self, what: &str, file: &str) -> Answer {
        if self.recall(what).is_none() {
            return nothing_recorded();
        }
        let place = self.place(file);
        if !file.ends_with(".etl") || !place.parent().is_some_and(Path::is_dir) {
            return fault(1, format!("\t{file} cannot be written."));
        }
        let recording = self.memory(if what == "recording" { "sleep.etl" } else { "boot.etl" });
        let bytes = fs::read(recording).unwrap_or_else(|_| b"what the recorder wrote".to_vec());
        fs::write(place, bytes).unwrap();
        self.forget(what);
        done("")
    }

    /// `schtasks /create /tn NAME /xml FILE [/f] [/hresult]`, `schtasks /delete /tn NAME /f [/hresult]`.
    fn schtasks(&self, words: &[&str]) -> Answer {
        match words {
            ["/create", "/tn", name, "/xml", file, "/f", "/hresult"] => match fs::read_to_string(self.place(file)) {
                Err(_) => fault(NO_SUCH_FILE, "ERROR: The system cannot find the file specified."),
                Ok(text) if !text.is_ascii() || !text.starts_with("<?xml version=\"1.0\"?>") => {
                    fault(0x8004_131A_u32.cast_signed(), "ERROR: unable to switch the encoding")
                }
                Ok(text) => {
                    self.remember(&format!("task-{name}.xml"), &text);
                    done("SUCCESS")
                }
            },
            ["/delete", "/tn", name, "/f", "/hresult"] => match self.forget(&format!("task-{name}.xml")) {
                true => done("SUCCESS"),
                false => fault(NO_SUCH_FILE, "ERROR: The specified task name does not exist."),
            },
            _ => fault(1, "ERROR: Invalid syntax."),
        }
    }

    /// `shutdown /r /t SECONDS`, `shutdown /h`.
    fn shutdown(&self, words: &[&str]) -> Answer {
        match words {
            ["/r", "/t", seconds] if seconds.parse::<u32>().is_ok_and(|seconds| seconds <= 315_360_000) => {
                self.remember("restart", "");
                done("")
            }
            ["/h"] => {
                self.remember("asleep", "hibernate");
                done("")
            }
            _ => fault(1, "Usage: shutdown [/i | /l | /s | /r | /h ...]"),
        }
    }

    fn icacls(&self, words: &[&str]) -> Answer {
        match words {
            [folder, "/inheritance:r", "/grant:r", grants @ ..]
                if !grants.is_empty() && grants.iter().all(|grant| grant.ends_with(":(OI)(CI)F")) =>
            {
                if !self.place(folder).is_dir() {
                    return fault(2, format!("{folder}: The system cannot find the file specified."));
                }
                self.remember("closed", folder);
                done("Successfully processed 1 files; Failed processing 0 files")
            }
            _ => fault(87, "Invalid parameter"),
        }
    }

    fn powershell(&self, words: &[&str]) -> Answer {
        match words {
            ["-NoProfile", "-NonInteractive", "-Command", script]
                if script.contains("Add-Type -AssemblyName System.Windows.Forms")
                    && script
                        .contains("[System.Windows.Forms.Application]::SetSuspendState('Suspend', $false, $false)") =>
            {
                self.remember("asleep", "suspend");
                done("")
            }
            _ => fault(1, "The term is not recognized."),
        }
    }

    fn reg(&self, words: &[&str]) -> Answer {
        let missing = fault(1, "ERROR: The system was unable to find the specified registry key or value.");
        match words {
            ["query", key, "/v", name] if key.starts_with("HKLM\\") => {
                let Some(value) = self.recall(&format!("registry-{name}")) else {
                    return missing;
                };
                done(&format!("\r\nHKEY_LOCAL_MACHINE{}\r\n    {name}    REG_DWORD    {value}\r\n\r\n", &key[4..]))
            }
            _ => fault(1, "ERROR: Invalid syntax."),
        }
    }

    /// What the computer does when it restarts: boots are numbered, Windows logs the shutdown, an armed boot is recorded.
    pub fn restart(&self) {
        let number: u64 = self.recall("registry-BootId").and_then(|text| parsed(&text)).unwrap_or(1);
        self.remember("registry-BootId", &format!("0x{:x}", number + 1));
        self.forget("restart");
        if let Some(profile) = self.recall("armed") {
            self.forget("armed");
            self.remember("recorded-boot", &profile);
        }
        if self.recall("no-shutdown-log").is_none() {
            let log = self.place("C:/Windows/System32/WDI/LogFiles/ShutdownPerfDiagLogger.etl");
            fs::create_dir_all(log.parent().unwrap()).unwrap();
            let bytes = fs::read(self.memory("shutdown.etl")).unwrap_or_else(|_| b"what Windows logged".to_vec());
            fs::write(log, bytes).unwrap();
        }
    }
}

fn parsed(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

fn nothing_recorded() -> Answer {
    fault(NOTHING_RECORDED, "\tThere are no trace profiles running.\r\n\r\n\tError code: 0xc5583000")
}
