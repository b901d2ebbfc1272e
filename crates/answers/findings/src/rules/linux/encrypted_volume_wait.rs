//! Boots that wait for an encrypted volume to be unlocked.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that unlocks an encrypted volume (`systemd-cryptsetup@….service`) takes 2 s or more on the critical path
    /// to the default target. The password units (`systemd-ask-password-….service`) show whether a person was asked.
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

fn asks_for_password(unit: &str) -> bool {
    unit.starts_with("systemd-ask-password-") && unit.ends_with(".service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    Ok(waits(facts, is_encrypted_volume, thresholds::ENCRYPTED_VOLUME_NS)?
        .iter()
        .map(|wait| {
            let length = time(wait.duration_ns);
            // The services run while a password prompt is open; the path units only watch for prompts.
            let prompt = facts.report.units.iter().find(|unit| {
                asks_for_password(&unit.name) && unit.start_ns <= wait.end_ns && unit.end_ns.is_none_or(|end| end >= wait.start_ns)
            });
            match prompt {
                Some(unit) => wait
                    .finding(
                        format!("the boot waited {length} for the password of an encrypted volume ({})", wait.unit),
                        "let the TPM or a token unlock it ('systemd-cryptenroll'), if your policy allows; for a volume the boot does \
                         not need, set 'nofail' in /etc/crypttab",
                    )
                    .certainty(Certainty::Inferred)
                    .evidence(unit.start_ns, format!("{} started and waited for a password", unit.name)),
                None => wait.finding(
                    format!("the boot waited {length} for an encrypted volume to be unlocked ({})", wait.unit),
                    "no password prompt was recorded: check how long the key derivation takes on this computer ('cryptsetup \
                     benchmark'), and whether the device appeared late",
                ),
            }
        })
        .collect())
}
