//! Slow firmware before Windows starts.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The last boot or resume spent 10 s or more in the firmware.
    ///
    /// # Why it costs time
    /// Windows does not start until the firmware is done.
    ///
    /// # Evidence needed
    /// The hive SYSTEM: FwPOSTTime or POSTTime.
    ///
    /// # What to do
    /// Turn on fast boot in the firmware setup, remove unused boot devices, and update the firmware.
    ///
    /// # When it is wrong
    /// The value is from a single start; the first start after a firmware update takes longer.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "BIOSInit".
    "image/firmware-post-long", "slow firmware before Windows starts", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let settings: Vec<Setting> =
        ["FwPOSTTime", "POSTTime"].iter().filter_map(|name| facts.system(POWER, name)).collect();
    if settings.iter().all(|setting| setting.number() == Some(0)) {
        return Err(missing_input("firmware time: neither FwPOSTTime nor POSTTime is in the registry"));
    }
    let limit = thresholds::FIRMWARE_POST_MS;
    let Some(setting) = settings.iter().find(|setting| setting.number().is_some_and(|ms| ms >= limit)) else {
        return Ok(Vec::new());
    };
    let ns = i64::try_from(setting.number().unwrap_or(0)).unwrap_or(0).saturating_mul(1_000_000);
    let subject = FindingSubject::new(FindingSubjectKind::Setting, setting.name.clone());
    Ok(vec![
        facts
            .finding(setting, subject, &format!("the firmware took {} in the last start", time(ns)))
            .severity(FindingSeverity::High)
            .certainty(Certainty::Inferred)
            .advice("turn on fast boot in the firmware setup; 'onoff firmware' shows where the time goes"),
    ])
}
