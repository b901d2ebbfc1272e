//! Parses lists of GUID names.

use std::collections::BTreeMap;

use onoff_trace::firmware::FirmwareGuid;

use super::text;
use onoff_input::error::Error;

pub type GuidNames = BTreeMap<FirmwareGuid, String>;

/// Parses a list of GUID names: lines `GUID name` or `name = GUID` (such as a build's `Guid.xref`), module files
/// (`.inf`, `FILE_GUID` and `BASE_NAME`), package files (`.dec`, `gName = { 0x.., .. }`) and flash files (`.fdf`, `FILE
/// .. = GUID` and `UI = "name"`).
///
/// # Errors
/// The list has no GUID name. `name` is used in the message.
pub fn parse_guid_names(name: &str, bytes: &[u8]) -> Result<GuidNames, Error> {
    let names = parse(&text::decode(bytes));
    if names.is_empty() {
        return Err(Error::Schema {
            path: name.into(),
            reason: "no GUID names found; expected lines 'GUID name', or a .inf, .dec or .fdf file".to_owned(),
        });
    }
    Ok(names)
}

fn parse(list: &str) -> GuidNames {
    let mut names = GuidNames::new();
    let mut base_name = None;
    let mut file_guid = None;
    // GUID of the current file in a flash description, until its name follows.
    let mut flash_file = None;
    for line in list.lines() {
        let line = line.split_once('#').map_or(line, |(code, _)| code).trim();
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim(), value.trim());
            if key.eq_ignore_ascii_case("BASE_NAME") {
                base_name = Some(value.to_owned());
                continue;
            }
            if key.eq_ignore_ascii_case("FILE_GUID") {
                file_guid = FirmwareGuid::parse(value);
                continue;
            }
            if key.to_ascii_uppercase().starts_with("FILE ") {
                let guid = value.split(|letter: char| letter == '{' || letter.is_whitespace()).next();
                flash_file = guid.and_then(FirmwareGuid::parse);
                continue;
            }
            if key.eq_ignore_ascii_case("UI") || key.to_ascii_uppercase().ends_with(" UI") {
                if let Some(guid) = flash_file.take() {
                    insert(&mut names, guid, value);
                }
                continue;
            }
            if let Some(guid) = parse_structure(value) {
                insert(&mut names, guid, key);
                continue;
            }
        }
        if let Some((guid, name)) = parse_line(line) {
            insert(&mut names, guid, &name);
        }
    }
    if let (Some(guid), Some(name)) = (file_guid, base_name) {
        insert(&mut names, guid, &name);
    }
    names
}

fn insert(names: &mut GuidNames, guid: FirmwareGuid, name: &str) {
    let name = name.trim_matches(|letter: char| letter == '"' || letter.is_whitespace());
    if !name.is_empty() {
        names.insert(guid, name.to_owned());
    }
}

/// Parses `GUID name`, `name GUID`, `name = GUID`, or `GUID,name`.
fn parse_line(line: &str) -> Option<(FirmwareGuid, String)> {
    let is_separator = |letter: char| letter.is_whitespace() || matches!(letter, '=' | ',' | ';' | '"');
    let mut guid = None;
    let mut name = Vec::new();
    for word in line.split(is_separator).filter(|word| !word.is_empty()) {
        match FirmwareGuid::parse(word) {
            Some(found) if guid.is_none() => guid = Some(found),
            _ => name.push(word),
        }
    }
    Some((guid?, name.join(" ")))
}

/// Parses `{ 0x9b3ada4f, 0xae56, 0x4c24, { 0x8d, 0xea, 0xf0, 0x3b, 0x75, 0x58, 0xae, 0x50 }}`.
fn parse_structure(value: &str) -> Option<FirmwareGuid> {
    if !value.starts_with('{') {
        return None;
    }
    let mut numbers = value
        .split(|letter: char| letter.is_whitespace() || matches!(letter, '{' | '}' | ','))
        .filter(|word| !word.is_empty())
        .map(text::parse_number);
    let mut next = |max: u64| numbers.next().flatten().filter(|&number| number <= max);
    let mut guid = [0; 16];
    guid[..4].copy_from_slice(&u32::try_from(next(u32::MAX.into())?).ok()?.to_be_bytes());
    guid[4..6].copy_from_slice(&u16::try_from(next(u16::MAX.into())?).ok()?.to_be_bytes());
    guid[6..8].copy_from_slice(&u16::try_from(next(u16::MAX.into())?).ok()?.to_be_bytes());
    for byte in &mut guid[8..] {
        *byte = u8::try_from(next(u8::MAX.into())?).ok()?;
    }
    Some(FirmwareGuid(guid))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUID: &str = "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50";

    fn name_of_test_guid(list: &str) -> Option<String> {
        parse(list).remove(&FirmwareGuid::parse(GUID).unwrap())
    }

    #[test]
    fn parses_every_list_format() {
        for list in [
            format!("{GUID} PcdPeim"),
            format!("# a comment\n{GUID}, \"PcdPeim\"\n"),
            format!("PcdPeim = {GUID}"),
            format!("[Defines]\n  BASE_NAME = PcdPeim\n  FILE_GUID = {GUID} # comment\n"),
            format!("[Defines]\n  FILE_GUID = {GUID}\n  BASE_NAME = PcdPeim\n"),
            "[Guids]\n PcdPeim = { 0x9b3ada4f, 0xae56, 0x4c24, { 0x8d, 0xea, 0xf0, 0x3b, 0x75, 0x58, 0xae, 0x50 }}"
                .to_owned(),
            format!("FILE PEIM = {GUID} {{\n  SECTION PE32 = a.efi\n  SECTION UI = \"PcdPeim\"\n}}"),
        ] {
            assert_eq!(name_of_test_guid(&list).as_deref(), Some("PcdPeim"), "{list}");
        }
    }

    #[test]
    fn ignores_lines_without_guid_or_name() {
        assert_eq!(
            parse("no guid here\nname = { 0x1, 0x2 }\nx = { 0x1ffffffff, 1, 1, 1,1,1,1,1,1,1,1 }\n"),
            GuidNames::new()
        );
        assert_eq!(name_of_test_guid(GUID), None);
    }
}
