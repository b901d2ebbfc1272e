//! Third-party print monitors.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Print monitors that are not part of Windows, while the spooler starts with the computer.
    ///
    /// # Why it costs time
    /// The spooler loads every monitor when it starts, and a monitor that looks for its printer delays the spooler and
    /// the services that need it.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Remove printers that are not used, with their software.
    ///
    /// # When it is wrong
    /// The printers are needed. The list of Windows' own monitors comes from public lists.
    ///
    /// # Source
    /// Autoruns lists them under "Print Monitors".
    "image/print-monitors", "third-party print monitors start with the spooler", Image(check)
}

/// DLLs of Windows' own monitors.
const KNOWN: [&str; 13] = [
    "apmon.dll",
    "appmon.dll",
    "fxsmon.dll",
    "inetpp.dll",
    "ippmon.dll",
    "localspl.dll",
    "lprmon.dll",
    "mxdwdrv.dll",
    "pjlmon.dll",
    "tcpmon.dll",
    "tcpmib.dll",
    "usbmon.dll",
    "wsdmon.dll",
];

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let starts = facts.service("Spooler").is_some_and(|service| service.start == ServiceStart::Auto);
    let Some((monitors, path)) = facts.image.key(HiveKind::System, r"CS\Control\Print\Monitors").filter(|_| starts)
    else {
        return Ok(Vec::new());
    };
    let mut third_party = Vec::new();
    for monitor in monitors.subkeys() {
        let key = format!("{path}\\{}", monitor.name());
        let Some(driver) = Setting::from_key(&monitor, &key, "Driver") else { continue };
        let file = driver.text().unwrap_or_default().to_lowercase();
        let file = file.rsplit(['\\', '/']).next().unwrap_or_default();
        if !file.is_empty() && !KNOWN.contains(&file) {
            third_party.push((monitor.name(), driver.evidence()));
        }
    }
    let names: Vec<&str> = third_party.iter().map(|(name, _)| name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, *first),
        format!(
            "{} the spooler loads at each start: {}",
            counted(names.len(), "third-party print monitor"),
            listed(&names, 8)
        ),
    )
    .certainty(Certainty::Inferred)
    .advice("remove printers that are not used, with their software");
    Ok(vec![third_party.iter().fold(finding, |finding, (_, evidence)| finding.evidence(None, evidence.clone()))])
}
