//! Finds when a boot waited for a person to type the password of an encrypted volume.
//!
//! A prompt is open while a unit that unlocks a volume is starting and a service that shows prompts runs. `systemd-cryptsetup`
//! logs "Set cipher …" once it has a password, before it derives the key (`attach_luks_or_plain_or_bitlk` of systemd);
//! without that line, the prompt lasts until the volume is unlocked.

use onoff_trace::{Activity, ActivityKind, ServiceChange, ServiceTransition, TableName};

use super::assembly::Assembly;

/// Prefix of the units that unlock volumes.
const UNLOCKING: &str = "systemd-cryptsetup@";
/// Maximum number of prompts.
const MAX_PROMPTS: usize = 64;

/// Returns whether a line of `sender` shows that a password was entered.
pub(super) fn is_password_entered(sender: &str, text: &str) -> bool {
    sender == "systemd-cryptsetup" && text.starts_with("Set cipher ")
}

/// Returns whether a unit shows password prompts. The path units only watch for prompts.
fn shows_prompts(unit: &str) -> bool {
    unit.starts_with("systemd-ask-password-") && unit.ends_with(".service")
}

/// Adds an activity for each prompt, named after the unit that unlocks the volume.
pub(super) fn add(assembly: &mut Assembly) {
    if !assembly.wants(TableName::Activities) {
        return;
    }
    let starts = |is_wanted: fn(&str) -> bool| -> Vec<ServiceTransition> {
        let rows = assembly.service_transitions.iter();
        rows.filter(|row| row.kind == ServiceChange::Start && is_wanted(assembly.texts.get(row.service)))
            .copied()
            .collect()
    };
    let prompts = starts(shows_prompts);
    let mut rows: Vec<Activity> = Vec::new();
    for volume in starts(|unit| unit.starts_with(UNLOCKING)) {
        let Some(end_ns) = volume.end_ns else { continue };
        let prompt = prompts.iter().find(|prompt| {
            prompt.start_ns <= end_ns && prompt.end_ns.is_none_or(|prompt_end_ns| prompt_end_ns >= volume.start_ns)
        });
        let Some(prompt) = prompt.filter(|_| rows.len() < MAX_PROMPTS) else { continue };
        let start_ns = volume.start_ns.max(prompt.start_ns);
        // A wrong password is followed by another prompt.
        let entered_ns = assembly.passwords_entered_ns.iter().filter(|&&ns| ns > start_ns && ns <= end_ns).max();
        rows.push(Activity {
            kind: ActivityKind::CredentialRequest,
            name: volume.service,
            detail: prompt.service,
            start_ns,
            end_ns: Some(entered_ns.copied().unwrap_or(end_ns)),
            ..Activity::UNKNOWN
        });
    }
    let event = assembly.intern("password prompt");
    assembly.activities.extend(rows.into_iter().map(|row| Activity { event, ..row }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_prompts_and_entered_passwords() {
        assert!(shows_prompts("systemd-ask-password-plymouth.service"));
        assert!(!shows_prompts("systemd-ask-password-plymouth.path"));
        assert!(is_password_entered(
            "systemd-cryptsetup",
            "Set cipher aes, mode xts-plain64, key size 512 bits for device /dev/sda3."
        ));
        assert!(!is_password_entered("cryptsetup", "Set cipher aes"));
        assert!(!is_password_entered("systemd-cryptsetup", "Failed to activate with specified passphrase."));
    }
}
