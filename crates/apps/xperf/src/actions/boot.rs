//! `-a boot`: the summary of a boot as XML.

use std::path::PathBuf;

use crate::layouts::boot_xml::{self, BootXmlOptions};
use onoff_report::text;
use onoff_transitions::boot::{self, BootOptions};

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::Failure;

pub const ACTION: Action = Action {
    name: "boot",
    summary: "the summary of a boot: processes, phases, services, devices, policy (XML, ms)",
    help: "  -minCPUToShow N            no process below N % of an interval's processor time
  -maxFilesToShow N          no more than N files and N extensions per interval
  -expectedProcessesFile F   image names, one per line, of processes that are expected
  -minIntervalToShow N       no driver or device operation shorter than N µs [default: 10]
  -userShellExecutable NAME  the user's shell [default: explorer.exe]",
    ..Action::of(parse)
};

fn parse(words: &mut Words) -> Result<Question, Failure> {
    let mut options = BootOptions::default();
    let mut document = BootXmlOptions { min_device_ns: 10_000, ..BootXmlOptions::default() };
    while let Some(option) = words.option()? {
        match option.as_str() {
            "mincputoshow" => {
                document.min_cpu_percent = words.number(&option)?;
                if !(0.0..=100.0).contains(&document.min_cpu_percent) {
                    return Err(usage("-minCPUToShow: a percentage is from 0 to 100"));
                }
            }
            "maxfilestoshow" => document.max_files = Some(words.number(&option)?),
            "minintervaltoshow" => {
                let microseconds: u32 = words.number(&option)?;
                document.min_device_ns = i64::from(microseconds) * 1_000;
            }
            "expectedprocessesfile" => {
                options.expected_processes = names_in(&words.path(&option)?)?;
            }
            "usershellexecutable" => options.shell = words.text(&option, "an image name")?,
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    Ok(Question::tables(boot::TABLES, move |trace, out| {
        let report =
            boot::analyze(trace, &options).map_err(|answer| Failure::NothingToAnswer(text::boot::no_boot(&answer)))?;
        Ok(boot_xml::write(&report, &document, out)?)
    }))
}

/// Names in a text file, one per line, in UTF-8 or, as Windows' own editors may save it, UTF-16.
fn names_in(path: &PathBuf) -> Result<Vec<String>, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::Unreadable(format!("-expectedProcessesFile: {}: {error}", path.display())))?;
    Ok(text_of(&bytes).lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn text_of(bytes: &[u8]) -> String {
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
    fn names_are_read_in_any_encoding_of_windows() {
        assert_eq!(text_of(b"a.exe\r\nb.exe"), "a.exe\r\nb.exe");
        assert_eq!(text_of(b"\xef\xbb\xbfa.exe"), "a.exe");
        assert_eq!(text_of(b"\xff\xfea\0.\0"), "a.");
        assert_eq!(text_of(b"\xfe\xff\0a\0."), "a.");
    }
}
