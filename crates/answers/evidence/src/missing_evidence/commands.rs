//! Builds command lines that record missing evidence.

use crate::transition_kind::TransitionKind;

use onoff_trace::Trace;

use super::{Provider, Question, RecordingCommand, Source};

/// [`onoff_trace::RecordingFile::content`] of a sleep study.
const SLEEP_STUDY: &str = "sleep study";

/// Kernel flags that every recording needs to resolve names.
const BASE_FLAGS: [&str; 2] = ["PROC_THREAD", "LOADER"];

/// Returns the ways to record the sources of `missing`; empty if nothing is missing.
pub(super) fn commands(transition: TransitionKind, missing: &[&Question]) -> Vec<RecordingCommand> {
    if missing.is_empty() {
        return Vec::new();
    }
    let mut flags: Vec<&str> = BASE_FLAGS.to_vec();
    let mut providers: Vec<&Provider> = Vec::new();
    for question in missing {
        match question.source {
            Source::Kernel(kernel_flags) => {
                for flag in kernel_flags {
                    if !flags.contains(flag) {
                        flags.push(flag);
                    }
                }
            }
            Source::Provider(provider) => providers.push(provider),
        }
    }
    let mut commands = Vec::new();
    match transition {
        TransitionKind::Boot => {
            if !providers.is_empty() {
                commands.push(autologger(&providers));
            }
            if missing.iter().any(|question| matches!(question.source, Source::Kernel(_))) {
                commands.push(command(
                    "wpr",
                    "kernel events of the next boot",
                    &["wpr -boottrace -addboot GeneralProfile -filemode -recordtempto C:\\traces"],
                ));
            }
            commands.push(command(
                "xbootmgr",
                "everything (three boots)",
                &["xbootmgr -trace boot -numRuns 3 -traceFlags BASE+CSWITCH -resultPath C:\\traces"],
            ));
        }
        TransitionKind::Shutdown => {
            commands.push(xperf(&flags, &providers));
            commands.push(command(
                "xbootmgr",
                "everything (three shutdowns)",
                &["xbootmgr -trace shutdown -numRuns 3 -traceFlags BASE+CSWITCH -resultPath C:\\traces"],
            ));
        }
        TransitionKind::Suspend => {
            commands.push(xperf(&flags, &providers));
            commands.push(command(
                "xbootmgr",
                "everything (for hibernation, replace 'standby' with 'hibernate')",
                &["xbootmgr -trace standby -traceFlags BASE+CSWITCH -resultPath C:\\traces"],
            ));
        }
    }
    commands
}

/// Returns what adds to a power report: a sleep study, which has the most details, and a recording.
pub(super) fn after_power_report(trace: &Trace) -> Vec<RecordingCommand> {
    let study = command("powercfg", "what kept the computer busy in its past sleeps", &["powercfg /sleepstudy"]);
    let recording = command(
        "onoff",
        "the phases of a sleep, with its applications, services and devices",
        &["onoff record suspend --out C:\\traces"],
    );
    let has_study = trace.files.iter().any(|file| file.content == SLEEP_STUDY);
    if has_study { vec![recording] } else { vec![study, recording] }
}

fn command(tool: &str, purpose: &str, lines: &[&str]) -> RecordingCommand {
    RecordingCommand {
        tool: tool.to_owned(),
        purpose: purpose.to_owned(),
        lines: lines.iter().map(|&line| line.to_owned()).collect(),
    }
}

/// Returns the command for a recorder started on the running system.
fn xperf(flags: &[&str], providers: &[&Provider]) -> RecordingCommand {
    let mut line = format!("xperf -on {} -f C:\\traces\\kernel.etl", flags.join("+"));
    if !providers.is_empty() {
        let providers: Vec<String> = providers
            .iter()
            .map(|provider| format!("{}:{:#x}:{}", provider.name, provider.keyword, provider.level))
            .collect();
        line += &format!(" -start onoff -on {} -f C:\\traces\\user.etl", providers.join("+"));
    }
    command("xperf", "missing events only", &[&line])
}

/// Returns the commands for a recorder that starts with the system (autologger).
fn autologger(providers: &[&Provider]) -> RecordingCommand {
    let lines: Vec<String> = providers
        .iter()
        .enumerate()
        .map(|(index, provider)| {
            let verb = if index == 0 {
                "create trace autosession\\onoff -o C:\\traces\\user.etl"
            } else {
                "update trace autosession\\onoff"
            };
            format!("logman {verb} -p {{{}}} {:#x} {}", provider.guid, provider.keyword, provider.level)
        })
        .collect();
    RecordingCommand {
        tool: "logman".to_owned(),
        purpose: "the missing providers at every boot until you delete the session".to_owned(),
        lines,
    }
}
