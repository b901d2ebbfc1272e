//! Boots that wait until an encrypted volume is open.

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that opens an encrypted volume (`systemd-cryptsetup@….service`) takes 2 s or more on the way to the default target. Whether
    /// a person was asked is known by the units that ask (`systemd-ask-password-….service`).
    ///
    /// # Why it costs time
    /// What is on the volume, often everything, waits for it: for the person who types, and for the key, which is derived from the
    /// passphrase slowly on purpose (LUKS2: 2 s on the computer where it was made).
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump); their ordering (properties of units) for what it cost.
    ///
    /// # What to do
    /// Let the TPM or a token open it (`systemd-cryptenroll`), if that is allowed. A volume that the boot does not need gets `nofail` or
    /// `noauto` in `/etc/crypttab`. A key that takes long to derive on this computer can be made anew on it (`cryptsetup luksChangeKey
    /// --iter-time`).
    ///
    /// # When it is wrong
    /// A person who was elsewhere makes it long: compare several boots. A shorter derivation makes a weak passphrase weaker.
    ///
    /// # Source
    /// crypttab(5), systemd-cryptenroll(1), cryptsetup(8), `--iter-time`; the limit is the time of one derivation.
    "linux/encrypted-volume-waited-for", "boots that wait until an encrypted volume is open", LinuxBoot(check)
}

/// Whether a unit opens an encrypted volume.
pub(super) fn is_it(unit: &str) -> bool {
    unit.starts_with("systemd-cryptsetup@")
}

/// Whether a unit asks a person for a password.
fn asks(unit: &str) -> bool {
    unit.starts_with("systemd-ask-password-") && unit.ends_with(".service")
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    Ok(waits(facts, is_it, thresholds::ENCRYPTED_VOLUME_NS)?
        .iter()
        .map(|wait| {
            let length = time(wait.duration_ns);
            // Services that ask are started when there is a question; paths only watch for one.
            let question = facts.report.units.iter().find(|unit| {
                asks(&unit.name) && unit.start_ns <= wait.end_ns && unit.end_ns.is_none_or(|end| end >= wait.start_ns)
            });
            match question {
                Some(unit) => wait
                    .finding(
                        format!("the boot waits {length} for a password to open an encrypted volume ({})", wait.unit),
                        "let the TPM or a token open it ('systemd-cryptenroll'), if that is allowed; a volume that the boot does not \
                         need gets 'nofail' in /etc/crypttab",
                    )
                    .certain(Certainty::Inferred)
                    .because(unit.start_ns, format!("{} is started: it waits for a password", unit.name)),
                None => wait.finding(
                    format!("the boot waits {length} until an encrypted volume is open ({})", wait.unit),
                    "nothing shows that a person was asked: see how long deriving the key takes on this computer ('cryptsetup \
                     benchmark'), and whether the device came late",
                ),
            }
        })
        .collect())
}
