//! Recognizes addresses and Windows security identifiers by their syntax.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::words::ends_word;

/// Suffixes of unit names; `name@instance.suffix` is a unit, not an e-mail address.
const UNIT_SUFFIXES: [&str; 11] =
    ["service", "socket", "target", "device", "mount", "automount", "swap", "timer", "path", "slice", "scope"];

/// Maximum length of the part of an e-mail address before the `@` (RFC 5321, 4.5.3.1.1).
const MAX_LOCAL_PART_LEN: usize = 64;

/// Families of security identifiers that identify a computer, a domain or a person, with the number of values that do:
/// Active Directory and local accounts, which a relative identifier follows; Microsoft Entra accounts; Microsoft
/// accounts.
const SECURITY_ID_FAMILIES: [(&str, usize); 3] = [("S-1-5-21", 3), ("S-1-12-1", 4), ("S-1-11-96", 1)];

/// Returns the length of the identifying part of a security identifier, and its family.
pub(super) fn security_id_len(rest: &[u8]) -> Option<(usize, &'static str)> {
    SECURITY_ID_FAMILIES.into_iter().find_map(|(family, values)| {
        let start = rest.get(..family.len()).filter(|start| start.eq_ignore_ascii_case(family.as_bytes()))?;
        let mut length = start.len();
        // All values of a Microsoft account identify it.
        let max_values = if family == "S-1-11-96" { usize::MAX } else { values };
        let mut count = 0;
        while count < max_values {
            let digits = rest.get(length + 1..).unwrap_or_default();
            let digit_count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if rest.get(length) != Some(&b'-') || digit_count == 0 {
                break;
            }
            length += 1 + digit_count;
            count += 1;
        }
        (count >= values).then_some((length, family))
    })
}

/// Returns the length of an Ethernet address, also as part of an interface name (`enx0123456789ab`) or a D-Bus path
/// (`dev_01_23_…`).
pub(super) fn ethernet_len(rest: &[u8]) -> Option<usize> {
    for prefix in [b"enx", b"wlx", b"wwx"] {
        if let Some(digits) = rest.strip_prefix(prefix).and_then(|rest| rest.get(..12))
            && digits.iter().all(u8::is_ascii_hexdigit)
            && ends_word(rest, 15)
        {
            return Some(15);
        }
    }
    let address = rest.get(..17)?;
    let separator = *address.get(2)?;
    let is_valid = address.iter().enumerate().all(|(index, byte)| match index % 3 {
        2 => *byte == separator,
        _ => byte.is_ascii_hexdigit(),
    });
    (b":-_".contains(&separator) && is_valid && ends_word(rest, 17) && rest.get(17) != Some(&separator)).then_some(17)
}

/// Returns the length of an IPv4 or IPv6 address.
pub(super) fn ip_len(rest: &[u8]) -> Option<usize> {
    let prefix_len = |accepts: &dyn Fn(u8) -> bool| rest.iter().take(46).take_while(|byte| accepts(**byte)).count();
    let trimmed_address = |mut length: usize| {
        // A period after an address is not part of the address.
        while length > 0 && matches!(rest.get(length - 1), Some(b'.')) {
            length -= 1;
        }
        let text = rest.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok())?;
        Some((length, text))
    };
    let (length, text) = trimmed_address(prefix_len(&|byte| byte.is_ascii_digit() || byte == b'.'))?;
    if text.parse::<Ipv4Addr>().is_ok() && ends_word(rest, length) {
        return Some(length);
    }
    let (mut length, mut text) =
        trimmed_address(prefix_len(&|byte| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.'))?;
    if text.ends_with(':') && !text.ends_with("::") {
        length -= 1;
        text = text.get(..length)?;
    }
    (text.parse::<Ipv6Addr>().is_ok() && ends_word(rest, length)).then_some(length)
}

/// Returns the length of an e-mail address; unit names do not count.
pub(super) fn email_len(rest: &[u8]) -> Option<usize> {
    let local = rest
        .iter()
        .take(MAX_LOCAL_PART_LEN + 1)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte))
        .count();
    if local == 0 || rest.get(local) != Some(&b'@') {
        return None;
    }
    let domain = rest.get(local + 1..)?;
    let mut length =
        domain.iter().take(255).take_while(|byte| byte.is_ascii_alphanumeric() || b".-".contains(byte)).count();
    while length > 0 && matches!(domain.get(length - 1), Some(b'.' | b'-')) {
        length -= 1;
    }
    let domain = std::str::from_utf8(domain.get(..length)?).ok()?;
    let (name, top_level) = domain.rsplit_once('.')?;
    let is_domain =
        !name.is_empty() && top_level.len() >= 2 && top_level.bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_domain && !UNIT_SUFFIXES.contains(&top_level)).then_some(local + 1 + length)
}
