//! An installation that is not running, for a person: the answer, what to change, services, write filter, what starts, what was read.

use std::io::{self, Write};

use onoff_analysis::image::{ImageComparison, ImageReport, OverlayGrowth, OverlayKind, ServiceEntry, WriteFilter};
use onoff_findings::finding::FindingSeverity;
use onoff_findings::image::{ImageAnswer, ImageAudit, UnreadableHive};
use onoff_findings::protected::guard;

use super::bar::sparkline;
use super::printable::printable;
use super::quantity::{count, counted, duration, percent, second_or_dash, size};
use super::style::{DOUBT, HEADLINE, QUIET, TITLE, WORST};
use super::table::{Table, cell, styled_cell};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageTextOptions {
    /// Rows of each list, 0 for all.
    pub top: usize,
}

/// Evidence shown for each finding.
const MOST_EVIDENCE: usize = 4;

/// Writes the answer.
///
/// # Errors
/// What `out` answers.
pub fn write(answer: &ImageAnswer, options: &ImageTextOptions, out: &mut dyn Write) -> io::Result<()> {
    let ImageAnswer { image: report, audit, overlay, unreadable } = answer;
    let rows = if options.top == 0 { usize::MAX } else { options.top };
    headline(report, audit, out)?;
    findings(audit, rows, out)?;
    filters(report, out)?;
    if let Some(growth) = overlay {
        write_overlay(growth, rows, out)?;
    }
    services(report, rows, out)?;
    starts(report, rows, out)?;
    boot_menu(report, out)?;
    not_applicable(audit, out)?;
    hives(report, out)?;
    for file in unreadable {
        writeln!(out, "  {DOUBT}not read: {}: {}{DOUBT:#}", printable(&file.name), printable(&file.reason))?;
    }
    Ok(())
}

fn title(text: &str, note: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{TITLE}{text}{TITLE:#}{}{QUIET}{note}{QUIET:#}", if note.is_empty() { "" } else { "  " })
}

fn more(all: usize, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    match all.checked_sub(rows) {
        None | Some(0) => Ok(()),
        Some(left) => writeln!(out, "  {QUIET}and {} more; --top 0 shows all{QUIET:#}", count(left as u64)),
    }
}

fn headline(report: &ImageReport, audit: &ImageAudit, out: &mut dyn Write) -> io::Result<()> {
    let windows = match (report.windows.as_str(), report.build.as_str()) {
        ("", _) => "Windows".to_owned(),
        (name, "") => name.to_owned(),
        (name, build) => format!("{name} (build {build})"),
    };
    let computer = if report.computer.is_empty() { String::new() } else { format!(" on {}", report.computer) };
    let serious = audit.findings.iter().filter(|finding| finding.severity >= FindingSeverity::Moderate).count() as u64;
    writeln!(
        out,
        "{HEADLINE}{}{}: {} of {} rules.{HEADLINE:#}",
        printable(&windows),
        printable(&computer),
        counted(audit.findings.len() as u64, "finding"),
        count(audit.checked)
    )?;
    if serious > 0 {
        writeln!(out, "{} can cost noticeable time at each boot.", count(serious))?;
    }
    let counts = &report.counts;
    if !report.services.is_empty() {
        writeln!(
            out,
            "{} start at each boot ({} delayed, {} with a trigger, {} in a load-order group, {} outside the Windows folder); \
             the loader reads {} ({} critical).",
            counted(counts.auto, "service"),
            count(counts.delayed),
            count(counts.trigger),
            count(counts.in_group),
            count(counts.outside_windows),
            counted(counts.boot_start, "driver"),
            count(counts.critical_boot_start)
        )?;
    }
    Ok(())
}

fn findings(audit: &ImageAudit, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if audit.findings.is_empty() {
        writeln!(out)?;
        return writeln!(out, "{QUIET}No findings.{QUIET:#}");
    }
    title("What to change", "what matters most first; costs are not known before a boot is recorded", out)?;
    for finding in audit.findings.iter().take(rows) {
        let style = if finding.severity == FindingSeverity::High { WORST } else { TITLE };
        writeln!(
            out,
            "  {style}{}{style:#}  {QUIET}{}, {}{QUIET:#}",
            printable(&finding.title),
            finding.severity.as_str(),
            finding.code
        )?;
        writeln!(out, "    {}", printable(&finding.advice))?;
        for evidence in finding.evidence.iter().take(MOST_EVIDENCE) {
            writeln!(out, "    {QUIET}{}{QUIET:#}", printable(&evidence.text))?;
        }
        let left = finding.evidence.len().saturating_sub(MOST_EVIDENCE);
        if left > 0 {
            writeln!(out, "    {QUIET}and {left} more in --format json{QUIET:#}")?;
        }
    }
    more(audit.findings.len(), rows, out)
}

fn state(filter: &WriteFilter) -> String {
    let now = match filter.is_on {
        Some(true) => "on",
        Some(false) => "off",
        None => "installed; whether it is on is not in the registry",
    };
    match filter.is_on_next {
        Some(true) => format!("{now}; on after the next restart"),
        Some(false) => format!("{now}; off after the next restart"),
        None => now.to_owned(),
    }
}

fn filters(report: &ImageReport, out: &mut dyn Write) -> io::Result<()> {
    for filter in &report.write_filters {
        title(&format!("Write filter: {}", filter.kind.as_str()), &state(filter), out)?;
        let overlay = match filter.overlay {
            OverlayKind::Ram => "in memory",
            OverlayKind::Disk => "on the disk",
            OverlayKind::Unknown => "not known where",
        };
        let most = filter.most_bytes.map_or_else(String::new, |bytes| format!(", at most {}", size(bytes)));
        let warning = filter.warning_bytes.map_or_else(String::new, |bytes| format!(", warning from {}", size(bytes)));
        writeln!(out, "  Overlay {overlay}{most}{warning}.")?;
        for volume in &filter.volumes {
            let protected = match volume.is_protected {
                Some(true) => "protected",
                Some(false) => "not protected",
                None => "not known whether protected",
            };
            let exclusions = match volume.exclusions.as_slice() {
                [] => String::new(),
                some => format!("; not filtered: {}", some.join(", ")),
            };
            writeln!(out, "  {}: {protected}{}.", printable(&volume.name), printable(&exclusions))?;
        }
        if filter.is_on == Some(true) {
            writeln!(
                out,
                "  While it is on, Windows turns off: hibernation and with it fast startup, paging files, SuperFetch, defragmentation, \
                 indexing, system restore."
            )?;
            writeln!(
                out,
                "  The trade-off: the volume stays as it is and survives power cuts, and each boot is a full one. A paper measured 41.3 s with \
                 UWF and 23.9 s with fast startup (Windows 10 2016), 49.2 s and 28.1 s (2021): 14.7 to 21.2 s more for each boot on an Intel N3350."
            )?;
        }
    }
    Ok(())
}

fn write_overlay(growth: &OverlayGrowth, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    title("The overlay with the writes of the recording", "a cluster counts when it is written first", out)?;
    let rate = growth.bytes_per_hour.map_or_else(
        || "how fast it grows is not known: the recording is shorter than a second".to_owned(),
        |rate| format!("{} an hour in its last third", size(rate.max(0.0) as u64)),
    );
    writeln!(out, "  {} at the end of the recording; {rate}.", size(growth.bytes))?;
    let points: Vec<u64> = growth.curve.iter().map(|point| point.bytes).collect();
    writeln!(out, "  {}", sparkline(&points))?;
    for (what, time) in [("warns", growth.warning_in_ns), ("is full", growth.full_in_ns)] {
        if let Some(ns) = time {
            writeln!(out, "  At that rate it {what} after {}.", duration(ns))?;
        }
    }
    if growth.most_bytes.is_none() {
        writeln!(out, "  {QUIET}When it is full is not known: give --overlay-size.{QUIET:#}")?;
    }
    if growth.excluded_bytes > 0 {
        writeln!(out, "  Exclusions keep {} out of it.", size(growth.excluded_bytes))?;
    }
    if growth.prefetch_percent > 0.0 {
        writeln!(out, "  \\Windows\\Prefetch has {} of it.", percent(growth.prefetch_percent))?;
    }
    if growth.is_cut {
        writeln!(out, "  {DOUBT}There were more clusters than are told apart: the growth is larger.{DOUBT:#}")?;
    }
    for (heading, owners) in
        [("folder (what excluding it saves)", &growth.folders), ("file", &growth.files), ("program", &growth.processes)]
    {
        writeln!(out)?;
        let mut table = Table::new().left(heading, 72).right("new").right("written");
        for owner in owners.iter().filter(|owner| owner.new_bytes > 0).take(rows) {
            let name = if owner.name.is_empty() { "(not known)" } else { &owner.name };
            table.row([cell(name), cell(size(owner.new_bytes)), cell(size(owner.written_bytes))]);
        }
        table.write(out)?;
    }
    Ok(())
}

/// What is special about a service.
fn notes(service: &ServiceEntry) -> String {
    let mut notes = Vec::new();
    if service.is_delayed {
        notes.push("delayed".to_owned());
    }
    if service.has_trigger {
        notes.push("trigger".to_owned());
    }
    if service.launch_protected > 0 {
        notes.push("protected".to_owned());
    }
    if service.is_outside_windows {
        notes.push("other maker".to_owned());
    }
    if let Some(reason) = guard(service) {
        notes.push(format!("stays: {reason}"));
    }
    notes.join(", ")
}

fn services(report: &ImageReport, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    let autos: Vec<&ServiceEntry> = report.services.iter().filter(|service| service.is_auto()).collect();
    if autos.is_empty() {
        return Ok(());
    }
    title(
        "Services that start at each boot",
        "in the order of their groups; all services and drivers: --format csv",
        out,
    )?;
    let mut table = Table::new()
        .left("service", 34)
        .left("group", 24)
        .left("on error", 8)
        .left("starts after", 36)
        .right("needed by")
        .left("", 60);
    for service in autos.iter().take(rows) {
        let after = [service.depends_on_services.as_slice(), service.depends_on_groups.as_slice()].concat().join(", ");
        table.row([
            cell(&*service.name),
            cell(&*service.group),
            cell(service.error_control.as_str()),
            cell(after),
            cell(if service.needed_by.is_empty() { String::new() } else { count(service.needed_by.len() as u64) }),
            styled_cell(QUIET, notes(service)),
        ]);
    }
    table.write(out)?;
    more(autos.len(), rows, out)
}

fn starts(report: &ImageReport, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    if !report.start_programs.is_empty() {
        title("Programs that start with the session", "", out)?;
        let mut table = Table::new().left("name", 32).left("command", 72).left("key", 64);
        for program in report.start_programs.iter().take(rows) {
            table.row([cell(&*program.name), cell(&*program.command), styled_cell(QUIET, &*program.key)]);
        }
        table.write(out)?;
        more(report.start_programs.len(), rows, out)?;
    }
    let on: Vec<&str> = report.autologgers.iter().filter(|one| one.is_on).map(|one| one.name.as_str()).collect();
    if !on.is_empty() {
        title("Recordings that run in every boot", "", out)?;
        writeln!(out, "  {}", printable(&on.join(", ")))?;
    }
    Ok(())
}

fn boot_menu(report: &ImageReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(menu) = &report.boot_menu else { return Ok(()) };
    let waits = match menu.timeout_s {
        Some(seconds) if menu.shown() > 1 => format!("waits {seconds} s for a choice"),
        Some(_) => "one entry: it does not wait".to_owned(),
        None => "how long it waits is not said".to_owned(),
    };
    title("Boot menu", &waits, out)?;
    let mut table = Table::new().left("entry", 36).left("file", 44).left("", 60);
    for entry in &menu.entries {
        let mut notes: Vec<String> =
            entry.settings.iter().map(|one| format!("{} {}", one.name, one.number().unwrap_or(0))).collect();
        if entry.is_default {
            notes.insert(0, "default".to_owned());
        }
        if !entry.is_shown {
            notes.push("not in the menu".to_owned());
        }
        table.row([cell(&*entry.description), cell(&*entry.path), styled_cell(QUIET, notes.join(", "))]);
    }
    table.write(out)
}

fn not_applicable(audit: &ImageAudit, out: &mut dyn Write) -> io::Result<()> {
    if audit.not_applicable.is_empty() {
        return Ok(());
    }
    title("Not applicable", "a rule without its input says nothing about the computer", out)?;
    let mut table = Table::new().left("", 40).left("", 110);
    for rule in &audit.not_applicable {
        table.row([styled_cell(QUIET, rule.code), cell(&*rule.reason)]);
    }
    table.write(out)
}

fn hives(report: &ImageReport, out: &mut dyn Write) -> io::Result<()> {
    if report.hives.is_empty() {
        return Ok(());
    }
    title("Hives", "", out)?;
    let mut table = Table::new()
        .left("hive", 10)
        .left("file", 60)
        .left("written (UTC)", 20)
        .right("keys")
        .right("values")
        .left("", 70);
    for hive in &report.hives {
        let mut notes = Vec::new();
        if hive.unreadable_keys + hive.unreadable_values > 0 {
            notes.push(format!(
                "not readable: {}, {}",
                counted(hive.unreadable_keys, "key"),
                counted(hive.unreadable_values, "value")
            ));
        }
        if hive.recovered_keys > 0 {
            notes.push(format!("{} found beside broken lists", counted(hive.recovered_keys, "key")));
        }
        match (hive.is_dirty, hive.applied_log_entries) {
            (false, _) => {}
            (true, 0) if hive.logs == 0 => notes.push("its last changes are in logs that are not there".to_owned()),
            (true, 0) => notes.push("its last changes are missing: no log fits".to_owned()),
            (true, entries) => {
                notes.push(format!("{} of its logs applied", counted(entries, "entry").replace("entrys", "entries")))
            }
        }
        table.row([
            cell(hive.kind.as_str()),
            cell(&*hive.name),
            cell(second_or_dash(hive.last_written_unix_ns)),
            cell(count(hive.keys)),
            cell(count(hive.values)),
            styled_cell(DOUBT, notes.join("; ")),
        ]);
    }
    table.write(out)
}

/// Writes what changed between two images.
///
/// # Errors
/// What `out` answers.
pub fn write_comparison(
    comparison: &ImageComparison,
    options: &ImageTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = if options.top == 0 { usize::MAX } else { options.top };
    let changes = &comparison.changes;
    writeln!(out, "{HEADLINE}{}.{HEADLINE:#}", counted(changes.len() as u64, "change"))?;
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "What can cost most at boot comes first: services that start by themselves, then what the loader reads.\n"
    )?;
    let mut table = Table::new().left("what", 14).left("name", 40).left("field", 14).left("was", 40).left("is", 40);
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    for change in changes.iter().take(rows) {
        table.row([
            cell(change.what.replace('_', " ")),
            cell(&*change.name),
            cell(change.field.replace('_', " ")),
            cell(side(&change.was)),
            cell(side(&change.is)),
        ]);
    }
    table.write(out)?;
    more(changes.len(), rows, out)
}

/// Why there is nothing to say.
#[must_use]
pub fn nothing(unreadable: &[UnreadableHive]) -> String {
    match unreadable.first() {
        Some(file) => format!("{}: {}", file.name, file.reason),
        None => "no registry hive (SYSTEM, SOFTWARE, NTUSER.DAT, BCD) there; a WIM file has to be mounted or extracted first".to_owned(),
    }
}
