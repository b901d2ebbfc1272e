//! Command lines that record what was lacking.

use crate::transition_kind::TransitionKind;

use super::{Provider, Question, RecordingCommand, Source};

/// Flags that any recording of the kernel needs for names.
const ALWAYS: [&str; 2] = ["PROC_THREAD", "LOADER"];

/// How to record what `missing` asks for; empty when nothing is missing.
pub(super) fn commands(about: TransitionKind, missing: &[&Question]) -> Vec<RecordingCommand> {
    if missing.is_empty() {
        return Vec::new();
    }
    let mut flags: Vec<&str> = ALWAYS.to_vec();
    let mut providers: Vec<&Provider> = Vec::new();
    for question in missing {
        match question.source {
            Source::Kernel(more) => {
                for flag in more {
                    if !flags.contains(flag) {
                        flags.push(flag);
                    }
                }
            }
            Source::Provider(provider) => providers.push(provider),
        }
    }
    let mut commands = Vec::new();
    match about {
        TransitionKind::Boot => {
            if !providers.is_empty() {
                commands.push(at_boot(&providers));
            }
            if missing.iter().any(|question| matches!(question.source, Source::Kernel(_))) {
                commands.push(command(
                    "wpr",
                    "the kernel's part of the next boot",
                    &["wpr -boottrace -addboot GeneralProfile -filemode -recordtempto C:\\traces"],
                ));
            }
            commands.push(command(
                "xbootmgr",
                "all of it, three boots",
                &["xbootmgr -trace boot -numRuns 3 -traceFlags BASE+CSWITCH -resultPath C:\\traces"],
            ));
        }
        TransitionKind::Shutdown => {
            commands.push(running(&flags, &providers));
            commands.push(command(
                "xbootmgr",
                "all of it, three shutdowns",
                &["xbootmgr -trace shutdown -numRuns 3 -traceFlags BASE+CSWITCH -resultPath C:\\traces"],
            ));
        }
        TransitionKind::Suspend => {
            commands.push(running(&flags, &providers));
            commands.push(command(
                "xbootmgr",
                "all of it; 'hibernate' instead of 'standby' for hibernation",
                &["xbootmgr -trace standby -traceFlags BASE+CSWITCH -resultPath C:\\traces"],
            ));
        }
    }
    commands
}

fn command(tool: &str, purpose: &str, lines: &[&str]) -> RecordingCommand {
    RecordingCommand {
        tool: tool.to_owned(),
        purpose: purpose.to_owned(),
        lines: lines.iter().map(|&line| line.to_owned()).collect(),
    }
}

/// A recorder that is started while the system runs.
fn running(flags: &[&str], providers: &[&Provider]) -> RecordingCommand {
    let mut line = format!("xperf -on {} -f C:\\traces\\kernel.etl", flags.join("+"));
    if !providers.is_empty() {
        let providers: Vec<String> = providers
            .iter()
            .map(|provider| format!("{}:{:#x}:{}", provider.name, provider.keyword, provider.level))
            .collect();
        line += &format!(" -start onoff -on {} -f C:\\traces\\user.etl", providers.join("+"));
    }
    command("xperf", "what was lacking, no more", &[&line])
}

/// A recorder that starts with the system.
fn at_boot(providers: &[&Provider]) -> RecordingCommand {
    let lines: Vec<String> = providers
        .iter()
        .enumerate()
        .map(|(at, provider)| {
            let verb = if at == 0 {
                "create trace autosession\\onoff -o C:\\traces\\user.etl"
            } else {
                "update trace autosession\\onoff"
            };
            format!("logman {verb} -p {{{}}} {:#x} {}", provider.guid, provider.keyword, provider.level)
        })
        .collect();
    RecordingCommand {
        tool: "logman".to_owned(),
        purpose: "the providers that were lacking, at every boot until deleted".to_owned(),
        lines,
    }
}
