//! Group Policy waits for the network or runs in the foreground.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A policy makes each boot and logon wait for the network (SyncForegroundPolicy), or lets the boot wait for it for
    /// more than 30 s (GpNetworkStartTimeoutPolicyValue).
    ///
    /// # Why it costs time
    /// The logon screen waits until the network is ready and the computer's policies are applied, and the desktop waits
    /// for the user's policies.
    ///
    /// # Evidence needed
    /// The registry hive SOFTWARE.
    ///
    /// # What to do
    /// Set "Always wait for the network at computer startup and logon" to not configured, and shorten the wait.
    ///
    /// # When it is wrong
    /// Folder redirection, software installation and roaming profiles need the synchronous logon.
    ///
    /// # Source
    /// Microsoft's policy reference (Logon.admx, GroupPolicy.admx): 30 s is the default wait.
    "image/policy-waits", "Group Policy makes the boot or the logon wait for the network", Image(check)
}

/// Default wait for the network, s.
const DEFAULT_WAIT_S: u64 = 30;

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::Software) {
        return Err(missing_input("policies: the hive SOFTWARE is missing"));
    }
    let mut findings = Vec::new();
    let policy_key = r"Policies\Microsoft\Windows NT\CurrentVersion\Winlogon";
    let synchronous = facts.image.setting(HiveKind::Software, policy_key, "SyncForegroundPolicy");
    let is_server = facts.report.edition.kind == EditionKind::Server;
    if let Some(setting) = synchronous.filter(|setting| setting.number() == Some(1) && !is_server) {
        let subject = FindingSubject::new(FindingSubjectKind::Setting, "SyncForegroundPolicy");
        findings.push(
            facts
                .finding(&setting, subject, "each boot and logon waits for the network and for Group Policy")
                .severity(FindingSeverity::Moderate)
                .advice(
                    "set the policy 'Always wait for the network at computer startup and logon' to not configured, unless folder \
                     redirection or software installation needs it",
                )
                .action(AdvisedAction::set_number(&setting, 0).breaks(
                    "folder redirection, software installation and roaming profiles apply only at the second logon; a policy of the domain sets the value again",
                )),
        );
    }
    let wait = [r"Policies\Microsoft\Windows\System", policy_key, r"Microsoft\Windows NT\CurrentVersion\Winlogon"]
        .iter()
        .find_map(|path| facts.image.setting(HiveKind::Software, path, "GpNetworkStartTimeoutPolicyValue"));
    if let Some((setting, seconds)) = wait
        .and_then(|setting| setting.number().map(|seconds| (setting, seconds)))
        .filter(|&(_, seconds)| seconds > DEFAULT_WAIT_S)
    {
        let subject = FindingSubject::new(FindingSubjectKind::Setting, "GpNetworkStartTimeoutPolicyValue");
        let title = format!("Group Policy waits up to {seconds} s for the network at each boot; the default is 30 s");
        findings.push(
            facts
                .finding(&setting, subject, &title)
                .severity(FindingSeverity::Moderate)
                .advice("lower it to 30 s or less, and repair what delays the network")
                .action(
                    AdvisedAction::set_number(&setting, DEFAULT_WAIT_S)
                        .breaks("policies of the computer are not applied at boot if the network takes longer"),
                ),
        );
    }
    Ok(findings)
}
