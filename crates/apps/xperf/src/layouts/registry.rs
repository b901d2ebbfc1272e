//! `xperf -a registry`: registry operations by kind and key.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::event_analyses::registry::{RegistryKey, RegistryUse, RegistryWork};

use super::microseconds;
use onoff_report::text::printable::printable;

/// Writes the totals by kind, and up to `max_rows` keys, most operations first.
pub fn write_counts(answer: &RegistryUse, max_rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "     Count,     Failed,  Time (us), Operation")?;
    for (name, work) in &answer.operations {
        write_row(work, name, out)?;
    }
    writeln!(out)?;
    write_keys(answer.keys.iter().take(max_rows), out)?;
    write_omitted(answer, out)
}

/// Writes the keys whose handles could not be resolved.
pub fn write_unknown(answer: &RegistryUse, out: &mut dyn Write) -> io::Result<()> {
    write_keys(answer.keys.iter().filter(|key| !key.is_resolved), out)?;
    write_omitted(answer, out)
}

fn write_keys<'a>(keys: impl Iterator<Item = &'a RegistryKey>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "     Count,     Failed,  Time (us), Key")?;
    for key in keys {
        write_row(&key.work, &key.path, out)?;
    }
    Ok(())
}

fn write_row(work: &RegistryWork, name: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>10}, {:>10}, {:>10}, {}",
        work.durations.count,
        work.failed,
        microseconds(Some(work.durations.total_ns)),
        printable(name)
    )
}

fn write_omitted(answer: &RegistryUse, out: &mut dyn Write) -> io::Result<()> {
    match answer.omitted {
        0 => Ok(()),
        omitted => writeln!(out, "{omitted:>10}, operations on keys beyond the number that is kept"),
    }
}

/// Maximum indentation level of the tree.
const MAX_DEPTH: usize = 64;

/// Writes the keys as a tree. Counts include subkeys.
pub fn write_tree(answer: &RegistryUse, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "     Count,     Failed,  Time (us), Key")?;
    // Sorted by path, a key directly precedes its subkeys.
    let mut sums: BTreeMap<Vec<&str>, (u64, u64, i64)> = BTreeMap::new();
    for key in answer.keys.iter().filter(|key| key.is_resolved) {
        let mut path = Vec::new();
        for step in key.path.split('\\').filter(|step| !step.is_empty()).take(MAX_DEPTH) {
            path.push(step);
            let sum = sums.entry(path.clone()).or_default();
            sum.0 += key.work.durations.count;
            sum.1 += key.work.failed;
            sum.2 = sum.2.saturating_add(key.work.durations.total_ns);
        }
    }
    for (path, (count, failed, total_ns)) in sums {
        let Some((name, above)) = path.split_last() else { continue };
        writeln!(
            out,
            "{count:>10}, {failed:>10}, {:>10}, {:indent$}{}",
            microseconds(Some(total_ns)),
            "",
            printable(name),
            indent = above.len() * 2,
        )?;
    }
    write_omitted(answer, out)
}

#[cfg(test)]
mod tests {
    use crate::event_analyses::DurationStats;

    use super::*;

    #[test]
    fn tree_counts_include_subkeys() {
        let key = |path: &str, count: u64| RegistryKey {
            path: path.to_owned(),
            is_resolved: true,
            work: RegistryWork { durations: DurationStats { count, total_ns: 1_000, max_ns: 1_000 }, failed: 0 },
        };
        let answer = RegistryUse {
            keys: vec![key(r"\REGISTRY\MACHINE\A\B", 3), key(r"\REGISTRY\MACHINE\A", 1), key(r"\REGISTRY\USER", 2)],
            ..RegistryUse::default()
        };
        let mut text = Vec::new();
        write_tree(&answer, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).map(|row| &row[36..]).collect();
        assert_eq!(rows, ["REGISTRY", "  MACHINE", "    A", "      B", "  USER"]);
        let counts: Vec<&str> = text.lines().skip(1).map(|row| row[..10].trim()).collect();
        assert_eq!(counts, ["6", "4", "4", "3", "2"]);
    }
}
