//! Reads failures of services from the events of the service manager.
//!
//! Names in the parameters are display names in the language of that Windows; the short name is in the binary data, as
//! UTF-16.

use onoff_event_log::Record;
use onoff_trace::{ServiceFailure, ServiceFailureKind as Kind, ServiceFailures};

use super::super::texts::Texts;
use super::events::SERVICE_MANAGER;

/// Maximum time that the service manager waits, ms: a day.
const MAX_WAIT_MS: u64 = 24 * 3_600 * 1_000;
/// Maximum length of a name, UTF-16 units; Windows allows 256.
const MAX_NAME_LEN: usize = 1024;

/// Builds the table from the records of a boot, each with its time on the axis.
pub(super) fn table(records: &[(i64, &Record)], texts: &mut Texts) -> ServiceFailures {
    let mut rows = Vec::new();
    for &(time_ns, record) in records {
        if record.provider != SERVICE_MANAGER {
            continue;
        }
        let parameter = |number: usize| record.text(PARAMETERS.get(number)?).filter(|text| !text.is_empty());
        let (kind, name, code) = match record.id {
            7000 => (Kind::StartFailed, parameter(0), parameter(1)),
            7001 => (Kind::DependencyFailed, parameter(0), parameter(2)),
            7009 => (Kind::ConnectTimeout, parameter(1), None),
            7011 => (Kind::ResponseTimeout, parameter(1), None),
            7022 => (Kind::StartHung, parameter(0), None),
            7023 | 7024 => (Kind::StoppedWithError, parameter(0), parameter(1)),
            7026 => (Kind::DriverNotLoaded, parameter(0), None),
            7031 | 7034 => (Kind::Terminated, parameter(0), None),
            7043 => (Kind::StopTimeout, parameter(0), None),
            _ => continue,
        };
        let Some(name) = name else { continue };
        let mut row = ServiceFailure {
            time_ns,
            kind,
            error_code: code.and_then(error_code),
            event: texts.display(format_args!("{}/{}", record.provider, record.id)),
            ..ServiceFailure::UNKNOWN
        };
        if kind == Kind::DriverNotLoaded {
            // One record lists all drivers.
            for driver in name.split_ascii_whitespace() {
                rows.push(ServiceFailure { service: texts.str(driver), ..row });
            }
            continue;
        }
        if matches!(record.id, 7009 | 7011) {
            let wait_ms = parameter(0).and_then(|ms| ms.parse::<u64>().ok()).filter(|&ms| ms <= MAX_WAIT_MS);
            row.wait_ns = wait_ms.map(|ms| ms as i64 * 1_000_000);
        }
        if kind == Kind::DependencyFailed {
            row.dependency = texts.str(parameter(1).unwrap_or_default());
        }
        let short_name = record.text("Binary").and_then(short_name).unwrap_or_else(|| name.to_owned());
        row.service = texts.str(&short_name);
        row.display_name = texts.str(name);
        rows.push(row);
    }
    rows.into_iter().collect()
}

const PARAMETERS: [&str; 3] = ["param1", "param2", "param3"];

/// Parses `%%1053`, or a number alone.
fn error_code(text: &str) -> Option<u32> {
    let number: i64 = text.trim_start_matches("%%").split(' ').next()?.parse().ok()?;
    // Negative numbers are codes such as 0x80070002 shown as signed.
    u32::try_from(number).ok().or_else(|| i32::try_from(number).ok().map(i32::cast_unsigned))
}

/// Decodes the short name: UTF-16 as hexadecimal digits, up to its end or to the `/` before a state.
fn short_name(hexadecimal: &str) -> Option<String> {
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    let (quads, _) = hexadecimal.as_bytes().as_chunks::<4>();
    let mut units: Vec<u16> = Vec::new();
    for &[low_high, low_low, high_high, high_low] in quads.iter().take(MAX_NAME_LEN) {
        let low = nibble(low_high)? << 4 | nibble(low_low)?;
        let high = nibble(high_high)? << 4 | nibble(high_low)?;
        match u16::try_from(high << 8 | low).ok()? {
            0 => break,
            unit => units.push(unit),
        }
    }
    let name = String::from_utf16(&units).ok()?;
    let name = name.split('/').next().unwrap_or_default();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_decoded() {
        let codes = ["%%1053", "1058", "%%-2147024894", "%%2147942402", "denied", ""].map(error_code);
        assert_eq!(codes, [Some(1053), Some(1058), Some(0x8007_0002), Some(0x8007_0002), None, None]);
        assert_eq!(short_name("770075006100750073006500720076000000").as_deref(), Some("wuauserv"));
        assert_eq!(short_name("420049005400530000").as_deref(), Some("BITS"));
        assert_eq!(short_name("4200490054005300 2F003400").as_deref(), None);
        assert_eq!(short_name("42004900540053002F0034000000").as_deref(), Some("BITS"));
        assert_eq!(["", "00", "zz00"].map(short_name), [None, None, None]);
    }
}
