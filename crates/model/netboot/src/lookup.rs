//! Reads DNS lookups of clients.

use std::net::IpAddr;

use crate::frame::Datagram;
use crate::limits::{MAX_LOOKUPS, MAX_NAME_LEN};

/// DNS port.
pub const PORT: u16 = 53;

/// A DNS lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub client: IpAddr,
    /// The name to resolve.
    pub name: String,
    /// Transaction id.
    id: u16,
    /// Time of the first query, ns.
    pub query_ns: i64,
    /// Time of the response, ns.
    pub response_ns: Option<i64>,
    /// Response code; 0 if the server knows the name (RFC 1035, section 4.1.1); `None` without a response.
    pub code: Option<u8>,
    /// True if a response had a record.
    pub has_record: bool,
}

/// Records a query or a response. Returns false if there is no room.
pub(crate) fn record(lookups: &mut Vec<Lookup>, time_ns: i64, datagram: &Datagram<'_>) -> bool {
    let Some((id, is_response, name)) = parse_question(datagram.payload) else { return true };
    let client = if is_response { datagram.destination.ip() } else { datagram.source.ip() };
    let is_full = lookups.len() >= MAX_LOOKUPS;
    // Responses arrive soon or not at all, so only the latest queries are considered.
    let matching_query = lookups
        .iter_mut()
        .rev()
        .take(64)
        .find(|lookup| lookup.id == id && lookup.client == client && lookup.name == name);
    match matching_query {
        Some(lookup) if is_response => {
            lookup.response_ns = lookup.response_ns.or(Some(time_ns));
            let (code, records) = response_status(datagram.payload);
            lookup.code = lookup.code.or(Some(code));
            lookup.has_record |= code == 0 && records > 0;
        }
        Some(_) => {}
        None if is_response => {}
        None if is_full => return false,
        None => lookups.push(Lookup {
            client,
            name,
            id,
            query_ns: time_ns,
            response_ns: None,
            code: None,
            has_record: false,
        }),
    }
    true
}

/// Returns the response code and the number of answer records.
fn response_status(payload: &[u8]) -> (u8, u16) {
    match payload {
        [_, _, _, code, _, _, high, low, ..] => (code & 15, u16::from_be_bytes([*high, *low])),
        _ => (0, 0),
    }
}

/// Returns the transaction id, true for a response, and the name in the first question.
fn parse_question(payload: &[u8]) -> Option<(u16, bool, String)> {
    let (head, mut rest) = payload.split_first_chunk::<12>()?;
    let id = u16::from_be_bytes([head[0], head[1]]);
    let is_response = head[2] & 0x80 != 0;
    let mut name = String::new();
    loop {
        let (&length, after) = rest.split_first()?;
        // The first name cannot be a compression pointer.
        if length > 63 {
            return None;
        }
        if length == 0 {
            break;
        }
        let (label, after) = after.split_at_checked(usize::from(length))?;
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(&String::from_utf8_lossy(label));
        if name.len() > MAX_NAME_LEN {
            return None;
        }
        rest = after;
    }
    (!name.is_empty()).then_some((id, is_response, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_query_and_response() {
        let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        message.extend(b"\x04boot\x03lan\0\0\x01\0\x01");
        let datagram = |bytes, source: &str, destination: &str| Datagram {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            payload: bytes,
            payload_bytes: 26,
            fragment: None,
        };
        let mut lookups = Vec::new();
        assert!(record(&mut lookups, 5, &datagram(&message, "10.0.0.2:4000", "10.0.0.1:53")));
        assert!(record(&mut lookups, 6, &datagram(&message, "10.0.0.2:4000", "10.0.0.1:53")));
        let mut response = message.clone();
        response[2] = 0x81;
        response[3] = 0x83;
        assert!(record(&mut lookups, 9, &datagram(&response, "10.0.0.1:53", "10.0.0.2:4000")));
        assert_eq!(lookups.len(), 1);
        assert_eq!(lookups[0].name, "boot.lan");
        assert_eq!((lookups[0].query_ns, lookups[0].response_ns), (5, Some(9)));
        assert_eq!((lookups[0].code, lookups[0].has_record), (Some(3), false));
        for length in 0..message.len() - 4 {
            assert_eq!(parse_question(&message[..length]), None);
        }
    }
}
