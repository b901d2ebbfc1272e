//! A memory image that takes most of a hibernation.

use onoff_transitions::PhaseName;
use onoff_transitions::suspend::PowerTransition;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Writing or reading the memory image (hiberfil.sys) takes 3 s or more, and more than half of the suspend or the
    /// resume.
    ///
    /// # Why it costs time
    /// All memory in use is compressed, written to disk and read back, and nothing else runs.
    ///
    /// # Evidence needed
    /// The kernel's own memory image times: provider Microsoft-Windows-Kernel-Power, or kernel flag POWER.
    ///
    /// # What to do
    /// Use a faster disk, less memory, or the reduced file type if only fast startup is needed (`powercfg /h /type
    /// reduced`).
    ///
    /// # When it is wrong
    /// On a computer with a lot of memory, this is the normal cost of hibernation; sleep is the alternative.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Sleep and Hibernate Transitions": systems with large amounts of
    /// memory; the thresholds are onoff's.
    "suspend/memory-image-share", "a memory image that takes most of a hibernation", Suspend(check)
}

/// Size of a page of memory on x86 and ARM.
const PAGE_BYTES: u64 = 4_096;

fn check(_: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    let mut findings = Vec::new();
    let phase_ns = |names: &[PhaseName]| -> Option<i64> {
        transition.phases.iter().filter(|phase| names.contains(&phase.name)).filter_map(|phase| phase.duration_ns).max()
    };
    let write_ns = phase_ns(&[PhaseName::HiberWrite]);
    let read_ns = phase_ns(&[PhaseName::HiberRead]);
    let halves = [
        ("writing", "suspend", write_ns, &transition.details.suspend),
        ("reading", "resume", read_ns, &transition.details.resume),
    ];
    for (verb, name, image, half) in halves {
        let (Some(image), Some(half_ns)) = (image, half.whole_ns.or_else(|| half.kernel_duration_ns())) else {
            continue;
        };
        let percent = image as f64 * 100.0 / half_ns.max(1) as f64;
        if percent <= thresholds::MEMORY_IMAGE_PERCENT || image < thresholds::MEMORY_IMAGE_NS {
            continue;
        }
        let mut finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::File, "hiberfil.sys"),
            format!("{verb} the memory image took {}, {percent:.0} % of the {name}", time(image)),
        )
        .cost(Cost::on_path(image))
        .advice("use a faster disk, less memory, or the reduced file type if only fast startup is needed ('powercfg /h /type reduced')");
        if let Some(bytes) = transition.details.hibernate_file_bytes.and_then(|bytes| bytes.try_into().ok()) {
            finding = finding.evidence(None, format!("file size: {}", size(bytes)));
        }
        if let Some(pages) = transition.details.hibernate_pages {
            let memory_bytes = u64::try_from(pages).unwrap_or(0).saturating_mul(PAGE_BYTES);
            let rate = memory_bytes as f64 / (image as f64 / 1e9);
            let text = format!("{} of memory, {}/s before compression", size(memory_bytes), size(rate as u64));
            finding = finding.evidence(None, text);
        }
        findings.push(finding);
    }
    Ok(findings)
}
