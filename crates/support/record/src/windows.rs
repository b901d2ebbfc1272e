//! The same job on Windows, by its own recorders: command lines for a person to type ([`plan`]), a profile for them ([`profile`]), and
//! the job done by this program on the computer itself ([`session`]), which drives the `wpr` that comes with Windows.
//!
//! The commands are those of Microsoft's paper on on/off transitions, table 3: timing traces that cost little, and analysis
//! traces with stacks. `xbootmgr` and the `wpr` that knows `-onoffscenario` come with the Windows Performance Toolkit; the
//! `wpr` of Windows itself knows `-boottrace` and `-start`.

pub mod commands;
#[cfg(windows)]
pub mod live;
pub mod profile;
pub mod providers;
pub mod scheduled_task;
pub mod session;

use crate::job::{Job, Transition};

/// File name of the profile.
pub const PROFILE_FILE: &str = "onoff.wprp";
/// Folder of the recordings on the Windows computer.
const RESULTS: &str = r"C:\traces";
/// Flags of a timing trace: paper, "Timing Traces and Analysis Traces".
const TIMING: &str = "-traceFlags base+cswitch+compact_cswitch";
/// Flags of an analysis trace: the same place.
const ANALYSIS: &str = "-traceFlags latency+dispatcher -stackWalk Profile+CSwitch+ReadyThread";
/// Seconds after which the recording ends where the job does not say: the recorder's own default; the paper's for boots and
/// shutdowns.
pub(crate) const SLEEP_DELAY_S: u64 = 120;
pub(crate) const BOOT_DELAY_S: u64 = 180;

/// Lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What they do, as a heading.
    pub title: String,
    /// Sentences or command lines.
    pub lines: Vec<String>,
    /// Whether the lines are commands.
    pub commands: bool,
}

/// What to do on the Windows computer, in order.
#[must_use]
pub fn plan(job: &Job) -> Vec<Section> {
    let (trace, scenario, verbs): (_, _, &[&str]) = match job.transition {
        Transition::Boot => ("boot", "Boot", &["boot"]),
        Transition::Shutdown => ("shutdown", "Shutdown", &["shutdown"]),
        Transition::Suspend => ("standby", "Standby", &["suspend"]),
        Transition::Hibernate => ("hibernate", "Hibernate", &["suspend"]),
        Transition::RebootCycle => ("rebootCycle", "RebootCycle", &["boot", "shutdown"]),
    };
    let mut sections = if job.train > 0 { training(job.train) } else { Vec::new() };
    sections.extend([
        Section {
            title: "Before (paper, \"Reducing the Variance in Test Results\")".to_owned(),
            lines: preparation(job),
            commands: false,
        },
        commands("Once, as administrator", vec![format!("mkdir {RESULTS}")]),
        commands("Timing traces with xbootmgr: how long", vec![xbootmgr(job, trace, "timing", job.runs, TIMING)]),
        commands("Analysis traces with xbootmgr: why", vec![xbootmgr(job, trace, "analysis", 1, ANALYSIS)]),
        commands(
            &format!("Or with the toolkit's wpr and {PROFILE_FILE}"),
            vec![on_off(scenario, "Light", job.runs), on_off(scenario, "Verbose", 1)],
        ),
    ]);
    let inbox = inbox(job.transition);
    if !inbox.is_empty() {
        sections.push(commands("Or with the wpr of Windows itself, one run", inbox));
    }
    sections.push(commands(
        "Should one of them have to be undone",
        vec!["xbootmgr -remove".to_owned(), "wpr -cancel".to_owned(), "wpr -boottrace -cancelboot".to_owned()],
    ));
    let answers = verbs.iter().map(|verb| format!("onoff {verb} {trace}_timing_base+cswitch+compact_cswitch_1.etl"));
    sections.push(commands("Then, wherever onoff is", answers.collect()));
    sections
}

fn commands(title: &str, lines: Vec<String>) -> Section {
    Section { title: title.to_owned(), lines, commands: true }
}

/// How Windows learns what to read ahead although a write filter protects the volume: the procedure of Microsoft's paper on Windows Embedded
/// Standard 7, "Using Superfetch with Write Filters", with the command lines of each filter.
fn training(restarts: u32) -> Vec<Section> {
    let parameters = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
    let restarts = format!("{restarts} {}", if restarts == 1 { "time" } else { "times" });
    let set = |name: &str| format!("reg add \"{parameters}\" /v {name} /t REG_DWORD /d 3 /f");
    vec![
        Section {
            title: "Train the read-ahead first (paper, \"Using Superfetch with Write Filters\")".to_owned(),
            lines: vec![
                "List the programs that matter. Windows 7 keeps 123 plans of programs, Windows 8 and later 1,024; beyond that it drops the oldest.".to_owned(),
                "Take the lines below in order, as administrator; leave out those of filters that the computer does not have.".to_owned(),
            ],
            commands: false,
        },
        commands(
            "Turn the write filter off; it takes effect with the next restart",
            ["uwfmgr filter disable", "fbwfmgr /disable", "ewfmgr C: -commitanddisable"].map(str::to_owned).to_vec(),
        ),
        commands(
            "Turn the read-ahead on",
            vec![
                set("EnablePrefetcher"),
                set("EnableSuperfetch"),
                "sc config SysMain start= auto".to_owned(),
            ],
        ),
        Section {
            title: "Learn".to_owned(),
            lines: vec![
                format!("Restart {restarts} (shutdown /r /t 0); after the last restart let the computer idle for 5 minutes or longer."),
                "Start each program of the list once, those that matter most last.".to_owned(),
                r"Check it: 'onoff prefetch C:\Windows\Prefetch' counts boots and plans, and names plans older than their programs.".to_owned(),
            ],
            commands: false,
        },
        commands(
            "Keep what is learned later, where the filter can leave it out (EWF cannot)",
            vec![
                r"uwfmgr file add-exclusion C:\Windows\Prefetch".to_owned(),
                format!("uwfmgr registry add-exclusion \"{parameters}\""),
                r"fbwfmgr /addexclusion C: \Windows\Prefetch".to_owned(),
            ],
        ),
        commands(
            "Turn the write filter on and restart",
            ["uwfmgr filter enable", "fbwfmgr /enable", "ewfmgr C: -enable", "shutdown /r /t 0"].map(str::to_owned).to_vec(),
        ),
    ]
}

fn preparation(job: &Job) -> Vec<String> {
    let mut lines: Vec<&str> = vec![
        "Let the user who records be an administrator and be logged on automatically; nobody touches the computer meanwhile.",
        "Leave wireless adapters on but not connected; remove persistent network connections (net use * /d).",
        "After drivers were installed, let the computer idle for 15 minutes: their code is checked then.",
    ];
    match job.transition {
        Transition::Boot | Transition::RebootCycle => lines.push(
            "-prepSystem restarts the computer six times first, so that Windows has learned what to read ahead. Use it once for a computer, before its first timing traces.",
        ),
        Transition::Shutdown => lines.push(
            "xbootmgr restarts the computer once before the first recording and once after the last.",
        ),
        Transition::Suspend | Transition::Hibernate => lines.push(
            "Clear 'On resume, display logon screen' (Screen Saver Settings): with it there is no end of the resume.",
        ),
    }
    lines.into_iter().map(str::to_owned).collect()
}

fn xbootmgr(job: &Job, trace: &str, tag: &str, runs: u32, flags: &str) -> String {
    let restarts = job.transition.restarts();
    let prepares = job.transition.records_boot() && tag == "timing";
    let prepare = if prepares { " -prepSystem" } else { "" };
    let default = if restarts { BOOT_DELAY_S } else { SLEEP_DELAY_S };
    let delay = job.post_delay_s.unwrap_or(default);
    let wake = match job.wake_after_s {
        Some(seconds) if !restarts => format!(" -wakeupDelay {seconds}"),
        _ => String::new(),
    };
    format!(
        "xbootmgr -trace {trace}{prepare} -numRuns {runs} -postBootDelay {delay}{wake} {flags} -runTag {tag} -resultPath {RESULTS}"
    )
}

fn on_off(scenario: &str, detail: &str, runs: u32) -> String {
    let name = profile::NAME;
    format!(
        "wpr -start {PROFILE_FILE}!{name}.{detail} -filemode -onoffscenario {scenario} -numiterations {runs} -onoffresultspath {RESULTS}"
    )
}

fn inbox(transition: Transition) -> Vec<String> {
    let name = profile::NAME;
    let add = format!("wpr -boottrace -addboot {PROFILE_FILE}!{name}.Light -filemode -recordtempto {RESULTS}");
    let restart = "shutdown /r /t 0".to_owned();
    let stop = |kind: &str| format!(r"wpr -boottrace -stopboot {RESULTS}\{kind}.etl");
    let start = format!("wpr -start {PROFILE_FILE}!{name}.Light -filemode");
    match transition {
        Transition::Boot => {
            vec![add, restart, "rem after the logon and two minutes without a touch:".to_owned(), stop("boot")]
        }
        // It does not know '-onoffscenario'.
        Transition::Shutdown | Transition::RebootCycle => Vec::new(),
        Transition::Suspend | Transition::Hibernate => vec![
            start,
            match transition {
                Transition::Hibernate => "shutdown /h".to_owned(),
                _ => "rem send the computer to sleep, wake it".to_owned(),
            },
            "rem two minutes after the wake:".to_owned(),
            format!(r"wpr -stop {RESULTS}\sleep.etl"),
        ],
    }
}
