//! Recognizes identifiers by their syntax: UUIDs of file systems, volumes and arrays, fingerprints, keys, and names of
//! computers with a domain.

use super::words::{begins_word, ends_word};

/// GUIDs that are the same on all computers: vendors of EFI variables (UEFI specification, Boot Loader Interface) and
/// messages of systemd (sd-messages(3)).
const COMMON_GUIDS: [&str; 3] = [
    "8be4df61-93ca-11d2-aa0d-00e098032b8c",
    "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
    "b07a249c-d024-414a-82dd-00cd181378ff",
];

/// Last labels of names with a domain: frequent top-level domains that are not also file extensions or ends of kernel
/// parameters (`rd.lvm.lv`, `rd.md`), and those for private networks and tests (RFC 6762 appendix G, RFC 8375, RFC 6761).
const LAST_LABELS: &str = "\
    com net org edu gov mil int info biz cloud io tech xyz de uk fr eu ch at nl se no dk fi be it es pt cz hu ro gr ua \
    lu sk hr bg ee lt jp cn kr tw sg hk vn ph br mx cl ca au nz us ie za ke ng tr il ae local lan home internal intranet \
    corp private localdomain arpa example test invalid";

/// Domains of projects and of public services, which identify nobody.
const PUBLIC_DOMAINS: [&str; 26] = [
    "docker.io",
    "ghcr.io",
    "k8s.io",
    "quay.io",
    "freedesktop.org",
    "kernel.org",
    "debian.org",
    "ubuntu.com",
    "canonical.com",
    "launchpad.net",
    "fedoraproject.org",
    "redhat.com",
    "centos.org",
    "rockylinux.org",
    "almalinux.org",
    "suse.com",
    "opensuse.org",
    "archlinux.org",
    "gentoo.org",
    "gnu.org",
    "gnome.org",
    "kde.org",
    "ntp.org",
    "netfilter.org",
    "sourceforge.net",
    "w3.org",
];

/// Length of a UUID in text form (RFC 9562), without escapes.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
/// Groups of the UUIDs of LVM (`lvm_uuid_format`).
const LVM_GROUPS: [usize; 7] = [6, 4, 4, 4, 4, 4, 6];
/// Groups of the UUIDs of arrays (mdadm(8)).
const ARRAY_GROUPS: [usize; 4] = [8, 8, 8, 8];

/// Characters of a volume group's and a logical volume's UUID, as the device mapper joins them.
const JOINED_LVM_UUIDS_LEN: usize = 64;
/// Characters of 32 bytes in base64, without the `=` that follows (WireGuard keys, fingerprints of SSH keys).
const KEY_LEN: usize = 43;
/// Shortest public key of SSH in base64: an Ed25519 key has 68 characters.
const MIN_PUBLIC_KEY_LEN: usize = 60;

/// What an identifier is, and how its substitute has to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identifier {
    /// UUID of a file system, a volume, or a connection. The substitute has the same form.
    Uuid,
    /// A GUID that is the same on all computers and stays.
    CommonGuid,
    /// A fingerprint or key, after a prefix of this length that stays.
    Key { prefix_len: usize },
    /// A computer's name with a domain.
    Host,
    /// A name with a domain that stays.
    PublicHost,
}

/// Returns the length and the kind of the identifier that starts at `position`, where a word begins.
pub(super) fn identifier_at(bytes: &[u8], position: usize) -> Option<(usize, Identifier)> {
    let rest = bytes.get(position..)?;
    if let Some(length) = guid_len(rest) {
        let guid: Vec<u8> = unescaped(rest.get(..length)?);
        let is_common = COMMON_GUIDS.iter().any(|common| guid.eq_ignore_ascii_case(common.as_bytes()));
        return Some((length, if is_common { Identifier::CommonGuid } else { Identifier::Uuid }));
    }
    if let Some(length) = grouped_len(rest, &LVM_GROUPS, b'-', u8::is_ascii_alphanumeric)
        .or_else(|| array_uuid_len(rest))
        .or_else(|| joined_lvm_len(rest))
    {
        return Some((length, Identifier::Uuid));
    }
    if let Some((prefix_len, length)) = key_len(bytes, position) {
        return Some((length, Identifier::Key { prefix_len }));
    }
    if let Some(length) = windows_name_len(bytes, position) {
        return Some((length, Identifier::Host));
    }
    let length = domain_name_len(bytes, position)?;
    let name = String::from_utf8_lossy(rest.get(..length)?).to_ascii_lowercase();
    let is_public = PUBLIC_DOMAINS.iter().any(|domain| {
        name.strip_suffix(domain).is_some_and(|subdomain| subdomain.is_empty() || subdomain.ends_with('.'))
    });
    Some((length, if is_public { Identifier::PublicHost } else { Identifier::Host }))
}

/// Returns the length of a UUID, also with hyphens as systemd escapes them.
pub(super) fn guid_len(rest: &[u8]) -> Option<usize> {
    grouped_len(rest, &UUID_GROUPS, b'-', u8::is_ascii_hexdigit)
}

/// Returns the length of the UUID of an array (`aaaaaaaa:bbbbbbbb:cccccccc:dddddddd`).
pub(super) fn array_uuid_len(rest: &[u8]) -> Option<usize> {
    grouped_len(rest, &ARRAY_GROUPS, b':', u8::is_ascii_hexdigit)
}

/// Returns the length of the name of a Windows computer or domain in `\\COMPUTER\share` or `DOMAIN\user`.
fn windows_name_len(bytes: &[u8], position: usize) -> Option<usize> {
    /// Maximum length of a NetBIOS name.
    const MAX_DOMAIN_LEN: usize = 15;
    let rest = bytes.get(position..)?;
    let length = rest.iter().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(byte)).count();
    let (name, after) = rest.split_at_checked(length)?;
    let [b'\\', next, further @ ..] = after else { return None };
    let before = bytes.get(..position)?;
    if before.ends_with(br"\\") {
        return (length > 0).then_some(length);
    }
    // systemd escapes characters as `\x2d`.
    let is_escape = *next == b'x' && further.first().is_some_and(u8::is_ascii_hexdigit);
    let is_domain = (2..=MAX_DOMAIN_LEN).contains(&length)
        && name.first().is_some_and(u8::is_ascii_uppercase)
        && !name.iter().any(u8::is_ascii_lowercase)
        && next.is_ascii_alphanumeric();
    (is_domain && !is_escape && !before.ends_with(b"\\")).then_some(length)
}

/// Returns text without systemd's escapes of hyphens.
fn unescaped(text: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(text).replace("\\x2d", "-").into_bytes()
}

/// Returns the length of groups of characters with a separator between them. A hyphen may be escaped (`\x2d`).
fn grouped_len(rest: &[u8], groups: &[usize], separator: u8, accepts: fn(&u8) -> bool) -> Option<usize> {
    let mut length = 0;
    for (index, &group) in groups.iter().enumerate() {
        if index > 0 {
            let after = rest.get(length..)?;
            length += match after {
                [byte, ..] if *byte == separator => 1,
                _ if separator == b'-' && after.starts_with(b"\\x2d") => 4,
                _ => return None,
            };
        }
        if !rest.get(length..length + group)?.iter().all(accepts) {
            return None;
        }
        length += group;
    }
    ends_word(rest, length).then_some(length)
}

/// Returns the length of `LVM-` with two UUIDs, which the device mapper uses as the UUID of a logical volume.
fn joined_lvm_len(rest: &[u8]) -> Option<usize> {
    let prefix_len = ["LVM-", "LVM\\x2d"].into_iter().find(|prefix| rest.starts_with(prefix.as_bytes()))?.len();
    let length = prefix_len + JOINED_LVM_UUIDS_LEN;
    let is_valid = rest.get(prefix_len..length)?.iter().all(u8::is_ascii_alphanumeric);
    (is_valid && ends_word(rest, length)).then_some(length)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/'
}

/// Returns the length of the prefix that stays, and of a fingerprint or key with it.
fn key_len(bytes: &[u8], position: usize) -> Option<(usize, usize)> {
    let rest = bytes.get(position..)?;
    if let Some(fingerprint) = rest.strip_prefix(b"SHA256:") {
        let length = fingerprint.iter().take_while(|byte| is_base64(**byte)).count();
        return (length >= KEY_LEN - 1).then(|| (7, 7 + length + usize::from(fingerprint.get(length) == Some(&b'='))));
    }
    let prefix_len = if rest.starts_with(b"MD5:") { 4 } else { 0 };
    // 16 bytes of MD5, 20 of SHA-1, 32 of SHA-256.
    for pairs in [32, 20, 16] {
        let groups = [2; 32];
        let groups = groups.get(..pairs).unwrap_or_default();
        let hex = rest.get(prefix_len..).unwrap_or_default();
        if let Some(length) = grouped_len(hex, groups, b':', u8::is_ascii_hexdigit)
            && hex.get(length) != Some(&b':')
        {
            return Some((prefix_len, prefix_len + length));
        }
    }
    let previous = position.checked_sub(1).and_then(|index| bytes.get(index));
    if previous.is_some_and(|byte| is_base64(*byte)) {
        return None;
    }
    let length = rest.iter().take_while(|byte| is_base64(**byte)).count();
    if rest.starts_with(b"AAAA") && length >= MIN_PUBLIC_KEY_LEN {
        let padding = rest.iter().skip(length).take_while(|byte| **byte == b'=').count();
        return Some((0, length + padding));
    }
    let is_key = length == KEY_LEN && rest.get(length) == Some(&b'=') && rest.get(length + 1) != Some(&b'=');
    is_key.then_some((0, KEY_LEN + 1))
}

/// Returns the length of a computer's name with a domain. A name in a path is not one.
fn domain_name_len(bytes: &[u8], position: usize) -> Option<usize> {
    let previous = |back: usize| position.checked_sub(back).and_then(|index| bytes.get(index)).copied();
    match (previous(2), previous(1)) {
        (Some(b'/'), Some(b'/')) => {}
        (_, Some(b'/' | b'.' | b'_')) => return None,
        _ => {}
    }
    let rest = bytes.get(position..)?;
    let accepts = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.".contains(byte);
    let mut length = rest.iter().take(254).take_while(|byte| accepts(byte)).count();
    while length > 0 && matches!(rest.get(length - 1), Some(b'.' | b'-')) {
        length -= 1;
    }
    if !ends_word(rest, length) || rest.get(length) == Some(&b'_') {
        return None;
    }
    let name = std::str::from_utf8(rest.get(..length)?).ok()?;
    let (labels, last) = name.rsplit_once('.')?;
    let is_name = labels.split('.').all(|label| !label.is_empty() && label.len() <= 63 && !label.ends_with('-'))
        && labels.contains(|character: char| character.is_ascii_alphabetic())
        && LAST_LABELS.split(' ').any(|known| last.eq_ignore_ascii_case(known));
    // Files of configuration, and parameters of the kernel.
    let is_file_or_parameter =
        ["rc", "sysctl", "fail2ban", "jail"].contains(&labels) && last == "local" || labels.starts_with("rd.");
    (is_name && !is_file_or_parameter).then_some(length)
}

/// Returns the length of an Ethernet address without separators. An unknown one needs a letter and a digit: numbers and
/// words also have twelve such characters.
pub(super) fn bare_ethernet_len(bytes: &[u8], position: usize) -> Option<usize> {
    let rest = bytes.get(position..)?;
    let digits = rest.get(..12)?;
    let is_mixed = digits.iter().any(u8::is_ascii_digit) && digits.iter().any(u8::is_ascii_alphabetic);
    (digits.iter().all(u8::is_ascii_hexdigit) && is_mixed && ends_word(rest, 12) && begins_word(bytes, position))
        .then_some(12)
}

/// Returns the length of an Ethernet address with dots (`3c52.8201.0203`).
pub(super) fn dotted_ethernet_len(rest: &[u8]) -> Option<usize> {
    grouped_len(rest, &[4, 4, 4], b'.', u8::is_ascii_hexdigit).filter(|&length| {
        let address = rest.get(..length).unwrap_or_default();
        // Numbers with dots are dates and versions.
        address.iter().any(u8::is_ascii_alphabetic) && rest.get(length) != Some(&b'.')
    })
}
