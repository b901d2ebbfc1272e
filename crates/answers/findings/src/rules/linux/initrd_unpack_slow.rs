//! An initramfs that is slow to unpack.

use onoff_trace::{Milestone, milestone};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The kernel needs 1 s or more to unpack the initramfs.
    ///
    /// # Why it costs time
    /// The first program cannot run until the initramfs is unpacked, and a single CPU decompresses it.
    ///
    /// # Evidence needed
    /// The kernel log: the lines about unpacking the rootfs image and freeing the initrd memory.
    ///
    /// # What to do
    /// Make it smaller (dracut: `hostonly=yes`; initramfs-tools: `MODULES=dep`), and compress it with Zstandard or LZ4,
    /// which unpack several times faster than XZ or gzip (`compress=zstd`, `COMPRESS=zstd`).
    ///
    /// # When it is wrong
    /// Since version 5.13, the kernel unpacks it in parallel with its own initialization: the cost is an upper bound.
    /// The second log line is written when the memory is freed, slightly later.
    ///
    /// # Source
    /// The kernel's `init/initramfs.c` and its `initramfs_async` parameter; initramfs.conf(5), dracut.conf(5); the
    /// threshold is onoff's.
    "linux/initrd-unpack-slow", "an initramfs that is slow to unpack", LinuxBoot(check)
}

/// The initcall that unpacks the initramfs.
pub(super) const FUNCTION: &str = "populate_rootfs";

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let Some((begin, end)) = unpacking(facts) else {
        return Err(missing_input("initramfs unpacking times: record the kernel log"));
    };
    let length_ns = end.time_ns.saturating_sub(begin.time_ns);
    if length_ns < thresholds::INITRD_UNPACK_NS {
        return Ok(Vec::new());
    }
    let size = end.value.filter(|&kib| kib > 0).map(|kib| format!(" ({} MiB)", kib.saturating_add(512) / 1024));
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Driver, FUNCTION),
        format!("unpacking the initramfs{} took {}", size.unwrap_or_default(), time(length_ns)),
    )
    .cost(facts.cost((begin.time_ns, end.time_ns)))
    .evidence(begin.time_ns, "unpacking started")
    .evidence(end.time_ns, "the compressed image was freed")
    .advice(
        "make it smaller (dracut: 'hostonly=yes'; initramfs-tools: 'MODULES=dep') and compress it with Zstandard or LZ4, which \
         unpack several times faster than XZ or gzip",
    );
    Ok(vec![finding])
}

/// Returns the start and the end of unpacking; `None` if they are not in the kernel log.
pub(super) fn unpacking(facts: &LinuxBootFacts<'_>) -> Option<(Milestone, Milestone)> {
    let find_milestone = |name: &str| {
        let name = facts.trace.strings.find(name)?;
        facts.trace.milestones.iter().filter(|row| row.name == name).min_by_key(|row| row.time_ns)
    };
    let (begin, end) = (find_milestone(milestone::INITRD_UNPACK_BEGIN)?, find_milestone(milestone::INITRD_UNPACK_END)?);
    (begin.time_ns <= end.time_ns).then_some((begin, end))
}
