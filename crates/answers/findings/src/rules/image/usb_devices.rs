//! Many USB devices in the registry.

use super::prelude::*;

rule! {
    /// # What it finds
    /// More than ten different USB devices have been connected to this installation.
    ///
    /// # Why it costs time
    /// Firmware and Windows query each connected device, and vendors seldom optimize their response time.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Unplug all of them and compare boots; onoff devices shows how long each takes.
    ///
    /// # When it is wrong
    /// The registry keeps every device that was ever connected: how many are connected now is unknown.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Services": "try unplugging all USB devices".
    "image/usb-devices", "many USB devices in the registry", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some((key, path)) = facts.image.key(HiveKind::System, r"CS\Enum\USB") else { return Ok(Vec::new()) };
    // Interfaces of composite devices are not devices, and hubs do not cause waits.
    let names: Vec<String> = key.subkeys().iter().map(|subkey| subkey.name()).collect();
    let devices = names
        .iter()
        .filter(|name| name.to_uppercase().starts_with("VID_") && !name.to_uppercase().contains("&MI_"))
        .count();
    if devices <= thresholds::MAX_USB_DEVICES {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Device, "USB"),
            format!("{devices} different USB devices have been connected to this installation"),
        )
        .evidence(None, format!("{path}: {devices} device keys{}", written(key.last_written_unix_ns())))
        .advice("compare with a boot with all of them unplugged; 'onoff devices' shows how long each takes"),
    ])
}
