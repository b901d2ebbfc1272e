//! `xperf -a registry`: registry operations by kind and key.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::event_analyses::registry::{RegistryKey, RegistryUse, RegistryWork};

use super::microseconds;
use onoff_report::text::printable::printable;

/// Writes the totals by kind, and up to `max_rows` keys, most operations first.
pub fn write_counts(usage: &RegistryUse, max_rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "     Count,     Failed,  Time (us), Operation")?;
    for (name, work) in &usage.operations {
        write_row(work, name, out)?;
    }
    writeln!(out)?;
    write_keys(usage.keys.iter().take(max_rows), out)?;
    write_omitted(usage, out)
}

/// Writes the keys whose handles could not be resolved.
pub fn write_unknown(usage: &RegistryUse, out: &mut dyn Write) -> io::Result<()> {
    write_keys(usage.keys.iter().filter(|key| !key.is_resolved), out)?;
    write_omitted(usage, out)
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

fn write_omitted(usage: &RegistryUse, out: &mut dyn Write) -> io::Result<()> {
    match usage.omitted {
        0 => Ok(()),
        omitted => writeln!(out, "{omitted:>10}, operations omitted (limit of keys reached)"),
    }
}

/// Maximum indentation level of the tree.
const MAX_DEPTH: usize = 64;

/// Writes the keys as a tree. Counts include subkeys.
pub fn write_tree(usage: &RegistryUse, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "     Count,     Failed,  Time (us), Key")?;
    // In path order, a key directly precedes its subkeys.
    let mut work_by_path: BTreeMap<Vec<&str>, (u64, u64, i64)> = BTreeMap::new();
    for key in usage.keys.iter().filter(|key| key.is_resolved) {
        let mut path = Vec::new();
        for component in key.path.split('\\').filter(|component| !component.is_empty()).take(MAX_DEPTH) {
            path.push(component);
            let (count, failed, total_ns) = work_by_path.entry(path.clone()).or_default();
            *count += key.work.durations.count;
            *failed += key.work.failed;
            *total_ns = total_ns.saturating_add(key.work.durations.total_ns);
        }
    }
    for (path, (count, failed, total_ns)) in work_by_path {
        let Some((name, parents)) = path.split_last() else { continue };
        writeln!(
            out,
            "{count:>10}, {failed:>10}, {:>10}, {:indent$}{}",
            microseconds(Some(total_ns)),
            "",
            printable(name),
            indent = parents.len() * 2,
        )?;
    }
    write_omitted(usage, out)
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
        let usage = RegistryUse {
            keys: vec![key(r"\REGISTRY\MACHINE\A\B", 3), key(r"\REGISTRY\MACHINE\A", 1), key(r"\REGISTRY\USER", 2)],
            ..RegistryUse::default()
        };
        let mut text = Vec::new();
        write_tree(&usage, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let rows: Vec<&str> = text.lines().skip(1).map(|row| &row[36..]).collect();
        assert_eq!(rows, ["REGISTRY", "  MACHINE", "    A", "      B", "  USER"]);
        let counts: Vec<&str> = text.lines().skip(1).map(|row| row[..10].trim()).collect();
        assert_eq!(counts, ["6", "4", "4", "3", "2"]);
    }
}
