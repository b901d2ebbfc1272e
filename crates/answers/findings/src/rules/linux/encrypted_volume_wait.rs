//! Boots that wait for an encrypted volume to be unlocked.

use super::known_waits::{Wait, waits};
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that unlocks an encrypted volume (`systemd-cryptsetup@….service`) takes 2 s or more on the critical path
    /// to the default target. The password units (`systemd-ask-password-….service`) show whether a person was asked;
    /// `systemd-cryptsetup` logs when the password had been entered. The time of the person has no cost.
    ///
    /// # Why it costs time
    /// Everything on the volume, often the whole system, waits for it: for the person typing, and for the key
    /// derivation, which is slow by design (LUKS2: 2 s on the computer where the volume was created).
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump); unit ordering (unit properties) for the cost.
    ///
    /// # What to do
    /// Let the TPM or a token unlock it (`systemd-cryptenroll`), if your policy allows. For a volume the boot does not
    /// need, set `nofail` or `noauto` in `/etc/crypttab`. If the key derivation is slow on this computer, redo it here
    /// (`cryptsetup luksChangeKey --iter-time`).
    ///
    /// # When it is wrong
    /// The person was away: compare several boots. A shorter key derivation makes a weak passphrase weaker.
    ///
    /// # Source
    /// crypttab(5), systemd-cryptenroll(1), cryptsetup(8), `--iter-time`; the threshold is the time of one key
    /// derivation.
    "linux/encrypted-volume-wait", "boots that wait for an encrypted volume to be unlocked", LinuxBoot(check)
}

pub(super) fn is_encrypted_volume(unit: &str) -> bool {
    unit.starts_with("systemd-cryptsetup@")
}

/// Returns when a prompt was open while the boot waited for a unit, and whether the end is the entered password.
fn prompt(facts: &LinuxBootFacts<'_>, wait: &Wait<'_>) -> Option<(Interval, bool)> {
    let prompt = facts.report.details.password_prompts.iter().find(|prompt| prompt.unit == wait.unit)?;
    let interval = (prompt.start_ns.max(wait.start_ns), prompt.end_ns.min(wait.end_ns));
    let unit_end_ns = facts.report.units.iter().find(|unit| unit.name == wait.unit).and_then(|unit| unit.end_ns);
    (interval.0 < interval.1).then_some((interval, Some(prompt.end_ns) < unit_end_ns))
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let mut findings = Vec::new();
    for wait in waits(facts, is_encrypted_volume, thresholds::ENCRYPTED_VOLUME_NS)? {
        let Some(((asked_ns, entered_ns), is_end_known)) = prompt(facts, &wait) else {
            findings.push(wait.finding(
                format!("the boot waited {} for an encrypted volume to be unlocked ({})", time(wait.duration_ns), wait.unit),
                "no password prompt was recorded: check how long the key derivation takes on this computer ('cryptsetup \
                 benchmark'), and whether the device appeared late",
            ));
            continue;
        };
        let person_ns = entered_ns.saturating_sub(asked_ns);
        let unlocking_ns = wait.end_ns.saturating_sub(entered_ns);
        let finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Service, wait.unit),
            format!(
                "the boot waited {} for a person to type the password of an encrypted volume ({}){}",
                time(person_ns),
                wait.unit,
                if is_end_known { "" } else { ", at most" }
            ),
        )
        .cost(Cost::UNKNOWN)
        .measured(person_ns)
        .certainty(Certainty::Inferred)
        .evidence(asked_ns, "the password prompt opened")
        .evidence(
            entered_ns,
            if is_end_known { "the password had been entered" } else { "the volume was unlocked" },
        )
        .advice(
            "the computer did not work meanwhile: let the TPM or a token unlock the volume ('systemd-cryptenroll'), if your policy \
             allows; for a volume the boot does not need, set 'nofail' in /etc/crypttab",
        );
        findings.push(finding);
        if is_end_known && unlocking_ns >= thresholds::ENCRYPTED_VOLUME_NS {
            let rest = Wait { start_ns: entered_ns, duration_ns: unlocking_ns, ..wait };
            findings.push(rest.finding(
                format!("unlocking an encrypted volume took {} after the password had been entered ({})", time(unlocking_ns), rest.unit),
                "check how long the key derivation takes on this computer ('cryptsetup benchmark'); redo it here ('cryptsetup \
                 luksChangeKey --iter-time') if the volume was created on a faster one",
            ));
        }
    }
    Ok(findings)
}
