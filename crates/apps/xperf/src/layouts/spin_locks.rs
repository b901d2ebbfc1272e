//! `xperf -a spinlock`: spin locks and the time spent waiting for them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::event_analyses::spin_locks::{SpinLock, SpinLockUse};

use onoff_report::text::printable::printable;

const TITLES: &str = "     Taken,  Contended,      Spins,    Wait (cycles),     Held (ticks)";

/// Writes the totals by module.
pub fn write_summary(usage: &SpinLockUse, out: &mut dyn Write) -> io::Result<()> {
    let mut modules: BTreeMap<&str, SpinLock> = BTreeMap::new();
    for lock in &usage.locks {
        let sum = modules.entry(&lock.module).or_default();
        sum.acquisitions += lock.acquisitions;
        sum.contended += lock.contended;
        sum.spins = sum.spins.saturating_add(lock.spins);
        sum.wait_cycles = sum.wait_cycles.saturating_add(lock.wait_cycles);
        sum.held_ticks = sum.held_ticks.saturating_add(lock.held_ticks);
    }
    let mut modules: Vec<(&str, SpinLock)> = modules.into_iter().collect();
    modules.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.wait_cycles));
    writeln!(out, "{TITLES}, Module")?;
    for (module, sum) in modules {
        write_totals(&sum, out)?;
        writeln!(out, ", {}", name(module))?;
    }
    write_omitted(usage, out)
}

/// Writes up to `max_rows` locks with their callers.
pub fn write_counts(usage: &SpinLockUse, max_rows: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{TITLES},               Lock, Image!Function")?;
    for lock in usage.locks.iter().take(max_rows) {
        write_totals(lock, out)?;
        writeln!(out, ", {:#018x}, {}!{:#x}", lock.lock, name(&lock.module), lock.caller)?;
    }
    write_omitted(usage, out)
}

fn write_totals(lock: &SpinLock, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "{:>10}, {:>10}, {:>10}, {:>16}, {:>16}",
        lock.acquisitions, lock.contended, lock.spins, lock.wait_cycles, lock.held_ticks
    )
}

fn name(module: &str) -> std::borrow::Cow<'_, str> {
    if module.is_empty() { "Unknown".into() } else { printable(module) }
}

fn write_omitted(usage: &SpinLockUse, out: &mut dyn Write) -> io::Result<()> {
    match usage.omitted {
        0 => Ok(()),
        omitted => writeln!(out, "{omitted:>10}, omitted (limit of locks reached)"),
    }
}
