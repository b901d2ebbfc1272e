//! Recording on Windows with its own recorders: command lines for the user to type ([`plan`]), a recording profile
//! ([`profile`]), and jobs that onoff runs itself ([`session`]) with the `wpr` that comes with Windows. [`logs`] and
//! [`collection`] read and pack the event logs of the computer.
//!
//! The commands follow table 3 of Microsoft's paper on on/off transitions: timing traces with low overhead, and
//! analysis traces with stacks. `xbootmgr` and a `wpr` that supports `-onoffscenario` come with the Windows Performance
//! Toolkit; the `wpr` of Windows itself supports `-boottrace` and `-start`.

pub mod account_names;
pub mod collection;
pub mod commands;
pub mod export;
#[cfg(windows)]
pub mod live;
pub mod logs;
pub mod profile;
pub mod providers;
pub mod scheduled_task;
pub mod session;

use crate::job::{Job, Transition};

/// File name of the recording profile.
pub const PROFILE_FILE: &str = "onoff.wprp";
/// Folder of the recordings.
const RESULTS: &str = r"C:\traces";
/// Flags of a timing trace; see "Timing Traces and Analysis Traces" in the paper.
const TIMING: &str = "-traceFlags base+cswitch+compact_cswitch";
/// Flags of an analysis trace; see the same section.
const ANALYSIS: &str = "-traceFlags latency+dispatcher -stackWalk Profile+CSwitch+ReadyThread";
/// Default time from the resume to the end of a recording, in seconds: the recorder's default.
pub(crate) const SLEEP_DELAY_S: u64 = 120;
/// Default time from the boot to the end of a recording, in seconds: the paper's recommendation.
pub(crate) const BOOT_DELAY_S: u64 = 180;

/// A section of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    /// Sentences or command lines.
    pub lines: Vec<String>,
    /// True if the lines are commands.
    pub is_commands: bool,
}

/// Returns what to do on the Windows computer, in order.
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
            title: "Preparation (Microsoft's paper, \"Reducing the Variance in Test Results\")".to_owned(),
            lines: preparation(job),
            is_commands: false,
        },
        commands("Once, as administrator", vec![format!("mkdir {RESULTS}")]),
        commands("Timing traces with xbootmgr (how long)", vec![xbootmgr(job, trace, "timing", job.runs, TIMING)]),
        commands("Analysis traces with xbootmgr (why)", vec![xbootmgr(job, trace, "analysis", 1, ANALYSIS)]),
        commands(
            &format!("Alternatively, with the toolkit's wpr and {PROFILE_FILE}"),
            vec![on_off(scenario, "Light", job.runs), on_off(scenario, "Verbose", 1)],
        ),
    ]);
    let inbox_commands = inbox_wpr_commands(job.transition);
    if !inbox_commands.is_empty() {
        sections.push(commands("Alternatively, with the wpr that comes with Windows (one run)", inbox_commands));
    }
    sections.push(commands(
        "To undo one of them",
        vec!["xbootmgr -remove".to_owned(), "wpr -cancel".to_owned(), "wpr -boottrace -cancelboot".to_owned()],
    ));
    let analyses = verbs.iter().map(|verb| format!("onoff {verb} {trace}_timing_base+cswitch+compact_cswitch_1.etl"));
    sections.push(commands("Then analyze the recording on any computer with onoff", analyses.collect()));
    sections
}

fn commands(title: &str, lines: Vec<String>) -> Section {
    Section { title: title.to_owned(), lines, is_commands: true }
}

/// Returns how to train the prefetcher on a volume with a write filter, with the commands for each filter. This is the
/// procedure of "Using Superfetch with Write Filters" in Microsoft's paper on Windows Embedded Standard 7.
fn training(restarts: u32) -> Vec<Section> {
    let parameters = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
    let restarts = format!("{restarts} {}", if restarts == 1 { "time" } else { "times" });
    let set = |name: &str| format!("reg add \"{parameters}\" /v {name} /t REG_DWORD /d 3 /f");
    vec![
        Section {
            title: "First, train the prefetcher (Microsoft's paper, \"Using Superfetch with Write Filters\")".to_owned(),
            lines: vec![
                "List the programs that matter. Windows 7 keeps prefetch files for 123 programs, Windows 8 and later for 1,024; beyond that it drops the oldest.".to_owned(),
                "Run the commands below in order, as administrator. Skip those for filters that the computer does not have.".to_owned(),
            ],
            is_commands: false,
        },
        commands(
            "Turn the write filter off (effective after the next restart)",
            ["uwfmgr filter disable", "fbwfmgr /disable", "ewfmgr C: -commitanddisable"].map(str::to_owned).to_vec(),
        ),
        commands(
            "Turn the prefetcher on",
            vec![
                set("EnablePrefetcher"),
                set("EnableSuperfetch"),
                "sc config SysMain start= auto".to_owned(),
            ],
        ),
        Section {
            title: "Train".to_owned(),
            lines: vec![
                format!("Restart {restarts} (shutdown /r /t 0). After the last restart, leave the computer idle for at least 5 minutes."),
                "Start each program on the list once, the most important ones last.".to_owned(),
                r"Check the result: 'onoff prefetch C:\Windows\Prefetch' counts boots and prefetch files, and lists prefetch files older than their programs.".to_owned(),
            ],
            is_commands: false,
        },
        commands(
            "Exclude the prefetch data from the filter, so that Windows keeps it up to date (EWF has no exclusions)",
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
        Section {
            title: "With UWF, check that training has an effect".to_owned(),
            lines: vec![
                "The paper describes FBWF and EWF. UWF disables the service SysMain when it is turned on, and without SysMain the training has no effect. Check it with 'sc qc SysMain' after the restart.".to_owned(),
            ],
            is_commands: false,
        },
    ]
}

fn preparation(job: &Job) -> Vec<String> {
    let mut lines: Vec<&str> = vec![
        "Use an administrator account with automatic logon, and do not touch the computer during the runs.",
        "Leave wireless adapters on but disconnected, and remove persistent network connections (net use * /d).",
        "After installing drivers, leave the computer idle for 15 minutes: Windows checks their code during that time.",
    ];
    match job.transition {
        Transition::Boot | Transition::RebootCycle => lines.push(
            "With -prepSystem, xbootmgr first restarts the computer six times to train the prefetcher. Use it once per computer, before the first timing traces.",
        ),
        Transition::Shutdown => lines.push(
            "xbootmgr restarts the computer once before the first recording and once after the last.",
        ),
        Transition::Suspend | Transition::Hibernate => lines.push(
            "Clear 'On resume, display logon screen' (Screen Saver Settings): otherwise the end of the resume is not recorded.",
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

fn inbox_wpr_commands(transition: Transition) -> Vec<String> {
    let name = profile::NAME;
    let add = format!("wpr -boottrace -addboot {PROFILE_FILE}!{name}.Light -filemode -recordtempto {RESULTS}");
    let restart = "shutdown /r /t 0".to_owned();
    let stop = |kind: &str| format!(r"wpr -boottrace -stopboot {RESULTS}\{kind}.etl");
    let start = format!("wpr -start {PROFILE_FILE}!{name}.Light -filemode");
    match transition {
        Transition::Boot => {
            vec![
                add,
                restart,
                "rem log on, wait two minutes without touching the computer, then run:".to_owned(),
                stop("boot"),
            ]
        }
        // The `wpr` of Windows does not support '-onoffscenario'.
        Transition::Shutdown | Transition::RebootCycle => Vec::new(),
        Transition::Suspend | Transition::Hibernate => vec![
            start,
            match transition {
                Transition::Hibernate => "shutdown /h".to_owned(),
                _ => "rem put the computer to sleep and wake it".to_owned(),
            },
            "rem wait two minutes after the resume, then run:".to_owned(),
            format!(r"wpr -stop {RESULTS}\sleep.etl"),
        ],
    }
}
