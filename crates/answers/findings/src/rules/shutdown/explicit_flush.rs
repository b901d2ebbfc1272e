//! Programs that flush the disk while the computer shuts down.

use onoff_trace::DiskOperation;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A process whose flushes of the disk's cache take 100 ms or more in all while the computer shuts down.
    ///
    /// # Why it costs time
    /// A flush makes the disk write all that it holds, also what others wrote, and whoever asks for it waits. At its end the system flushes by
    /// itself.
    ///
    /// # Evidence needed
    /// Flushes of disks: the kernel's flag DISK_IO.
    ///
    /// # What to do
    /// The program saves while it runs, writes only what is unsaved, and calls neither FlushFileBuffers nor RegFlushKey at the end.
    ///
    /// # When it is wrong
    /// A database must flush to keep its promises: then fewer, larger transactions help. Flushes by the system itself are left out.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "UserSession Performance Analysis"; the limit is onoff's.
    "shutdown/explicit-flush", "programs that flush the disk while the computer shuts down", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs_kernel("DISK_IO")?;
    let (start, end) = facts.window();
    let mut by_process: Vec<(u32, i64, u64, i64)> = Vec::new();
    for row in facts.trace.disk_ios.iter() {
        let Some(pid) = row.pid.filter(|&pid| pid > 4) else { continue };
        if row.operation != DiskOperation::Flush || row.complete_ns <= start || row.complete_ns > end {
            continue;
        }
        let took = row.service_ns.max(0);
        match by_process.iter().position(|known| known.0 == pid) {
            Some(at) => {
                let known = &mut by_process[at];
                known.1 = known.1.saturating_add(took);
                known.2 += 1;
            }
            // Broken recordings may name any number of processes.
            None if by_process.len() < 4096 => by_process.push((pid, took, 1, row.complete_ns)),
            None => {}
        }
    }
    Ok(by_process
        .into_iter()
        .filter(|&(_, took, _, _)| took >= thresholds::FLUSH_NS)
        .map(|(pid, took, count, first)| {
            let image = facts.images.at(pid, first).unwrap_or("a process");
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Process, image).with_pid(Some(pid)),
                format!("{image} flushes the disk {count} times while the computer shuts down, for {}", time(took)),
            )
            .costs(Cost::at_most(took.min(end.saturating_sub(start))))
            .because(first, "the first of these flushes ends")
            .advise("save while it runs and write only what is unsaved; call neither FlushFileBuffers nor RegFlushKey at the end")
        })
        .collect())
}
