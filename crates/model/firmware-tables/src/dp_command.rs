//! Reads the output of EDK II's shell command `dp`: the summary, which has durations, and the raw trace (`dp -R`),
//! which has times.
//!
//! ```text
//! ==[ Major Phases ]========
//!   SEC Phase Duration:         1127 (us)
//!   PEI Phase Duration:         9974 (ms)
//!
//! ==[ RAW Trace ]========
//!     1:                0          44B7C8          99A012                              PEIM                       PcdPeim
//! ```
//!
//! The formats match `Dp.uni` in EDK II. Up to version 2.4 the raw trace has ticks of a timer whose frequency is
//! in the heading; since 2.5 it is read from the firmware's own table, in ns.

use onoff_trace::Severity;
use onoff_trace::firmware::{
    FirmwareDuration, FirmwareEdge, FirmwareEvent, FirmwareFormat, FirmwareGuid, FirmwareProblemKind, FirmwareWork,
};

use super::collector::{Boot, FirmwareTableCollector};

/// Maximum number of rows; firmware usually records about ten thousand.
const MAX_ROWS: usize = 1 << 18;
const CROSS_MODULE_CLASS: u16 = 0x50;
const IN_MODULE_CLASS: u16 = 0x40;
/// The phases in order.
const PHASES: [&str; 4] = ["SEC", "PEI", "DXE", "BDS"];
/// Width of the token and module columns of a raw trace, including leading spaces.
const RAW_COLUMN_WIDTH: usize = 33;
/// First version that reads the firmware's table, whose times are in ns.
const FIRST_TABLE_VERSION: (u32, u32) = (2, 5);

/// True if the text has a phase duration or a raw row below one of dp's headings.
pub(super) fn recognizes(text: &str) -> bool {
    let mut section = Section::None;
    text.lines().any(|line| {
        let line = strip_escapes(line);
        if let Some(title) = section_title(&line) {
            section = Section::from_title(title);
        }
        match section {
            Section::Phases => parse_phase(&line).is_some(),
            Section::Raw => parse_raw_row(&line).is_some(),
            Section::Handles | Section::Peims | Section::General | Section::All => {
                parse_duration(&line, section).is_some()
            }
            Section::None => false,
        }
    })
}

/// Section of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    None,
    Phases,
    Handles,
    Peims,
    General,
    All,
    Raw,
}

impl Section {
    fn from_title(title: &str) -> Self {
        match title {
            "Major Phases" => Self::Phases,
            "Drivers by Handle" => Self::Handles,
            "PEIMs" => Self::Peims,
            "General" => Self::General,
            "Sequential Trace Records" => Self::All,
            "RAW Trace" => Self::Raw,
            _ => Self::None,
        }
    }
}

/// Removes the cursor movements that a shell writes to a serial port.
fn strip_escapes(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                // `ESC [`, parameters, and a final letter.
                if characters.next() == Some('[') {
                    characters.by_ref().find(char::is_ascii_alphabetic);
                }
            }
            '\r' => {}
            _ => text.push(character),
        }
    }
    text
}

/// Returns the title in `==[ TITLE ]========`.
fn section_title(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("==[ ")?;
    let (title, after) = rest.split_once(" ]==")?;
    after.chars().all(|character| character == '=' || character.is_whitespace()).then_some(title)
}

fn parse_number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|&character| character != ',').collect();
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// Parses a phase and its duration, ns.
fn parse_phase(line: &str) -> Option<(&'static str, u64)> {
    let (name, rest) = line.trim().split_once(" Phase Duration:")?;
    let name = PHASES.into_iter().find(|phase| *phase == name.trim())?;
    let (duration, unit) = rest.trim().split_once(' ')?;
    let ns = match unit.trim() {
        "(us)" => 1_000,
        "(ms)" => 1_000_000,
        _ => return None,
    };
    Some((name, parse_number(duration)?.checked_mul(ns)?))
}

/// Decodes a token to the kind of work, its class, and the name to keep.
fn decode_token(token: &str) -> (FirmwareWork, u16, &str) {
    match token {
        "StartImage:" | "PEIM" => (FirmwareWork::EntryPoint, 1, ""),
        "LoadImage:" => (FirmwareWork::LoadImage, 3, ""),
        "DB:Start:" => (FirmwareWork::DriverStart, 5, ""),
        // Names are truncated to the width of their column.
        "DB:Support:" | "DB:Support" => (FirmwareWork::DriverSupport, 7, ""),
        "DB:Stop:" => (FirmwareWork::DriverStop, 9, ""),
        phase if PHASES.contains(&phase) => (FirmwareWork::CrossModule, CROSS_MODULE_CLASS, phase),
        token => (FirmwareWork::InModule, IN_MODULE_CLASS, token),
    }
}

/// A row of the raw trace.
struct RawRow<'l> {
    handle: u64,
    start: u64,
    /// Zero if the work did not end.
    end: u64,
    token: &'l str,
    module: &'l str,
}

fn parse_raw_row(line: &str) -> Option<RawRow<'_>> {
    let (index, mut rest) = line.split_once(':')?;
    parse_number(index.trim())?;
    let mut hexadecimal = || {
        let field = rest.trim_start();
        let (digits, after) = field.split_once(char::is_whitespace)?;
        // The space after a field belongs to the next column.
        rest = field.get(digits.len()..).unwrap_or(after);
        u64::from_str_radix(digits, 16).ok()
    };
    let (handle, start, end) = (hexadecimal()?, hexadecimal()?, hexadecimal()?);
    let is_single_field = |text: &str| !text.trim().is_empty() && !text.trim().contains("  ");
    let columns = rest.split_at_checked(RAW_COLUMN_WIDTH).filter(|(token, _)| is_single_field(token));
    let (token, module) = columns.or_else(|| rest.trim().split_once(char::is_whitespace))?;
    // `dp -i` adds an identifier column.
    let module = module.get(..RAW_COLUMN_WIDTH).filter(|module| is_single_field(module)).unwrap_or(module);
    Some(RawRow { handle, start, end, token: token.trim(), module: module.trim() })
}

/// Parses a row of a list to module, name of the work, and duration in ns.
fn parse_duration(line: &str, section: Section) -> Option<FirmwareDuration> {
    let (index, rest) = line.split_once(':')?;
    parse_number(index.trim())?;
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    let last_number = words.pop().and_then(parse_number)?;
    // With `dp -i` an identifier follows the time.
    let micros = match words.last().copied().and_then(parse_number) {
        Some(time) => {
            words.pop();
            time
        }
        None => last_number,
    };
    let token = words.pop()?;
    match section {
        Section::Handles => {
            let handle = words.first()?;
            // `[ 5C]` is two words, `[15C]` one.
            let handle_words = if handle.ends_with(']') { 1 } else { 2 };
            handle.starts_with('[').then(|| words.drain(..handle_words.min(words.len())))?;
        }
        Section::All => {
            if words.first() == Some(&"I") {
                return None;
            }
            words.first().filter(|handle| handle.starts_with("0x"))?;
            words.remove(0);
        }
        _ => {}
    }
    let (work, _, text) = decode_token(token);
    let duration_ns = i64::try_from(micros).ok()?.checked_mul(1_000)?;
    (work != FirmwareWork::CrossModule).then(|| FirmwareDuration {
        work,
        module: words.join(" "),
        text: text.to_owned(),
        duration_ns,
    })
}

/// The heading, which determines the unit of the raw trace's counts.
#[derive(Clone, Copy, Debug, Default)]
struct Heading {
    version: Option<(u32, u32)>,
    kilohertz: Option<u64>,
    counts_down: bool,
}

impl Heading {
    fn parse_line(&mut self, line: &str) {
        if let Some(version) = line.trim().strip_prefix("DP Build Version:") {
            let parts = version.trim().split_once('.');
            self.version = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        } else if let Some(rest) = line.trim().strip_prefix("System Performance Timer Frequency:") {
            self.kilohertz = rest.split_whitespace().next().and_then(parse_number).filter(|&kilohertz| kilohertz > 0);
        } else if line.trim().starts_with("System Performance Timer counts DOWN") {
            self.counts_down = true;
        }
    }

    /// Converts a count to ns; `None` if its unit is unknown.
    fn to_ns(self, count: u64) -> Option<u64> {
        if self.version.is_some_and(|version| version >= FIRST_TABLE_VERSION) {
            return Some(count);
        }
        // A timer that counts down starts at a value that the trace lacks.
        let kilohertz = self.kilohertz.filter(|_| self.version.is_some() && !self.counts_down)?;
        u64::try_from(u128::from(count) * 1_000_000 / u128::from(kilohertz)).ok()
    }
}

/// Adds the data in `text`.
pub(super) fn add(name: &str, text: &str, collector: &mut FirmwareTableCollector) {
    collector.add_input(name, FirmwareFormat::DpCommand);
    let mut reader =
        DpReader { name, collector, boot: Boot { from: name.to_owned(), ..Boot::default() }, rows: 0, unknown_unit: 0 };
    let mut section = Section::None;
    let mut heading = Heading::default();
    let mut phases: [Option<u64>; 4] = [None; 4];
    for line in text.lines() {
        let line = strip_escapes(line);
        if let Some(title) = section_title(&line) {
            section = Section::from_title(title);
            continue;
        }
        heading.parse_line(&line);
        match section {
            Section::Phases => {
                if let Some((phase, ns)) = parse_phase(&line) {
                    let index = PHASES.iter().position(|name| *name == phase);
                    if let Some(duration_ns) = index.and_then(|index| phases.get_mut(index)) {
                        *duration_ns = Some(ns);
                    }
                }
            }
            Section::Raw => {
                if let Some(row) = parse_raw_row(&line).filter(|_| reader.has_room()) {
                    reader.add_raw_row(&row, &heading);
                }
            }
            Section::Handles | Section::Peims | Section::General | Section::All => {
                if let Some(duration) = parse_duration(&line, section).filter(|_| reader.has_room()) {
                    reader.collector.add_duration(duration);
                }
            }
            Section::None => {}
        }
    }
    reader.finish(phases);
}

struct DpReader<'a> {
    name: &'a str,
    collector: &'a mut FirmwareTableCollector,
    boot: Boot,
    rows: usize,
    /// Number of raw rows without a known unit.
    unknown_unit: u64,
}

impl DpReader<'_> {
    fn has_room(&mut self) -> bool {
        self.rows += 1;
        self.rows <= MAX_ROWS
    }

    fn add_raw_row(&mut self, row: &RawRow<'_>, heading: &Heading) {
        let (Some(start_ns), Some(end_ns)) = (heading.to_ns(row.start), heading.to_ns(row.end)) else {
            self.unknown_unit += 1;
            return;
        };
        let (work, class, text) = decode_token(row.token);
        let edges = [(FirmwareEdge::Begin, start_ns), (FirmwareEdge::End, end_ns)];
        let edge_count = if row.end == 0 { 1 } else { 2 };
        for (edge, stored) in edges.into_iter().take(edge_count) {
            let Some(time_ns) = self.collector.time_ns(stored, "the time of a measurement", self.name) else { return };
            self.boot.events.push(FirmwareEvent {
                work,
                edge,
                class,
                time_ns,
                module: FirmwareGuid::default(),
                module_name: row.module.to_owned(),
                caller: None,
                handle: Some(row.handle).filter(|&handle| handle != 0),
                text: text.to_owned(),
                apic: 0,
            });
        }
    }

    fn finish(mut self, phases: [Option<u64>; 4]) {
        let has_times = !self.boot.events.is_empty();
        if !has_times {
            self.place_phases(phases);
        }
        // Rows are in the order of their starts, each followed by its end.
        self.boot.events.sort_by_key(|event| event.time_ns);
        if self.unknown_unit > 0 {
            let text = format!(
                "{} rows of the raw trace were skipped: the unit is unknown without dp's heading, which has its version and the timer frequency",
                self.unknown_unit
            );
            self.collector.add_problem(
                FirmwareProblemKind::DurationsOnly,
                Severity::Warning,
                self.name.to_owned(),
                text,
                0,
            );
        } else if !has_times {
            let text = "dp printed durations without start times, so phases are shown one after another from the reset; use 'dp -R' to print times".to_owned();
            self.collector.add_problem(
                FirmwareProblemKind::DurationsOnly,
                Severity::Notice,
                self.name.to_owned(),
                text,
                0,
            );
        }
        if self.rows > MAX_ROWS {
            let text = format!("more than {MAX_ROWS} rows; {} were skipped", self.rows - MAX_ROWS);
            self.collector.add_problem(
                FirmwareProblemKind::TooManyRecords,
                Severity::Error,
                self.name.to_owned(),
                text,
                0,
            );
        }
        self.collector.add_boot(self.boot);
    }

    /// Adds the phases one after another, each starting at the end of the previous one.
    fn place_phases(&mut self, phases: [Option<u64>; 4]) {
        let mut start_ns = 0_u64;
        for (phase, duration) in PHASES.into_iter().zip(phases) {
            let Some(duration) = duration else { continue };
            let edges = [(FirmwareEdge::Begin, start_ns), (FirmwareEdge::End, start_ns.saturating_add(duration))];
            for (edge, stored) in edges {
                let Some(time_ns) = self.collector.time_ns(stored, "the duration of a phase", self.name) else {
                    return;
                };
                self.boot.events.push(FirmwareEvent {
                    work: FirmwareWork::CrossModule,
                    edge,
                    class: CROSS_MODULE_CLASS,
                    time_ns,
                    module: FirmwareGuid::default(),
                    module_name: String::new(),
                    caller: None,
                    handle: None,
                    text: phase.to_owned(),
                    apic: 0,
                });
            }
            start_ns = start_ns.saturating_add(duration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_rows_of_each_list() {
        let handle = parse_duration(
            "   12:  [ 5C]                         FAT File System      DB:Start:        1520",
            Section::Handles,
        );
        let handle = handle.unwrap();
        assert_eq!((handle.work, handle.module.as_str()), (FirmwareWork::DriverStart, "FAT File System"));
        assert_eq!(handle.duration_ns, 1_520_000);
        let wide =
            parse_duration("  112:  [15C]   Usb Xhci Driver    StartImage:    7    3", Section::Handles).unwrap();
        assert_eq!((wide.module.as_str(), wide.duration_ns), ("Usb Xhci Driver", 7_000));
        let peim = "    3:    9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50   PEIM         412";
        assert_eq!(parse_duration(peim, Section::Peims).unwrap().module, "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50");
        let general = parse_duration(
            "   40:                  BdsDxe                     PlatformBoot       20311",
            Section::General,
        );
        let general = general.unwrap();
        assert_eq!((general.work, general.text.as_str()), (FirmwareWork::InModule, "PlatformBoot"));
        let all = "    9:   0x7E8C1018                              DiskIoDxe    StartImage:       88";
        assert_eq!(parse_duration(all, Section::All).unwrap().module, "DiskIoDxe");
        assert_eq!(parse_duration("    9: I 0x7E8C1018    DiskIoDxe    StartImage:       0", Section::All), None);
        // Titles, rulers and totals are not rows.
        for line in
            ["Index:  Handle     Driver Name     Description    Time(us)", "-------", "", "5:", "5: 7", "x: a b 7"]
        {
            assert_eq!(parse_duration(line, Section::General), None, "{line}");
        }
    }

    #[test]
    fn raw_rows_allow_spaces_in_names() {
        let token = format!("{:>33}", "DB:Start:");
        let module = format!("{:>33}", "FAT File System");
        let line =
            format!("{:5}: {:16X} {:16X} {:16X}{token}{module}", 7, 0x7E8C_1018_u64, 0x44B_7C8_u64, 0x99A_012_u64);
        let row = parse_raw_row(&line).unwrap();
        assert_eq!((row.handle, row.start, row.end), (0x7E8C_1018, 0x44B_7C8, 0x99A_012));
        assert_eq!((row.token, row.module), ("DB:Start:", "FAT File System"));
        // With an identifier, and with spaces collapsed by a terminal.
        let row = parse_raw_row(&format!("{line} {:5}", 42)).map(|row| (row.token.to_owned(), row.module.to_owned()));
        assert_eq!(row, Some(("DB:Start:".to_owned(), "FAT File System".to_owned())));
        let row = parse_raw_row("7: 7E8C1018 44B7C8 99A012 PEIM PcdPeim").unwrap();
        assert_eq!((row.token, row.module), ("PEIM", "PcdPeim"));
        for line in ["", "7: 7E8C1018 44B7C8", "7: x y z PEIM PcdPeim", "Index       Handle        Start Count"] {
            assert!(parse_raw_row(line).is_none(), "{line}");
        }
    }

    #[test]
    fn converts_counts_with_known_unit() {
        let convert = |lines: &[&str]| {
            let mut heading = Heading::default();
            lines.iter().for_each(|line| heading.parse_line(line));
            heading.to_ns(48_000)
        };
        let frequency = "System Performance Timer Frequency:      24,000 (KHz)";
        assert_eq!(convert(&["DP Build Version:       2.5", frequency]), Some(48_000));
        assert_eq!(convert(&["DP Build Version:       2.4", frequency]), Some(2_000_000));
        assert_eq!(convert(&[frequency]), None);
        assert_eq!(convert(&["DP Build Version:       2.4"]), None);
        let down = "System Performance Timer counts DOWN from 0xFFFFFF to 0x0";
        assert_eq!(convert(&["DP Build Version:       2.4", frequency, down]), None);
    }

    #[test]
    fn removes_cursor_movements() {
        assert_eq!(strip_escapes("\u{1b}[05;01H  SEC Phase\u{1b}[0m Duration:\r"), "  SEC Phase Duration:");
        assert_eq!(strip_escapes("\u{1b}"), "");
        assert_eq!(section_title("==[ Major Phases ]========"), Some("Major Phases"));
        assert_eq!(section_title("==[ x ]=====x"), None);
        assert_eq!(parse_phase("  PEI Phase Duration:       1234 (ms)"), Some(("PEI", 1_234_000_000)));
        assert_eq!(parse_phase("  PEI Phase Duration:       1234 (s)"), None);
    }
}
