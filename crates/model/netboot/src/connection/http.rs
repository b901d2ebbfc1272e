//! Parses HTTP message heads, as far as they are in one segment.

use crate::tftp::decode_name;

const METHODS: [&[u8]; 4] = [b"GET ", b"HEAD ", b"POST ", b"PUT "];
/// Maximum number of lines in a head.
const MAX_LINES: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) host: String,
    pub(super) user_agent: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
    /// Size of the head, bytes; the whole payload if the head is truncated.
    pub(super) bytes: usize,
}

pub(super) fn is_request(payload: &[u8]) -> bool {
    METHODS.iter().any(|method| payload.starts_with(method))
}

pub(super) fn parse_request(payload: &[u8]) -> Option<RequestHead> {
    if !is_request(payload) {
        return None;
    }
    let (mut lines, _) = head_lines(payload);
    let request_line = lines.next()?;
    let mut words = request_line.split(|&byte| byte == b' ');
    let mut head = RequestHead {
        method: decode_name(words.next()?),
        target: decode_name(words.next().unwrap_or_default()),
        ..RequestHead::default()
    };
    for line in lines {
        if let Some(value) = header_value(line, "host") {
            head.host = value;
        } else if let Some(value) = header_value(line, "user-agent") {
            head.user_agent = value;
        }
    }
    Some(head)
}

pub(super) fn parse_response(payload: &[u8]) -> Option<ResponseHead> {
    if !payload.starts_with(b"HTTP/1.") {
        return None;
    }
    let (mut lines, bytes) = head_lines(payload);
    let status_line = lines.next()?;
    let status_text = status_line.split(|&byte| byte == b' ').nth(1)?;
    let status = std::str::from_utf8(status_text).ok()?.parse().ok()?;
    let content_length =
        lines.find_map(|line| header_value(line, "content-length")).and_then(|value| value.parse().ok());
    Some(ResponseHead { status, content_length, bytes })
}

/// Returns the lines of the head, and its size including the final empty line.
fn head_lines(payload: &[u8]) -> (impl Iterator<Item = &[u8]>, usize) {
    let end = payload.windows(4).position(|part| part == b"\r\n\r\n").map_or(payload.len(), |index| index + 4);
    let head = payload.get(..end).unwrap_or(payload);
    let lines = head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).take(MAX_LINES);
    (lines, end)
}

fn header_value(line: &[u8], header_name: &str) -> Option<String> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (key, value) = line.split_at_checked(colon)?;
    if !key.eq_ignore_ascii_case(header_name.as_bytes()) {
        return None;
    }
    Some(decode_name(value.get(1..)?).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_heads() {
        let head =
            parse_request(b"GET /boot/grub.efi HTTP/1.1\r\nHost: 10.0.0.1\r\nuser-agent:  UefiHttpBoot/1.0\r\n\r\n")
                .unwrap();
        assert_eq!(head.method, "GET");
        assert_eq!(head.target, "/boot/grub.efi");
        assert_eq!(head.host, "10.0.0.1");
        assert_eq!(head.user_agent, "UefiHttpBoot/1.0");
        assert_eq!(parse_request(b"\x16\x03\x01"), None);
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\nbody";
        let head = parse_response(text).unwrap();
        assert_eq!((head.status, head.content_length), (200, Some(12_345)));
        assert_eq!(&text[head.bytes..], b"body");
        assert_eq!(parse_response(b"HTTP/1.1 "), None);
        assert_eq!(parse_response(b"HTTP/1.1 404").unwrap().status, 404);
    }
}
