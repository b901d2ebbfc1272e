//! TFTP packets (RFC 1350) with options (RFC 2347, 2348, 2349, 7440) and Microsoft's variable window.

use onoff_trace::named;
use serde::Serialize;

use crate::limits::NAME;

/// Port that requests go to.
pub const PORT: u16 = 69;

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Asks for a file to be sent.
    ReadRequest(Request),
    /// Asks for a file to be taken.
    WriteRequest(Request),
    /// A block of the file.
    Data {
        /// Block number as sent, 16 bits.
        block: u16,
        /// For which processor the program is that begins here; `None` where no program begins.
        program: Option<ProgramMachine>,
    },
    /// Acknowledges all blocks up to one.
    Acknowledgment {
        /// Block number as sent, 16 bits.
        block: u16,
        /// Blocks the client wants next: the extra byte of Microsoft's variable window.
        next_window: Option<u8>,
    },
    /// Ends the transfer.
    Error {
        /// Code; 8 refuses options.
        code: u16,
        /// Text.
        text: String,
    },
    /// Grants options.
    OptionAcknowledgment(Options),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Name of the file; what was captured of it.
    pub file: String,
    /// Options asked for.
    pub options: Options,
}

/// Options asked for or granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Options {
    /// Bytes per block, `blksize`; 512 without it.
    pub block_size: Option<u32>,
    /// Blocks per acknowledgment, `windowsize`; 1 without it.
    pub window: Option<u32>,
    /// Bytes of the file, `tsize`; 0 when the client asks.
    pub file_bytes: Option<u64>,
    /// Seconds before a retransmission, `timeout`.
    pub timeout_s: Option<u32>,
    /// `multicast` (RFC 2090), as written.
    pub multicast: Option<String>,
    /// `msftwindow`: Microsoft's variable window, 31416 asked and 27182 granted.
    pub variable_window: Option<u32>,
    /// Names of options that are not listed above.
    pub others: Vec<String>,
    /// Whether options may lie past the captured part of the packet.
    pub cut: bool,
}

/// A datagram is no TFTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTftp {
    /// Too little of it was captured to tell.
    Cut,
    /// It breaks the format.
    Malformed,
}

impl Message {
    /// Reads a datagram of `bytes` bytes of which `payload` was captured.
    ///
    /// # Errors
    /// [`NotTftp`].
    pub fn parse(payload: &[u8], bytes: u32) -> Result<Self, NotTftp> {
        let cut = (payload.len() as u64) < u64::from(bytes);
        let short = if cut { NotTftp::Cut } else { NotTftp::Malformed };
        let (opcode, rest) = number(payload).ok_or(short)?;
        match opcode {
            1 | 2 => {
                let mut texts = Texts { rest, cut };
                let file = texts.next().ok_or(NotTftp::Malformed)?;
                // The mode: netascii or octet.
                let _ = texts.next();
                let request = Request { file, options: options(texts) };
                Ok(if opcode == 1 { Self::ReadRequest(request) } else { Self::WriteRequest(request) })
            }
            3 => {
                let (block, data) = number(rest).ok_or(short)?;
                Ok(Self::Data { block, program: program(data) })
            }
            4 => {
                let (block, rest) = number(rest).ok_or(short)?;
                // Ethernet pads short frames: the datagram's own length counts, not what is left of the frame.
                let next_window = (bytes == 5).then(|| rest.first().copied()).flatten();
                if bytes > 5 {
                    return Err(NotTftp::Malformed);
                }
                Ok(Self::Acknowledgment { block, next_window })
            }
            5 => {
                let (code, rest) = number(rest).ok_or(short)?;
                let text = Texts { rest, cut }.next().unwrap_or_default();
                Ok(Self::Error { code, text })
            }
            6 => Ok(Self::OptionAcknowledgment(options(Texts { rest, cut }))),
            _ => Err(NotTftp::Malformed),
        }
    }
}

named! {
    /// For which processor a UEFI program is (PE/COFF, field `Machine`).
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
        /// EFI byte code, for any processor.
        ByteCode = "EFI byte code",
        /// 64-bit RISC-V.
        Riscv64 = "RISC-V (64-bit)",
        /// 64-bit LoongArch.
        LoongArch64 = "LoongArch (64-bit)",
    }
}

/// The processor that a PE/COFF program at the start of `data` is for.
fn program(data: &[u8]) -> Option<ProgramMachine> {
    let head: &[u8; 64] = data.first_chunk()?;
    if head[..2] != *b"MZ" {
        return None;
    }
    let at = u32::from_le_bytes([head[60], head[61], head[62], head[63]]) as usize;
    let header: &[u8; 6] = data.get(at..)?.first_chunk()?;
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

fn number(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*head), rest))
}

/// Texts that each end in a zero byte.
struct Texts<'a> {
    rest: &'a [u8],
    /// Whether the datagram goes on past `rest`.
    cut: bool,
}

impl Texts<'_> {
    /// The next text; one that the capture cut is given as far as it goes, one that the sender left open as well.
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
        Some(name(text))
    }

    /// The next text, if all of it was captured.
    fn next_whole(&mut self) -> Option<String> {
        let open = !self.rest.contains(&0);
        let text = self.next()?;
        (!(open && self.cut)).then_some(text)
    }
}

/// A name from the network, as text of bounded length.
pub(crate) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..NAME).unwrap_or(bytes)).into_owned()
}

fn options(mut texts: Texts<'_>) -> Options {
    let mut options = Options { cut: texts.cut, ..Options::default() };
    while let Some(name) = texts.next_whole() {
        let Some(value) = texts.next_whole() else { break };
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

    fn whole(bytes: &[u8]) -> Result<Message, NotTftp> {
        Message::parse(bytes, bytes.len() as u32)
    }

    #[test]
    fn requests_and_their_options() {
        let bytes =
            b"\0\x01boot.wim\0octet\0tsize\x000\0BLKSIZE\x001456\0windowsize\x004\0msftwindow\x0031416\0x\x00y\0";
        let Ok(Message::ReadRequest(request)) = whole(bytes) else {
            panic!("{:?}", whole(bytes));
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
        // Cut inside the value of windowsize: it is not taken for a 4 that may have been 48.
        let cut = &bytes[..bytes.iter().position(|&byte| byte == b'4').unwrap() + 1];
        let at = bytes.windows(13).position(|part| part == b"windowsize\x004\0").unwrap();
        for length in [cut.len(), at + 12] {
            let Ok(Message::ReadRequest(request)) = Message::parse(&bytes[..length], bytes.len() as u32) else {
                panic!();
            };
            assert!(request.options.cut);
            assert_eq!(request.options.window, None);
        }
    }

    #[test]
    fn programs_say_which_processor_they_are_for() {
        let mut data = vec![0, 3, 0, 1];
        data.extend(b"MZ");
        data.resize(4 + 60, 0);
        data.extend(128_u32.to_le_bytes());
        data.resize(4 + 128, 0);
        data.extend(b"PE\0\0\x64\xaa");
        let machine = |bytes: &[u8]| match whole(bytes) {
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
    fn the_other_packets() {
        assert_eq!(whole(b"\0\x03\x01\x02data"), Ok(Message::Data { block: 258, program: None }));
        assert_eq!(whole(b"\0\x04\0\x04"), Ok(Message::Acknowledgment { block: 4, next_window: None }));
        assert_eq!(whole(b"\0\x04\0\x04\x08"), Ok(Message::Acknowledgment { block: 4, next_window: Some(8) }));
        assert_eq!(
            whole(b"\0\x05\0\x01File not found\0"),
            Ok(Message::Error { code: 1, text: "File not found".into() })
        );
        assert!(
            matches!(whole(b"\0\x06blksize\x001468\0"), Ok(Message::OptionAcknowledgment(options)) if options.block_size == Some(1468))
        );
        for bad in [&b""[..], b"\0", b"\0\x09abc", b"\0\x03\0", b"\0\x04\0\x01abc", b"GET /"] {
            assert_eq!(whole(bad), Err(NotTftp::Malformed), "{bad:?}");
        }
        assert_eq!(Message::parse(b"\0", 30), Err(NotTftp::Cut));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), longer in 0_u32..100) {
            let _ = Message::parse(&bytes, bytes.len() as u32 + longer);
        }
    }
}
