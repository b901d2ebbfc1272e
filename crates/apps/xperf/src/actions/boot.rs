//! `-a boot`: summary of a boot as XML.

use std::path::PathBuf;

use crate::layouts::boot_xml::{self, BootXmlOptions};
use onoff_report::text;
use onoff_transitions::boot::{self, BootOptions};

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "boot",
    summary: "summary of a boot: processes, phases, services, devices, Group Policy (XML, ms)",
    help: "  -minCPUToShow N            hide processes below N % of an interval's CPU time
  -maxFilesToShow N          show at most N files and N extensions per interval
  -expectedProcessesFile F   file with the image names of expected processes, one per line
  -minIntervalToShow N       hide driver and device operations shorter than N µs [default: 10]
  -userShellExecutable NAME  the user's shell [default: explorer.exe]",
    ..Action::with_parser(parse)
};

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut options = BootOptions::default();
    let mut xml_options = BootXmlOptions { min_device_ns: 10_000, ..BootXmlOptions::default() };
    while let Some(option) = words.option()? {
        match option.as_str() {
            "mincputoshow" => {
                xml_options.min_cpu_percent = words.number(&option)?;
                if !(0.0..=100.0).contains(&xml_options.min_cpu_percent) {
                    return Err(usage("-minCPUToShow: write a percentage from 0 to 100"));
                }
            }
            "maxfilestoshow" => xml_options.max_files = Some(words.number(&option)?),
            "minintervaltoshow" => {
                let microseconds: u32 = words.number(&option)?;
                xml_options.min_device_ns = i64::from(microseconds) * 1_000;
            }
            "expectedprocessesfile" => {
                options.expected_processes = read_names(&words.path(&option)?)?;
            }
            "usershellexecutable" => options.shell = words.text(&option, "an image name")?,
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Query::tables(boot::TABLES, move |trace, out| {
        let report =
            boot::analyze(trace, &options).map_err(|error| Failure::Unanswerable(text::boot::no_boot(&error)))?;
        Ok(boot_xml::write(&report, &xml_options, out)?)
    }))
}

/// Reads names from a text file, one per line, in UTF-8 or UTF-16 (Windows editors write both).
fn read_names(path: &PathBuf) -> Result<Vec<String>, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::Unreadable(format!("-expectedProcessesFile: {}: {error}", path.display())))?;
    Ok(decode(&bytes).lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn decode(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], number: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| number([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_utf8_and_utf16() {
        assert_eq!(decode(b"a.exe\r\nb.exe"), "a.exe\r\nb.exe");
        assert_eq!(decode(b"\xef\xbb\xbfa.exe"), "a.exe");
        assert_eq!(decode(b"\xff\xfea\0.\0"), "a.");
        assert_eq!(decode(b"\xfe\xff\0a\0."), "a.");
    }
}
