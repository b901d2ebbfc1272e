//! The programs of Windows that a job runs, and what is typed.
//!
//! Syntax and exit codes: Microsoft's pages "WPR Command-Line Options", "schtasks create", "schtasks delete", "shutdown", "icacls", "reg
//! query". Each program is named with its folder, so that no program of that name in the folder where onoff was started runs in its place.

use super::profile;

/// `wpr`: nothing is being recorded (`0xC5583000`).
pub const NOTHING_RECORDED: i32 = -984_076_288;
/// `schtasks /hresult`: there is no such task (`0x80070002`, file not found).
pub const NO_SUCH_TASK: i32 = -2_147_024_894;
/// The task that goes on after a restart.
pub const TASK: &str = "onoff-record";
/// The task that wakes the computer.
pub const WAKE_TASK: &str = "onoff-record-wake";

/// Where Windows and its programs are, with `/` between folders, and who is logged on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The folder of Windows, usually `C:/Windows`.
    pub windows: String,
    /// Who records, as `COMPUTER\user`.
    pub user: String,
}

impl Installation {
    /// A program of Windows itself.
    #[must_use]
    pub fn program(&self, name: &str) -> String {
        format!("{}/System32/{name}.exe", self.windows)
    }

    fn line(&self, name: &str, words: &[&str]) -> Vec<String> {
        std::iter::once(typed(&self.program(name))).chain(words.iter().map(|&word| word.to_owned())).collect()
    }

    /// Has `wpr` record the next boot with the profile in `folder`, into files in `out` meanwhile.
    #[must_use]
    pub fn record_boot(&self, folder: &str, out: &str) -> Vec<String> {
        let profile = chosen_profile(folder);
        self.line("wpr", &["-boottrace", "-addboot", &profile, "-filemode", "-recordtempto", &typed(out)])
    }

    /// Ends the recording of a boot and writes it.
    #[must_use]
    pub fn stop_boot(&self, recording: &str) -> Vec<String> {
        self.line("wpr", &["-boottrace", "-stopboot", &typed(recording)])
    }

    /// No boot is recorded any more.
    #[must_use]
    pub fn cancel_boot(&self) -> Vec<String> {
        self.line("wpr", &["-boottrace", "-cancelboot"])
    }

    /// Begins a recording now.
    #[must_use]
    pub fn record(&self, folder: &str, out: &str) -> Vec<String> {
        let profile = chosen_profile(folder);
        self.line("wpr", &["-start", &profile, "-filemode", "-recordtempto", &typed(out)])
    }

    /// Ends a recording and writes it.
    #[must_use]
    pub fn stop(&self, recording: &str) -> Vec<String> {
        self.line("wpr", &["-stop", &typed(recording)])
    }

    /// Ends a recording and drops it.
    #[must_use]
    pub fn cancel(&self) -> Vec<String> {
        self.line("wpr", &["-cancel"])
    }

    /// Registers the task described in a file.
    #[must_use]
    pub fn create_task(&self, name: &str, file: &str) -> Vec<String> {
        self.line("schtasks", &["/create", "/tn", name, "/xml", &typed(file), "/f", "/hresult"])
    }

    /// Removes a task.
    #[must_use]
    pub fn delete_task(&self, name: &str) -> Vec<String> {
        self.line("schtasks", &["/delete", "/tn", name, "/f", "/hresult"])
    }

    /// Restarts the computer at once: a full start, never a fast one.
    #[must_use]
    pub fn restart(&self) -> Vec<String> {
        self.line("shutdown", &["/r", "/t", "0"])
    }

    /// Writes memory to disk and turns the computer off.
    #[must_use]
    pub fn hibernate(&self) -> Vec<String> {
        self.line("shutdown", &["/h"])
    }

    /// Sends the computer to sleep: no program of Windows does, its library for windows does.
    #[must_use]
    pub fn sleep(&self) -> Vec<String> {
        let script = "Add-Type -AssemblyName System.Windows.Forms; \
                      [void][System.Windows.Forms.Application]::SetSuspendState('Suspend', $false, $false)";
        let program = typed(&format!("{}/System32/WindowsPowerShell/v1.0/powershell.exe", self.windows));
        [program.as_str(), "-NoProfile", "-NonInteractive", "-Command", script].map(str::to_owned).to_vec()
    }

    /// Lets administrators, the system and the user who records into a folder, and nobody else. The first two by their security
    /// identifiers: their names are translated.
    #[must_use]
    pub fn close_folder(&self, folder: &str) -> Vec<String> {
        let all = |who: &str| format!("{who}:(OI)(CI)F");
        let grants = [all("*S-1-5-32-544"), all("*S-1-5-18"), all(&self.user)];
        let [administrators, system, user] = grants.each_ref().map(String::as_str);
        self.line("icacls", &[&typed(folder), "/inheritance:r", "/grant:r", administrators, system, user])
    }

    /// Prints a value of the registry.
    #[must_use]
    pub fn registry_value(&self, key: &str, name: &str) -> Vec<String> {
        self.line("reg", &["query", key, "/v", name])
    }

    /// Prints the groups of the user, by their security identifiers among others.
    #[must_use]
    pub fn groups(&self) -> Vec<String> {
        self.line("whoami", &["/groups", "/fo", "csv", "/nh"])
    }
}

/// The profile's file and which of its profiles.
fn chosen_profile(folder: &str) -> String {
    format!("{}!{}.Light", typed(&format!("{folder}/{}", super::PROFILE_FILE)), profile::NAME)
}

/// A path as the programs of Windows take it.
#[must_use]
pub fn typed(path: &str) -> String {
    path.replace('/', "\\")
}
