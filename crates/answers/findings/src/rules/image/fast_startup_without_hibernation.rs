//! Fast startup is on but cannot work.

use super::prelude::*;

rule! {
    /// # What it finds
    /// HiberbootEnabled is 1, but hibernation is off or there is no hibernation file.
    ///
    /// # Why it costs time
    /// Fast startup resumes from the hibernation file. Without the file, every boot is a full boot, and Windows does
    /// not report it.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Turn hibernation on (powercfg /hibernate on), or turn fast startup off so that the setting matches what Windows
    /// does.
    ///
    /// # When it is wrong
    /// A policy may turn fast startup off too; then turning hibernation on changes nothing.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "UWF versus Fast
    /// Startup".
    "image/fast-startup-without-hibernation", "fast startup is on but cannot work", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(setting) = facts.system(POWER, "HiberbootEnabled") else { return Ok(Vec::new()) };
    if setting.number() != Some(1) {
        return Ok(Vec::new());
    }
    let hibernate = facts.system(r"CS\Control\Power", "HibernateEnabled");
    let disabled_setting = hibernate.as_ref().filter(|hibernate| hibernate.number() == Some(0));
    let no_file = facts.image.has_hibernation_file == Some(false);
    if disabled_setting.is_none() && !no_file {
        return Ok(Vec::new());
    }
    let problem = if disabled_setting.is_some() { "hibernation is off" } else { "there is no hiberfil.sys" };
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "HiberbootEnabled");
    let mut finding = facts
        .finding(&setting, subject, &format!("fast startup is on but cannot work: {problem}"))
        .severity(FindingSeverity::High);
    finding = match disabled_setting {
        Some(disabled_setting) => finding.evidence(None, disabled_setting.evidence()),
        None => finding.evidence(None, "\\hiberfil.sys is not on the volume"),
    };
    if facts.is_power_cut {
        // Fast startup must stay off, so only the setting can be corrected.
        return Ok(vec![
            finding.advice("set HiberbootEnabled to 0: fast startup does not survive power cuts").action(
                AdvisedAction::set_number(&setting, 0)
                    .breaks("nothing: fast startup does not work now")
                    .editions(FAST_STARTUP_EDITIONS),
            ),
        ]);
    }
    let hibernation = hibernate.as_ref().map_or_else(
        || AdvisedAction::new(r"\hiberfil.sys", "present", "powercfg /hibernate on").undo("powercfg /hibernate off"),
        hibernation_on,
    );
    Ok(vec![
        finding
            .advice(
                "run 'powercfg /hibernate on', or set HiberbootEnabled to 0 so that the setting matches what Windows does",
            )
            .action(hibernation.editions(FAST_STARTUP_EDITIONS)),
    ])
}
