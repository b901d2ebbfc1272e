//! What `-help` says.

use std::io::{self, Write};

use super::action::Action;
use super::actions;
use super::command_words::usage;
use crate::failure::Failure;

const OVERVIEW: &str = "\
Answers from a recording what 'xperf -i FILE -a ACTION' answers, in its formats.

Usage: onoff xperf -i FILE [-i FILE…] [-o FILE] [OPTIONS] [-a ACTION [ACTION'S OPTIONS] [-ao FILE] [-ae FILE]]…

  -i FILE        the recording: an Event Trace Log, as it is or packed; several files are read as one
  -o FILE        where the answers go instead of stdout
  -a ACTION      what to show; several are answered from one reading [default: dumper]
  -ao FILE       where the answer of the action before goes instead
  -ae FILE       where the action before says why it cannot answer, instead of stderr
  -manifest PATH describes the events of providers: a manifest (.man), a DLL, or a folder with such files
  -tle           answer although events were lost
  -tti           answer although the clock ran backwards
  -target KIND   human or machine: for machines the dump has a row for a stack, not for a frame
  -quiet         no remarks on stderr
  -symbols       functions by name in '-a profile -detail', '-a stack' and '-a dumper', from the PDB files that
                 _NT_SYMBOL_PATH names; other actions show module and address
  -merge FILE… OUT
                 writes recordings of one boot as one file; '-i FILE… -d OUT' is the same
  -help TOPIC    'processing', 'times', 'start', 'merge' or an action
  -providers     the providers whose events are known by themselves

An option may begin with '/' instead of '-'. An action's options follow it.
";

const TIMES: &str = "\
A time is 1234[s|ms|us|ns] since the recording's start, in µs without a unit, or
yyyy/mm/dd:hh:mm:ss.ffff in the recorded machine's local time, with +UTC in UTC.
-range T1 T2 is from T1 up to, not including, T2; without T2, up to the end.
-range WinLogonInit is that phase, which xperf has not.
A length of time is 1234[s|ms|us|ns] or hh:mm:ss.ffff.
";

const RECORDING: &str = "\
onoff answers from recordings here and makes none: -on, -start, -stop and the like are refused.
To record a computer with Windows 10 or 11: 'onoff record boot' on that computer, or 'onoff record boot --plan windows'
anywhere, which prints the lines for wpr and xbootmgr. -providers lists the providers whose events onoff knows by itself.
";

const MERGING: &str = "\
Writes recordings of one boot as one file: the events of all in order of time, what their recorders lost added up.

  onoff xperf -merge [-d] FILE… OUT [-quiet]
  onoff xperf [-stop [SESSION…]] -i FILE… -d OUT        the same; -f FILE may stand for -i FILE, no session is stopped

The last file is written, never one that is read, and takes its place when it is complete. Clocks must agree: another
boot, frequency or build of Windows is refused with the reason. Nothing of this computer is added, neither images nor
symbols' names nor its configuration. -compress is accepted and the file is written without compression; -suppresspii
and -mergeonly are accepted.
";

const EXAMPLES: &str = "\
Examples:
  onoff xperf -i boot.etl -o summary_boot.xml -a boot
  onoff xperf -tle -i boot.etl -a services -ao services.csv -a pnp -ao pnp.csv
  onoff xperf -i trace.etl -o dump.csv -a dumper -range 2s 4s

Exit codes are those of onoff: 0 answered, 1 could not read or write, 2 nothing of what was
asked for, or a line that makes no sense. Of several actions, the worst counts.
";

/// Writes the help about a topic.
pub fn write(topic: Option<&str>, out: &mut dyn Write) -> Result<(), Failure> {
    let topic = topic.map(|topic| topic.trim_start_matches(['-', '/']).to_ascii_lowercase());
    match topic.as_deref() {
        None | Some("") => {
            writeln!(out, "{OVERVIEW}")?;
            out.write_all(EXAMPLES.as_bytes())?;
        }
        Some("processing") => {
            writeln!(out, "{OVERVIEW}\nActions:")?;
            for action in actions::ACTIONS {
                write_line(action.name, action.summary, out)?;
            }
            writeln!(out, "\n{TIMES}")?;
            out.write_all(EXAMPLES.as_bytes())?;
        }
        Some("times" | "time" | "format") => out.write_all(TIMES.as_bytes())?,
        Some("start" | "stop" | "on" | "stackwalk" | "providers" | "capturestate") => {
            out.write_all(RECORDING.as_bytes())?
        }
        Some("merge" | "d" | "f") => out.write_all(MERGING.as_bytes())?,
        Some("symbols") => {
            let text = "Functions have names in '-a profile -detail' and '-a stack', from the PDB files that _NT_SYMBOL_PATH names;\nother actions show module and address.";
            writeln!(out, "{text}")?;
        }
        Some(topic) => match actions::find(topic) {
            Some(action) => write_action(action, out)?,
            None => {
                return Err(usage(format!(
                    "-help: there is no topic '{topic}'; 'onoff xperf -help processing' lists the actions"
                )));
            }
        },
    }
    Ok(())
}

/// Writes the providers whose events are known without a recording: GUID and name, as `xperf -providers` writes those of a computer.
pub fn write_providers(out: &mut dyn Write) -> Result<(), Failure> {
    for (guid, name) in onoff_sources::known_providers() {
        writeln!(out, "       {guid}:{name}")?;
    }
    Ok(())
}

fn write_line(name: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {name:<19} {text}")
}

fn write_action(action: &Action, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "-a {}: {}", action.name, action.summary)?;
    if !action.aliases.is_empty() {
        writeln!(out, "Also: {}", action.aliases.join(", "))?;
    }
    if action.help.is_empty() {
        return writeln!(out, "\nIt has no options.");
    }
    writeln!(out, "\n{}", action.help.trim_end())?;
    if action.help.contains("-range") {
        writeln!(out, "\n{}", TIMES.trim_end())?;
    }
    Ok(())
}
