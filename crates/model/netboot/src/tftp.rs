//! Parses TFTP packets (RFC 1350) with options (RFC 2347, 2348, 2349, 7440) and Microsoft's variable window.

use onoff_trace::named;
use serde::Serialize;

use crate::limits::MAX_NAME_LEN;

/// Server port for requests.
pub const PORT: u16 = 69;

/// A TFTP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Requests to read a file.
    ReadRequest(Request),
    /// Requests to write a file.
    WriteRequest(Request),
    /// A block of the file.
    Data {
        /// Block number as sent, 16 bits.
        block: u16,
        /// Target machine of the program that starts in this block, if one does.
        program: Option<ProgramMachine>,
    },
    /// Acknowledges all blocks up to and including `block`.
    Acknowledgment {
        /// Block number as sent, 16 bits.
        block: u16,
        /// Number of blocks that the client requests next: the extra byte of Microsoft's variable window.
        next_window: Option<u8>,
    },
    /// Ends the transfer.
    Error {
        /// Error code; 8: options refused.
        code: u16,
        text: String,
    },
    /// Grants options.
    OptionAcknowledgment(Options),
}

/// A read or write request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// File name, as far as it was captured.
    pub file: String,
    /// Requested options.
    pub options: Options,
}

/// Requested or granted options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// `blksize`: bytes per block; 512 if missing.
    pub block_size: Option<u32>,
    /// `windowsize`: blocks per acknowledgment; 1 if missing.
    pub window: Option<u32>,
    /// `tsize`: file size, bytes; 0 in a read request.
    pub file_bytes: Option<u64>,
    /// `timeout`: seconds before a retransmission.
    pub timeout_s: Option<u32>,
    /// `multicast` (RFC 2090), verbatim.
    pub multicast: Option<String>,
    /// `msftwindow`: Microsoft's variable window; 31416 requests it, 27182 grants it.
    pub variable_window: Option<u32>,
    /// Names of other options.
    pub others: Vec<String>,
    /// True if options may be beyond the captured part of the packet.
    pub cut: bool,
}

/// Reason why a datagram is not a TFTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The captured part is too short to tell.
    Truncated,
    /// The packet is malformed.
    Malformed,
}

impl Message {
    /// Parses a datagram of `bytes` bytes, of which `payload` was captured.
    ///
    /// # Errors
    /// The datagram is truncated or not a TFTP packet.
    pub fn parse(payload: &[u8], bytes: u32) -> Result<Self, ParseError> {
        let is_truncated = (payload.len() as u64) < u64::from(bytes);
        let too_short = if is_truncated { ParseError::Truncated } else { ParseError::Malformed };
        let (opcode, rest) = split_u16(payload).ok_or(too_short)?;
        match opcode {
            1 | 2 => {
                let mut strings = Strings { rest, is_truncated };
                let file = strings.next().ok_or(ParseError::Malformed)?;
                // The mode: netascii or octet.
                let _ = strings.next();
                let request = Request { file, options: parse_options(strings) };
                Ok(if opcode == 1 { Self::ReadRequest(request) } else { Self::WriteRequest(request) })
            }
            3 => {
                let (block, data) = split_u16(rest).ok_or(too_short)?;
                Ok(Self::Data { block, program: program_machine(data) })
            }
            4 => {
                let (block, rest) = split_u16(rest).ok_or(too_short)?;
                // Ethernet pads short frames, so the datagram's own length counts.
                let next_window = (bytes == 5).then(|| rest.first().copied()).flatten();
                if bytes > 5 {
                    return Err(ParseError::Malformed);
                }
                Ok(Self::Acknowledgment { block, next_window })
            }
            5 => {
                let (code, rest) = split_u16(rest).ok_or(too_short)?;
                let text = Strings { rest, is_truncated }.next().unwrap_or_default();
                Ok(Self::Error { code, text })
            }
            6 => Ok(Self::OptionAcknowledgment(parse_options(Strings { rest, is_truncated }))),
            _ => Err(ParseError::Malformed),
        }
    }
}

named! {
    /// Target machine of a UEFI program (PE/COFF, field `Machine`).
    #[derive(Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum ProgramMachine {
        /// 32-bit x86.
        X86 = "x86 (32-bit)",
        /// x86-64.
        X64 = "x64",
        /// 32-bit ARM.
        Arm32 = "ARM (32-bit)",
        /// 64-bit ARM.
        Arm64 = "ARM64",
        /// Itanium.
        Itanium = "Itanium",
        /// EFI byte code, for any machine.
        ByteCode = "EFI byte code",
        /// 64-bit RISC-V.
        Riscv64 = "RISC-V (64-bit)",
        /// 64-bit LoongArch.
        LoongArch64 = "LoongArch (64-bit)",
    }
}

/// Returns the target machine of the PE/COFF program at the start of `data`.
pub(crate) fn program_machine(data: &[u8]) -> Option<ProgramMachine> {
    let head: &[u8; 64] = data.first_chunk()?;
    if head[..2] != *b"MZ" {
        return None;
    }
    let header_offset = u32::from_le_bytes([head[60], head[61], head[62], head[63]]) as usize;
    let header: &[u8; 6] = data.get(header_offset..)?.first_chunk()?;
    if header[..4] != *b"PE\0\0" {
        return None;
    }
    match u16::from_le_bytes([header[4], header[5]]) {
        0x014C => Some(ProgramMachine::X86),
        0x8664 => Some(ProgramMachine::X64),
        0x01C0 | 0x01C2 | 0x01C4 => Some(ProgramMachine::Arm32),
        0xAA64 => Some(ProgramMachine::Arm64),
        0x0200 => Some(ProgramMachine::Itanium),
        0x0EBC => Some(ProgramMachine::ByteCode),
        0x5064 => Some(ProgramMachine::Riscv64),
        0x6264 => Some(ProgramMachine::LoongArch64),
        _ => None,
    }
}

fn split_u16(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*head), rest))
}

/// Zero-terminated strings.
struct Strings<'a> {
    rest: &'a [u8],
    /// True if the datagram continues after `rest`.
    is_truncated: bool,
}

impl Strings<'_> {
    /// Returns the next string, even if it was truncated or is not terminated.
    fn next(&mut self) -> Option<String> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == 0);
        let (text, rest) = match end {
            Some(end) => (self.rest.get(..end)?, self.rest.get(end + 1..)?),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(decode_name(text))
    }

    /// Returns the next string if it was captured completely.
    fn next_complete(&mut self) -> Option<String> {
        let is_unterminated = !self.rest.contains(&0);
        let text = self.next()?;
        (!(is_unterminated && self.is_truncated)).then_some(text)
    }
}

/// Decodes a name from the network, limited to [`MAX_NAME_LEN`] bytes.
pub(crate) fn decode_name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_NAME_LEN).unwrap_or(bytes)).into_owned()
}

fn parse_options(mut strings: Strings<'_>) -> Options {
    let mut options = Options { cut: strings.is_truncated, ..Options::default() };
    while let Some(name) = strings.next_complete() {
        let Some(value) = strings.next_complete() else { break };
        match name.to_ascii_lowercase().as_str() {
            "blksize" => options.block_size = value.parse().ok(),
            "windowsize" => options.window = value.parse().ok(),
            "tsize" => options.file_bytes = value.parse().ok(),
            "timeout" => options.timeout_s = value.parse().ok(),
            "msftwindow" => options.variable_window = value.parse().ok(),
            "multicast" => options.multicast = Some(value),
            other if options.others.len() < 16 => options.others.push(other.to_owned()),
            _ => {}
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse_complete(bytes: &[u8]) -> Result<Message, ParseError> {
        Message::parse(bytes, bytes.len() as u32)
    }

    #[test]
    fn parses_request_options() {
        let bytes =
            b"\0\x01boot.wim\0octet\0tsize\x000\0BLKSIZE\x001456\0windowsize\x004\0msftwindow\x0031416\0x\x00y\0";
        let Ok(Message::ReadRequest(request)) = parse_complete(bytes) else {
            panic!("{:?}", parse_complete(bytes));
        };
        assert_eq!(request.file, "boot.wim");
        assert_eq!(
            request.options,
            Options {
                block_size: Some(1456),
                window: Some(4),
                file_bytes: Some(0),
                variable_window: Some(31416),
                others: vec!["x".into()],
                ..Options::default()
            }
        );
        // Truncated within the value of windowsize: the 4 may have been 48, so it is not used.
        let cut = &bytes[..bytes.iter().position(|&byte| byte == b'4').unwrap() + 1];
        let option_offset = bytes.windows(13).position(|part| part == b"windowsize\x004\0").unwrap();
        for length in [cut.len(), option_offset + 12] {
            let Ok(Message::ReadRequest(request)) = Message::parse(&bytes[..length], bytes.len() as u32) else {
                panic!();
            };
            assert!(request.options.cut);
            assert_eq!(request.options.window, None);
        }
    }

    #[test]
    fn reads_target_machine_of_program() {
        let mut data = vec![0, 3, 0, 1];
        data.extend(b"MZ");
        data.resize(4 + 60, 0);
        data.extend(128_u32.to_le_bytes());
        data.resize(4 + 128, 0);
        data.extend(b"PE\0\0\x64\xaa");
        let machine = |bytes: &[u8]| match parse_complete(bytes) {
            Ok(Message::Data { program, .. }) => program,
            other => panic!("{other:?}"),
        };
        assert_eq!(machine(&data), Some(ProgramMachine::Arm64));
        for length in 4..data.len() {
            assert_eq!(machine(&data[..length]), None, "{length}");
        }
        data[4 + 60] = 255;
        assert_eq!(machine(&data), None);
    }

    #[test]
    fn parses_other_packets() {
        assert_eq!(parse_complete(b"\0\x03\x01\x02data"), Ok(Message::Data { block: 258, program: None }));
        assert_eq!(parse_complete(b"\0\x04\0\x04"), Ok(Message::Acknowledgment { block: 4, next_window: None }));
        assert_eq!(parse_complete(b"\0\x04\0\x04\x08"), Ok(Message::Acknowledgment { block: 4, next_window: Some(8) }));
        assert_eq!(
            parse_complete(b"\0\x05\0\x01File not found\0"),
            Ok(Message::Error { code: 1, text: "File not found".into() })
        );
        assert!(
            matches!(parse_complete(b"\0\x06blksize\x001468\0"), Ok(Message::OptionAcknowledgment(options)) if options.block_size == Some(1468))
        );
        for bad in [&b""[..], b"\0", b"\0\x09abc", b"\0\x03\0", b"\0\x04\0\x01abc", b"GET /"] {
            assert_eq!(parse_complete(bad), Err(ParseError::Malformed), "{bad:?}");
        }
        assert_eq!(Message::parse(b"\0", 30), Err(ParseError::Truncated));
    }

    proptest! {
        #[test]
        fn accepts_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200), longer in 0_u32..100) {
            let _ = Message::parse(&bytes, bytes.len() as u32 + longer);
        }
    }
}
