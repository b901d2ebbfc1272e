//! Fast startup is on although power is cut without a shutdown.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Fast startup is on, and --power-cut states that the computer loses power without a shutdown.
    ///
    /// # Why it costs time
    /// Fast startup needs a clean shutdown, which writes the hibernation file. After a power cut, the next boot is a
    /// full boot with a disk check.
    ///
    /// # Evidence needed
    /// The hive SYSTEM, and the option --power-cut.
    ///
    /// # What to do
    /// Turn fast startup off and consider a write filter, or shut the computer down properly.
    ///
    /// # When it is wrong
    /// A battery lasts long enough for a shutdown.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "UWF versus Fast
    /// Startup": "Fast startup will not work if Windows is not safely shut down".
    "image/fast-startup-power-cut", "fast startup is on although power is cut without a shutdown", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    if !facts.is_power_cut {
        return Err(missing_input(
            "power cuts are not in the registry: pass --power-cut if the computer loses power without a shutdown",
        ));
    }
    let hibernates =
        facts.system(r"CS\Control\Power", "HibernateEnabled").is_none_or(|setting| setting.number() != Some(0));
    let Some(setting) =
        facts.system(POWER, "HiberbootEnabled").filter(|setting| setting.number() == Some(1) && hibernates)
    else {
        return Ok(Vec::new());
    };
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "HiberbootEnabled");
    Ok(vec![
        facts
            .finding(&setting, subject, "fast startup is on although power is cut without a shutdown")
            .severity(FindingSeverity::Moderate)
            .advice("set HiberbootEnabled to 0; a write filter protects the volume")
            .action(
                AdvisedAction::set_number(&setting, 0)
                    .breaks("every boot from power-off is a full boot")
                    .editions(FAST_STARTUP_EDITIONS),
            ),
    ])
}
