//! Many startup programs.

use super::prelude::*;

rule! {
    /// # What it finds
    /// More than five programs start at boot or logon: from the registry, the Startup folders, and scheduled tasks with
    /// a boot or logon trigger. Tasks of Windows itself do not count.
    ///
    /// # Why it costs time
    /// They compete with the desktop for CPU and disk, so PostBoot ends later.
    ///
    /// # Evidence needed
    /// The hives SOFTWARE or NTUSER.DAT; the volume for folders and tasks.
    ///
    /// # What to do
    /// Turn off those that are not needed right away, in Task Manager or in their own settings.
    ///
    /// # When it is wrong
    /// The registry does not show how long each takes; a recording does.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PostBoot".
    "image/startup-programs", "many startup programs", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::Software) && !facts.image.has_hive(HiveKind::User) {
        return Err(missing_input("startup programs: neither SOFTWARE nor NTUSER.DAT was found"));
    }
    let programs = &facts.report.startup_programs;
    if programs.len() <= thresholds::MAX_STARTUP_PROGRAMS {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Process, names[0]),
        format!("{} programs start at boot or logon: {}", names.len(), listed(&names, 8)),
    )
    .severity(FindingSeverity::Moderate)
    .advice("turn off those that are not needed right away; record a boot to see what each costs ('onoff boot')");
    Ok(vec![programs.iter().fold(finding, |finding, program| finding.evidence(None, program.evidence()))])
}
