//! Antimalware software that competes with the shell.

use onoff_blame::waits::StepKind;
use onoff_transitions::PhaseName;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An antimalware process whose CPU and disk time while the shell starts is 5 % of the boot or more (at least
    /// 300 ms, at most 1 s).
    ///
    /// # Why it costs time
    /// Shell startup is bound by CPU and disk. Every file the shell opens is scanned first, and the scanner's own reads
    /// queue ahead of the shell's.
    ///
    /// # Evidence needed
    /// CPU time or disk requests per process: kernel flags CSWITCH and DISK_IO.
    ///
    /// # What to do
    /// Keep the protection on. Update it, schedule scans for idle time, load definitions later, and add only the
    /// exclusions its vendor recommends.
    ///
    /// # When it is wrong
    /// Programs are recognized by image name. CPU time on an otherwise idle CPU costs nothing, so the cost is an upper
    /// bound.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "ExplorerInit Performance Analysis": antivirus programs can
    /// consume CPU; Improving Performance in Windows Embedded Standard 7, figure 3 (MsMpEng.exe). The other names are
    /// the vendors' service images.
    "boot/antivirus", "antimalware software that competes with shell startup", Session(check)
}

/// Image names in lower case.
const IMAGES: [&str; 22] = [
    "avastsvc.exe",
    "avgsvc.exe",
    "avp.exe",
    "bdservicehost.exe",
    "ccsvchst.exe",
    "coreserviceshell.exe",
    "csfalconservice.exe",
    "cylancesvc.exe",
    "ekrn.exe",
    "fshoster32.exe",
    "fshoster64.exe",
    "mbamservice.exe",
    "mcshield.exe",
    "mfetp.exe",
    "msmpeng.exe",
    "mssense.exe",
    "nissrv.exe",
    "ntrtscan.exe",
    "savservice.exe",
    "sentinelagent.exe",
    "vsserv.exe",
    "wrsa.exe",
];

pub(super) fn is_antivirus(image: &str) -> bool {
    let image = image.to_ascii_lowercase();
    IMAGES.contains(&image.as_str()) || image.contains("antivirus")
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let Some((phase, (start, end))) = facts.phase(PhaseName::ExplorerInit) else { return Ok(Vec::new()) };
    if phase.cpu.is_none() && phase.disk.is_none() {
        facts.require_kernel_flag("CSWITCH")?;
        facts.require_kernel_flag("DISK_IO")?;
    }
    let mut usages: Vec<(String, Option<u32>, i64, i64)> = Vec::new();
    let mut add = |image: &str, pid: Option<u32>, cpu: i64, disk: i64| {
        if !is_antivirus(image) {
            return;
        }
        match usages.iter_mut().find(|usage| usage.1 == pid) {
            Some((_, _, cpu_ns, disk_ns)) => {
                *cpu_ns = cpu_ns.saturating_add(cpu);
                *disk_ns = disk_ns.saturating_add(disk);
            }
            None => usages.push((image.to_owned(), pid, cpu, disk)),
        }
    };
    for row in phase.cpu.iter().flat_map(|cpu| &cpu.by_process) {
        add(&row.image, row.pid, row.cpu_ns, 0);
    }
    for row in phase.disk.iter().flat_map(|disk| &disk.by_process) {
        add(&row.image, row.pid, 0, row.service_ns);
    }
    let length = end.saturating_sub(start);
    Ok(usages
        .into_iter()
        .filter(|(_, _, cpu, disk)| cpu.saturating_add(*disk) >= facts.report.min_cause_ns())
        .map(|(image, pid, cpu, disk)| {
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Process, image.clone()).with_pid(pid),
                format!(
                    "{image} used {} of CPU and {} of disk while the shell started",
                    time(cpu),
                    time(disk)
                ),
            )
            .cost(facts.processes_cost(
                pid.as_slice(),
                (start, end),
                &[StepKind::Ready, StepKind::Disk],
                cpu.saturating_add(disk).min(length),
            ))
            .evidence(start, format!("ExplorerInit took {}", time(length)))
            .advice(
                "keep the protection on; update it, schedule scans for idle time, load definitions later, and add only the \
                 exclusions its vendor recommends",
            )
        })
        .collect())
}
