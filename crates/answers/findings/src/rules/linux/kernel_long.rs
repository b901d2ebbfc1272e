//! A kernel that takes most of the boot.

use onoff_trace::ActivityKind;
use onoff_transitions::PhaseName;

use super::initrd_unpack_slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The kernel takes 10 s or more and a third of the boot or more, and neither recorded initcalls, nor unpacking the
    /// initramfs, nor a gap in the log explains it.
    ///
    /// # Why it costs time
    /// No program runs meanwhile. Often every line goes to a slow serial console, or many drivers probe one after
    /// another.
    ///
    /// # Evidence needed
    /// The start of the service manager or of the first program: the journal or the kernel log.
    ///
    /// # What to do
    /// Boot with `initcall_debug ignore_loglevel` and diagnose that log: it has the time of each driver. Print less on
    /// serial consoles (`quiet`, or a higher rate), and build drivers that the boot does not need as modules.
    ///
    /// # When it is wrong
    /// A large server takes tens of seconds to initialize its memory and devices.
    ///
    /// # Source
    /// The kernel's admin guide, `initcall_debug` and `quiet`; the thresholds are onoff's.
    "linux/kernel-long", "a kernel that takes most of the boot", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let report = facts.report;
    let kernel = report.phase(PhaseName::Kernel);
    let Some((start_ns, phase_end_ns)) = kernel.and_then(|kernel| Some((kernel.start_ns?, kernel.end_ns?))) else {
        return Err(missing_input("start and end of the kernel phase"));
    };
    // An initramfs without a service manager is the last part of the phase; another rule covers it.
    let initramfs_ns = report.details.initial_file_system.as_ref().and_then(|file_system| file_system.start_ns);
    let window = (start_ns, initramfs_ns.map_or(phase_end_ns, |start_ns| start_ns.min(phase_end_ns)));
    let length_ns = window.1.saturating_sub(window.0);
    if length_ns < thresholds::KERNEL_NS || length_ns.saturating_mul(3) < report.total_at_least_ns {
        return Ok(Vec::new());
    }
    let devices = report.details.devices.iter().filter_map(|device| Some((device.start_ns, device.end_ns?)));
    let unpacking = initrd_unpack_slow::unpacking(facts).map(|(begin, end)| (begin.time_ns, end.time_ns));
    let gaps = facts.trace.activities.iter().filter(|row| row.kind == ActivityKind::LogGap && row.start_ns > 0);
    let gaps = gaps.filter_map(|row| Some((row.start_ns, row.end_ns?)));
    let explained: Vec<Interval> = devices.chain(unpacking).chain(gaps).collect();
    let cost_ns = length_ns.saturating_sub(covered_ns(explained, window));
    if cost_ns < thresholds::KERNEL_NS {
        return Ok(Vec::new());
    }
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Phase, PhaseName::Kernel.as_str()),
        format!("the kernel took {} before the first program started", time(length_ns)),
    )
    .cost(Cost::on_path(cost_ns.saturating_sub(thresholds::NORMAL_KERNEL_NS)))
    .certainty(Certainty::Inferred)
    .evidence(window.0, "the kernel's clock started")
    .evidence(window.1, "the first program started")
    .advice(
        "boot with 'initcall_debug ignore_loglevel' and diagnose that log: it has the time of each driver; print less on serial \
         consoles ('quiet')",
    );
    Ok(vec![finding])
}
