//! Recognizes shutdown requests that systemd-logind logs in the journal.

use super::journal::Entry;

/// Returns the requested action as systemd names it: `poweroff`, `reboot`, `halt`, `kexec`; `None` for other messages.
///
/// Texts: `log_shutdown` and `bus_manager_shutdown_or_sleep_now_or_later` of systemd-logind, 230 to 257.
pub(super) fn requested_action(entry: &Entry<'_>) -> Option<&'static str> {
    if entry.identifier != "systemd-logind" {
        return None;
    }
    let text = entry.message.trim_end_matches(['.', '!']);
    let text = text.strip_suffix(" now").unwrap_or(text);
    let action = text.strip_prefix("The system will ").or_else(|| text.strip_prefix("System is "))?;
    // A reason may follow in parentheses.
    let action = action.split(" (").next().unwrap_or(action);
    match action {
        "power off" | "powering down" | "powering off" => Some("poweroff"),
        "reboot" | "rebooting" => Some("reboot"),
        "halt" | "halting" => Some("halt"),
        "kexec" | "rebooting with kexec" => Some("kexec"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn accepts_only_logind_messages() {
        let action = |identifier: &'static str, message: &'static str| {
            let mut entry = Entry::default();
            entry.set(b"SYSLOG_IDENTIFIER", Cow::Borrowed(identifier));
            entry.set(b"MESSAGE", Cow::Borrowed(message));
            requested_action(&entry)
        };
        for (message, kind) in [
            ("The system will power off now!", Some("poweroff")),
            ("System is powering down.", Some("poweroff")),
            ("System is rebooting.", Some("reboot")),
            ("System is rebooting (update).", Some("reboot")),
            ("System is halting.", Some("halt")),
            ("System is rebooting with kexec.", Some("kexec")),
            ("The system will suspend now!", None),
            ("New seat seat0.", None),
        ] {
            assert_eq!(action("systemd-logind", message), kind, "{message}");
        }
        assert_eq!(action("cron", "System is rebooting."), None);
    }
}
