//! `xperf -a hardfault`: pages that had to be read, by process and file or by file and process.
//!
//! Nothing public shows xperf's lines; scripts that read them look for a name that ends in `.exe` or `.dll` and the
//! number behind it, and find them here.

use std::collections::BTreeMap;
use std::io::{self, Write};

use onoff_evidence::Scope;
use onoff_trace::Trace;
use onoff_usage::storage::Key;
use onoff_usage::storage::hard_faults::{self, HardFaultAmounts, HardFaultGroup};

use super::whole_microseconds;
use onoff_report::text::printable::printable;

/// How the faults are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardFaultOptions {
    /// Files first, and under each the processes that waited for it.
    pub by_file: bool,
    /// Most bytes first instead of most faults.
    pub by_bytes: bool,
}

/// Writes the hard faults in `scope`.
pub fn write(trace: &Trace, scope: &Scope, options: &HardFaultOptions, out: &mut dyn Write) -> io::Result<()> {
    let (major, minor) = if options.by_file { (Key::Path, Key::Process) } else { (Key::Process, Key::Path) };
    let mut parts: BTreeMap<Name, Vec<HardFaultGroup>> = BTreeMap::new();
    for group in hard_faults::analyze(trace, scope, &[Key::Process, Key::Path]).groups {
        parts.entry(Name::of(&group, major)).or_default().push(group);
    }
    let mut wholes = hard_faults::analyze(trace, scope, &[major]).groups;
    arrange(&mut wholes, options);
    let mut lines = Vec::new();
    for whole in &wholes {
        let name = Name::of(whole, major);
        let mut parts = parts.remove(&name).unwrap_or_default();
        arrange(&mut parts, options);
        lines.push(Line(name.0, name.1, whole.amounts));
        lines.extend(parts.iter().map(|part| {
            let Name(name, pid) = Name::of(part, minor);
            Line(format!("    {name}"), pid, part.amounts)
        }));
    }
    write_lines(&lines, out)
}

fn arrange(groups: &mut [HardFaultGroup], options: &HardFaultOptions) {
    // The order so far, by time waited, settles what is equal.
    groups.sort_by_key(|group| {
        let HardFaultAmounts { faults, bytes, .. } = group.amounts;
        std::cmp::Reverse(if options.by_bytes { bytes } else { faults })
    });
}

/// The name of a process or a file, and the process's id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String, Option<u32>);

impl Name {
    fn of(group: &HardFaultGroup, key: Key) -> Self {
        let (name, pid) = match key {
            Key::Process => (group.shared.image.as_deref(), group.shared.pid),
            _ => (group.shared.path.as_deref(), None),
        };
        match name {
            None | Some("") => Self("Unknown".to_owned(), pid),
            Some(name) => Self(printable(name).into_owned(), pid),
        }
    }
}

/// A line: the name with its indent, the process's id, the amounts.
struct Line(String, Option<u32>, HardFaultAmounts);

/// Widest name that the columns behind it make room for.
const MAX_ROOM: usize = 120;

fn write_lines(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    let longest = lines.iter().map(|Line(name, ..)| name.chars().count());
    let width = longest.max().unwrap_or_default().min(MAX_ROOM);
    writeln!(out, "{:<width$} {:>8} {:>12} {:>12}  PID", "Name", "Count", "Bytes", "IOTime")?;
    for Line(name, pid, amounts) in lines {
        write!(
            out,
            "{name:<width$} {:>8} {:>12} {:>12}",
            amounts.faults,
            amounts.bytes,
            whole_microseconds(amounts.waited_ns)
        )?;
        match pid {
            Some(pid) => writeln!(out, " {pid:>4}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{HardFault, Process};

    fn trace() -> Trace {
        let mut trace = Trace::default();
        for (pid, image) in [(100, "editor.exe"), (2000, "mail.exe")] {
            let image = trace.strings.intern(image);
            trace.processes.push(Process { image, ..Process::unknown(pid) });
        }
        for (pid, size, file) in [
            (100, 4096, r"C:\Windows\a.dll"),
            (100, 4096, r"C:\Windows\a.dll"),
            (100, 4096, r"C:\b.exe"),
            (2000, 65536, r"C:\Windows\a.dll"),
        ] {
            let file = trace.strings.intern(file);
            trace.hard_faults.push(HardFault {
                end_ns: 2_500,
                pid: Some(pid),
                tid: pid + 4,
                file,
                file_object: 1,
                size,
                ..HardFault::UNKNOWN
            });
        }
        trace.duration_ns = 10_000;
        trace
    }

    /// The first two words of each line, as scripts take them, with the depth of the line.
    fn words(options: HardFaultOptions) -> Vec<(bool, String, u64)> {
        let trace = trace();
        let mut out = Vec::new();
        write(&trace, &Scope::whole(&trace), &options, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        text.lines()
            .skip(1)
            .map(|line| {
                let mut words = line.split_whitespace();
                let name = words.next().unwrap().to_owned();
                let count = words.next().unwrap().parse().unwrap();
                (line.starts_with(' '), name, count)
            })
            .collect()
    }

    #[test]
    fn processes_first_by_count() {
        let line = |inner, name: &str, count| (inner, name.to_owned(), count);
        assert_eq!(
            words(HardFaultOptions::default()),
            [
                line(false, "editor.exe", 3),
                line(true, r"C:\Windows\a.dll", 2),
                line(true, r"C:\b.exe", 1),
                line(false, "mail.exe", 1),
                line(true, r"C:\Windows\a.dll", 1),
            ]
        );
    }

    #[test]
    fn files_first_by_bytes() {
        let options = HardFaultOptions { by_file: true, by_bytes: true };
        let line = |inner, name: &str, count| (inner, name.to_owned(), count);
        assert_eq!(
            words(options),
            [
                line(false, r"C:\Windows\a.dll", 3),
                line(true, "mail.exe", 1),
                line(true, "editor.exe", 2),
                line(false, r"C:\b.exe", 1),
                line(true, "editor.exe", 1),
            ]
        );
    }
}
