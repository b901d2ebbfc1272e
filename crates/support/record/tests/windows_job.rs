//! Complete jobs on a fake Windows computer, whose programs check their arguments against the published syntax.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::fake_machine::windows_commands::Computer;
use crate::fake_machine::{job as linux_job, snapshot};
use onoff_record::check::Availability;
use onoff_record::error::Error;
use onoff_record::job::{Job, Transition};
use onoff_record::machine::{Clocks, CommandOutput, Machine, MachineFiles};
use onoff_record::session::Progress;
use onoff_record::windows::commands::Installation;
use onoff_record::windows::session::{check, describe, restore, resume, start};
use roxmltree::Document;
use tempfile::TempDir;

const STATE: &str = "C:/Program Files/onoff-record";
const OUT: &str = "C:/traces";
const PROGRAM: &str = "C:/Users/ann/Downloads/onoff.exe";

pub struct Windows {
    tree: TempDir,
    printed_lines: Vec<String>,
    administrator: bool,
    /// Number of changes before the computer crashes.
    changes_left: Option<u32>,
    /// True if the computer goes to sleep when requested.
    sleeps: bool,
    now: Duration,
}

impl Windows {
    pub fn new() -> Self {
        let machine = Self {
            tree: tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap()),
            printed_lines: Vec::new(),
            administrator: true,
            changes_left: None,
            sleeps: true,
            now: Duration::from_secs(1_795_425_026),
        };
        for path in [PROGRAM, "C:/Windows/System32/wpr.exe", "C:/Program Files/something/else.exe"] {
            let host_path = machine.host_path(path);
            fs::create_dir_all(host_path.parent().unwrap()).unwrap();
            fs::write(host_path, path).unwrap();
        }
        let computer = machine.computer();
        computer.remember("registry-BootId", "0x1f");
        computer.remember("registry-ShutdownTime", "A0B1C2D3E4F5DC01");
        machine
    }

    pub fn computer(&self) -> Computer<'_> {
        Computer { root: self.tree.path() }
    }

    pub fn commands(&self) -> Vec<String> {
        self.computer().recall("ran").unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Returns the whole tree except for the recordings and the fakes' log of commands.
    fn snapshot(&self) -> BTreeMap<String, String> {
        let mut tree = snapshot(self.tree.path());
        tree.retain(|path, _| {
            !path.starts_with("/C:/traces")
                && !path.contains("/WDI")
                && !["ran", "closed", "restart", "registry-BootId", "asleep"].iter().any(|name| path.ends_with(name))
        });
        tree
    }
}

pub fn windows() -> Installation {
    Installation { windows: "C:/Windows".to_owned(), user: r"PC\Zoë & Søn".to_owned() }
}

fn job(transition: Transition) -> Job {
    Job { out: OUT.to_owned(), ..linux_job(transition) }
}

impl Machine for Windows {
    fn root(&self) -> &Path {
        self.tree.path()
    }

    fn run(&mut self, line: &[&str]) -> io::Result<CommandOutput> {
        let (program, arguments) = line.split_first().unwrap();
        let name = program.strip_prefix(r"C:\Windows\System32\").expect("programs are named with their folder");
        let name = name.rsplit('\\').next().unwrap().strip_suffix(".exe").unwrap().to_owned();
        // Two changes per command: the computer may crash before or after it.
        let is_change = !matches!(name.as_str(), "reg" | "whoami");
        if is_change {
            self.before_change()?;
        }
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let result = self.computer().run(&name, &arguments);
        if is_change {
            self.before_change()?;
        }
        Ok(CommandOutput {
            code: Some(result.code),
            stdout: result.output.clone().into(),
            stderr: result.output.into(),
        })
    }

    fn clocks(&self) -> Clocks {
        let ns = u64::try_from(self.now.as_nanos()).unwrap();
        Clocks { monotonic_ns: ns, raw_ns: ns, boot_ns: ns, real_ns: ns }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        if self.sleeps && fs::remove_file(self.host_path("C:/fake/asleep")).is_ok() {
            self.now += Duration::from_secs(30);
        }
    }

    fn print_line(&mut self, line: &str) {
        self.printed_lines.push(line.to_owned());
    }

    fn is_superuser(&self) -> bool {
        self.administrator
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        None
    }

    fn unprotect(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn state_folder(&self) -> &str {
        STATE
    }

    fn before_change(&mut self) -> io::Result<()> {
        match &mut self.changes_left {
            Some(0) => Err(io::Error::other("the computer crashed")),
            Some(remaining) => {
                *remaining -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Runs a job to its end, with as many restarts as it requests.
fn complete(machine: &mut Windows, job: Job) -> Result<Vec<String>, Error> {
    let mut progress = start(machine, &windows(), job, PROGRAM)?;
    for _ in 0..20 {
        match progress {
            Progress::Finished(recordings) => return Ok(recordings),
            Progress::NoJob => panic!("there is no job"),
            Progress::Restarting => {}
        }
        assert!(machine.computer().recall("restart").is_some(), "the computer was restarted");
        machine.computer().restart();
        progress = resume(machine, &windows())?;
    }
    panic!("the job does not end");
}

#[test]
fn records_boots_and_restores_everything() {
    let mut machine = Windows::new();
    let before = machine.snapshot();
    let recordings = complete(&mut machine, job(Transition::Boot)).unwrap();
    assert_eq!(recordings, [r"C:\traces\boot-1.etl", r"C:\traces\boot-2.etl"]);
    for recording in &recordings {
        assert_eq!(machine.read_text(&recording.replace('\\', "/")).unwrap(), "what the recorder wrote");
    }
    assert_eq!(machine.snapshot(), before);
    assert_eq!(machine.computer().recall("closed").as_deref(), Some(r"C:\traces"));
    let commands = machine.commands();
    let count = |text: &str| commands.iter().filter(|line| line.contains(text)).count();
    // One training run and two recorded runs.
    assert_eq!(count("shutdown /r /t 0"), 3);
    assert_eq!(count("wpr -boottrace -addboot"), 2);
    assert_eq!(count("wpr -boottrace -stopboot"), 2);
    assert_eq!(count("schtasks /create"), 1);
    assert_eq!(count("schtasks /delete"), 1);
}

#[test]
fn copies_shutdown_log() {
    let mut machine = Windows::new();
    // Files in the tree have current timestamps, which must be later than the simulated time.
    machine.now = Duration::from_secs(1_000_000_000);
    let before = machine.snapshot();
    let recordings = complete(&mut machine, job(Transition::Shutdown)).unwrap();
    assert_eq!(recordings, [r"C:\traces\shutdown-1.etl", r"C:\traces\shutdown-2.etl"]);
    assert_eq!(machine.read_text(&recordings[0].replace('\\', "/")).unwrap(), "what Windows logged");
    assert_eq!(machine.snapshot(), before);
    assert!(!machine.commands().iter().any(|line| line.contains("addboot")), "no boot is recorded");

    let job = Job { out: "C:/cycle".to_owned(), train: 0, runs: 1, ..job(Transition::RebootCycle) };
    let recordings = complete(&mut machine, job).unwrap();
    assert_eq!(recordings, [r"C:\cycle\boot-1.etl", r"C:\cycle\shutdown-1.etl"]);
}

#[test]
fn ignores_log_of_earlier_shutdown() {
    let mut machine = Windows::new();
    machine.now = Duration::from_secs(1_000_000_000);
    machine.computer().restart();
    machine.computer().remember("no-shutdown-log", "");
    // This job starts long after that log was written.
    machine.now = Duration::from_secs(4_000_000_000);
    let before = machine.snapshot();
    let error = complete(&mut machine, job(Transition::Shutdown)).unwrap_err().to_string();
    assert!(error.contains("Windows wrote no log of this shutdown"), "{error}");
    assert!(error.contains("3 times"), "{error}");
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn records_sleep_and_removes_wake_task() {
    for (transition, command) in
        [(Transition::Suspend, "powershell -NoProfile"), (Transition::Hibernate, "shutdown /h")]
    {
        let mut machine = Windows::new();
        let before = machine.snapshot();
        let recordings = complete(&mut machine, job(transition)).unwrap();
        let kind = transition.name();
        assert_eq!(recordings, [format!(r"C:\traces\{kind}-1.etl"), format!(r"C:\traces\{kind}-2.etl")]);
        assert_eq!(machine.snapshot(), before);
        let commands = machine.commands();
        assert_eq!(commands.iter().filter(|line| line.starts_with(command)).count(), 3, "{commands:#?}");
        assert_eq!(commands.iter().filter(|line| line.starts_with("wpr -start")).count(), 2);
    }
}

#[test]
fn job_fails_if_computer_stays_awake() {
    let mut machine = Windows::new();
    machine.sleeps = false;
    let before = machine.snapshot();
    let error = complete(&mut machine, job(Transition::Suspend)).unwrap_err().to_string();
    assert!(error.contains("did not go to sleep within 10 min"), "{error}");
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn logon_without_restart_changes_nothing() {
    let mut machine = Windows::new();
    assert_eq!(start(&mut machine, &windows(), job(Transition::Boot), PROGRAM).unwrap(), Progress::Restarting);
    let armed = machine.snapshot();
    assert_eq!(resume(&mut machine, &windows()).unwrap(), Progress::NoJob);
    assert_eq!(machine.snapshot(), armed);
    // Without a job there is nothing to continue.
    assert!(restore(&mut machine).unwrap());
    assert_eq!(resume(&mut machine, &windows()).unwrap(), Progress::NoJob);
    assert!(!restore(&mut machine).unwrap());
}

#[test]
fn retries_boot_without_recording_three_times() {
    let mut machine = Windows::new();
    let before = machine.snapshot();
    let mut progress = start(&mut machine, &windows(), Job { train: 0, ..job(Transition::Boot) }, PROGRAM);
    let mut restarts = 0;
    while let Ok(Progress::Restarting) = progress {
        restarts += 1;
        machine.computer().restart();
        // The recorder did not start with the boot, which happens on real computers.
        fs::remove_file(machine.host_path("C:/fake/recorded-boot")).unwrap();
        progress = resume(&mut machine, &windows());
    }
    let error = progress.unwrap_err().to_string();
    assert!(error.contains("no trace profiles running") || error.contains("0xc5583000"), "{error}");
    assert_eq!(restarts, 3);
    assert_eq!(machine.snapshot(), before);
    assert!(machine.exists("C:/traces/FAILED.txt"));
}

#[test]
fn restores_after_crash_between_any_two_changes() {
    for transition in [Transition::Boot, Transition::RebootCycle, Transition::Suspend] {
        let mut changes = 0;
        loop {
            let mut machine = Windows::new();
            machine.now = Duration::from_secs(1_000_000_000);
            let before = machine.snapshot();
            machine.changes_left = Some(changes);
            let result = complete(&mut machine, job(transition));
            machine.changes_left = None;
            if result.is_ok() {
                break;
            }
            let _ = restore(&mut machine).unwrap();
            assert_eq!(machine.snapshot(), before, "{transition:?} crashed after {changes} changes");
            changes += 1;
        }
        assert!(changes > 20, "{transition:?}: {changes} changes");
    }
}

/// Checks the elements and values of tasks against Microsoft's "Task Scheduler Schema".
#[test]
fn tasks_follow_published_schema() {
    let mut machine = Windows::new();
    start(&mut machine, &windows(), job(Transition::Boot), PROGRAM).unwrap();
    let logon = machine.computer().recall("task-onoff-record.xml").unwrap();
    let document = Document::parse(&logon).unwrap();
    let text = |document: &Document<'_>, name: &str| {
        document
            .descendants()
            .find(|node| node.has_tag_name(("http://schemas.microsoft.com/windows/2004/02/mit/task", name)))
            .and_then(|node| node.text())
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(text(&document, "UserId"), r"PC\Zoë & Søn");
    assert_eq!(text(&document, "Delay"), "PT30S");
    assert_eq!(text(&document, "RunLevel"), "HighestAvailable");
    assert_eq!(text(&document, "LogonType"), "InteractiveToken");
    assert_eq!(text(&document, "DisallowStartIfOnBatteries"), "false");
    assert_eq!(text(&document, "Command"), r"C:\Program Files\onoff-record\onoff.exe");
    assert_eq!(text(&document, "Arguments"), "record --resume");
    let children = |name: &str| -> Vec<String> {
        let parent = document.descendants().find(|node| node.tag_name().name() == name).unwrap();
        parent.children().filter(|node| node.is_element()).map(|node| node.tag_name().name().to_owned()).collect()
    };
    assert_eq!(children("Task"), ["RegistrationInfo", "Triggers", "Principals", "Settings", "Actions"]);
    assert_eq!(children("LogonTrigger"), ["Enabled", "UserId", "Delay"]);
    assert_eq!(children("Exec"), ["Command", "Arguments"]);

    let wake = onoff_record::windows::scheduled_task::task_xml(
        onoff_record::windows::scheduled_task::Trigger::Wake { at_s: 1_795_425_026 },
        r"PC\ann",
        "C:/Windows/System32/whoami.exe",
        "/groups",
    );
    let document = Document::parse(&wake).unwrap();
    assert_eq!(text(&document, "StartBoundary"), "2026-11-23T09:10:26Z");
    assert_eq!(text(&document, "WakeToRun"), "true");
}

#[test]
fn errors_state_remedy() {
    let start_error = |change: &dyn Fn(&mut Windows, &mut Job)| {
        let mut machine = Windows::new();
        let mut job = job(Transition::Boot);
        change(&mut machine, &mut job);
        let before = machine.snapshot();
        let error = start(&mut machine, &windows(), job, PROGRAM).unwrap_err();
        assert!(matches!(error, Error::Refused(_)));
        assert_eq!(machine.snapshot(), before, "nothing was changed");
        error.to_string()
    };
    let text = start_error(&|machine, _| machine.administrator = false);
    assert!(text.contains("Run as administrator"), "{text}");
    let text = start_error(&|machine, _| fs::remove_file(machine.host_path("C:/Windows/System32/wpr.exe")).unwrap());
    assert!(text.contains("--plan windows"), "{text}");
    let text = start_error(&|machine, _| fs::create_dir(machine.host_path(OUT)).unwrap());
    assert!(text.contains("already exists"), "{text}");
    let text = start_error(&|_, job| job.out = "//server/share".to_owned());
    assert!(text.contains("on the network"), "{text}");
    let text = start_error(&|machine, _| fs::create_dir_all(machine.host_path(STATE)).unwrap());
    assert!(text.contains("onoff record --restore"), "{text}");
    let text = start_error(&|_, job| job.buffer_mib = Some(64));
    assert!(text.contains("--buffer is for Linux only"), "{text}");
    let text = start_error(&|machine, _| {
        for name in ["BootId", "ShutdownTime"] {
            fs::remove_file(machine.host_path(&format!("C:/fake/registry-{name}"))).unwrap();
        }
    });
    assert!(text.contains("a restart cannot be detected"), "{text}");
}

#[test]
fn check_and_plan_change_nothing() {
    let mut machine = Windows::new();
    let before = machine.snapshot();
    let items = check(&mut machine, &windows(), &job(Transition::RebootCycle));
    let availabilities: Vec<_> = items.iter().map(|item| (item.name, item.availability)).collect();
    assert_eq!(
        availabilities,
        [
            ("rights", Availability::Available),
            ("wpr", Availability::Available),
            ("boot detection", Availability::Available),
            ("shutdown log", Availability::Limited)
        ]
    );
    let plan = describe(&windows(), STATE, &job(Transition::RebootCycle));
    // The job runs every command of the plan.
    complete(&mut machine, Job { train: 0, runs: 1, ..job(Transition::Boot) }).unwrap();
    let commands = machine.commands();
    let planned: Vec<&str> =
        plan.iter().filter_map(|line| line.trim().strip_prefix(r"Run 'C:\Windows\System32\")).collect();
    assert!(!planned.is_empty());
    for line in planned {
        let (line, _) = line.split_once("' (").unwrap();
        let line = line.replacen(".exe", "", 1).replace('"', "");
        assert!(commands.contains(&line), "{line} is not in {commands:#?}");
    }
    machine.wait(Duration::ZERO);
    assert_eq!(machine.snapshot(), before);
}
