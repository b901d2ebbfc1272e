//! A memory image that is most of a hibernation.

use onoff_transitions::PhaseName;
use onoff_transitions::suspend::PowerTransition;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Writing or reading the memory image (hiberfil.sys) that takes more than half of its way down or up, and 3 s or more.
    ///
    /// # Why it costs time
    /// All of the memory in use goes to the disk and comes back from it, compressed; nothing else runs.
    ///
    /// # Evidence needed
    /// The kernel's own account of the memory image: provider Microsoft-Windows-Kernel-Power or the kernel's flag POWER.
    ///
    /// # What to do
    /// A faster disk; less memory in use; the reduced file type where only fast startup is wanted (`powercfg /h /type reduced`).
    ///
    /// # When it is wrong
    /// On a computer with much memory it is what hibernation costs; sleep is the alternative.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Sleep and Hibernate Transitions": systems with large amounts of memory; the limits are
    /// onoff's.
    "suspend/memory-image-share", "a memory image that is most of a hibernation", Suspend(check)
}

fn check(_: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    let mut findings = Vec::new();
    let phase_ns = |names: &[PhaseName]| -> Option<i64> {
        transition.phases.iter().filter(|phase| names.contains(&phase.name)).filter_map(|phase| phase.duration_ns).max()
    };
    let written = phase_ns(&[PhaseName::HiberWrite]);
    let read = phase_ns(&[PhaseName::HiberRead]);
    let halves = [
        ("writing", "down", written, &transition.details.suspend),
        ("reading", "up", read, &transition.details.resume),
    ];
    for (verb, way, image, half) in halves {
        let (Some(image), Some(whole)) = (image, half.whole_ns.or_else(|| half.by_kernel_ns())) else { continue };
        let percent = image as f64 * 100.0 / whole.max(1) as f64;
        if percent <= thresholds::MEMORY_IMAGE_PERCENT || image < thresholds::MEMORY_IMAGE_NS {
            continue;
        }
        let mut finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::File, "hiberfil.sys"),
            format!("{verb} the memory image takes {}, {percent:.0} % of the way {way}", time(image)),
        )
        .costs(Cost::on_path(image))
        .advise("a faster disk, less memory in use, or the reduced file type where only fast startup is wanted ('powercfg /h /type reduced')");
        if let Some(bytes) = transition.details.hibernate_file_bytes {
            finding = finding.because(None, format!("its file has {:.2} GiB", bytes as f64 / f64::from(1 << 30)));
        }
        if let Some(pages) = transition.details.hibernate_pages {
            finding = finding.because(None, format!("{pages} pages are in it"));
        }
        findings.push(finding);
    }
    Ok(findings)
}
