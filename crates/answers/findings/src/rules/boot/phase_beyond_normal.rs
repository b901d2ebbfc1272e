//! Phases longer than normal.

use crate::rules::prelude::*;
use onoff_transitions::PhaseName;

rule! {
    /// # What it finds
    /// A phase longer than on a typical computer: Pre-Session (PreSMSS) above 9 s, Session (SMSSInit) above 12 s,
    /// Winlogon (WinLogonInit) above 60 s, Explorer (ExplorerInit) above 6 s.
    ///
    /// # Why it costs time
    /// The finding only says where to look and has no cost; the findings with a cost in that phase are the
    /// reasons.
    ///
    /// # Evidence needed
    /// The start and the end of the phase.
    ///
    /// # What to do
    /// Look at the findings within the phase. If there are none, run `onoff why FILE --phase NAME`.
    ///
    /// # When it is wrong
    /// The ranges are wide and made for computers with hard disks: a computer with a solid-state disk can be slow
    /// within them.
    ///
    /// # Source
    /// Ranges that field engineers use with the boot regions of Windows Performance Analyzer.
    "boot/phase-beyond-normal", "phases longer than normal", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let mut findings = Vec::new();
    for name in PhaseName::WINDOWS_BOOT {
        let limit = thresholds::PHASE_LIMITS_NS.iter().find(|(phase, _)| *phase == name.as_str());
        let (Some(&(_, limit_ns)), Some((phase, (start, end)))) = (limit, facts.phase(name)) else { continue };
        let length = end.saturating_sub(start);
        if length <= limit_ns {
            continue;
        }
        findings.push(
            RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Phase, name.as_str()),
                format!("{} took {}; it normally takes at most {}", name.as_str(), time(length), time(limit_ns)),
            )
            .certainty(phase.certainty)
            .evidence(start, format!("start: {}", phase.starts.rule))
            .evidence(end, format!("end: {}", phase.ends.rule))
            .advice(format!(
                "look at the findings with a cost in this phase, then run 'onoff why FILE --phase {}'",
                name.as_str()
            )),
        );
    }
    Ok(findings)
}
