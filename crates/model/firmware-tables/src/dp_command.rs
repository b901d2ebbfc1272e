//! What EDK II's shell command `dp` prints: the phases and the lists of its summary, which hold lengths, and its raw
//! trace (`dp -R`), which holds moments.
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
//! The formats are those of `Dp.uni` in EDK II. Up to version 2.4 the raw trace counts ticks of a timer whose frequency
//! the heading names; from 2.5 on it is read from the firmware's own table, in ns.

use onoff_trace::Severity;
use onoff_trace::firmware::{
    FirmwareEdge, FirmwareEvent, FirmwareFaultKind, FirmwareForm, FirmwareGuid, FirmwareLength, FirmwareWork,
};

use super::gathering::{Boot, Gathering};

/// Rows that are kept, at most: firmware measures some ten thousand.
const MAX_ROWS: usize = 1 << 18;
const BETWEEN_MODULES: u16 = 0x50;
const INSIDE_A_MODULE: u16 = 0x40;
/// The phases in their order.
const PHASES: [&str; 4] = ["SEC", "PEI", "DXE", "BDS"];
/// Columns of a raw trace's token and module, with the blanks before them.
const RAW_COLUMN: usize = 33;
/// The version that reads the firmware's table, whose times are ns.
const READS_TABLE: (u32, u32) = (2, 5);

/// Whether a text is such an output: a phase's length or a raw row below one of its headings.
pub(super) fn is_it(text: &str) -> bool {
    let mut section = Section::None;
    text.lines().any(|line| {
        let line = plain(line);
        if let Some(title) = heading(&line) {
            section = Section::of(title);
        }
        match section {
            Section::Phases => phase(&line).is_some(),
            Section::Raw => raw_row(&line).is_some(),
            Section::Handles | Section::Peims | Section::General | Section::All => length(&line, section).is_some(),
            Section::None => false,
        }
    })
}

/// The part of the output that a line belongs to.
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
    fn of(title: &str) -> Self {
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

/// A line without the cursor movements that a shell writes to a serial port.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                // `ESC [`, parameters, and a letter that ends it.
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

/// The title in `==[ TITLE ]========`.
fn heading(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("==[ ")?;
    let (title, after) = rest.split_once(" ]==")?;
    after.chars().all(|character| character == '=' || character.is_whitespace()).then_some(title)
}

fn number(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|&character| character != ',').collect();
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// A phase and its length, ns.
fn phase(line: &str) -> Option<(&'static str, u64)> {
    let (name, rest) = line.trim().split_once(" Phase Duration:")?;
    let name = PHASES.into_iter().find(|phase| *phase == name.trim())?;
    let (length, unit) = rest.trim().split_once(' ')?;
    let ns = match unit.trim() {
        "(us)" => 1_000,
        "(ms)" => 1_000_000,
        _ => return None,
    };
    Some((name, number(length)?.checked_mul(ns)?))
}

/// Kind of work, its class, and the name that is kept of a token.
fn work(token: &str) -> (FirmwareWork, u16, &str) {
    match token {
        "StartImage:" | "PEIM" => (FirmwareWork::EntryPoint, 1, ""),
        "LoadImage:" => (FirmwareWork::LoadImage, 3, ""),
        "DB:Start:" => (FirmwareWork::DriverStart, 5, ""),
        // Names are cut to the width of their column.
        "DB:Support:" | "DB:Support" => (FirmwareWork::DriverSupport, 7, ""),
        "DB:Stop:" => (FirmwareWork::DriverStop, 9, ""),
        phase if PHASES.contains(&phase) => (FirmwareWork::CrossModule, BETWEEN_MODULES, phase),
        token => (FirmwareWork::InModule, INSIDE_A_MODULE, token),
    }
}

/// A row of the raw trace.
struct RawRow<'l> {
    handle: u64,
    start: u64,
    /// Zero for work that did not end.
    end: u64,
    token: &'l str,
    module: &'l str,
}

fn raw_row(line: &str) -> Option<RawRow<'_>> {
    let (index, mut rest) = line.split_once(':')?;
    number(index.trim())?;
    let mut hexadecimal = || {
        let field = rest.trim_start();
        let (digits, after) = field.split_once(char::is_whitespace)?;
        // The blank that ends a field is the first of the next column.
        rest = field.get(digits.len()..).unwrap_or(after);
        u64::from_str_radix(digits, 16).ok()
    };
    let (handle, start, end) = (hexadecimal()?, hexadecimal()?, hexadecimal()?);
    let whole = |text: &str| !text.trim().is_empty() && !text.trim().contains("  ");
    let columns = rest.split_at_checked(RAW_COLUMN).filter(|(token, _)| whole(token));
    let (token, module) = columns.or_else(|| rest.trim().split_once(char::is_whitespace))?;
    // `dp -i` adds an identifier in a column of its own.
    let module = module.get(..RAW_COLUMN).filter(|module| whole(module)).unwrap_or(module);
    Some(RawRow { handle, start, end, token: token.trim(), module: module.trim() })
}

/// A row of one of the lists: module, name of the work, and length in ns.
fn length(line: &str, section: Section) -> Option<FirmwareLength> {
    let (index, rest) = line.split_once(':')?;
    number(index.trim())?;
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    let micros = words.pop().and_then(number)?;
    // With `dp -i` an identifier follows the time.
    let micros = match words.last().copied().and_then(number) {
        Some(time) => {
            words.pop();
            time
        }
        None => micros,
    };
    let token = words.pop()?;
    match section {
        Section::Handles => {
            let handle = words.first()?;
            // `[ 5C]` is two words, `[15C]` one.
            let taken = if handle.ends_with(']') { 1 } else { 2 };
            handle.starts_with('[').then(|| words.drain(..taken.min(words.len())))?;
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
    let (work, _, text) = work(token);
    let duration_ns = i64::try_from(micros).ok()?.checked_mul(1_000)?;
    (work != FirmwareWork::CrossModule).then(|| FirmwareLength {
        work,
        module: words.join(" "),
        text: text.to_owned(),
        duration_ns,
    })
}

/// The unit of a raw trace's counts.
#[derive(Clone, Copy, Debug, Default)]
struct Heading {
    version: Option<(u32, u32)>,
    kilohertz: Option<u64>,
    down: bool,
}

impl Heading {
    fn see(&mut self, line: &str) {
        if let Some(version) = line.trim().strip_prefix("DP Build Version:") {
            let parts = version.trim().split_once('.');
            self.version = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        } else if let Some(rest) = line.trim().strip_prefix("System Performance Timer Frequency:") {
            self.kilohertz = rest.split_whitespace().next().and_then(number).filter(|&kilohertz| kilohertz > 0);
        } else if line.trim().starts_with("System Performance Timer counts DOWN") {
            self.down = true;
        }
    }

    /// A count as ns; `None` where its unit is not known.
    fn ns(&self, count: u64) -> Option<u64> {
        if self.version.is_some_and(|version| version >= READS_TABLE) {
            return Some(count);
        }
        // A timer that counts down starts at a value that is not printed with the trace.
        let kilohertz = self.kilohertz.filter(|_| self.version.is_some() && !self.down)?;
        u64::try_from(u128::from(count) * 1_000_000 / u128::from(kilohertz)).ok()
    }
}

/// Adds what `text` says.
pub(super) fn add(name: &str, text: &str, gathering: &mut Gathering) {
    gathering.input(name, FirmwareForm::DpCommand);
    let mut reading =
        Reading { name, gathering, boot: Boot { from: name.to_owned(), ..Boot::default() }, rows: 0, unplaced: 0 };
    let mut section = Section::None;
    let mut heading = Heading::default();
    let mut phases: [Option<u64>; 4] = [None; 4];
    for line in text.lines() {
        let line = plain(line);
        if let Some(title) = self::heading(&line) {
            section = Section::of(title);
            continue;
        }
        heading.see(&line);
        match section {
            Section::Phases => {
                if let Some((phase, ns)) = phase(&line) {
                    let slot = PHASES.iter().position(|name| *name == phase).and_then(|at| phases.get_mut(at));
                    slot.into_iter().for_each(|slot| *slot = Some(ns));
                }
            }
            Section::Raw => {
                if let Some(row) = raw_row(&line).filter(|_| reading.has_room()) {
                    reading.raw(&row, &heading);
                }
            }
            Section::Handles | Section::Peims | Section::General | Section::All => {
                if let Some(length) = length(&line, section).filter(|_| reading.has_room()) {
                    reading.gathering.length(length);
                }
            }
            Section::None => {}
        }
    }
    reading.finish(phases);
}

struct Reading<'a> {
    name: &'a str,
    gathering: &'a mut Gathering,
    boot: Boot,
    rows: usize,
    /// Raw rows whose counts have no known unit.
    unplaced: u64,
}

impl Reading<'_> {
    fn has_room(&mut self) -> bool {
        self.rows += 1;
        self.rows <= MAX_ROWS
    }

    fn raw(&mut self, row: &RawRow<'_>, heading: &Heading) {
        let (Some(start_ns), Some(end_ns)) = (heading.ns(row.start), heading.ns(row.end)) else {
            self.unplaced += 1;
            return;
        };
        let (work, class, text) = work(row.token);
        let edges = [(FirmwareEdge::Begin, start_ns), (FirmwareEdge::End, end_ns)];
        let ended = if row.end == 0 { 1 } else { 2 };
        for (edge, stored) in edges.into_iter().take(ended) {
            let Some(time_ns) = self.gathering.time_ns(stored, "a measurement's time", self.name) else { return };
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
        let measured = !self.boot.events.is_empty();
        if !measured {
            self.place(phases);
        }
        // Rows come in the order of their starts, each with its end.
        self.boot.events.sort_by_key(|event| event.time_ns);
        if self.unplaced > 0 {
            let text = format!(
                "the unit of {} counts of the raw trace is not known: the text lacks dp's heading with its version and the timer's frequency; they are left out",
                self.unplaced
            );
            self.gathering.fault(FirmwareFaultKind::LengthsOnly, Severity::Warning, self.name.to_owned(), text, 0);
        } else if !measured {
            let text = "dp printed lengths and no moments: phases are shown one after the other from the reset; 'dp -R' prints the moments".to_owned();
            self.gathering.fault(FirmwareFaultKind::LengthsOnly, Severity::Notice, self.name.to_owned(), text, 0);
        }
        if self.rows > MAX_ROWS {
            let text = format!("more than {MAX_ROWS} rows; {} are not read", self.rows - MAX_ROWS);
            self.gathering.fault(FirmwareFaultKind::TooManyRecords, Severity::Error, self.name.to_owned(), text, 0);
        }
        self.gathering.boot(self.boot);
    }

    /// The phases, one after the other: each starts where the one before it ends.
    fn place(&mut self, phases: [Option<u64>; 4]) {
        let mut at = 0_u64;
        for (phase, length) in PHASES.into_iter().zip(phases) {
            let Some(length) = length else { continue };
            let ends = [(FirmwareEdge::Begin, at), (FirmwareEdge::End, at.saturating_add(length))];
            for (edge, stored) in ends {
                let Some(time_ns) = self.gathering.time_ns(stored, "a phase's length", self.name) else { return };
                self.boot.events.push(FirmwareEvent {
                    work: FirmwareWork::CrossModule,
                    edge,
                    class: BETWEEN_MODULES,
                    time_ns,
                    module: FirmwareGuid::default(),
                    module_name: String::new(),
                    caller: None,
                    handle: None,
                    text: phase.to_owned(),
                    apic: 0,
                });
            }
            at = at.saturating_add(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_each_list() {
        let handle = length(
            "   12:  [ 5C]                         FAT File System      DB:Start:        1520",
            Section::Handles,
        );
        let handle = handle.unwrap();
        assert_eq!((handle.work, handle.module.as_str()), (FirmwareWork::DriverStart, "FAT File System"));
        assert_eq!(handle.duration_ns, 1_520_000);
        let wide = length("  112:  [15C]   Usb Xhci Driver    StartImage:    7    3", Section::Handles).unwrap();
        assert_eq!((wide.module.as_str(), wide.duration_ns), ("Usb Xhci Driver", 7_000));
        let peim = "    3:    9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50   PEIM         412";
        assert_eq!(length(peim, Section::Peims).unwrap().module, "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50");
        let general =
            length("   40:                  BdsDxe                     PlatformBoot       20311", Section::General);
        let general = general.unwrap();
        assert_eq!((general.work, general.text.as_str()), (FirmwareWork::InModule, "PlatformBoot"));
        let all = "    9:   0x7E8C1018                              DiskIoDxe    StartImage:       88";
        assert_eq!(length(all, Section::All).unwrap().module, "DiskIoDxe");
        assert_eq!(length("    9: I 0x7E8C1018    DiskIoDxe    StartImage:       0", Section::All), None);
        // Titles, rulers and totals are no rows.
        for line in
            ["Index:  Handle     Driver Name     Description    Time(us)", "-------", "", "5:", "5: 7", "x: a b 7"]
        {
            assert_eq!(length(line, Section::General), None, "{line}");
        }
    }

    #[test]
    fn raw_rows_keep_names_with_blanks() {
        let token = format!("{:>33}", "DB:Start:");
        let module = format!("{:>33}", "FAT File System");
        let line =
            format!("{:5}: {:16X} {:16X} {:16X}{token}{module}", 7, 0x7E8C_1018_u64, 0x44B_7C8_u64, 0x99A_012_u64);
        let row = raw_row(&line).unwrap();
        assert_eq!((row.handle, row.start, row.end), (0x7E8C_1018, 0x44B_7C8, 0x99A_012));
        assert_eq!((row.token, row.module), ("DB:Start:", "FAT File System"));
        // With an identifier behind, and with the blanks squeezed by a terminal.
        let row = raw_row(&format!("{line} {:5}", 42)).map(|row| (row.token.to_owned(), row.module.to_owned()));
        assert_eq!(row, Some(("DB:Start:".to_owned(), "FAT File System".to_owned())));
        let row = raw_row("7: 7E8C1018 44B7C8 99A012 PEIM PcdPeim").unwrap();
        assert_eq!((row.token, row.module), ("PEIM", "PcdPeim"));
        for line in ["", "7: 7E8C1018 44B7C8", "7: x y z PEIM PcdPeim", "Index       Handle        Start Count"] {
            assert!(raw_row(line).is_none(), "{line}");
        }
    }

    #[test]
    fn counts_have_a_unit_or_none() {
        let of = |lines: &[&str]| {
            let mut heading = Heading::default();
            lines.iter().for_each(|line| heading.see(line));
            heading.ns(48_000)
        };
        let frequency = "System Performance Timer Frequency:      24,000 (KHz)";
        assert_eq!(of(&["DP Build Version:       2.5", frequency]), Some(48_000));
        assert_eq!(of(&["DP Build Version:       2.4", frequency]), Some(2_000_000));
        assert_eq!(of(&[frequency]), None);
        assert_eq!(of(&["DP Build Version:       2.4"]), None);
        let down = "System Performance Timer counts DOWN from 0xFFFFFF to 0x0";
        assert_eq!(of(&["DP Build Version:       2.4", frequency, down]), None);
    }

    #[test]
    fn cursor_movements_are_no_text() {
        assert_eq!(plain("\u{1b}[05;01H  SEC Phase\u{1b}[0m Duration:\r"), "  SEC Phase Duration:");
        assert_eq!(plain("\u{1b}"), "");
        assert_eq!(heading("==[ Major Phases ]========"), Some("Major Phases"));
        assert_eq!(heading("==[ x ]=====x"), None);
        assert_eq!(phase("  PEI Phase Duration:       1234 (ms)"), Some(("PEI", 1_234_000_000)));
        assert_eq!(phase("  PEI Phase Duration:       1234 (s)"), None);
    }
}
