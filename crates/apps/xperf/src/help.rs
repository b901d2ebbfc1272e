//! The text of `-help`.

use std::io::{self, Write};

use super::action::Action;
use super::actions;
use super::command_words::usage;
use crate::failure::Failure;

const OVERVIEW: &str = "\
Processes a recording like 'xperf -i FILE -a ACTION', and writes xperf's formats.

Usage: onoff xperf -i FILE [-i FILE…] [-o FILE] [OPTIONS]
                   [-a ACTION [ACTION'S OPTIONS] [-ao FILE] [-ae FILE]]…

  -i FILE        the recording: an .etl file, optionally compressed; several
                 files are read as one
  -o FILE        the output file [default: stdout]
  -a ACTION      the action to run; several actions share one pass over the
                 recording [default: dumper]
  -ao FILE       the output file of the preceding action
  -ae FILE       the file for errors of the preceding action [default: stderr]
  -manifest PATH event descriptions: a manifest (.man), a provider DLL, a trace
                 message format file (.tmf), or a folder with such files
  -tle           tolerate lost events
  -tti           tolerate time inversions (a clock that ran backwards)
  -target KIND   human or machine; with machine, the dump has one row per stack
                 instead of one per frame
  -quiet         no notes on stderr
  -symbols       show function names in '-a profile -detail', '-a stack' and
                 '-a dumper', from the PDB files on _NT_SYMBOL_PATH; other
                 actions show module and address
  -merge FILE… OUT
                 merge recordings of one boot into one file; same as
                 '-i FILE… -d OUT'
  -help TOPIC    'processing', 'times', 'start', 'merge' or an action
  -providers     list the providers whose events onoff decodes without a
                 manifest

An option may begin with '/' instead of '-'. The options of an action follow the
action.
";

const TIMES: &str = "\
A time is 1234[s|ms|us|ns] since the start of the recording (default unit: µs),
or yyyy/mm/dd:hh:mm:ss.ffff in the recorded computer's local time; append +UTC
for UTC.
-range T1 T2 starts at T1 and ends before T2; without T2, it ends with the
recording.
-range WinLogonInit selects that phase (not available in xperf).
A duration is 1234[s|ms|us|ns] or hh:mm:ss.ffff.
";

const RECORDING: &str = "\
onoff xperf processes recordings but does not make them: -on, -start, -stop and
similar options are not supported. To record a computer with Windows 10 or 11,
run 'onoff record boot' on it. 'onoff record boot --plan windows' runs anywhere
and prints the commands for wpr and xbootmgr. -providers lists the providers
whose events onoff decodes without a manifest.
";

const MERGING: &str = "\
Merges recordings of one boot into one file, with all events in time order and
the losses added up.

  onoff xperf -merge [-d] FILE… OUT [-quiet]
  onoff xperf [-stop [SESSION…]] -i FILE… -d OUT
      the same; -f FILE works like -i FILE; no session is stopped

The last file is the output, which must not be one of the inputs; it gets its
name when it is complete. Clocks must match: recordings of another boot, clock
frequency or Windows build are rejected with the reason. No data of the local
computer is added: no images, no symbol names, no configuration. -compress,
-suppresspii and -mergeonly are ignored; the output is not compressed.
";

const EXAMPLES: &str = "\
Examples:
  onoff xperf -i boot.etl -o summary_boot.xml -a boot
  onoff xperf -tle -i boot.etl -a services -ao services.csv -a pnp -ao pnp.csv
  onoff xperf -i trace.etl -o dump.csv -a dumper -range 2s 4s

Exit codes: 0 success, 1 read or write error, 2 no matching data or usage error.
With several actions, the worst one counts.
";

/// Writes the help on a topic; the overview without a topic.
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
            let text = "'-a profile -detail', '-a stack' and '-a dumper' show function names from the PDB\nfiles on _NT_SYMBOL_PATH; other actions show module and address.";
            writeln!(out, "{text}")?;
        }
        Some(topic) => match actions::find(topic) {
            Some(action) => write_action(action, out)?,
            None => {
                return Err(usage(format!(
                    "-help: no topic '{topic}'; 'onoff xperf -help processing' lists the actions"
                )));
            }
        },
    }
    Ok(())
}

/// Writes GUID and name of the providers whose events are known without a recording, in the format of
/// `xperf -providers`.
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
        return writeln!(out, "\nNo options.");
    }
    writeln!(out, "\n{}", action.help.trim_end())?;
    if action.help.contains("-range") {
        writeln!(out, "\n{}", TIMES.trim_end())?;
    }
    Ok(())
}
