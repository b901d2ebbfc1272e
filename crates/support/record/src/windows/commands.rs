//! Command lines of the Windows programs that a job runs.
//!
//! Syntax and exit codes: Microsoft's pages "WPR Command-Line Options", "schtasks create", "schtasks delete",
//! "shutdown", "icacls", "reg query", "wevtutil", "Powercfg command-line options". Programs are run by full path, so
//! that a program with the same name in the current folder is not run instead.

use super::profile;

/// Exit code of `wpr` if there is no recording in progress (`0xC5583000`).
pub const NOT_RECORDING: i32 = -984_076_288;
/// Exit code of `schtasks /hresult` if the task does not exist (`0x80070002`, file not found).
pub const NO_SUCH_TASK: i32 = -2_147_024_894;
/// Name of the task that continues a job after a restart.
pub const TASK: &str = "onoff-record";
/// Name of the task that wakes the computer.
pub const WAKE_TASK: &str = "onoff-record-wake";

/// The Windows folder, with `/` as separator, and the current user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The Windows folder, usually `C:/Windows`.
    pub windows: String,
    /// The user who records, as `COMPUTER\user`.
    pub user: String,
}

impl Installation {
    /// Returns the path of a program in `System32`.
    #[must_use]
    pub fn program(&self, name: &str) -> String {
        format!("{}/System32/{name}.exe", self.windows)
    }

    fn command_line(&self, name: &str, arguments: &[&str]) -> Vec<String> {
        std::iter::once(to_windows_path(&self.program(name)))
            .chain(arguments.iter().map(|&word| word.to_owned()))
            .collect()
    }

    /// Makes `wpr` record the next boot with the profile in `folder`. Temporary files go to `out`.
    #[must_use]
    pub fn record_boot(&self, folder: &str, out: &str) -> Vec<String> {
        let profile = profile_argument(folder);
        self.command_line(
            "wpr",
            &["-boottrace", "-addboot", &profile, "-filemode", "-recordtempto", &to_windows_path(out)],
        )
    }

    /// Stops the recording of a boot and saves it.
    #[must_use]
    pub fn stop_boot(&self, recording: &str) -> Vec<String> {
        self.command_line("wpr", &["-boottrace", "-stopboot", &to_windows_path(recording)])
    }

    /// Cancels the recording of a boot.
    #[must_use]
    pub fn cancel_boot(&self) -> Vec<String> {
        self.command_line("wpr", &["-boottrace", "-cancelboot"])
    }

    /// Starts a recording.
    #[must_use]
    pub fn record(&self, folder: &str, out: &str) -> Vec<String> {
        let profile = profile_argument(folder);
        self.command_line("wpr", &["-start", &profile, "-filemode", "-recordtempto", &to_windows_path(out)])
    }

    /// Stops a recording and saves it.
    #[must_use]
    pub fn stop(&self, recording: &str) -> Vec<String> {
        self.command_line("wpr", &["-stop", &to_windows_path(recording)])
    }

    /// Stops a recording and discards it.
    #[must_use]
    pub fn cancel(&self) -> Vec<String> {
        self.command_line("wpr", &["-cancel"])
    }

    /// Registers a task from an XML file.
    #[must_use]
    pub fn create_task(&self, name: &str, file: &str) -> Vec<String> {
        self.command_line("schtasks", &["/create", "/tn", name, "/xml", &to_windows_path(file), "/f", "/hresult"])
    }

    #[must_use]
    pub fn delete_task(&self, name: &str) -> Vec<String> {
        self.command_line("schtasks", &["/delete", "/tn", name, "/f", "/hresult"])
    }

    /// Restarts the computer immediately, with a full boot instead of a fast startup.
    #[must_use]
    pub fn restart(&self) -> Vec<String> {
        self.command_line("shutdown", &["/r", "/t", "0"])
    }

    /// Hibernates the computer.
    #[must_use]
    pub fn hibernate(&self) -> Vec<String> {
        self.command_line("shutdown", &["/h"])
    }

    /// Puts the computer to sleep through Windows Forms, because no Windows program does so.
    #[must_use]
    pub fn sleep(&self) -> Vec<String> {
        let script = "Add-Type -AssemblyName System.Windows.Forms; \
                      [void][System.Windows.Forms.Application]::SetSuspendState('Suspend', $false, $false)";
        let program = to_windows_path(&format!("{}/System32/WindowsPowerShell/v1.0/powershell.exe", self.windows));
        [program.as_str(), "-NoProfile", "-NonInteractive", "-Command", script].map(str::to_owned).to_vec()
    }

    /// Restricts a folder to administrators, the system and the user who records. The first two are given by security
    /// identifier, because their names are localized.
    #[must_use]
    pub fn restrict_folder(&self, folder: &str) -> Vec<String> {
        let full_access = |account: &str| format!("{account}:(OI)(CI)F");
        let grants = [full_access("*S-1-5-32-544"), full_access("*S-1-5-18"), full_access(&self.user)];
        let [administrators, system, user] = grants.each_ref().map(String::as_str);
        self.command_line(
            "icacls",
            &[&to_windows_path(folder), "/inheritance:r", "/grant:r", administrators, system, user],
        )
    }

    /// Prints a registry value.
    #[must_use]
    pub fn registry_value(&self, key: &str, name: &str) -> Vec<String> {
        self.command_line("reg", &["query", key, "/v", name])
    }

    /// Exports the event log of a channel to a file that does not exist yet.
    #[must_use]
    pub fn export_log(&self, channel: &str, file: &str) -> Vec<String> {
        self.command_line("wevtutil", &["epl", channel, file])
    }

    /// Writes the report on modern standby to a file.
    #[must_use]
    pub fn sleep_study(&self, file: &str) -> Vec<String> {
        self.command_line("powercfg", &["/sleepstudy", "/output", file])
    }

    /// Prints the user's groups with their security identifiers.
    #[must_use]
    pub fn groups(&self) -> Vec<String> {
        self.command_line("whoami", &["/groups", "/fo", "csv", "/nh"])
    }
}

/// Returns the `FILE!PROFILE` argument of `wpr`.
fn profile_argument(folder: &str) -> String {
    format!("{}!{}.Light", to_windows_path(&format!("{folder}/{}", super::PROFILE_FILE)), profile::NAME)
}

/// Converts a path to the form that Windows programs accept.
#[must_use]
pub fn to_windows_path(path: &str) -> String {
    path.replace('/', "\\")
}
