//! An initial file system that takes long to unpack.

use onoff_trace::{Milestone, milestone};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The kernel needs 1 s or more to unpack the initial file system.
    ///
    /// # Why it costs time
    /// The first program runs only when it is unpacked: one processor decompresses it, byte by byte.
    ///
    /// # Evidence needed
    /// The kernel's log: the lines about unpacking the rootfs image and about the memory of the initrd.
    ///
    /// # What to do
    /// Make it smaller (dracut: `hostonly=yes`; initramfs-tools: `MODULES=dep`), and compress it with Zstandard or LZ4, which unpack several
    /// times as fast as XZ or gzip (`compress=zstd`, `COMPRESS=zstd`).
    ///
    /// # When it is wrong
    /// Kernels from 5.13 on unpack it in parallel with their own initialization: the cost is an upper bound. The kernel's log stamps the second line
    /// when the memory is given back, which is a little later.
    ///
    /// # Source
    /// The kernel's `init/initramfs.c` and its `initramfs_async` parameter; initramfs.conf(5), dracut.conf(5); the limit is onoff's.
    "linux/initrd-unpack-slow", "an initial file system that takes long to unpack", LinuxBoot(check)
}

/// The kernel's function that unpacks it.
pub(super) const FUNCTION: &str = "populate_rootfs";

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let Some((begin, end)) = unpacking(facts) else {
        return Err(lacks_other("when the kernel unpacked the initial file system: record the kernel's log"));
    };
    let length_ns = end.time_ns.saturating_sub(begin.time_ns);
    if length_ns < thresholds::INITRD_UNPACK_NS {
        return Ok(Vec::new());
    }
    let size = end.value.filter(|&kib| kib > 0).map(|kib| format!(" of {} MiB", kib.saturating_add(512) / 1024));
    let found = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Driver, FUNCTION),
        format!("unpacking the initial file system{} takes {}", size.unwrap_or_default(), time(length_ns)),
    )
    .costs(facts.cost((begin.time_ns, end.time_ns)))
    .because(begin.time_ns, "the kernel begins to unpack it")
    .because(end.time_ns, "its packed memory is given back")
    .advise(
        "make it smaller (dracut: 'hostonly=yes'; initramfs-tools: 'MODULES=dep') and compress it with Zstandard or LZ4, which unpack \
         several times as fast as XZ or gzip",
    );
    Ok(vec![found])
}

/// When it began and ended; `None` where the kernel's log does not say.
pub(super) fn unpacking(facts: &LinuxBootFacts<'_>) -> Option<(Milestone, Milestone)> {
    let of = |name: &str| {
        let name = facts.trace.strings.find(name)?;
        facts.trace.milestones.iter().filter(|row| row.name == name).min_by_key(|row| row.time_ns)
    };
    let (begin, end) = (of(milestone::INITRD_UNPACK_BEGIN)?, of(milestone::INITRD_UNPACK_END)?);
    (begin.time_ns <= end.time_ns).then_some((begin, end))
}
