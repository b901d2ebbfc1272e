//! An installation that is not running, for a person: the answer, what to change, services, write filter, what starts, what was read.

use std::io::{self, Write};

use onoff_findings::finding::FindingSeverity;
use onoff_findings::image::{ImageAnswer, ImageAudit, UnreadableHive};
use onoff_findings::protected::{PART_OF_WINDOWS, guard};
use onoff_image::{
    HiveReport, ImageComparison, ImageReport, OverlayGrowth, OverlayKind, ServiceEntry, ServiceKind, WriteFilter,
};

use super::bar::sparkline;
use super::printable::printable;
use super::quantity::{count, counted, duration, percent, second_or_dash, size};
use super::section::title;
use super::style::{DOUBT, HEADLINE, QUIET, TITLE, WORST};
use onoff_sections::section::{self, Cell, Section, SectionOf};
use onoff_sections::table::Value;

/// Evidence shown for each finding.
const MAX_EVIDENCE: usize = 4;

/// Writes the answer.
///
/// # Errors
/// Errors of `out`.
pub fn write(answer: &ImageAnswer, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let ImageAnswer { image: report, audit, overlay, unreadable } = answer;
    headline(report, audit, out)?;
    findings(audit, top, out)?;
    filters(report, out)?;
    if let Some(growth) = overlay {
        write_overlay(growth, top, out)?;
    }
    let sections = [
        candidates(audit, top),
        services(report, top),
        start_programs(report, top),
        autologgers(report),
        boot_menu(report),
    ];
    let sections = sections.into_iter().flatten().chain(not_applicable(audit)).chain(hives(report));
    section::text::write_all(&sections.collect::<Vec<_>>(), out)?;
    for file in unreadable {
        writeln!(out, "  {DOUBT}not read: {}: {}{DOUBT:#}", printable(&file.name), printable(&file.reason))?;
    }
    Ok(())
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
        for evidence in finding.evidence.iter().take(MAX_EVIDENCE) {
            writeln!(out, "    {QUIET}{}{QUIET:#}", printable(&evidence.text))?;
        }
        let left = finding.evidence.len().saturating_sub(MAX_EVIDENCE);
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
        writeln!(out, "  {DOUBT}There were more clusters than are counted: the growth is larger.{DOUBT:#}")?;
    }
    let owners = [
        ("folders", "By folder (what excluding it saves)", &growth.folders),
        ("files", "By file", &growth.files),
        ("programs", "By program", &growth.processes),
    ];
    for (name, title, owners) in owners {
        let owners = owners.iter().filter(|owner| owner.new_bytes > 0);
        let section = Section::of(name, title, owners)
            .top(rows)
            .name("name", "name", 72, |owner| match owner.name.as_str() {
                "" => Cell::words(anstyle::Style::new(), "(not known)"),
                name => Value::text(name).into(),
            })
            .quantity("new_bytes", "new", |owner| Value::Bytes(owner.new_bytes))
            .quantity("written_bytes", "written", |owner| Value::Bytes(owner.written_bytes))
            .done();
        section::text::write(&section, out)?;
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
    match guard(service) {
        // That is said once, below the table.
        Some(PART_OF_WINDOWS) => notes.push("stays".to_owned()),
        Some(reason) => notes.push(format!("stays: {reason}")),
        None => {}
    }
    notes.join(", ")
}

fn candidates(audit: &ImageAudit, top: usize) -> Option<Section<'_>> {
    let section = Section::of("candidates", "Services that a device can often do without", &audit.candidates)
        .note("they start with the computer; '--needed FILE' leaves out what this one needs")
        .first(top)
        .name("service", "service", 24, |one| Value::text(&one.service))
        .name("purpose", "is for", 64, |one| Value::text(one.purpose))
        .name("cost", "the paper measured", 24, |one| Value::text(one.cost))
        .name("needed_by", "needed by", 36, |one| Value::Text(one.needed_by.join(", ").into()))
        .if_any()?;
    let how = "One at a time: 'sc config NAME start= demand', or delayed-auto (two minutes later); then test.";
    Some(section.line(QUIET, how))
}

fn services(report: &ImageReport, top: usize) -> Option<Section<'_>> {
    let autos: Vec<&ServiceEntry> = report.services.iter().filter(|service| service.is_auto()).collect();
    let stays = autos.iter().take(top).any(|service| guard(service) == Some(PART_OF_WINDOWS));
    let stays = stays.then(|| format!("A service that stays must start as it does: {PART_OF_WINDOWS}."));
    let section = service_columns(Section::of("services", "Services that start at each boot", autos))
        .note("in the order of their groups; all services and drivers: --format csv")
        .first(top)
        .if_any()?;
    Some(section.line_if(QUIET, stays))
}

/// What the rows of a table for programs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRows {
    /// Services and drivers.
    Services,
    /// Findings.
    Findings,
}

/// The section with those rows. Lists are joined with semicolons.
#[must_use]
pub fn rows<'a>(report: &'a ImageReport, audit: &'a ImageAudit, rows: ImageRows) -> Section<'a> {
    match rows {
        ImageRows::Services => {
            service_columns(Section::of("services", "Services and drivers", report.services.iter())).done()
        }
        ImageRows::Findings => Section::of("findings", "Findings", &audit.findings)
            .data("code", |finding| Value::text(finding.code))
            .data("severity", |finding| Value::text(finding.severity.as_str()))
            .data("subject", |finding| Value::text(&finding.subject.name))
            .data("title", |finding| Value::text(&finding.title))
            .data("advice", |finding| Value::text(&finding.advice))
            .data("evidence", |finding| {
                let evidence: Vec<&str> = finding.evidence.iter().map(|one| one.text.as_str()).collect();
                Value::Text(evidence.join("; ").into())
            })
            .done(),
    }
}

fn service_columns<'a>(section: SectionOf<'a, &'a ServiceEntry>) -> SectionOf<'a, &'a ServiceEntry> {
    let list = |names: &[String]| Value::Text(names.join(";").into());
    let after =
        |service: &ServiceEntry| [&service.depends_on_services[..], &service.depends_on_groups[..]].concat().join(", ");
    section
        .name("name", "service", 34, |service| Value::text(&service.name))
        .data("display_name", |service| Value::text(&service.display_name))
        .data("kind", |service| Value::text(kind(service.kind)))
        .data("start", |service| Value::text(service.start.as_str()))
        .name("error_control", "on error", 8, |service| Value::text(service.error_control.as_str()))
        .name("group", "group", 24, |service| Value::text(&service.group))
        .data("tag", |service| Value::of(service.tag, Value::Count))
        .data("depends_on_services", move |service| list(&service.depends_on_services))
        .data("depends_on_groups", move |service| list(&service.depends_on_groups))
        .name("", "starts after", 36, move |service| Value::Text(after(service).into()))
        .quantity("needed_by", "needed by", move |service| {
            let names = list(&service.needed_by);
            match service.needed_by.len() {
                0 => Cell::shown(names, ""),
                needed => Cell::shown(names, count(needed as u64)),
            }
        })
        .data("has_trigger", |service| Value::Flag(service.has_trigger))
        .data("is_delayed", |service| Value::Flag(service.is_delayed))
        .data("launch_protected", |service| Value::Count(service.launch_protected))
        .data("image_path", |service| Value::text(&service.image_path))
        .data("file", |service| Value::text(&service.file))
        .data("is_outside_windows", |service| Value::Flag(service.is_outside_windows))
        .data("account", |service| Value::text(&service.account))
        .data("key", |service| Value::text(&service.key))
        .data("last_written_unix_ns", |service| Value::of(service.last_written_unix_ns, Value::Time))
        .name("", "", 60, |service| Cell::words(QUIET, notes(service)))
}

const fn kind(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Driver => "driver",
        ServiceKind::FileSystem => "file_system",
        ServiceKind::Service => "service",
        ServiceKind::UserTemplate => "user_template",
        ServiceKind::Other => "other",
    }
}

fn start_programs(report: &ImageReport, top: usize) -> Option<Section<'_>> {
    Section::of("start_programs", "Programs that start with the computer or the session", &report.start_programs)
        .first(top)
        .name("name", "name", 32, |program| Value::text(&program.name))
        .name("origin", "from", 14, |program| Value::text(program.origin.in_words()))
        .name("delay", "delay", 8, |program| Value::text(&program.delay))
        .name("command", "command", 72, |program| Value::text(&program.command))
        .name("key", "key", 64, |program| Value::text(&program.key).styled(QUIET))
        .if_any()
}

fn autologgers(report: &ImageReport) -> Option<Section<'_>> {
    let on: Vec<&str> = report.autologgers.iter().filter(|one| one.is_on).map(|one| one.name.as_str()).collect();
    let names = printable(&on.join(", ")).into_owned();
    let section = Section::of_lines("autologgers", "Recordings that run in every boot");
    (!on.is_empty()).then(|| section.line(anstyle::Style::new(), names))
}

fn boot_menu(report: &ImageReport) -> Option<Section<'_>> {
    let menu = report.boot_menu.as_ref()?;
    let waits = match menu.timeout_s {
        Some(seconds) if menu.shown() > 1 => format!("waits {seconds} s for a choice"),
        Some(_) => "one entry: it does not wait".to_owned(),
        None => "how long it waits is not known".to_owned(),
    };
    let section = Section::of("boot_menu", "Boot menu", &menu.entries)
        .note(waits)
        .name("description", "entry", 36, |entry| Value::text(&entry.description))
        .name("path", "file", 44, |entry| Value::text(&entry.path))
        .data("is_default", |entry| Value::Flag(entry.is_default))
        .data("is_shown", |entry| Value::Flag(entry.is_shown))
        .name("", "", 60, |entry| {
            let default = entry.is_default.then(|| "default".to_owned());
            let settings = entry.settings.iter().map(|one| format!("{} {}", one.name, one.number().unwrap_or(0)));
            let hidden = (!entry.is_shown).then(|| "not in the menu".to_owned());
            let notes: Vec<String> = default.into_iter().chain(settings).chain(hidden).collect();
            Cell::words(QUIET, notes.join(", "))
        })
        .done();
    Some(section)
}

fn not_applicable(audit: &ImageAudit) -> Option<Section<'_>> {
    Section::of("not_applicable", "Not applicable", &audit.not_applicable)
        .note("a rule without its input says nothing about the computer")
        .name("code", "rule", 40, |rule| Value::text(rule.code).styled(QUIET))
        .name("reason", "why", 110, |rule| Value::text(rule.reason))
        .if_any()
}

fn hives(report: &ImageReport) -> Option<Section<'_>> {
    Section::of("hives", "Hives", &report.hives)
        .name("kind", "hive", 10, |hive| Value::text(hive.kind.as_str()))
        .name("name", "file", 60, |hive| Value::text(&hive.name))
        .name("last_written_unix_ns", "written (UTC)", 20, |hive| {
            Cell::shown(Value::of(hive.last_written_unix_ns, Value::Time), second_or_dash(hive.last_written_unix_ns))
        })
        .quantity("keys", "keys", |hive| Value::Count(hive.keys))
        .quantity("values", "values", |hive| Value::Count(hive.values))
        .name("", "", 70, |hive| Cell::words(DOUBT, hive_notes(hive)))
        .if_any()
}

/// What could not be read of a hive, and what its logs gave.
fn hive_notes(hive: &HiveReport) -> String {
    let mut notes = Vec::new();
    if hive.unreadable_keys + hive.unreadable_values > 0 {
        notes.push(format!(
            "not readable: {}, {}",
            counted(hive.unreadable_keys, "key"),
            counted(hive.unreadable_values, "value")
        ));
    }
    if hive.recovered_keys > 0 {
        notes.push(format!("{} found outside broken lists", counted(hive.recovered_keys, "key")));
    }
    match (hive.is_dirty, hive.applied_log_entries) {
        (false, _) => {}
        (true, 0) if hive.logs == 0 => notes.push("its last changes are in logs that are not there".to_owned()),
        (true, 0) => notes.push("its last changes are missing: no log fits".to_owned()),
        (true, entries) => notes.push(format!("{} of its logs applied", counted(entries, "entry"))),
    }
    notes.join("; ")
}

/// Writes what changed between two images.
///
/// # Errors
/// Errors of `out`.
pub fn write_comparison(comparison: &ImageComparison, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let changes = &comparison.changes;
    writeln!(out, "{HEADLINE}{}.{HEADLINE:#}", counted(changes.len() as u64, "change"))?;
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "What can cost most at boot comes first: services that start by themselves, then what the loader reads.\n"
    )?;
    section::text::write(&changed(comparison, top), out)
}

/// The changes.
#[must_use]
pub fn changed(comparison: &ImageComparison, top: usize) -> Section<'_> {
    let words = |code: &'static str| Cell::shown(Value::text(code), code.replace('_', " "));
    let side = |text: &'_ Option<String>| text.as_ref().map_or_else(|| "-".to_owned(), Clone::clone);
    let value = |text: &Option<String>| Value::of(text.clone(), |text| Value::Text(text.into()));
    Section::of("changes", "", &comparison.changes)
        .first(top)
        .name("what", "what", 14, move |change| words(change.what))
        .name("name", "name", 40, |change| Value::text(&change.name))
        .name("field", "field", 14, move |change| words(change.field))
        .name("was", "was", 40, move |change| Cell::shown(value(&change.was), side(&change.was)))
        .name("is", "is", 40, move |change| Cell::shown(value(&change.is), side(&change.is)))
        .data("weight", |change| Value::Id(change.weight.into()))
        .done()
}

/// Why there is nothing to say.
#[must_use]
pub fn nothing(unreadable: &[UnreadableHive]) -> String {
    match unreadable.first() {
        Some(file) => format!("{}: {}", file.name, file.reason),
        None => "no registry hive (SYSTEM, SOFTWARE, NTUSER.DAT, BCD) there; a WIM file has to be mounted or extracted first".to_owned(),
    }
}
