//! Programs that use the disk while the shell needs it.

use onoff_blame::waits::StepKind;
use onoff_transitions::PhaseName;

use super::antivirus::is_antivirus;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A program that keeps the disk busier than the shell does while the shell starts, for 500 ms or more.
    ///
    /// # Why it costs time
    /// A disk serves its requests in turn, so the shell's requests queue behind the other program's.
    ///
    /// # Evidence needed
    /// Disk requests with process and file: kernel flags DISK_IO and FILENAME.
    ///
    /// # What to do
    /// Start the program later, reduce its reads, or lower its I/O priority. Remove it if it is not needed.
    ///
    /// # When it is wrong
    /// Data read ahead for the shell is not counted as the shell's. On a disk that serves many requests in parallel,
    /// the cost is lower.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, figures 3 and 5: processes with more disk time than the
    /// scenario's own.
    "boot/background-disk", "programs that use the disk more than the shell during shell startup", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_kernel_flag("DISK_IO")?;
    let Some((phase, (start, end))) = facts.phase(PhaseName::ExplorerInit) else { return Ok(Vec::new()) };
    let Some(disk) = &phase.disk else { return Ok(Vec::new()) };
    let shell_ns: i64 = disk
        .by_process
        .iter()
        .filter(|row| row.image.eq_ignore_ascii_case(facts.shell))
        .map(|row| row.service_ns)
        .fold(0, i64::saturating_add);
    let is_system_process =
        |image: &str| ["System", "Registry", "MemCompression"].iter().any(|name| name.eq_ignore_ascii_case(image));
    Ok(disk
        .by_process
        .iter()
        .filter(|row| {
            row.service_ns > shell_ns
                && row.service_ns >= thresholds::BACKGROUND_DISK_NS
                && !row.image.is_empty()
                && !row.image.eq_ignore_ascii_case(facts.shell)
                && !is_system_process(&row.image)
                && !is_antivirus(&row.image)
        })
        .map(|row| {
            let length = end.saturating_sub(start);
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Process, row.image.clone()).with_pid(row.pid),
                format!(
                    "{} kept the disk busy for {} while the shell started",
                    row.image,
                    time(row.service_ns)
                ),
            )
            .cost(facts.processes_cost(
                row.pid.as_slice(),
                (start, end),
                &[StepKind::Disk],
                row.service_ns.min(length),
            ))
            .evidence(
                start,
                format!(
                    "during ExplorerInit ({}): {} of disk time; {} used {}",
                    time(length),
                    time(row.service_ns),
                    facts.shell,
                    time(shell_ns)
                ),
            )
            .advice(format!(
                "start {} later, reduce its reads or lower its I/O priority; 'onoff disk FILE --by path' shows what it reads",
                row.image
            ))
        })
        .collect())
}
