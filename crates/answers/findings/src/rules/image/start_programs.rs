//! Many programs start with the session.

use super::prelude::*;

rule! {
    /// # What it finds
    /// More than five programs start with the computer or the session: from the registry, the startup folders, and scheduled tasks with
    /// a trigger at boot or logon. Tasks of Windows itself do not count.
    ///
    /// # Why it costs time
    /// They compete with the desktop for processors and disk: PostBoot ends later.
    ///
    /// # Evidence needed
    /// The hives SOFTWARE or NTUSER.DAT; the volume for folders and tasks.
    ///
    /// # What to do
    /// Turn off those that nobody needs at once, in the task manager or with their own settings.
    ///
    /// # When it is wrong
    /// How long each takes is not in the registry; a recording tells.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PostBoot".
    "image/start-programs", "many programs start with the session", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has(HiveKind::Software) && !facts.image.has(HiveKind::User) {
        return Err(lacks_other("which programs start with the session: neither SOFTWARE nor NTUSER.DAT is there"));
    }
    let programs = &facts.report.start_programs;
    if programs.len() <= thresholds::START_PROGRAMS {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = programs.iter().map(|one| one.name.as_str()).collect();
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Process, names[0]),
        format!("{} programs start with the computer or the session: {}", names.len(), listed(&names, 8)),
    )
    .graded(FindingSeverity::Moderate)
    .advise("turn off those that nobody needs at once; a recording says what each takes ('onoff boot')");
    Ok(vec![programs.iter().fold(finding, |finding, one| finding.because(None, one.evidence()))])
}
