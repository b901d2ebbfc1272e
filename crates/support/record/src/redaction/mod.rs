//! Replaces what identifies a computer, a network, a device or a person in texts, each consistently by the same
//! substitute: names of computers, domains and users; names of wireless networks; serial numbers; UUIDs of file systems;
//! fingerprints and keys; addresses; Windows security identifiers.
//!
//! Names are replaced as whole words, in any case, and also in the escaped forms that systemd and the device mapper use
//! in unit and volume names. They are learned from the computer's configuration and from the words before them
//! (`mentions`). Addresses (IPv4, IPv6, Ethernet, e-mail) and identifiers are recognized by their syntax and replaced
//! by addresses reserved for documentation (RFC 5737, RFC 3849, RFC 2606), locally administered addresses (IEEE 802),
//! and identifiers of the same form. Security identifiers (MS-DTYP 2.4.2) lose the part that identifies the computer,
//! the domain or the online account. Relative identifiers, such as 500 for the administrator, and well-known identifiers
//! stay.

mod addresses;
mod identifiers;
mod mentions;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use addresses::{email_len, ethernet_len, ip_len, security_id_len};
use identifiers::{Identifier, bare_ethernet_len, dotted_ethernet_len, guid_len, identifier_at};
use mentions::{Mention, NameKind, add_windows_serials, is_distinctive_serial, mentions};
use words::{begins_word, ends_word, is_common_word};

/// Names and addresses with their substitutes.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// True for logs of Linux, where identifiers are recognized by their syntax and by the words before them. Logs of
    /// Windows have GUIDs that identify nobody; their names come from named fields.
    is_linux: bool,
    /// Names that are replaced wherever they occur, in all spellings, in lower case (ASCII letters only), with their
    /// substitutes.
    spellings: HashMap<String, String>,
    /// The lengths of the spellings, bytes.
    lengths: BTreeSet<usize>,
    /// The first two bytes of the spellings.
    first_bytes: HashSet<[u8; 2]>,
    /// The substitutes of all names by the name in lower case.
    substitutes: BTreeMap<String, String>,
    /// Number of names of each kind.
    name_counts: BTreeMap<NameKind, usize>,
    machines: usize,
    addresses: BTreeMap<String, String>,
    /// The identifying parts of security identifiers, in upper case, with their substitutes.
    security_ids: BTreeMap<String, String>,
    /// Number of different addresses of each kind.
    address_counts: [usize; 4],
    /// Accounts of this computer that belong to programs.
    system_accounts: BTreeSet<String>,
    not_replaced: Vec<String>,
}

/// Counts of replaced names and addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionCounts {
    /// Computer and domain names.
    pub hosts: usize,
    /// User names.
    pub users: usize,
    /// IPv4, IPv6, Ethernet and e-mail addresses.
    pub addresses: usize,
    /// Computers, domains and online accounts in Windows security identifiers.
    pub security_ids: usize,
    /// Names of wireless networks and connections.
    pub networks: usize,
    /// Serial numbers of devices.
    pub serial_numbers: usize,
    /// UUIDs of file systems, volumes and connections, and machine ids.
    pub uuids: usize,
    /// Fingerprints, keys and passwords.
    pub keys: usize,
    /// Names that were kept because they are common words in logs.
    pub kept: Vec<String>,
}

impl Redaction {
    /// Creates a redaction for logs of Linux.
    #[must_use]
    pub fn for_linux() -> Self {
        Self { is_linux: true, ..Self::default() }
    }

    /// Adds a computer's name. For a fully qualified name, also adds the host part and the domain.
    pub fn add_host(&mut self, name: &str) {
        let name = name.trim().trim_end_matches('.');
        if let Some((host, domain)) = name.split_once('.') {
            self.add(host, NameKind::Host);
            if domain.contains('.') {
                self.add(domain, NameKind::Host);
            }
        }
        self.add(name, NameKind::Host);
    }

    /// Adds a user name or full name.
    pub fn add_user(&mut self, name: &str) {
        self.add(name.trim(), NameKind::User);
    }

    /// Adds the name of a wireless network or a connection.
    pub fn add_network(&mut self, name: &str) {
        self.add(name.trim(), NameKind::Network);
    }

    /// Adds the serial number of a device, if it is distinctive.
    pub fn add_serial_number(&mut self, serial_number: &str) {
        let serial_number =
            serial_number.trim_matches(|character: char| character.is_whitespace() || character == '\0');
        if is_distinctive_serial(serial_number) {
            self.add(serial_number, NameKind::Serial);
        }
    }

    /// Adds the human users in `/etc/passwd`: ids from 1000 (`UID_MIN`, login.defs(5)) except `nobody`. The other
    /// accounts belong to programs and are not replaced.
    pub fn add_users_from_passwd(&mut self, passwd: &str) {
        for line in passwd.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, uid, _, full_name, ..] = fields[..] else { continue };
            match uid.parse::<u32>() {
                Ok(uid) if uid >= 1000 && uid != 65_534 => {
                    self.add_user(name);
                    // The first part of the comment field is the full name; room and phone may follow (passwd(5)).
                    self.add_user(full_name.split(',').next().unwrap_or_default());
                }
                Ok(_) => {
                    self.system_accounts.insert(name.to_ascii_lowercase());
                }
                Err(_) => {}
            }
        }
    }

    /// Adds a machine id, which is confidential according to machine-id(5).
    pub fn add_machine(&mut self, id: &str) {
        let id = id.trim();
        if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) || self.has_name(id) {
            return;
        }
        self.machines += 1;
        let substitute = format!("{:032x}", self.machines);
        self.substitutes.insert(id.to_ascii_lowercase(), substitute.clone());
        // The id with hyphens is a UUID.
        self.insert(id, substitute);
    }

    /// Learns the distinctive names in a text, such as user names in the sessions that logind and PAM log.
    pub fn learn(&mut self, text: &str) {
        for mention in mentions(text) {
            let Some(name) = text.get(mention.start..mention.end) else { continue };
            if mention.is_distinctive && !is_address(name) {
                match mention.kind {
                    NameKind::Host => self.add_host(name),
                    kind => self.add(name, kind),
                }
            }
        }
        // The address without separators occurs elsewhere; not every such number is an address.
        let bytes = text.as_bytes();
        let mut position = 0;
        while let Some(rest) = bytes.get(position..).filter(|rest| !rest.is_empty()) {
            match ethernet_len(rest).filter(|_| begins_word(bytes, position)) {
                Some(length) => {
                    if let Some(address) = text.get(position..position + length) {
                        self.address(address);
                    }
                    position += length;
                }
                None => position += 1,
            }
        }
    }

    fn has_name(&self, name: &str) -> bool {
        self.substitutes.contains_key(&name.to_ascii_lowercase())
    }

    /// Adds a name that is replaced wherever it occurs.
    fn add(&mut self, name: &str, kind: NameKind) {
        let is_account = kind == NameKind::User && self.system_accounts.contains(&name.to_ascii_lowercase());
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        if name.is_empty() || self.has_spelling(name) || is_account {
            return;
        }
        if is_common_word(name) || name.len() < 2 || is_number && !matches!(kind, NameKind::Serial | NameKind::Uuid) {
            let name = name.to_owned();
            // Every computer has these names, so they are not worth reporting.
            let is_reported = matches!(kind, NameKind::Host | NameKind::User)
                && !["root", "localhost", "nobody"].contains(&name.as_str());
            if is_reported && !self.not_replaced.contains(&name) {
                self.not_replaced.push(name);
            }
            return;
        }
        let substitute = self.substitute(name, kind);
        // The device mapper doubles hyphens; systemd escapes hyphens in paths (systemd.unit(5)).
        let doubled = name.replace('-', "--");
        // Texts are compared ignoring the case of ASCII letters only.
        let cases = [name.to_lowercase(), name.to_uppercase()];
        let escaped = [name.replace('-', "\\x2d"), doubled.replace('-', "\\x2d"), doubled];
        for spelling in std::iter::once(name.to_owned()).chain(cases).chain(escaped) {
            if !self.has_spelling(&spelling) {
                self.insert(&spelling, substitute.clone());
            }
        }
    }

    fn has_spelling(&self, name: &str) -> bool {
        self.spellings.contains_key(&name.to_ascii_lowercase())
    }

    fn insert(&mut self, spelling: &str, substitute: String) {
        let spelling = spelling.to_ascii_lowercase();
        let Some(first) = first_bytes(spelling.as_bytes()) else { return };
        self.first_bytes.insert(first);
        self.lengths.insert(spelling.len());
        self.spellings.insert(spelling, substitute);
    }

    /// Returns the substitute for a name, a new one if the name is new.
    fn substitute(&mut self, name: &str, kind: NameKind) -> String {
        let key = name.to_ascii_lowercase().replace("\\x2d", "-");
        if let Some(substitute) = self.substitutes.get(&key) {
            return substitute.clone();
        }
        let count = self.name_counts.entry(kind).or_default();
        *count += 1;
        let number = *count;
        let substitute = match kind {
            NameKind::Host => format!("host{number}"),
            NameKind::User => format!("user{number}"),
            NameKind::Network => format!("network{number}"),
            NameKind::Serial => format!("serial{number}"),
            NameKind::Key => format!("key{number}"),
            NameKind::Uuid => uuid_substitute(&key, number),
        };
        self.substitutes.insert(key, substitute.clone());
        substitute
    }

    /// Returns the number of names and addresses replaced so far.
    #[must_use]
    pub fn replaced(&self) -> RedactionCounts {
        let count = |kind| self.name_counts.get(&kind).copied().unwrap_or_default();
        RedactionCounts {
            hosts: count(NameKind::Host),
            users: count(NameKind::User),
            addresses: self.address_counts.iter().sum(),
            security_ids: self.security_ids.len(),
            networks: count(NameKind::Network),
            serial_numbers: count(NameKind::Serial),
            uuids: count(NameKind::Uuid) + self.machines,
            keys: count(NameKind::Key),
            kept: self.not_replaced.clone(),
        }
    }

    /// Returns the text with all names, addresses and identifiers replaced.
    pub fn redact(&mut self, text: &str) -> String {
        self.replace(text, true)
    }

    /// Returns the text with all names and security identifiers replaced, but not what looks like an address, for
    /// version numbers.
    pub fn redact_names(&mut self, text: &str) -> String {
        self.replace(text, false)
    }

    fn replace(&mut self, text: &str, with_addresses: bool) -> String {
        let bytes = text.as_bytes();
        let found = if self.is_linux {
            mentions(text)
        } else {
            let mut found = Vec::new();
            add_windows_serials(text, &text.to_ascii_lowercase(), 0, &mut found);
            found.sort_by_key(|mention| mention.start);
            found
        };
        let mut found = found.into_iter().peekable();
        let mut out = String::with_capacity(text.len());
        let (mut position, mut copied_until) = (0, 0);
        while position < bytes.len() {
            let mention =
                found.next_if(|mention| mention.start <= position).filter(|mention| mention.start == position);
            let substitution = match mention.and_then(|mention| self.substitute_mention(text, mention)) {
                Some(substitution) => Some(substitution),
                None if begins_word(bytes, position) => self.substitute_at(text, position, with_addresses),
                None => None,
            };
            match substitution {
                Some((length, substitute)) => {
                    out.push_str(text.get(copied_until..position).unwrap_or_default());
                    out.push_str(&substitute);
                    position += length.max(1);
                    copied_until = position;
                    while found.next_if(|mention| mention.start < position).is_some() {}
                }
                None => position += 1,
            }
        }
        out.push_str(text.get(copied_until..).unwrap_or_default());
        out
    }

    /// Returns the length and the substitute of a name that the words before it identify, if it has to be replaced.
    fn substitute_mention(&mut self, text: &str, mention: Mention) -> Option<(usize, String)> {
        let name = text.get(mention.start..mention.end)?;
        let is_kept = match mention.kind {
            NameKind::Host | NameKind::User => {
                is_common_word(name)
                    || name.bytes().all(|byte| byte.is_ascii_digit())
                    || self.system_accounts.contains(&name.to_ascii_lowercase())
            }
            NameKind::Network | NameKind::Serial | NameKind::Uuid | NameKind::Key => false,
        };
        if is_kept || is_address(name) || mention.kind != NameKind::Network && guid_len(name.as_bytes()).is_some() {
            return None;
        }
        let substitute = self.substitute(name, mention.kind);
        let is_escaped = mention.kind == NameKind::Uuid && name.contains("\\x2d");
        let substitute = if is_escaped { substitute.replace('-', "\\x2d") } else { substitute };
        Some((name.len(), substitute))
    }

    /// Returns the length and the substitute of what starts at `position`, if it has to be replaced.
    fn substitute_at(&mut self, text: &str, position: usize, with_addresses: bool) -> Option<(usize, String)> {
        let bytes = text.as_bytes();
        let rest = bytes.get(position..)?;
        if first_bytes(rest).is_some_and(|first| self.first_bytes.contains(&first)) {
            for &length in self.lengths.iter().rev() {
                let Some(candidate) = text.get(position..position + length).filter(|_| ends_word(rest, length)) else {
                    continue;
                };
                if let Some(substitute) = self.spellings.get(&candidate.to_ascii_lowercase()) {
                    let is_escaped_uuid = candidate.contains("\\x2d") && substitute.contains('-');
                    let substitute =
                        if is_escaped_uuid { substitute.replace('-', "\\x2d") } else { substitute.clone() };
                    return Some((length, substitute));
                }
            }
        }
        if let Some((length, family)) = security_id_len(rest) {
            let identifier = text.get(position..position + length)?.to_ascii_uppercase();
            let number = self.security_ids.len() + 1;
            let substitute = self.security_ids.entry(identifier).or_insert_with(|| format!("{family}-0-0-{number}"));
            return Some((length, substitute.clone()));
        }
        // The rest of a version number is not an address.
        let preceding = bytes.get(position.saturating_sub(2)..position);
        let is_in_version_number = matches!(preceding, Some([digit, b'.']) if digit.is_ascii_digit());
        let email_len = email_len(rest).filter(|_| with_addresses);
        if self.is_linux && email_len.is_none() {
            if let Some(substitution) = self.substitute_identifier(text, position) {
                return Some(substitution);
            }
        } else if let Some(length) = guid_len(rest) {
            // The end of a GUID has the form of an Ethernet address. The GUID of a volume identifies it.
            let guid = text.get(position..position + length)?;
            let is_volume = text.get(..position)?.to_ascii_lowercase().ends_with("volume{");
            let substitute = if is_volume { self.substitute(guid, NameKind::Uuid) } else { guid.to_owned() };
            return Some((length, substitute));
        }
        if !with_addresses {
            return None;
        }
        let length = ethernet_len(rest)
            .or(email_len)
            .or_else(|| if is_in_version_number { None } else { ip_len(rest) })
            .or_else(|| dotted_ethernet_len(rest).filter(|_| self.is_linux && !is_in_version_number))
            .or_else(|| self.bare_ethernet_len(text, position))?;
        let address = text.get(position..position + length)?;
        Some((length, self.address(address)))
    }

    /// Returns the length of an Ethernet address without separators that is known or has the form of one.
    fn bare_ethernet_len(&self, text: &str, position: usize) -> Option<usize> {
        let digits = text.get(position..position + 12)?;
        let is_known = self.addresses.contains_key(&digits.to_ascii_lowercase());
        let rest = text.as_bytes().get(position..)?;
        match is_known && ends_word(rest, 12) {
            true => Some(12),
            false => bare_ethernet_len(text.as_bytes(), position).filter(|_| self.is_linux),
        }
    }

    /// Returns the length and the substitute of an identifier with a recognizable syntax.
    fn substitute_identifier(&mut self, text: &str, position: usize) -> Option<(usize, String)> {
        let (length, identifier) = identifier_at(text.as_bytes(), position)?;
        let spelling = text.get(position..position + length)?;
        let substitute = match identifier {
            Identifier::CommonGuid | Identifier::PublicHost => spelling.to_owned(),
            Identifier::Uuid => {
                let substitute = self.substitute(spelling, NameKind::Uuid);
                if spelling.contains("\\x2d") { substitute.replace('-', "\\x2d") } else { substitute }
            }
            Identifier::Key { prefix_len } => {
                let (prefix, key) = spelling.split_at_checked(prefix_len)?;
                // Keys differ in the case of their letters.
                let key: String = key.chars().map(|character| format!("{:x}.", u32::from(character))).collect();
                format!("{prefix}{}", self.substitute(&key, NameKind::Key))
            }
            Identifier::Host => self.substitute(spelling, NameKind::Host),
        };
        Some((length, substitute))
    }

    /// Returns the substitute for an address.
    fn address(&mut self, spelling: &str) -> String {
        let key = spelling.to_ascii_lowercase();
        if let Some(substitute) = self.addresses.get(&key) {
            return substitute.clone();
        }
        let mut next_number = |kind: usize| {
            let number = self.address_counts.get_mut(kind).map(|count| {
                *count += 1;
                *count
            });
            number.unwrap_or_default()
        };
        let substitute = if key.contains('@') {
            format!("person{}@example.org", next_number(0))
        } else if let Ok(address) = key.parse::<Ipv4Addr>() {
            if address.is_loopback() || address.is_unspecified() || address.is_broadcast() {
                return spelling.to_owned();
            }
            let number = next_number(1);
            let net = ["192.0.2", "198.51.100", "203.0.113"].get((number - 1) / 254).copied().unwrap_or("203.0.113");
            format!("{net}.{}", (number - 1) % 254 + 1)
        } else if let Ok(address) = key.parse::<Ipv6Addr>() {
            if address.is_loopback() || address.is_unspecified() {
                return spelling.to_owned();
            }
            format!("2001:db8::{:x}", next_number(2))
        } else {
            let digits: String = key.chars().filter(char::is_ascii_hexdigit).collect();
            if matches!(digits.as_str(), "000000000000" | "ffffffffffff") {
                return spelling.to_owned();
            }
            let prefix = ["enx", "wlx", "wwx"].into_iter().find(|prefix| key.starts_with(prefix)).unwrap_or("");
            // The same address in another notation gets the same substitute.
            let digits = digits.get(digits.len().saturating_sub(12)..).unwrap_or_default().to_owned();
            let mac_substitute = match self.addresses.get(&digits) {
                Some(mac_substitute) => mac_substitute.clone(),
                None => {
                    let mac_substitute = format!("02{:010x}", next_number(3));
                    self.addresses.insert(digits, mac_substitute.clone());
                    mac_substitute
                }
            };
            if !prefix.is_empty() || spelling.len() == 12 {
                return format!("{prefix}{mac_substitute}");
            }
            if spelling.len() == 14 {
                let groups: Vec<&str> =
                    (0..3).filter_map(|group| mac_substitute.get(group * 4..group * 4 + 4)).collect();
                return groups.join(".");
            }
            let separator = spelling.chars().nth(2).unwrap_or(':').to_string();
            let pairs: Vec<&str> = (0..6).filter_map(|pair| mac_substitute.get(pair * 2..pair * 2 + 2)).collect();
            return pairs.join(&separator);
        };
        self.addresses.insert(key, substitute.clone());
        substitute
    }
}

/// Returns the first two bytes in lower case, by which names are found.
fn first_bytes(text: &[u8]) -> Option<[u8; 2]> {
    match text {
        [first, second, ..] => Some([first.to_ascii_lowercase(), second.to_ascii_lowercase()]),
        _ => None,
    }
}

/// True if a text is an address, which has a substitute of another form.
fn is_address(text: &str) -> bool {
    let bytes = text.as_bytes();
    [ip_len(bytes), ethernet_len(bytes)].contains(&Some(text.len()))
}

/// Returns an identifier of the same form: zeros, and the number in its last digits.
fn uuid_substitute(identifier: &str, number: usize) -> String {
    let is_prefix = identifier.starts_with("lvm-");
    let mut digits = number.to_string().into_bytes();
    let reversed: String = identifier
        .char_indices()
        .rev()
        .map(|(index, character)| match character.is_ascii_alphanumeric() && !(is_prefix && index < 4) {
            true => digits.pop().map_or('0', char::from),
            false => character,
        })
        .collect();
    reversed.chars().rev().collect()
}
