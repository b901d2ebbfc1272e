//! A boot without read-ahead.

use onoff_blame::waits::StepKind;
use onoff_transitions::PhaseName;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot that waits for its disk for at least 20 % of the time to the desktop, while boot read-ahead (ReadyBoot,
    /// the prefetcher) reads nothing.
    ///
    /// # Why it costs time
    /// Without read-ahead, every part of the boot waits for its own reads, one at a time: in Microsoft's table 4, an
    /// untrained computer takes 47.5 s and a trained one 17 s.
    ///
    /// # Evidence needed
    /// Disk requests with their files: kernel flags DISK_IO and FILENAME.
    ///
    /// # What to do
    /// Check that the SysMain service is running and `EnablePrefetcher` is 3. With a write filter, train read-ahead
    /// before the filter is turned on.
    ///
    /// # When it is wrong
    /// Windows turns read-ahead off on fast solid-state disks, where it would gain little. Reads of a file whose name
    /// was not recorded look like read-ahead, so the rule can miss a boot without read-ahead.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, table 4; Improving Performance in Windows Embedded Standard 7,
    /// "Superfetch".
    "boot/read-ahead-unused", "a boot without read-ahead", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    let (start, end) = facts.main_path();
    let phases = || {
        facts
            .report
            .phases
            .iter()
            .filter(|phase| phase.name < PhaseName::PostBoot)
            .filter_map(|phase| phase.disk.as_ref())
    };
    let read_ahead_operations: u64 = phases().map(|disk| disk.read_ahead.operations).sum();
    let reads: u64 = phases().map(|disk| disk.operations.read.operations).sum();
    let read_ns: i64 = phases().map(|disk| disk.operations.read.service_ns).fold(0, i64::saturating_add);
    let length = end.saturating_sub(start);
    if read_ahead_operations > 0 || (read_ns as f64) * 100.0 < thresholds::READS_PERCENT * length as f64 || length <= 0
    {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Transition, "read-ahead"),
            format!(
                "nothing was read ahead, although reads took {} of disk time before the desktop",
                time(read_ns)
            ),
        )
        .cost(match &facts.path {
            // Read-ahead can save at most the time the critical path waited for the disk.
            Some(path) => Cost::at_most(path.time((start, end), |step| step.kind == StepKind::Disk)),
            None => Cost::at_most(read_ns.min(length)),
        })
        .certainty(Certainty::Inferred)
        .evidence(None, format!("{reads} reads before the desktop, none of them by read-ahead"))
        .advice(
            "check that the SysMain service is running and EnablePrefetcher is 3; with a write filter, train read-ahead before \
             the filter is turned on",
        ),
    ])
}
