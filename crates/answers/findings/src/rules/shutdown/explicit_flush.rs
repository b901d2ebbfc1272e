//! Programs that flush the disk during shutdown.

use onoff_trace::DiskOperation;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A process whose disk cache flushes take 100 ms or more in total during shutdown.
    ///
    /// # Why it costs time
    /// A flush makes the disk write its whole cache, including other programs' data, while the caller waits. Windows
    /// flushes the disks at the end of the shutdown anyway.
    ///
    /// # Evidence needed
    /// Disk flushes: kernel flag DISK_IO.
    ///
    /// # What to do
    /// The program should save while it runs, write only unsaved data at the end, and call neither FlushFileBuffers nor
    /// RegFlushKey during shutdown.
    ///
    /// # When it is wrong
    /// A database must flush to guarantee durability; fewer and larger transactions help. Flushes by the system itself
    /// are not counted.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "UserSession Performance Analysis"; the threshold is onoff's.
    "shutdown/explicit-flush", "programs that flush the disk during shutdown", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    let (start, end) = facts.window();
    let mut by_process: Vec<(u32, i64, u64, i64)> = Vec::new();
    for row in facts.trace.disk_ios.iter() {
        let Some(pid) = row.pid.filter(|&pid| pid > 4) else { continue };
        if row.operation != DiskOperation::Flush || row.complete_ns <= start || row.complete_ns > end {
            continue;
        }
        let flush_ns = row.service_ns.max(0);
        match by_process.iter().position(|&(flusher, ..)| flusher == pid) {
            Some(index) => {
                let (_, total_ns, count, _) = &mut by_process[index];
                *total_ns = total_ns.saturating_add(flush_ns);
                *count += 1;
            }
            // A corrupt recording may name any number of processes.
            None if by_process.len() < 4096 => by_process.push((pid, flush_ns, 1, row.complete_ns)),
            None => {}
        }
    }
    Ok(by_process
        .into_iter()
        .filter(|&(_, total_ns, _, _)| total_ns >= thresholds::FLUSH_NS)
        .map(|(pid, total_ns, count, first_ns)| {
            let image = facts.images.image_at(pid, first_ns).unwrap_or("a process");
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Process, image).with_pid(Some(pid)),
                format!("{image} flushed the disk {count} times during shutdown, which took {}", time(total_ns)),
            )
            .cost(Cost::at_most(total_ns.min(end.saturating_sub(start))))
            .evidence(first_ns, "first flush completed")
            .advice("save while it runs, write only unsaved data at the end, and call neither FlushFileBuffers nor RegFlushKey during shutdown")
        })
        .collect())
}
