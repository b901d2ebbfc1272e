//! Reads the signatures of the recorded computer's driver files.
//!
//! Reads only the headers and the attribute certificate table of a program (Microsoft's PE format, "The Attribute
//! Certificate Table"). Imports and sections are not read, so damage there does not matter. The version information is
//! found by its keys (`StringFileInfo`), without the tree of resources.

use memchr::memmem;
use onoff_trace::DriverFile;

/// Names in test certificates of the Windows Driver Kit and in Microsoft's test root certificates.
const TEST_CERTIFICATES: [&str; 4] =
    ["WDKTestCert", "Microsoft Testing Root", "Microsoft Testing PCA", "Microsoft Test Root"];
/// Offset of the field with the offset of the PE header.
const PE_HEADER_OFFSET: usize = 0x3c;
/// Size of the PE signature and the COFF header, which the optional header follows.
const COFF_HEADER_LEN: usize = 24;
/// Index of the certificate table among the data directories.
const SECURITY_DIRECTORY: usize = 4;
/// Size of a certificate entry's header: length, revision and type.
const ENTRY_HEADER_LEN: usize = 8;
/// Type of an entry with an Authenticode signature (PKCS #7 `SignedData`).
const SIGNED_DATA: u16 = 2;

/// Reads the signatures of a Windows program.
///
/// # Errors
/// The bytes are not a Windows program, or its certificates are missing from the bytes.
pub fn driver_file(name: &str, bytes: &[u8]) -> Result<DriverFile, &'static str> {
    let table = certificate_table(bytes)?;
    let signatures = signatures(table);
    let is_test_certificate = |signature: &&[u8]| TEST_CERTIFICATES.iter().any(|name| contains_name(signature, name));
    Ok(DriverFile {
        name: name.to_ascii_lowercase(),
        has_embedded_signature: !signatures.is_empty(),
        is_test_signed: signatures.iter().any(is_test_certificate),
        is_part_of_windows: version_text(bytes, "CompanyName").starts_with("Microsoft")
            && version_text(bytes, "ProductName").ends_with("Operating System"),
    })
}

/// Maximum length of a text of the version information, characters.
const MAX_VERSION_TEXT_LEN: usize = 256;

/// Returns a text of the version information; empty if there is none.
fn version_text(bytes: &[u8], key: &str) -> String {
    let key: Vec<u8> = key.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let Some(after) = memmem::find(bytes, &key).and_then(|start| bytes.get(start + key.len()..)) else {
        return String::new();
    };
    // The key is padded to a multiple of four bytes.
    let units = after.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let padding = units.clone().take(2).take_while(|&unit| unit == 0).count();
    let text = units.skip(padding).take(MAX_VERSION_TEXT_LEN).take_while(|&unit| unit != 0);
    char::decode_utf16(text).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Returns the attribute certificate table; empty if the program has none.
fn certificate_table(bytes: &[u8]) -> Result<&[u8], &'static str> {
    const NOT_A_PROGRAM: &str = "not a Windows program";
    let program_header = || {
        if bytes.get(..2)? != b"MZ" {
            return None;
        }
        let pe_header = usize::try_from(u32_at(bytes, PE_HEADER_OFFSET)?).ok()?;
        let pe_header = bytes.get(pe_header..)?;
        (pe_header.get(..4)? == b"PE\0\0").then_some(pe_header)
    };
    let pe_header = program_header().ok_or(NOT_A_PROGRAM)?;
    let optional_header = pe_header.get(COFF_HEADER_LEN..).ok_or(NOT_A_PROGRAM)?;
    // The directories follow the fields of the optional header, which end with the number of directories.
    let directories = match u16_at(optional_header, 0) {
        Some(0x10b) => 96,
        Some(0x20b) => 112,
        _ => return Err(NOT_A_PROGRAM),
    };
    let count = u32_at(optional_header, directories - 4).ok_or(NOT_A_PROGRAM)?;
    if usize::try_from(count).is_ok_and(|count| count <= SECURITY_DIRECTORY) {
        return Ok(&[]);
    }
    let directory = directories + SECURITY_DIRECTORY * 8;
    let field = |offset| u32_at(optional_header, offset).and_then(|value| usize::try_from(value).ok());
    let (start, len) = field(directory).zip(field(directory + 4)).ok_or(NOT_A_PROGRAM)?;
    if len == 0 {
        return Ok(&[]);
    }
    // Unlike all other directories, this one has the offset in the file, not an address.
    start
        .checked_add(len)
        .and_then(|end| bytes.get(start..end))
        .ok_or("its signature is beyond the end of the file: the file is cut off")
}

/// Returns the signatures in the certificate table.
fn signatures(mut table: &[u8]) -> Vec<&[u8]> {
    let mut signatures = Vec::new();
    while let (Some(len), Some(kind)) = (u32_at(table, 0), u16_at(table, 6)) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        // Some signing tools count the padding after the last entry, others do not.
        let Some(entry) = table.get(ENTRY_HEADER_LEN..len.min(table.len())).filter(|entry| !entry.is_empty()) else {
            break;
        };
        if kind == SIGNED_DATA {
            signatures.push(entry);
        }
        table = table.get(len.checked_next_multiple_of(8).unwrap_or(usize::MAX)..).unwrap_or_default();
    }
    signatures
}

/// Returns true if a certificate contains a name: one byte per character, or two in big-endian order (`BMPString`).
fn contains_name(certificate: &[u8], name: &str) -> bool {
    let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_be_bytes).collect();
    memmem::find(certificate, name.as_bytes()).is_some() || memmem::find(certificate, &wide).is_some()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use onoff_testkit::{Program, program};

    use super::*;

    fn read(bytes: &[u8]) -> Result<(bool, bool), &'static str> {
        driver_file("A.SYS", bytes).map(|file| (file.has_embedded_signature, file.is_test_signed))
    }

    #[test]
    fn reads_signature_of_programs_with_resources() {
        for is_32_bit in [false, true] {
            for has_resources in [false, true] {
                let program = |certificate| Program { certificate, is_32_bit, has_resources }.bytes();
                assert_eq!(read(&program(None)), Ok((false, false)));
                assert_eq!(read(&program(Some(b"CN=A Company...."))), Ok((true, false)));
                assert_eq!(read(&program(Some(b"CN=WDKTestCert someone,1"))), Ok((true, true)));
            }
        }
        let wide: Vec<u8> = "WDKTestCert a".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(read(&program(Some(&wide))), Ok((true, true)));
        // Decoy: the name is in a resource, not in a certificate.
        let mut bytes = Program { certificate: Some(b"CN=A Company"), is_32_bit: false, has_resources: true }.bytes();
        let resource = memmem::find(&bytes, b"resource data").unwrap();
        bytes[resource..resource + 11].copy_from_slice(b"WDKTestCert");
        assert_eq!(read(&bytes), Ok((true, false)));
    }

    /// Returns a text of the version information: a header, the key and the value, each padded to four bytes.
    fn version_string(key: &str, value: &str) -> Vec<u8> {
        let wide = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let mut bytes = vec![0, 0, value.len() as u8 + 1, 0, 1, 0];
        bytes.extend(wide(key));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(wide(value));
        bytes
    }

    #[test]
    fn recognizes_parts_of_windows_by_version_information() {
        let is_part_of_windows = |company: &str, product: &str| {
            let mut bytes = program(None);
            bytes.extend(version_string("CompanyName", company));
            bytes.extend(version_string("ProductName", product));
            driver_file("A.SYS", &bytes).unwrap().is_part_of_windows
        };
        assert!(is_part_of_windows("Microsoft Corporation", "Microsoft® Windows® Operating System"));
        // Decoys: another product of Microsoft, and another company that names Windows.
        assert!(!is_part_of_windows("Microsoft Corporation", "Microsoft® Hardware Center"));
        assert!(!is_part_of_windows("A Company", "Driver for the Windows Operating System"));
        assert!(!driver_file("A.SYS", &program(None)).unwrap().is_part_of_windows);
        for len in 0..60 {
            let _ = version_text(&version_string("CompanyName", "Microsoft")[..len.min(50)], "CompanyName");
        }
    }

    #[test]
    fn reads_all_entries_of_certificate_table() {
        let mut bytes = program(Some(b"first entry"));
        let table = bytes.len() - 24;
        // An entry of another type comes first; the second entry has the signature.
        bytes[table + 6] = 1;
        let second = program(Some(b"WDKTestCert"));
        bytes.extend_from_slice(&second[table..]);
        let directory = 0x58 + 112 + 4 * 8 + 4;
        bytes[directory..directory + 4].copy_from_slice(&48_u32.to_le_bytes());
        assert_eq!(read(&bytes), Ok((true, true)));
        bytes[directory..directory + 4].copy_from_slice(&24_u32.to_le_bytes());
        assert_eq!(read(&bytes), Ok((false, false)));
    }

    #[test]
    fn reports_files_without_readable_signature() {
        assert_eq!(read(b""), Err("not a Windows program"));
        assert_eq!(read(b"MZ"), Err("not a Windows program"));
        let bytes = program(Some(b"CN=A Company...."));
        assert_eq!(
            read(&bytes[..bytes.len() - 1]),
            Err("its signature is beyond the end of the file: the file is cut off")
        );
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len}");
        }
        // Any damage to the headers ends in a result, not in a panic.
        for offset in 0..bytes.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = bytes.clone();
                bytes[offset] = value;
                let _ = read(&bytes);
            }
        }
    }
}
