//! The text report of `image`: headline, findings, write filters, services, startup programs and registry hives of an
//! offline installation.

use std::io::{self, Write};

use onoff_findings::finding::{AdvisedAction, FindingSeverity, RuleFinding};
use onoff_findings::image::{ImageAudit, ImageDiagnosis, UnreadableHive};
use onoff_findings::protected::{PART_OF_WINDOWS, guard};
use onoff_image::{
    HiveReport, ImageComparison, ImageReport, OverlayGrowth, OverlayKind, ServiceEntry, ServiceKind, WriteFilter,
    WriteFilterKind,
};

use super::bar::sparkline;
use super::printable::printable;
use super::quantity::{capitalized, count, counted, duration, percent, second_or_dash, size};
use super::section::title;
use super::style::{DOUBT, HEADLINE, QUIET, TITLE, WORST};
use onoff_sections::section::{self, Cell, Section, SectionBuilder};
use onoff_sections::table::Value;

/// Maximum number of evidence lines per finding.
const MAX_EVIDENCE: usize = 4;

/// Maximum number of changes shown per finding.
const MAX_ACTIONS: usize = 2;

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(answer: &ImageDiagnosis, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let ImageDiagnosis { image: report, audit, overlay, unreadable } = answer;
    headline(report, audit, out)?;
    findings(audit, top, out)?;
    filters(report, out)?;
    if let Some(growth) = overlay {
        write_overlay(growth, top, out)?;
    }
    let sections = [
        candidates(audit, top),
        services(report, top),
        startup_programs(report, top),
        autologgers(report),
        boot_menu(report),
    ];
    let audit_sections = [withheld(audit), conflicts(audit), not_applicable(audit)];
    let sections = sections.into_iter().flatten().chain(audit_sections.into_iter().flatten()).chain(hives(report));
    section::text::write_all(&sections.collect::<Vec<_>>(), out)?;
    for file in unreadable {
        writeln!(out, "  {DOUBT}Not read: {}: {}{DOUBT:#}", printable(&file.name), printable(&file.reason))?;
    }
    Ok(())
}

fn write_hidden_count(total: usize, shown: usize, out: &mut dyn Write) -> io::Result<()> {
    match total.checked_sub(shown) {
        None | Some(0) => Ok(()),
        Some(hidden) => {
            writeln!(out, "  {QUIET}and {} more; use --top 0 to show all{QUIET:#}", count(hidden as u64))
        }
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
        "{HEADLINE}{}{}: {} from {} rules.{HEADLINE:#}",
        printable(&windows),
        printable(&computer),
        counted(audit.findings.len() as u64, "finding"),
        count(audit.checked)
    )?;
    let edition = report.edition.description();
    if !edition.is_empty() {
        writeln!(out, "Edition: {}.", printable(&edition))?;
    }
    if serious > 0 {
        writeln!(out, "{} can cost noticeable time on each boot.", count(serious))?;
    }
    let counts = &report.counts;
    if !report.services.is_empty() {
        writeln!(
            out,
            "{} start at boot ({} delayed, {} with a trigger, {} in a load-order group, {} outside the Windows folder); \
             the loader loads {} ({} critical).",
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
    title("Findings", "most important first; costs need a recorded boot", out)?;
    for finding in audit.findings.iter().take(rows) {
        let style = if finding.severity == FindingSeverity::High { WORST } else { TITLE };
        writeln!(
            out,
            "  {style}{}{style:#}  {QUIET}{}, {}{QUIET:#}",
            printable(&finding.title),
            finding.severity.as_str(),
            finding.code
        )?;
        writeln!(out, "    {}.", capitalized(&printable(&finding.advice)))?;
        for action in finding.actions.iter().take(MAX_ACTIONS) {
            let labeled = [
                ("Run", action.command.as_deref().unwrap_or_default()),
                ("Undo", action.undo.as_deref().unwrap_or_default()),
                ("Effect", action.breaks.as_str()),
            ];
            for (label, text) in labeled.into_iter().filter(|(_, text)| !text.is_empty()) {
                writeln!(out, "    {QUIET}{label}: {}{QUIET:#}", printable(text))?;
            }
        }
        let hidden_actions = finding.actions.len().saturating_sub(MAX_ACTIONS);
        if hidden_actions > 0 {
            writeln!(
                out,
                "    {QUIET}and {} in --format json{QUIET:#}",
                counted(hidden_actions as u64, "more change")
            )?;
        }
        for evidence in finding.evidence.iter().take(MAX_EVIDENCE) {
            writeln!(out, "    {QUIET}{}{QUIET:#}", printable(&evidence.text))?;
        }
        let hidden = finding.evidence.len().saturating_sub(MAX_EVIDENCE);
        if hidden > 0 {
            writeln!(out, "    {QUIET}and {hidden} more in --format json{QUIET:#}")?;
        }
    }
    write_hidden_count(audit.findings.len(), rows, out)
}

fn state(filter: &WriteFilter) -> String {
    let current = match filter.is_enabled {
        Some(true) => "on",
        Some(false) => "off",
        None => "installed; the registry does not show whether it is on",
    };
    match filter.is_enabled_after_restart {
        Some(true) => format!("{current}; on after the next restart"),
        Some(false) => format!("{current}; off after the next restart"),
        None => current.to_owned(),
    }
}

fn filters(report: &ImageReport, out: &mut dyn Write) -> io::Result<()> {
    for filter in &report.write_filters {
        title(&format!("Write filter: {}", filter.kind.as_str()), &state(filter), out)?;
        let overlay = match filter.overlay {
            OverlayKind::Ram => "in memory",
            OverlayKind::Disk => "on the disk",
            OverlayKind::Unknown => "in an unknown location",
        };
        let max = filter.max_bytes.map_or_else(String::new, |bytes| format!(", at most {}", size(bytes)));
        let warning = filter.warning_bytes.map_or_else(String::new, |bytes| format!(", warning at {}", size(bytes)));
        writeln!(out, "  Overlay {overlay}{max}{warning}.")?;
        for volume in &filter.volumes {
            let protected = match volume.is_protected {
                Some(true) => "protected",
                Some(false) => "not protected",
                None => "protection unknown",
            };
            let exclusions = match volume.exclusions.as_slice() {
                [] => String::new(),
                exclusions => format!("; excluded: {}", exclusions.join(", ")),
            };
            writeln!(out, "  {}: {protected}{}.", printable(&volume.name), printable(&exclusions))?;
        }
        if filter.is_horm_enabled == Some(true) {
            writeln!(out, "  HORM is on: each start resumes from the same hibernation file. It forbids exclusions.")?;
        } else if filter.is_enabled == Some(true) && filter.kind == WriteFilterKind::Uwf {
            writeln!(
                out,
                "  While it is on, Windows turns off hibernation (and with it fast startup), paging files, Superfetch, defragmentation, \
                 indexing and system restore."
            )?;
            writeln!(
                out,
                "  The trade-off: the volume stays unchanged and survives power cuts, but every boot is a full boot. Published measurements: \
                 41.3 s with UWF and 23.9 s with fast startup (Windows 10 2016), 49.2 s and 28.1 s (2021), 14.7 to 21.2 s more per boot on an \
                 Intel N3350."
            )?;
        }
    }
    Ok(())
}

fn write_overlay(growth: &OverlayGrowth, rows: usize, out: &mut dyn Write) -> io::Result<()> {
    title("Overlay growth with the recorded writes", "each cluster counts once, on the first write", out)?;
    let rate = growth.bytes_per_hour.map_or_else(
        || "growth rate unknown: the recording is shorter than one second".to_owned(),
        |rate| format!("{} per hour in the last third", size(rate.max(0.0) as u64)),
    );
    writeln!(out, "  {} at the end of the recording; {rate}.", size(growth.bytes))?;
    let points: Vec<u64> = growth.curve.iter().map(|point| point.bytes).collect();
    writeln!(out, "  {}", sparkline(&points))?;
    for (event, time) in [("reaches the warning level", growth.warning_in_ns), ("is full", growth.full_in_ns)] {
        if let Some(ns) = time {
            writeln!(out, "  At that rate, the overlay {event} after {}.", duration(ns))?;
        }
    }
    if growth.max_bytes.is_none() {
        writeln!(out, "  {QUIET}To see when it is full, specify --overlay-size.{QUIET:#}")?;
    }
    if growth.excluded_bytes > 0 {
        writeln!(out, "  Excluded writes: {}.", size(growth.excluded_bytes))?;
    }
    if growth.prefetch_percent > 0.0 {
        writeln!(out, "  \\Windows\\Prefetch accounts for {} of the growth.", percent(growth.prefetch_percent))?;
    }
    if growth.is_truncated {
        writeln!(
            out,
            "  {DOUBT}The growth is larger than shown, because more clusters were written than can be counted.{DOUBT:#}"
        )?;
    }
    let owners = [
        ("folders", "By folder (savings if excluded)", &growth.folders),
        ("files", "By file", &growth.files),
        ("programs", "By program", &growth.processes),
    ];
    for (name, title, owners) in owners {
        let owners = owners.iter().filter(|owner| owner.new_bytes > 0);
        let section = Section::builder(name, title, owners)
            .top(rows)
            .name("name", "name", 72, |owner| match owner.name.as_str() {
                "" => Cell::text_only(anstyle::Style::new(), "(unknown)"),
                name => Value::text(name).into(),
            })
            .quantity("new_bytes", "new", |owner| Value::Bytes(owner.new_bytes))
            .quantity("written_bytes", "written", |owner| Value::Bytes(owner.written_bytes))
            .build();
        section::text::write(&section, out)?;
    }
    Ok(())
}

/// Lists the special properties of a service.
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
        notes.push("third-party".to_owned());
    }
    match guard(service) {
        // A line below the table gives the reason.
        Some(PART_OF_WINDOWS) => notes.push("keep".to_owned()),
        Some(reason) => notes.push(format!("keep: {reason}")),
        None => {}
    }
    notes.join(", ")
}

fn candidates(audit: &ImageAudit, top: usize) -> Option<Section<'_>> {
    let section = Section::builder("candidates", "Services that devices often do not need", &audit.candidates)
        .note("started at boot; use '--needed FILE' to list the ones this device needs")
        .top_with_remainder(top)
        .name("service", "service", 24, |candidate| Value::text(&candidate.service))
        .name("purpose", "purpose", 64, |candidate| Value::text(candidate.purpose))
        .name("cost", "published cost", 24, |candidate| Value::text(candidate.cost))
        .name("needed_by", "needed by", 36, |candidate| Value::Text(candidate.needed_by.join(", ").into()))
        .build_if_any()?;
    let advice = "Change one at a time with 'sc.exe config NAME start= demand' or delayed-auto (starts two minutes later), then test.";
    Some(section.line(QUIET, advice))
}

fn services(report: &ImageReport, top: usize) -> Option<Section<'_>> {
    let autos: Vec<&ServiceEntry> = report.services.iter().filter(|service| service.is_auto()).collect();
    let has_windows_part = autos.iter().take(top).any(|service| guard(service) == Some(PART_OF_WINDOWS));
    let keep_note =
        has_windows_part.then(|| format!("'keep' means that the start type must not change: {PART_OF_WINDOWS}."));
    let section = service_columns(Section::builder("services", "Services started at boot", autos))
        .note("in group order; use --format csv for all services and drivers")
        .top_with_remainder(top)
        .build_if_any()?;
    Some(section.line_if(QUIET, keep_note))
}

/// The rows of a CSV table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRows {
    /// Services and drivers.
    Services,
    Findings,
}

/// Returns the section with the requested rows. Lists are joined with semicolons.
#[must_use]
pub fn rows<'a>(report: &'a ImageReport, audit: &'a ImageAudit, rows: ImageRows) -> Section<'a> {
    match rows {
        ImageRows::Services => {
            service_columns(Section::builder("services", "Services and drivers", report.services.iter())).build()
        }
        ImageRows::Findings => Section::builder("findings", "Findings", &audit.findings)
            .data("code", |finding| Value::text(finding.code))
            .data("severity", |finding| Value::text(finding.severity.as_str()))
            .data("subject", |finding| Value::text(&finding.subject.name))
            .data("title", |finding| Value::text(&finding.title))
            .data("advice", |finding| Value::text(&finding.advice))
            .data("commands", |finding| action_texts(finding, |action| action.command.as_deref().unwrap_or_default()))
            .data("undo", |finding| action_texts(finding, |action| action.undo.as_deref().unwrap_or_default()))
            .data("breaks", |finding| action_texts(finding, |action| action.breaks.as_str()))
            .data("evidence", |finding| {
                let evidence: Vec<&str> = finding.evidence.iter().map(|item| item.text.as_str()).collect();
                Value::Text(evidence.join("; ").into())
            })
            .build(),
    }
}

/// Joins a text of each change that a finding advises.
fn action_texts<'a>(finding: &'a RuleFinding, text: fn(&AdvisedAction) -> &str) -> Value<'a> {
    let texts: Vec<&str> = finding.actions.iter().map(text).filter(|text| !text.is_empty()).collect();
    Value::Text(texts.join("; ").into())
}

fn service_columns<'a>(section: SectionBuilder<'a, &'a ServiceEntry>) -> SectionBuilder<'a, &'a ServiceEntry> {
    let list = |names: &[String]| Value::Text(names.join(";").into());
    let dependencies =
        |service: &ServiceEntry| [&service.depends_on_services[..], &service.depends_on_groups[..]].concat().join(", ");
    section
        .name("name", "service", 34, |service| Value::text(&service.name))
        .data("display_name", |service| Value::text(&service.display_name))
        .data("kind", |service| Value::text(kind(service.kind)))
        .data("start", |service| Value::text(service.start.as_str()))
        .name("error_control", "on error", 8, |service| Value::text(service.error_control.as_str()))
        .name("group", "group", 24, |service| Value::text(&service.group))
        .data("tag", |service| Value::from_option(service.tag, Value::Count))
        .data("depends_on_services", move |service| list(&service.depends_on_services))
        .data("depends_on_groups", move |service| list(&service.depends_on_groups))
        .name("", "starts after", 36, move |service| Value::Text(dependencies(service).into()))
        .quantity("needed_by", "needed by", move |service| {
            let names = list(&service.needed_by);
            match service.needed_by.len() {
                0 => Cell::with_display_text(names, ""),
                services => Cell::with_display_text(names, count(services as u64)),
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
        .data("last_written_unix_ns", |service| Value::from_option(service.last_written_unix_ns, Value::Time))
        .name("", "", 60, |service| Cell::text_only(QUIET, notes(service)))
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

fn startup_programs(report: &ImageReport, top: usize) -> Option<Section<'_>> {
    Section::builder("startup_programs", "Startup programs", &report.startup_programs)
        .top_with_remainder(top)
        .name("name", "name", 32, |program| Value::text(&program.name))
        .name("origin", "from", 14, |program| Value::text(program.origin.phrase()))
        .name("delay", "delay", 8, |program| Value::text(&program.delay))
        .name("command", "command", 72, |program| Value::text(&program.command))
        .name("key", "key", 64, |program| Value::text(&program.key).styled(QUIET))
        .build_if_any()
}

fn autologgers(report: &ImageReport) -> Option<Section<'_>> {
    let enabled: Vec<&str> =
        report.autologgers.iter().filter(|logger| logger.is_enabled).map(|logger| logger.name.as_str()).collect();
    let names = printable(&enabled.join(", ")).into_owned();
    let section = Section::without_table("autologgers", "Trace sessions started at boot (autologgers)");
    (!enabled.is_empty()).then(|| section.line(anstyle::Style::new(), names))
}

fn boot_menu(report: &ImageReport) -> Option<Section<'_>> {
    let menu = report.boot_menu.as_ref()?;
    let wait_note = match menu.timeout_s {
        Some(seconds) if menu.shown_count() > 1 => format!("waits {seconds} s for a selection"),
        Some(_) => "one entry: does not wait".to_owned(),
        None => "wait time unknown".to_owned(),
    };
    let section = Section::builder("boot_menu", "Boot menu", &menu.entries)
        .note(wait_note)
        .name("description", "entry", 36, |entry| Value::text(&entry.description))
        .name("path", "file", 44, |entry| Value::text(&entry.path))
        .data("is_default", |entry| Value::Flag(entry.is_default))
        .data("is_shown", |entry| Value::Flag(entry.is_shown))
        .name("", "", 60, |entry| {
            let default = entry.is_default.then(|| "default".to_owned());
            let settings =
                entry.settings.iter().map(|setting| format!("{} {}", setting.name, setting.number().unwrap_or(0)));
            let hidden = (!entry.is_shown).then(|| "not in the menu".to_owned());
            let notes: Vec<String> = default.into_iter().chain(settings).chain(hidden).collect();
            Cell::text_only(QUIET, notes.join(", "))
        })
        .build();
    Some(section)
}

fn withheld(audit: &ImageAudit) -> Option<Section<'_>> {
    Section::builder("withheld", "Withheld", &audit.withheld)
        .note("findings whose advice would be wrong on this installation")
        .name("code", "rule", 40, |finding| Value::text(finding.code).styled(QUIET))
        .name("title", "finding", 70, |finding| Value::text(&finding.title))
        .name("reason", "why not", 110, |finding| Value::text(finding.reason))
        .build_if_any()
}

fn conflicts(audit: &ImageAudit) -> Option<Section<'_>> {
    Section::builder("conflicts", "Contradictions resolved", &audit.conflicts)
        .note("the more important finding decides")
        .name("target", "setting", 60, |conflict| Value::text(&conflict.target))
        .name("kept", "follow", 40, |conflict| Value::text(conflict.kept))
        .name("kept_value", "value", 16, |conflict| Value::text(&conflict.kept_value))
        .name("withdrawn", "instead of", 40, |conflict| Value::text(conflict.withdrawn).styled(QUIET))
        .name("withdrawn_value", "value", 16, |conflict| Value::text(&conflict.withdrawn_value))
        .build_if_any()
}

fn not_applicable(audit: &ImageAudit) -> Option<Section<'_>> {
    Section::builder("not_applicable", "Not applicable", &audit.not_applicable)
        .note("rules without the input they need")
        .name("code", "rule", 40, |rule| Value::text(rule.code).styled(QUIET))
        .name("reason", "why", 110, |rule| Value::text(rule.reason))
        .build_if_any()
}

fn hives(report: &ImageReport) -> Option<Section<'_>> {
    Section::builder("hives", "Hives", &report.hives)
        .name("kind", "hive", 10, |hive| Value::text(hive.kind.as_str()))
        .name("name", "file", 60, |hive| Value::text(&hive.name))
        .name("last_written_unix_ns", "written (UTC)", 20, |hive| {
            Cell::with_display_text(
                Value::from_option(hive.last_written_unix_ns, Value::Time),
                second_or_dash(hive.last_written_unix_ns),
            )
        })
        .quantity("keys", "keys", |hive| Value::Count(hive.keys))
        .quantity("values", "values", |hive| Value::Count(hive.values))
        .name("", "", 70, |hive| Cell::text_only(DOUBT, hive_notes(hive)))
        .build_if_any()
}

/// Lists the unreadable parts of a hive, and the state of its logs.
fn hive_notes(hive: &HiveReport) -> String {
    let mut notes = Vec::new();
    if hive.unreadable_keys + hive.unreadable_values > 0 {
        notes.push(format!(
            "unreadable: {}, {}",
            counted(hive.unreadable_keys, "key"),
            counted(hive.unreadable_values, "value")
        ));
    }
    if hive.recovered_keys > 0 {
        notes.push(format!("{} recovered outside broken lists", counted(hive.recovered_keys, "key")));
    }
    match (hive.is_dirty, hive.applied_log_entries) {
        (false, _) => {}
        (true, 0) if hive.logs == 0 => notes.push("latest changes missing: the log files were not passed".to_owned()),
        (true, 0) => notes.push("latest changes missing: no log file matches".to_owned()),
        (true, entries) => notes.push(format!("{} applied", counted(entries, "log entry"))),
    }
    notes.join("; ")
}

/// Writes the changes between two images.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_comparison(comparison: &ImageComparison, top: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}.{HEADLINE:#}", counted(comparison.changes.len() as u64, "change"))?;
    if comparison.changes.is_empty() {
        return Ok(());
    }
    writeln!(out, "Likely most expensive at boot first: automatic services, then boot-start drivers.\n")?;
    section::text::write(&changes(comparison, top), out)
}

#[must_use]
pub fn changes(comparison: &ImageComparison, top: usize) -> Section<'_> {
    let phrase = |code: &'static str| Cell::with_display_text(Value::text(code), code.replace('_', " "));
    let text_or_dash = |text: &'_ Option<String>| text.as_ref().map_or_else(|| "-".to_owned(), Clone::clone);
    let value = |text: &Option<String>| Value::from_option(text.clone(), |text| Value::Text(text.into()));
    Section::builder("changes", "", &comparison.changes)
        .top_with_remainder(top)
        .name("what", "what", 14, move |change| phrase(change.what))
        .name("name", "name", 40, |change| Value::text(&change.name))
        .name("field", "field", 14, move |change| phrase(change.field))
        .name("was", "before", 40, move |change| Cell::with_display_text(value(&change.was), text_or_dash(&change.was)))
        .name("is", "after", 40, move |change| Cell::with_display_text(value(&change.is), text_or_dash(&change.is)))
        .data("weight", |change| Value::Id(change.weight.into()))
        .build()
}

/// Returns the one-line message for a folder without a registry hive.
#[must_use]
pub fn no_hives(unreadable: &[UnreadableHive]) -> String {
    match unreadable.first() {
        Some(file) => format!("{}: {}", file.name, file.reason),
        None => {
            "no registry hive found (SYSTEM, SOFTWARE, NTUSER.DAT, BCD); mount or extract a WIM file first".to_owned()
        }
    }
}
