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
    /// Remove each mapping that is not needed: net use Z: /delete, as its user. 'net use * /delete' removes every
    /// network connection of the user, also those in use.
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
    let mut drives: Vec<(String, String, AdvisedAction)> = Vec::new();
    for hive in facts.image.hives_of_kind(HiveKind::User) {
        let Some(network) = hive.hive.key("Network") else { continue };
        for drive in network.subkeys() {
            let name = drive.name().to_uppercase();
            let key = format!(r"NTUSER\Network\{}", drive.name());
            let setting = Setting::from_key(&drive, &key, "RemotePath");
            let path = setting.as_ref().and_then(Setting::text).unwrap_or_default();
            let evidence = setting.map_or_else(|| key.clone(), |setting| setting.evidence());
            let action = AdvisedAction::new(
                format!("network drive {name}: of {}", hive.name),
                "",
                format!("net use {name}: /delete"),
            )
            .undo(format!("net use {name}: \"{path}\" /persistent:yes"))
            .breaks(format!("{name}: no longer leads to {path}: programs and shortcuts of this user that use it fail"));
            drives.push((name, format!("{}: {evidence}", hive.name), action));
        }
    }
    let names: Vec<&str> = drives.iter().map(|(name, ..)| name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, *first),
        format!("{} connected at each logon: {}", counted(names.len(), "network drive"), listed(&names, 8)),
    )
    .severity(FindingSeverity::Moderate)
    .advice(format!(
        "delete the mappings that are not needed, as their user ('net use {first}: /delete'). Before measuring, 'net use * \
         /delete' deletes all of them: every drive letter and connection to a server, also those in use, and nothing restores \
         them"
    ));
    Ok(vec![
        drives
            .into_iter()
            .fold(finding, |finding, (_, evidence, action)| finding.evidence(None, evidence).action(action)),
    ])
}
