//! `xperf -a pagefault`: all kinds of page faults, by process or one by one.
//!
//! No public source shows xperf's layout; this layout is onoff's.

use std::collections::BTreeMap;
use std::io::{self, Write};

use onoff_trace::{DescribedEvent, EventOrigin};

use super::{process_cell, truncated_microseconds};

/// Kinds of page faults by hook, with their column titles.
const KINDS: [(u16, &str); 6] = [
    (0x020a, "Transition"),
    (0x020b, "DemandZero"),
    (0x020c, "CopyOnWrite"),
    (0x020d, "GuardPage"),
    (0x020e, "HardFault"),
    (0x020f, "AccessViolation"),
];

/// Hooks of the needed events.
pub const HOOKS: [u16; KINDS.len()] = [0x020a, 0x020b, 0x020c, 0x020d, 0x020e, 0x020f];

/// Collects or writes page faults.
#[derive(Clone, Debug, Default)]
pub struct PageFaults {
    detail: bool,
    /// Number of faults of each kind by process: image file name (empty if unknown) and id.
    by_process: BTreeMap<(Option<u32>, Box<str>), [u64; KINDS.len()]>,
    faults: u64,
}

impl PageFaults {
    /// Creates a collector that writes each fault as a row with `detail`, and otherwise sums faults by process.
    #[must_use]
    pub fn new(detail: bool) -> Self {
        Self { detail, ..Self::default() }
    }

    /// Returns the number of faults so far.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// Adds or writes a page fault; ignores other events.
    pub fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        let EventOrigin::Kernel { hook } = event.origin else { return Ok(()) };
        let Some(kind) = KINDS.iter().position(|&(kind_hook, _)| kind_hook == hook) else { return Ok(()) };
        let image = event.process().unwrap_or_default();
        self.faults += 1;
        if !self.detail {
            let counts = match self.by_process.get_mut(&(event.pid, image.into())) {
                Some(counts) => counts,
                None => self.by_process.entry((event.pid, image.into())).or_default(),
            };
            if let Some(count) = counts.get_mut(kind) {
                *count += 1;
            }
            return Ok(());
        }
        if self.faults == 1 {
            writeln!(
                out,
                " TimeStamp,     Process Name ( PID),   ThreadID, CPU,            Type,     VirtualAddress,     ProgramCounter"
            )?;
        }
        let address = |field| event.number(field).unwrap_or_default();
        writeln!(
            out,
            "{:>10}, {}, {:>10}, {:>3}, {:>15}, 0x{:016x}, 0x{:016x}",
            truncated_microseconds(event.time_ns),
            process_cell(image, event.pid),
            event.tid.map_or(-1, i64::from),
            event.cpu,
            KINDS.get(kind).map_or("", |&(_, title)| title),
            address("VirtualAddress"),
            address("ProgramCounter"),
        )
    }

    /// Writes the sums, most faults first; nothing with `detail`.
    pub fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.detail {
            return Ok(());
        }
        write!(out, "    Process Name ( PID),      Total")?;
        for (_, title) in KINDS {
            write!(out, ", {title:>15}")?;
        }
        writeln!(out)?;
        let mut rows: Vec<_> = self.by_process.iter().collect();
        let total = |counts: &[u64]| counts.iter().sum::<u64>();
        rows.sort_by_key(|(_, counts)| std::cmp::Reverse(total(&counts[..])));
        for ((pid, image), counts) in rows {
            write!(out, "{}, {:>10}", process_cell(image, *pid), total(counts))?;
            for count in counts {
                write!(out, ", {count:>15}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_match_kinds() {
        for (&(kind_hook, _), hook) in KINDS.iter().zip(HOOKS) {
            assert_eq!(kind_hook, hook);
        }
    }
}
