//! `xperf -a hardfault`: hard faults by process and file, or by file and process.
//!
//! No public source shows xperf's layout. Known scripts look for a name that ends in `.exe` or `.dll`, followed by a
//! number; this layout has both.

use std::collections::BTreeMap;
use std::io::{self, Write};

use onoff_evidence::Scope;
use onoff_trace::Trace;
use onoff_usage::storage::Key;
use onoff_usage::storage::hard_faults::{self, HardFaultAmounts, HardFaultGroup};

use super::truncated_microseconds;
use onoff_report::text::printable::printable;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardFaultOptions {
    /// Group by file, then by waiting process.
    pub by_file: bool,
    /// Sort by bytes instead of by number of faults.
    pub by_bytes: bool,
}

/// Writes the hard faults in `scope`.
pub fn write(trace: &Trace, scope: &Scope, options: &HardFaultOptions, out: &mut dyn Write) -> io::Result<()> {
    let (major, minor) = if options.by_file { (Key::Path, Key::Process) } else { (Key::Process, Key::Path) };
    let mut subgroups: BTreeMap<Name, Vec<HardFaultGroup>> = BTreeMap::new();
    for group in hard_faults::analyze(trace, scope, &[Key::Process, Key::Path]).groups {
        subgroups.entry(Name::from_group(&group, major)).or_default().push(group);
    }
    let mut groups = hard_faults::analyze(trace, scope, &[major]).groups;
    sort(&mut groups, options);
    let mut lines = Vec::new();
    for group in &groups {
        let key = Name::from_group(group, major);
        let mut subgroups = subgroups.remove(&key).unwrap_or_default();
        sort(&mut subgroups, options);
        let Name(name, pid) = key;
        lines.push(Line(name, pid, group.amounts));
        lines.extend(subgroups.iter().map(|subgroup| {
            let Name(name, pid) = Name::from_group(subgroup, minor);
            Line(format!("    {name}"), pid, subgroup.amounts)
        }));
    }
    write_lines(&lines, out)
}

fn sort(groups: &mut [HardFaultGroup], options: &HardFaultOptions) {
    // The sort is stable, so ties stay sorted by wait time.
    groups.sort_by_key(|group| {
        let HardFaultAmounts { faults, bytes, .. } = group.amounts;
        std::cmp::Reverse(if options.by_bytes { bytes } else { faults })
    });
}

/// Name of a process or file, and the process id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name(String, Option<u32>);

impl Name {
    fn from_group(group: &HardFaultGroup, key: Key) -> Self {
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

/// An output line: indented name, process id, amounts.
struct Line(String, Option<u32>, HardFaultAmounts);

/// Maximum width of the name column.
const MAX_NAME_WIDTH: usize = 120;

fn write_lines(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    let name_widths = lines.iter().map(|Line(name, ..)| name.chars().count());
    let width = name_widths.max().unwrap_or_default().min(MAX_NAME_WIDTH);
    writeln!(out, "{:<width$} {:>8} {:>12} {:>12}  PID", "Name", "Count", "Bytes", "IOTime")?;
    for Line(name, pid, amounts) in lines {
        write!(
            out,
            "{name:<width$} {:>8} {:>12} {:>12}",
            amounts.faults,
            amounts.bytes,
            truncated_microseconds(amounts.waited_ns)
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

    /// Returns the first two words of each line, as scripts read them, and whether the line is indented.
    fn words(options: HardFaultOptions) -> Vec<(bool, String, u64)> {
        let trace = trace();
        let mut out = Vec::new();
        write(&trace, &Scope::whole_recording(&trace), &options, &mut out).unwrap();
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
    fn groups_by_process_and_sorts_by_count() {
        let line = |is_indented, name: &str, count| (is_indented, name.to_owned(), count);
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
    fn groups_by_file_and_sorts_by_bytes() {
        let options = HardFaultOptions { by_file: true, by_bytes: true };
        let line = |is_indented, name: &str, count| (is_indented, name.to_owned(), count);
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
