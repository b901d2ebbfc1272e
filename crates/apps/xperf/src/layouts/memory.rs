//! `xperf -a pool`, `-a pooltag` and `-a heap`: allocated memory, total and outstanding.

use std::io::{self, Write};

use crate::event_analyses::Memory;
use crate::event_analyses::heap::HeapUse;
use crate::event_analyses::pool::{PoolTag, PoolUse};

use super::process_name::ProcessName;
use onoff_report::text::printable::printable;

/// Writes `-a pool`: by image and tag. The image is always `Unknown`, because it would need call stacks.
pub fn write_pool(usage: &PoolUse, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Image, Tag, Alloc #, Alloc KB, Out Alloc#, Out Alloc KB")?;
    for row in &usage.tags {
        writeln!(
            out,
            "Unknown, {}, {}, {}, {}, {}",
            printable(&row.tag),
            row.memory.allocations,
            kilobytes(row.memory.bytes),
            row.memory.outstanding,
            kilobytes(row.memory.outstanding_bytes)
        )?;
    }
    Ok(())
}

/// Writes pool allocations by tag and type.
pub fn write_pool_tags(usage: &PoolUse, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, " Tag,     Type,    Alloc #,   Alloc KB,  Out Alloc #, Out Alloc KB")?;
    for row in &usage.tags {
        let PoolTag { tag, pool_type, memory } = row;
        let Memory { allocations, bytes, outstanding, outstanding_bytes } = memory;
        // The lowest bit of a POOL_TYPE is set for paged pool.
        let kind = if pool_type & 1 == 0 { "NonPaged" } else { "Paged" };
        writeln!(
            out,
            "{:>4}, {kind:>8}, {allocations:>10}, {:>10}, {outstanding:>12}, {:>12}",
            printable(tag),
            kilobytes(*bytes),
            kilobytes(*outstanding_bytes)
        )?;
    }
    write_footer(usage, out)
}

fn write_footer(usage: &PoolUse, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nFrees without a recorded allocation: {}", usage.unmatched_frees)?;
    write_omitted(usage.omitted, out)
}

/// Writes heap allocations by process and heap.
pub fn write_heaps(usage: &HeapUse, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "    Process Name ( PID),               Heap,    Alloc #,   Alloc KB,     Free #,  Out Alloc #, Out Alloc KB"
    )?;
    for heap in &usage.heaps {
        writeln!(
            out,
            "{}, {:#018x}, {:>10}, {:>10}, {:>10}, {:>12}, {:>12}",
            ProcessName(Some(&heap.process.image), heap.process.pid),
            heap.handle,
            heap.memory.allocations,
            kilobytes(heap.memory.bytes),
            heap.frees,
            heap.memory.outstanding,
            kilobytes(heap.memory.outstanding_bytes),
        )?;
    }
    if usage.unreadable > 0 {
        writeln!(out, "Events with an unknown layout: {}", usage.unreadable)?;
    }
    write_omitted(usage.omitted, out)
}

fn write_omitted(omitted: u64, out: &mut dyn Write) -> io::Result<()> {
    match omitted {
        0 => Ok(()),
        omitted => writeln!(out, "Allocations omitted (limit reached): {omitted}"),
    }
}

/// Converts to KB of 1024 bytes, rounded up.
fn kilobytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}
