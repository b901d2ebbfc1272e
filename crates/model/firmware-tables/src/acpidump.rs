//! Reads the output of `acpidump`: a line with the table's name and address, then lines of up to 16 bytes.

use onoff_trace::Severity;
use onoff_trace::firmware::{FirmwareFormat, FirmwareProblemKind};

use super::collector::FirmwareTableCollector;
use super::tables;

/// Signatures of the tables to read.
const SIGNATURES: [&str; 3] = ["FPDT", "FBPT", "S3PT"];

/// Maximum size of a table. Text is about five times larger than the table and is kept in memory.
const MAX_TABLE_SIZE: usize = 64 << 20;

/// Returns true if the text has one of the tables.
pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| parse_signature(line).is_some_and(|signature| SIGNATURES.contains(&signature)))
}

/// Adds the tables in `text`.
pub(super) fn add(name: &str, text: &str, collector: &mut FirmwareTableCollector) {
    collector.add_input(name, FirmwareFormat::Acpidump);
    let mut table: Option<(String, Vec<u8>)> = None;
    for (number, line) in text.lines().enumerate() {
        if let Some(signature) = parse_signature(line) {
            finish_table(&mut table, collector);
            if SIGNATURES.contains(&signature) {
                table = Some((format!("{name}, {signature}"), Vec::new()));
            }
            continue;
        }
        let Some((_, bytes)) = &mut table else { continue };
        match hexadecimal_line(line) {
            Some((offset, data)) if offset == bytes.len() && bytes.len() < MAX_TABLE_SIZE => bytes.extend(data),
            None if line.trim().is_empty() => finish_table(&mut table, collector),
            _ => {
                collector.add_problem(
                    FirmwareProblemKind::UnreadableText,
                    Severity::Error,
                    format!("{name}: line {}", number + 1),
                    format!("expected byte {:#x} of the table; the rest of the table was skipped", bytes.len()),
                    0,
                );
                finish_table(&mut table, collector);
            }
        }
    }
    finish_table(&mut table, collector);
}

fn finish_table(table: &mut Option<(String, Vec<u8>)>, collector: &mut FirmwareTableCollector) {
    if let Some((name, bytes)) = table.take() {
        tables::add(&name, &bytes, collector);
    }
}

/// Returns the signature in a line such as `FPDT @ 0x00000000BDF4C000`.
fn parse_signature(line: &str) -> Option<&str> {
    let (name, address) = line.split_once('@')?;
    let name = name.trim();
    (name.len() == 4 && super::text::parse_number(address).is_some()).then_some(name)
}

/// Returns the offset and the bytes in a line such as `  0010: 43 54 4C ..  CTL ...`. Two spaces separate the bytes
/// from their characters.
fn hexadecimal_line(line: &str) -> Option<(usize, Vec<u8>)> {
    let (offset, rest) = line.split_once(':')?;
    let offset = usize::from_str_radix(offset.trim(), 16).ok()?;
    let mut bytes = Vec::new();
    for pair in rest.strip_prefix(' ').unwrap_or(rest).split(' ').take(16) {
        if pair.len() != 2 || !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            break;
        }
        bytes.push(u8::from_str_radix(pair, 16).ok()?);
    }
    (!bytes.is_empty()).then_some((offset, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_hexadecimal_lines() {
        let line = "    0030: 41 42 00 FF                                      AB..";
        assert_eq!(hexadecimal_line(line), Some((0x30, vec![0x41, 0x42, 0, 0xff])));
        let full = "  0000: 46 50 44 54 44 00 00 00 01 CE 49 4E 54 45 4C 20  FPDTD.....INTEL ";
        assert_eq!(hexadecimal_line(full).map(|(_, bytes)| bytes.len()), Some(16));
        assert_eq!(hexadecimal_line("rubbish: here"), None);
        assert_eq!(parse_signature("FPDT @ 0x00000000BDF4C000"), Some("FPDT"));
        assert_eq!(parse_signature("    FPDT @ 0xBDF4C000"), Some("FPDT"));
        assert_eq!(parse_signature("mail@example.com"), None);
    }
}
