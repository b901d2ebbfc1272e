//! Reads `perf-PID.map`, the list of run-time compiled functions (of JavaScript, Java, Python …) that a process writes
//! for profilers. A line has the start address and the length, both hexadecimal, and the name. A later line for the
//! same address replaces an earlier one.
//!
//! Source: the kernel's `tools/perf/Documentation/jit-interface.txt`. Only the file name identifies the process.

use onoff_trace::{Method, counters};

use super::assembly::Assembly;
use super::parts::Part;

/// Maximum number of functions per file.
const MAX_FUNCTIONS: usize = 1_000_000;
/// Maximum length of a name, in characters.
const MAX_NAME_LEN: usize = 1024;
/// Module name of these functions, which belong to no file.
const MODULE: &str = "[JIT]";

counters! {
    UNREADABLE = "perf_map_lines_unreadable", Notice, [Methods],
        "Lines of a perf-PID.map were skipped: not an address, length and name, or too many; call stacks show addresses for these functions.";
}

/// Parses the process id in the file name.
fn process(name: &str) -> Option<u32> {
    let file = name.rsplit(['/', '\\']).next()?;
    file.strip_prefix("perf-")?.strip_suffix(".map")?.parse().ok()
}

/// True if the file name and the first line match the format.
pub(super) fn recognizes(name: &str, text: &str) -> bool {
    process(name).is_some() && text.lines().next().is_some_and(|line| function(line).is_some())
}

/// Parses a line. Returns the start address, the length and the name.
fn function(line: &str) -> Option<(u64, u64, &str)> {
    let (address, rest) = line.split_once(' ')?;
    let (length, name) = rest.split_once(' ')?;
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (address, length) = (number(address)?, number(length)?);
    let name = name.trim();
    (length > 0 && address.checked_add(length).is_some() && !name.is_empty()).then_some((address, length, name))
}

/// Adds the functions of the list.
pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let Some(pid) = process(part.name) else { return };
    let text = String::from_utf8_lossy(part.bytes);
    let module = assembly.intern(MODULE);
    let mut count = 0;
    for (number, line) in (1_u64..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
        let Some((address, size, name)) = function(line).filter(|_| count < MAX_FUNCTIONS) else {
            assembly.losses.add_at(&UNREADABLE, || format!("{}, line {number}", part.name));
            continue;
        };
        count += 1;
        let name = match name.char_indices().nth(MAX_NAME_LEN) {
            Some((end, _)) => &name[..end],
            None => name,
        };
        let name = assembly.intern(name);
        assembly.methods.push(Method { pid, address, size, name, module, ..Method::UNKNOWN });
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::TableSet;

    use super::super::parts::PartKind;
    use super::*;

    #[test]
    fn recognizes_file_by_name_and_first_line() {
        assert!(recognizes("tmp/perf-70.map", "7f00 20 LazyCompile:~start app.js:1\n"));
        assert!(!recognizes("perf-70.map", "hello\n"));
        assert!(!recognizes("perf-x.map", "7f00 20 name\n"));
        assert!(!recognizes("System.map", "7f00 20 name\n"));
    }

    #[test]
    fn reads_functions_and_counts_unreadable_lines() {
        let mut assembly = Assembly::new(TableSet::all());
        let text = "7f00 20 start of app\n\n0x7f40 0x10 b\n7f60 0 nothing\nzz 1 c\nffffffffffffffff 2 beyond\n7f00\n";
        let part = Part { kind: PartKind::PerfMap, name: "perf-70.map", bytes: text.as_bytes() };
        read(&part, &mut assembly);
        let rows: Vec<_> =
            assembly.methods.iter().map(|row| (row.pid, row.address, row.size, assembly.texts.get(row.name))).collect();
        assert_eq!(rows, [(70, 0x7f00, 0x20, "start of app"), (70, 0x7f40, 0x10, "b")]);
        assert_eq!(assembly.losses.count(UNREADABLE.name), 4);
    }
}
