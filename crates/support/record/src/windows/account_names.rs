//! Learns the names of computers, domains and accounts: from the folders of the users, and from the records of event
//! logs.

use std::fs;

use onoff_event_log::Record;

use super::commands::Installation;
use crate::machine::{Machine, MachineFiles};
use crate::redaction::Redaction;

/// Ends of the names of fields with an account, in lower case.
const ACCOUNT_FIELDS: [&str; 3] = ["username", "accountname", "samname"];
/// Ends of the names of fields with a computer or a domain, in lower case.
const HOST_FIELDS: [&str; 8] =
    ["computername", "machinename", "workstation", "workstationname", "dcname", "domain", "domainname", "hostname"];

/// Accounts and domains that every Windows has, in lower case.
const WELL_KNOWN: &str = "\
    system|local service|network service|localsystem|localservice|networkservice|anonymous logon|administrator|\
    administrators|guest|defaultaccount|wdagutilityaccount|everyone|trustedinstaller|workgroup|builtin|local|\
    interactive|default|default user|public|all users|none|unknown|true|false";
/// Starts of the names of accounts that Windows creates in numbers.
const WELL_KNOWN_PREFIXES: [&str; 4] = ["dwm-", "umfd-", "defaultuser", "iusr"];

/// Maximum length of the name of an account: 104 characters in Active Directory (`SAM-Account-Name`).
const MAX_ACCOUNT_LEN: usize = 104;

/// Creates a redaction with the user's names and the names of the user folders. The records of the logs add more.
#[must_use]
pub fn redaction_for(machine: &dyn Machine, installation: &Installation) -> Redaction {
    let mut redaction = Redaction::default();
    add_account(&installation.user, &mut redaction);
    let drive = installation.windows.rsplit_once('/').map_or("", |(drive, _)| drive);
    let folders = fs::read_dir(machine.host_path(&format!("{drive}/Users")));
    for folder in folders.into_iter().flatten().flatten() {
        if folder.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(name) = folder.file_name().to_str()
        {
            add_profile_folder(name, &mut redaction);
        }
    }
    redaction
}

/// Learns the computer that wrote a record.
pub(super) fn learn_computer(record: &Record, redaction: &mut Redaction) {
    redaction.add_host(&record.computer);
}

/// Learns the names in the fields of a record.
pub(super) fn learn_from_fields(record: &Record, redaction: &mut Redaction) {
    for field in &record.fields {
        let name = field.name.to_ascii_lowercase();
        if matches!(&*name, "user" | "account") || ACCOUNT_FIELDS.iter().any(|end| name.ends_with(end)) {
            add_account(&field.value, redaction);
        } else if name == "computer" || HOST_FIELDS.iter().any(|end| name.ends_with(end)) {
            add_host(&field.value, redaction);
        }
        learn_from_text(&field.value, redaction);
    }
    match (record.provider.as_str(), record.id) {
        // The computer's name was changed.
        ("EventLog", 6011) => {
            for index in 0..2 {
                add_host(record.unnamed(index).unwrap_or_default(), redaction);
            }
        }
        // Someone shut the computer down.
        ("User32", 1074) => {
            add_host(record.text("param2").unwrap_or_default(), redaction);
            add_account(record.text("param7").unwrap_or_default(), redaction);
        }
        _ => {}
    }
}

/// Learns the names in `C:\Users\NAME`, `\\SERVER\share` and `DC=domain`.
fn learn_from_text(text: &str, redaction: &mut Redaction) {
    for (_, name) in names_after(text, r"\users\", &['\\', '/', '"', '*', '?', '<', '>', '|', ',', ';']) {
        // An unquoted command can continue after the folder.
        let end = name.find(" -").unwrap_or(name.len());
        add_profile_folder(name.get(..end).unwrap_or_default().trim(), redaction);
    }
    for (position, server) in names_after(text, r"\\", &['\\']) {
        // A network path starts a text or follows a quote or a separator. Elsewhere, two backslashes are an escaped
        // one.
        let before = position.checked_sub(1).and_then(|index| text.as_bytes().get(index));
        if before.is_none_or(|byte| b"\"' =,;(".contains(byte)) {
            add_host(server, redaction);
        }
    }
    let labels: Vec<&str> = names_after(text, "dc=", &[',', '"', ' ', ')']).map(|(_, label)| label).collect();
    if let [labels @ .., _] = &labels[..] {
        for label in labels {
            add_host(label, redaction);
        }
    }
}

/// Returns the position of each `marker` (ignoring the case of ASCII letters), and the text up to the next of `ends`.
fn names_after<'t>(
    text: &'t str,
    marker: &'static str,
    ends: &'static [char],
) -> impl Iterator<Item = (usize, &'t str)> {
    let candidates = text.as_bytes().windows(marker.len()).enumerate();
    let positions = candidates.filter(move |(_, candidate)| candidate.eq_ignore_ascii_case(marker.as_bytes()));
    positions.filter_map(move |(position, _)| {
        // Separators are doubled in escaped paths.
        let rest = text.get(position + marker.len()..)?.trim_start_matches('\\');
        Some((position, rest.get(..rest.find(ends).unwrap_or(rest.len()))?))
    })
}

/// Adds a computer or domain.
fn add_host(name: &str, redaction: &mut Redaction) {
    let name = name.trim().trim_start_matches('\\').trim_end_matches('$');
    let is_host = name.len() <= 255
        && name.contains(char::is_alphabetic)
        && !name.starts_with("0x")
        && name.chars().all(|character| character.is_alphanumeric() || "-_.".contains(character));
    if is_host && !is_well_known(name) {
        redaction.add_host(name);
    }
}

/// Adds an account: `name`, `DOMAIN\name`, `DOMAIN\COMPUTER$` or `name@domain`.
fn add_account(text: &str, redaction: &mut Redaction) {
    let text = text.trim();
    let (domain, name) = match (text.rsplit_once('\\'), text.split_once('@')) {
        (Some(parts), _) => parts,
        (None, Some((name, domain))) => (domain, name),
        (None, None) => ("", text),
    };
    // Accounts of Windows itself have a domain with a space or hyphen in it, in any language ('NT AUTHORITY').
    let is_built_in = domain.contains(' ') || domain.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("NT-"));
    let is_account = name.len() <= MAX_ACCOUNT_LEN
        && name.contains(char::is_alphabetic)
        && !name.starts_with("S-1-")
        && !name.contains(|character: char| character.is_control() || "/[]:;|=,+*?<>\"".contains(character));
    if !is_account || is_built_in {
        return;
    }
    add_host(domain, redaction);
    match name.strip_suffix('$') {
        Some(computer) => add_host(computer, redaction),
        None if !is_well_known(name) => redaction.add_user(name),
        None => {}
    }
}

/// Adds the name of a user's folder, which Windows extends by the domain or a number if it is taken.
fn add_profile_folder(folder: &str, redaction: &mut Redaction) {
    add_account(folder, redaction);
    if let Some((name, suffix)) = folder.rsplit_once('.') {
        let is_number = suffix.len() == 3 && suffix.bytes().all(|byte| byte.is_ascii_digit());
        let is_domain = suffix.len() > 1 && suffix.bytes().all(|byte| !byte.is_ascii_lowercase());
        if is_number || is_domain {
            add_account(name, redaction);
        }
    }
}

fn is_well_known(name: &str) -> bool {
    let name = name.to_lowercase();
    WELL_KNOWN.split('|').any(|known| name == known)
        || WELL_KNOWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_event_log::Field;

    fn record(fields: &[(&str, &str)]) -> Record {
        let field = |&(name, value): &(&str, &str)| Field { name: name.to_owned(), value: value.to_owned() };
        let fields = fields.iter().map(field).collect();
        Record { computer: "DESK-7.corp.example.com".to_owned(), fields, ..Record::default() }
    }

    #[test]
    fn names_are_learned_from_fields_and_paths() {
        let mut redaction = Redaction::default();
        let fields = [
            ("TargetUserName", "anna"),
            ("PrincipalSamName", r"CORP\DESK-7$"),
            ("User", r"CORP\bert.b"),
            ("SubjectUserName", "carl@corp.example.com"),
            ("DCName", r"\\dc-1.corp.example.com"),
            ("Command", r#""C:\Users\Dora Muster\AppData\x.exe" /start \\files-2\home"#),
            ("Path", r"c:\USERS\EMIL~1\x.exe"),
            ("Dn", "CN=DESK-7,OU=PCs,DC=corp,DC=example,DC=com"),
            ("Command", r"C:\Users\fritz.CORP\run.cmd"),
        ];
        learn_computer(&record(&fields), &mut redaction);
        learn_from_fields(&record(&fields), &mut redaction);
        let text = "DESK-7 Anna CORP bert.b carl dc-1 Dora Muster EMIL~1 files-2 example fritz corp.example.com";
        let redacted = redaction.redact(text);
        for name in
            ["DESK", "Anna", "CORP", "corp", "bert", "carl", "dc-1", "Dora", "EMIL", "files", "example", "fritz"]
        {
            assert!(!redacted.contains(name), "{name}: {redacted}");
        }
    }

    #[test]
    fn other_fields_and_accounts_of_windows_are_not_names() {
        let mut redaction = Redaction::default();
        let fields = [
            ("User", r"NT AUTHORITY\SYSTEM"),
            ("User", r"NT-AUTORITÄT\Netzwerkdienst"),
            ("TargetUserName", "DWM-1"),
            ("AccountName", "LocalSystem"),
            ("UserName", "S-1-5-18"),
            ("Domain", "0x1f"),
            ("Path", r"C:\Users\Public\x.exe"),
            ("Path", r"C:\\Program Files\\Tool\\tool.exe"),
            ("Path", r"\\?\C:\Program Files\Tool"),
            ("SubscriberName", "Profiles"),
            ("Name", "updater.exe"),
        ];
        learn_from_fields(&record(&fields), &mut redaction);
        assert_eq!(redaction.replaced(), Default::default());
    }
}
