//! Reads the unencrypted parts of TLS: the server name and record types.

use crate::tftp::decode_name;

const ALERT: u8 = 21;
const FATAL: u8 = 2;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;

/// True if the payload starts a TLS handshake.
pub(super) fn starts_handshake(payload: &[u8]) -> bool {
    matches!(payload, [HANDSHAKE, 3, _, _, _, CLIENT_HELLO, ..])
}

/// Returns the code of an unencrypted fatal alert (RFC 8446, section 6).
pub(super) fn fatal_alert_code(payload: &[u8]) -> Option<u8> {
    match payload {
        [ALERT, 3, _, 0, 2, FATAL, code, ..] => Some(*code),
        _ => None,
    }
}

/// True if the payload starts with an encrypted data record.
pub(super) fn is_data(payload: &[u8]) -> bool {
    matches!(payload, [APPLICATION_DATA, 3, ..])
}

/// True if the segment is exactly one alert, encrypted or not. TLS 1.3 hides the record type; there an alert is
/// recognized by its length: two bytes, the hidden type and a tag (RFC 8446, section 5.2).
pub(super) fn is_alert(payload: &[u8], payload_bytes: u32) -> bool {
    const ENCRYPTED_ALERT_LEN: u8 = 2 + 1 + 16;
    match payload {
        [ALERT, 3, ..] => true,
        [APPLICATION_DATA, 3, _, 0, ENCRYPTED_ALERT_LEN, ..] => payload_bytes == 5 + u32::from(ENCRYPTED_ALERT_LEN),
        _ => false,
    }
}

/// Returns the server name in a client hello.
pub(super) fn server_name(payload: &[u8]) -> Option<String> {
    // Record header 5, handshake header 4, version 2, random 32.
    let rest = payload.get(43..)?;
    let rest = skip(rest, 1)?; // session
    let rest = skip(rest, 2)?; // ciphers
    let rest = skip(rest, 1)?; // compressions
    let mut rest = rest.get(2..)?;
    loop {
        let (head, after) = rest.split_first_chunk::<4>()?;
        let kind = u16::from_be_bytes([head[0], head[1]]);
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (data, after) = after.split_at_checked(length)?;
        if kind == SERVER_NAME {
            // A list of names; type 0 is a host name.
            let [_, _, 0, high, low, text @ ..] = data else { return None };
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            return Some(decode_name(text.get(..length)?));
        }
        rest = after;
    }
}

/// Skips a field that starts with its length in `size` bytes.
fn skip(bytes: &[u8], size: usize) -> Option<&[u8]> {
    let (length, rest) = bytes.split_at_checked(size)?;
    let length = length.iter().fold(0_usize, |length, &byte| (length << 8) | usize::from(byte));
    rest.get(length..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_server_name() {
        let mut hello = vec![22, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3];
        hello.extend([7; 32]);
        hello.extend([2, 9, 9]); // session
        hello.extend([0, 2, 0x13, 1]); // ciphers
        hello.extend([1, 0]); // compressions
        hello.extend([0, 23]); // extensions
        hello.extend([0, 10, 0, 2, 0, 0]);
        hello.extend([0, 0, 0, 13, 0, 11, 0, 0, 8]);
        hello.extend(b"boot.lan");
        assert!(starts_handshake(&hello));
        assert_eq!(server_name(&hello).as_deref(), Some("boot.lan"));
        for length in 0..hello.len() {
            assert_eq!(server_name(&hello[..length]), None, "{length}");
        }
    }

    #[test]
    fn distinguishes_alerts_from_data() {
        let record = |kind: u8, length: u8| [vec![kind, 3, 3, 0, length], vec![7; length.into()]].concat();
        let is_an_alert = |bytes: &[u8]| is_alert(bytes, bytes.len() as u32);
        assert!(is_an_alert(&record(ALERT, 2)) && is_an_alert(&record(ALERT, 26)));
        assert!(is_an_alert(&record(APPLICATION_DATA, 19)));
        assert!(!is_an_alert(&record(APPLICATION_DATA, 20)) && !is_an_alert(&record(HANDSHAKE, 19)));
        // More data follows in the same segment, captured or not.
        let two = [record(APPLICATION_DATA, 19), record(APPLICATION_DATA, 200)].concat();
        assert!(!is_an_alert(&two) && !is_alert(&two[..24], two.len() as u32));
        assert!(!is_an_alert(&[]));
    }

    proptest! {
        #[test]
        fn accepts_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = server_name(&bytes);
        }
    }
}
