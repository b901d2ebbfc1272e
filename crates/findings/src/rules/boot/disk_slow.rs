//! A disk that is slower than a healthy hard disk.

use onoff_analysis::transition::PhaseName;
use onoff_analysis::waits::StepKind;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Requests that take the disk at least twice as long as a healthy hard disk needs (18 ms each and 50 MiB/s), by 2 s or more before the
    /// desktop.
    ///
    /// # Why it costs time
    /// All phases read, and everything waits for reads: a slow disk makes the whole boot slow, and every other finding with it.
    ///
    /// # Evidence needed
    /// Disk requests: the kernel's flag DISK_IO.
    ///
    /// # What to do
    /// Look at the disk's health (SMART), its cable and its driver; then at a faster one. A solid-state disk needs less than a hundredth of the
    /// time for small reads.
    ///
    /// # When it is wrong
    /// A virtual disk or one on a network is as slow as what is behind it.
    ///
    /// # Source
    /// onoff's own: the paper says that the loader and most phases are bound by the disk; the limits are from hard disks' data sheets.
    "boot/disk-slow", "a disk that is slower than a healthy hard disk", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs_kernel("DISK_IO")?;
    let mut actual = 0_i64;
    let mut expected = 0_i64;
    let mut requests = 0_u64;
    let mut slow_phases = Vec::new();
    for phase in facts.report.phases.iter().filter(|phase| phase.name < PhaseName::PostBoot) {
        let Some(disk) = &phase.disk else {
            continue;
        };
        let works = [disk.operations.read, disk.operations.write];
        let count: u64 = works.iter().map(|work| work.operations).sum();
        let bytes: u64 = works.iter().map(|work| work.bytes).fold(0, u64::saturating_add);
        let took: i64 = works.iter().map(|work| work.service_ns).fold(0, i64::saturating_add);
        let usual =
            i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(thresholds::DISK_REQUEST_NS).saturating_add(
                i64::try_from(bytes >> 10).unwrap_or(i64::MAX).saturating_mul(thresholds::DISK_MEBIBYTE_NS / 1024),
            );
        requests = requests.saturating_add(count);
        actual = actual.saturating_add(took);
        expected = expected.saturating_add(usual);
        if took > usual {
            slow_phases.push((phase.name.as_str(), phase.start_ns, count, took, usual));
        }
    }
    let lost = actual.saturating_sub(expected);
    if actual < expected.saturating_mul(thresholds::DISK_SLOW_FACTOR) || lost < thresholds::DISK_SLOW_NS {
        return Ok(Vec::new());
    }
    let mean = actual / i64::try_from(requests).unwrap_or(i64::MAX).max(1);
    let model = facts.trace.system.disks.first().map_or("", |disk| disk.model.as_str());
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Disk, model),
        format!(
            "the disk takes {} per request, {} times a healthy hard disk's time",
            time(mean),
            actual.saturating_add(expected / 2) / expected.max(1)
        ),
    )
    .costs(match &facts.path {
        // What the path itself waited for the disk is all that a faster one could give.
        Some(path) => {
            let waited = path.time(facts.main_path(), |step| step.kind == StepKind::Disk);
            Cost::at_most(lost.min(waited))
        }
        None => Cost::at_most(lost),
    })
    .advise(
        "look at the disk's health, cable and driver first, then for a faster one; other findings may follow from it",
    );
    for (name, start, count, took, usual) in slow_phases {
        finding = finding.because(
            start,
            format!("{name}: {count} requests in {}; a healthy hard disk needs {}", time(took), time(usual)),
        );
    }
    Ok(vec![finding])
}
