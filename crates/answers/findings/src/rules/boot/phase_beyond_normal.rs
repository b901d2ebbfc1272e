//! Phases longer than usual.

use crate::rules::prelude::*;
use onoff_transitions::PhaseName;

rule! {
    /// # What it finds
    /// A phase that is longer than on usual computers: Pre-Session (PreSMSS) more than 9 s, Session (SMSSInit) more than 12 s,
    /// Winlogon (WinLogonInit) more than 60 s, Explorer (ExplorerInit) more than 6 s.
    ///
    /// # Why it costs time
    /// It does not: it says where to look. So it has no cost, and the findings with a cost in that phase are the reasons.
    ///
    /// # Evidence needed
    /// Both ends of the phase.
    ///
    /// # What to do
    /// Look at the findings that lie in the phase; if there is none, at `onoff why FILE --phase NAME`.
    ///
    /// # When it is wrong
    /// The ranges are wide and made for computers with hard disks: a computer with a solid-state disk can be slow within them.
    ///
    /// # Source
    /// Ranges that field engineers use with the boot regions of Windows Performance Analyzer.
    "boot/phase-beyond-normal", "phases longer than usual", Boot(check)
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
                format!("{} takes {}, usual is at most {}", name.as_str(), time(length), time(limit_ns)),
            )
            .certain(phase.certainty)
            .because(start, format!("begins: {}", phase.starts.rule))
            .because(end, format!("ends: {}", phase.ends.rule))
            .advise(format!(
                "look at the findings with a cost that lie in it, then at 'onoff why FILE --phase {}'",
                name.as_str()
            )),
        );
    }
    Ok(findings)
}
