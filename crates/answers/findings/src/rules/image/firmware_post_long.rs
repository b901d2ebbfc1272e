//! The firmware took long before Windows.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The last boot or resume spent 10 s or more in the firmware.
    ///
    /// # Why it costs time
    /// Nothing of Windows runs before the firmware has handed over.
    ///
    /// # Evidence needed
    /// The hive SYSTEM: FwPOSTTime or POSTTime.
    ///
    /// # What to do
    /// Turn on the fast boot of the firmware, take away boot devices that are not used, update the firmware.
    ///
    /// # When it is wrong
    /// It is the value of one start; a start after an update of the firmware takes longer.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "BIOSInit".
    "image/firmware-post-long", "the firmware took long before Windows", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let settings: Vec<Setting> =
        ["FwPOSTTime", "POSTTime"].iter().filter_map(|name| facts.system(POWER, name)).collect();
    if settings.iter().all(|setting| setting.number() == Some(0)) {
        return Err(lacks_other("how long the firmware took: neither FwPOSTTime nor POSTTime is in the registry"));
    }
    let limit = thresholds::FIRMWARE_POST_MS;
    let Some(setting) = settings.iter().find(|one| one.number().is_some_and(|ms| ms >= limit)) else {
        return Ok(Vec::new());
    };
    let ns = i64::try_from(setting.number().unwrap_or(0)).unwrap_or(0).saturating_mul(1_000_000);
    let subject = FindingSubject::new(FindingSubjectKind::Setting, setting.name.clone());
    Ok(vec![
        facts
            .finding(setting, subject, &format!("the firmware took {} of the last start", time(ns)))
            .graded(FindingSeverity::High)
            .certain(Certainty::Inferred)
            .advise("use the firmware's fast boot; 'onoff firmware' shows where its time goes"),
    ])
}
