//! Many USB devices are known to the computer.

use super::prelude::*;

rule! {
    /// # What it finds
    /// More than ten different USB devices were connected to this installation.
    ///
    /// # Why it costs time
    /// Firmware and Windows ask each connected device. Their makers seldom tune how fast it answers.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Unplug all and compare the boots; onoff devices shows how long each takes.
    ///
    /// # When it is wrong
    /// The registry keeps devices that were connected once: how many are connected now is not known.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services": "try unplugging all USB devices".
    "image/usb-devices", "many USB devices are known to the computer", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some((key, path)) = facts.image.key(HiveKind::System, r"CS\Enum\USB") else { return Ok(Vec::new()) };
    // An interface of a device is not a device, and a hub is no reason to wait.
    let names: Vec<String> = key.subkeys().iter().map(|one| one.name()).collect();
    let devices = names
        .iter()
        .filter(|name| name.to_uppercase().starts_with("VID_") && !name.to_uppercase().contains("&MI_"))
        .count();
    if devices <= thresholds::USB_DEVICES {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Device, "USB"),
            format!("{devices} different USB devices were connected to this installation"),
        )
        .because(None, format!("{path}: {devices} keys of devices"))
        .advise("compare a boot with all of them unplugged; 'onoff devices' shows what each takes"),
    ])
}
