//! Network drives connected at each logon.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A user has persistent network drives.
    ///
    /// # Why it costs time
    /// The logon waits for servers that do not respond.
    ///
    /// # Evidence needed
    /// A user hive (NTUSER.DAT).
    ///
    /// # What to do
    /// Remove those that are not needed (net use * /d). Remove all of them before measuring.
    ///
    /// # When it is wrong
    /// A drive whose server responds at once costs little.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Reducing the Variance in Test Results".
    "image/network-drives", "network drives are connected at each logon", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::User) {
        return Err(missing_input("network drives: no NTUSER.DAT"));
    }
    let mut drives = Vec::new();
    for hive in facts.image.hives_of_kind(HiveKind::User) {
        let Some(network) = hive.hive.key("Network") else { continue };
        for drive in network.subkeys() {
            let path = drive.value("RemotePath").and_then(|value| value.string()).unwrap_or_default();
            drives
                .push((drive.name(), format!(r"{}: NTUSER\Network\{}\RemotePath = '{path}'", hive.name, drive.name())));
        }
    }
    let names: Vec<&str> = drives.iter().map(|(name, _)| name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, *first),
        format!("{} connected at each logon: {}", counted(names.len(), "network drive"), listed(&names, 8)),
    )
    .severity(FindingSeverity::Moderate)
    .advice("run 'net use * /d', at least before measuring");
    Ok(vec![drives.iter().fold(finding, |finding, (_, evidence)| finding.evidence(None, evidence.clone()))])
}
