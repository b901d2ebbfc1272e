//! The text report of `io`: headline, findings, pages touched, request sizes, access patterns, caches and groups.

use std::io::{self, Write};

use onoff_requests::{
    CacheCurve, DeviceFit, DeviceOrigin, FilterCosts, FindingCode, IoComparison, IoFinding, IoGroup, IoReport, IoView,
};

use super::losses;
use super::printable::printable;
use super::quantity::{capitalized, count, counted, duration, percent, size};
use super::section::title;
use super::style::{HEADLINE, QUIET, WORST};
use super::usage::process_name;
use onoff_sections::section::{self, Cell, Heading, Section, SectionBuilder};
use onoff_sections::table::Value;

/// Maximum number of files listed below a finding.
const MAX_LISTED_FILES: usize = 5;

/// Writes the report.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &IoReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    headline(report, out)?;
    findings(report, top, out)?;
    for view in &report.views {
        write_view(report, view, top, out)?;
    }
    if let Some(fit) = &report.device_fit {
        writeln!(out, "\n{}", device_sentence(fit, report.tracer))?;
    }
    notes(report, out)?;
    losses::write(&report.losses, out)
}

/// Names who issued the requests of a view.
fn requester(view: &IoView) -> &'static str {
    match view.level {
        "paging" => "the memory manager",
        "device" => "the disks",
        _ => "programs",
    }
}

fn requests(view: &IoView, number: u64) -> String {
    counted(number, view.direction)
}

fn headline(report: &IoReport, out: &mut dyn Write) -> io::Result<()> {
    let mut sentences = headline_sentences(report).into_iter();
    if let Some(first) = sentences.next() {
        writeln!(out, "{HEADLINE}{first}{HEADLINE:#}")?;
    }
    sentences.try_for_each(|sentence| writeln!(out, "{sentence}"))
}

/// Describes the device model with its error, or why there is none.
fn device_sentence(fit: &DeviceFit, tracer: Option<&str>) -> String {
    let (Some(device), Some(error_percent)) = (&fit.device, fit.error_percent) else {
        let reason = fit.reason.unwrap_or("the reads determine none");
        return format!("No device model: {reason}. To use one, specify --device latency=…,bandwidth=….");
    };
    let unused = match fit.overlapping_reads {
        0 => String::new(),
        overlapping => format!("; {} with other requests in flight not used", counted(overlapping, "read")),
    };
    let traced = tracer.map_or_else(String::new, |tracer| format!(" The latency includes the time of {tracer}."));
    format!(
        "Device model: {} per read and {}/s, fitted to {} that had the device to itself{unused}. A read deviates from it by \
         {error_percent:.0} % on average.{traced}",
        duration(device.latency_ns),
        size(device.bytes_per_second as u64),
        counted(fit.reads, "read"),
    )
}

/// Returns the headline, in one or two sentences.
#[must_use]
pub fn headline_sentences(report: &IoReport) -> Vec<String> {
    let Some(view) = report.views.first() else { return Vec::new() };
    let table = &view.table;
    let mut sentences = vec![format!(
        "{} by {}, average {}, total {}.",
        requests(view, table.requests),
        requester(view),
        bytes(table.average_bytes),
        size(table.bytes)
    )];
    if table.amplification >= 1.5 && table.requests > 1 {
        sentences.push(format!(
            "An uncached filter would transfer {} pages of {}: {} times the requested bytes. Distinct pages: {}.",
            count(table.exact_pages),
            size(report.page_bytes),
            count(table.amplification.round() as u64),
            count(table.unique_pages)
        ));
    }
    sentences
}

/// Formats a mean size in whole bytes or larger units.
fn bytes(mean: f64) -> String {
    if mean < 1024.0 { format!("{mean:.0} B") } else { size(mean.round() as u64) }
}

fn findings(report: &IoReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.findings.is_empty() {
        writeln!(out)?;
        let note = "A finding needs more than 1,000 requests from one process.";
        return writeln!(out, "{QUIET}No findings. {note}{QUIET:#}");
    }
    title("Findings", "", out)?;
    for finding in report.findings.iter().take(top) {
        writeln!(out, "  {WORST}{}{WORST:#}", sentence(finding))?;
        let listed = finding.files.iter().take(MAX_LISTED_FILES).filter(|_| finding.file_count > 1);
        for file in listed {
            let name = if file.file.is_empty() { "unnamed file".into() } else { printable(&file.file) };
            writeln!(out, "    {QUIET}{name}: {}{QUIET:#}", counted(file.total_requests, finding.direction))?;
        }
        let hidden = finding.file_count.saturating_sub(MAX_LISTED_FILES as u64);
        if hidden > 0 {
            writeln!(out, "    {QUIET}and {} in --format json{QUIET:#}", counted(hidden, "more file"))?;
        }
        match finding.on_path_ns {
            Some(0) => writeln!(out, "    None of that time is on the critical path.")?,
            Some(ns) => writeln!(out, "    {} of that time is on the critical path.", duration(ns))?,
            None => {}
        }
        if let Some(advice_text) = advice(finding, report.buffer_bytes) {
            writeln!(out, "    {advice_text}")?;
        }
    }
    if report.findings.len() > top {
        let hidden_count = (report.findings.len() - top) as u64;
        writeln!(out, "  {QUIET}and {} more; use --top 0 to show all{QUIET:#}", count(hidden_count))?;
    }
    Ok(())
}

/// Describes a finding in a sentence.
#[must_use]
pub fn sentence(finding: &IoFinding) -> String {
    let process = match (finding.process.as_str(), finding.pid) {
        ("", None) => "An unknown process".to_owned(),
        ("", Some(pid)) => format!("Process {pid}"),
        (name, Some(pid)) => format!("{} ({pid})", printable(name)),
        (name, None) => printable(name).into_owned(),
    };
    let file = match (finding.file_count, finding.file.as_str()) {
        (2.., _) => format!("{} files", count(finding.file_count)),
        (_, "") => "unnamed file".to_owned(),
        (_, file) => printable(file).into_owned(),
    };
    let verb = finding.direction;
    let (matching, total) = (count(finding.requests), count(finding.total_requests));
    let share = percent(finding.requests as f64 * 100.0 / finding.total_requests.max(1) as f64);
    let tracer = finding.tracer.map_or_else(String::new, |tracer| {
        format!(" (measured under {tracer}, which stops the program at each call: too long)")
    });
    let time = finding.time_ns.map_or_else(String::new, |ns| format!(" All {total} took {}{tracer}.", duration(ns)));
    let factor = count(finding.amplification.unwrap_or(0.0).round() as u64);
    let mut also = String::new();
    for code in &finding.also {
        match code {
            FindingCode::Amplification => {
                also += &format!(" An uncached filter would transfer {factor} times the bytes.");
            }
            FindingCode::RepeatedReads => also += " They go back to the same pages.",
            FindingCode::SmallUnbuffered => also += " They bypass the cache.",
            _ => {}
        }
    }
    let time = format!("{time}{also}");
    match finding.code {
        FindingCode::SmallRequests => {
            format!("{process}, {file}: {matching} of {total} {verb}s ({share}) are smaller than 512 B.{time}")
        }
        FindingCode::Amplification => {
            format!("{process}, {file}: a filter would amplify {total} {verb}s by a factor of {factor}.{time}")
        }
        FindingCode::RepeatedReads => {
            format!("{process}, {file}: {matching} of {total} {verb}s ({share}) repeat earlier reads.{time}")
        }
        FindingCode::SmallUnbuffered => {
            format!(
                "{process}, {file}: {matching} of {total} {verb}s ({share}) bypass the cache with less than a page.{time}"
            )
        }
        FindingCode::Misaligned => {
            format!("{process}, {file}: {matching} of {total} {verb}s ({share}) start or end inside a page.{time}")
        }
        FindingCode::ScatteredWrites => {
            format!("{process}, {file}: {matching} of {total} {verb}s ({share}) are in random order.{time}")
        }
        FindingCode::FlushAfterWrite => format!(
            "{process}, {file}: {} after {total} {verb}s.{}",
            counted(finding.flushes.unwrap_or(0), "flush"),
            finding.flush_ns.map_or_else(String::new, |ns| format!(" The flushes took {}.", duration(ns)))
        ),
    }
}

/// Returns the advice for a finding, with the predicted result.
#[must_use]
pub fn advice(finding: &IoFinding, buffer_bytes: u64) -> Option<String> {
    let verb = finding.direction;
    let buffer = finding.buffered_requests.map(|requests| {
        let is_refuted = finding.cure.is_some_and(|cure| !cure.helps);
        let (verdict, per) = match (is_refuted, finding.file_count) {
            (false, 2..) => ("would", " per file"),
            (false, _) => ("would", ""),
            (true, _) => ("would not help: it would", ""),
        };
        format!(
            "a {} buffer{per} {verdict} reduce {} {verb}s to {}",
            size(buffer_bytes),
            count(finding.total_requests),
            count(requests)
        )
    });
    let cache =
        finding.cache_pages.zip(finding.cache_hit_percent).filter(|&(_, hits)| hits >= 1.0).map(|(pages, hits)| {
            format!("a cache of {} would serve {} of the page accesses", counted(pages, "page"), nearly_all(hits))
        });
    let sentence = match (finding.code, buffer, cache) {
        (FindingCode::Misaligned, ..) => "Align requests to whole pages.".to_owned(),
        (FindingCode::ScatteredWrites, ..) => "Collect writes and issue them in file order.".to_owned(),
        (FindingCode::FlushAfterWrite, ..) => "Flush once per group of related writes.".to_owned(),
        (_, Some(buffer), Some(cache)) => format!("{}; {cache}.", capitalized(&buffer)),
        (_, Some(clause), None) | (_, None, Some(clause)) => format!("{}.", capitalized(&clause)),
        (_, None, None) => return None,
    };
    Some(sentence)
}

/// Formats a share in percent that rounds to 100 only if it is exactly 100.
fn nearly_all(share: f64) -> String {
    if share > 99.0 && share < 100.0 { format!("{:.1} %", share.min(99.9)) } else { percent(share) }
}

fn write_view(report: &IoReport, view: &IoView, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut sections = vec![pages(report, view), sizes(view), patterns(report, view), caches(report, view)];
    sections.extend(view.filter.as_ref().map(|costs| filter(costs, report)));
    sections.extend(groups(view, top));
    section::text::write_all(&sections, out)
}

/// Lists how many pages the requests of a view transfer under different assumptions.
fn pages(report: &IoReport, view: &IoView) -> Section<'static> {
    let table = &view.table;
    let note = format!(
        "{}, average {}, largest {}, {}",
        requests(view, table.requests),
        bytes(table.average_bytes),
        size(table.largest_bytes),
        counted(table.files, "file")
    );
    let name = match view.direction {
        "write" => format!("Writes by {}", requester(view)),
        _ => format!("Reads by {}", requester(view)),
    };
    let keys = match report.key_blocks {
        0 => String::new(),
        number => format!(" and {}", counted(number, "key block")),
    };
    let rows = [
        ("pages touched".to_owned(), table.unique_pages),
        (format!("each file in one operation{}", keys.replace(" and ", ", with ")), table.one_operation_pages),
        (format!("each page once{keys}"), table.minimum_pages),
        (format!("as requested, one page{keys} each"), table.optimistic_pages),
        (format!("as requested, every page touched{keys}"), table.exact_pages),
        ("if all bytes were contiguous".to_owned(), table.ideal_pages),
    ];
    let page_bytes = report.page_bytes;
    Section::builder("pages", name, rows)
        .note(note)
        .name("what", "", 56, |row| Value::Text(row.0.clone().into()))
        .quantity("pages", "pages", |row| Value::Count(row.1))
        .quantity("bytes", "bytes", |row| Value::Bytes(row.1.saturating_mul(page_bytes)))
        .build()
}

fn percent_of(part: u64, total: u64) -> Value<'static> {
    Value::Percent(part as f64 * 100.0 / total.max(1) as f64)
}

fn sizes(view: &IoView) -> Section<'_> {
    let exact: Vec<String> = view
        .histogram
        .exact
        .iter()
        .filter(|exact| exact.requests > 0)
        .map(|exact| format!("{} of {} B", count(exact.requests), count(exact.size_bytes)))
        .collect();
    let exact_line = (!exact.is_empty()).then(|| format!("Exact sizes: {}.", exact.join(", ")));
    let total = view.table.requests;
    Section::builder("sizes", "Sizes", view.histogram.bins.iter().filter(|bin| bin.requests > 0))
        .name("", "size", 24, |bin| match (bin.from_bytes, bin.to_bytes) {
            (from, to) if from == to => Value::Text(size(from).into()),
            (from, to) => Value::Text(format!("{} to {}", size(from), size(to.saturating_add(1))).into()),
        })
        .data("from_bytes", |bin| Value::Bytes(bin.from_bytes))
        .data("to_bytes", |bin| Value::Bytes(bin.to_bytes))
        .quantity("requests", "requests", |bin| Value::Count(bin.requests))
        .quantity("share_percent", "share", move |bin| percent_of(bin.requests, total))
        .quantity("bytes", "bytes", |bin| Value::Bytes(bin.bytes))
        .build()
        .line_if(QUIET, exact_line)
}

fn patterns(report: &IoReport, view: &IoView) -> Section<'static> {
    let patterns = &view.patterns;
    let total = view.table.requests;
    let strided = match patterns.stride_bytes {
        Some(stride) => format!("strided, mostly {} B", signed_count(stride)),
        None => "strided".to_owned(),
    };
    let rows = [
        ("first in the file".to_owned(), patterns.first),
        ("sequential".to_owned(), patterns.consecutive),
        (strided, patterns.strided),
        ("forward".to_owned(), patterns.forward),
        ("backward".to_owned(), patterns.backward),
        ("overlapping the previous request".to_owned(), patterns.overlapping),
    ];
    let merged = format!(
        "Sequential requests merged into whole pages: {}; with a buffer of {} per file: {}.",
        requests(view, patterns.merged_requests),
        size(report.buffer_bytes),
        count(patterns.buffered_requests)
    );
    Section::builder("patterns", "Access patterns", rows.into_iter().filter(|row| row.1 > 0))
        .name("order", "pattern", 40, |row| Value::Text(row.0.clone().into()))
        .quantity("requests", "requests", |row| Value::Count(row.1))
        .quantity("share_percent", "share", move |row| percent_of(row.1, total))
        .build()
        .line(anstyle::Style::new(), merged)
}

fn signed_count(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

fn caches<'a>(report: &IoReport, view: &'a IoView) -> Section<'a> {
    let curve = &view.cache;
    if curve.max_hits() == 0 {
        let text = "A cache would not help: no page is touched twice.";
        return Section::without_table("cache", "Page cache").line(QUIET, text);
    }
    let sampled = curve.sampled.map_or_else(String::new, |sampling| {
        format!(
            "; sampled from {} of the pages, error at most {} in {} that were also simulated exactly",
            percent(sampling.share * 100.0),
            percent(sampling.max_error * 100.0),
            counted(sampling.compared_accesses, "access")
        )
    });
    // The last point compares a cache of all pages with one that also has all key blocks, which needs a few pages more.
    let all_pages = curve.points.last().map_or(u64::MAX, |point| point.pages);
    let misses = move |curve: &CacheCurve, pages| {
        let hits = if pages >= all_pages { curve.max_hits() } else { curve.hits(pages) };
        // A cache smaller than one read-ahead group cannot read ahead.
        let smallest = curve.points.first().map_or(all_pages, |point| point.pages);
        if pages < smallest && pages < all_pages {
            return Value::Nothing;
        }
        percent_of(curve.accesses.saturating_sub(hits), curve.accesses)
    };
    let page_bytes = report.page_bytes;
    let mut section = Section::builder("cache", "Page cache", &curve.points)
        .note(format!("misses by cache size; the last size fits all pages{sampled}"))
        .quantity("pages", "pages", |point| Value::Count(point.pages))
        .quantity("bytes", "bytes", |point| Value::Bytes(point.pages.saturating_mul(page_bytes)))
        .quantity("misses_percent", "misses", |point| Value::Percent(point.miss_ratio * 100.0));
    if let Some(read_ahead) = &view.cache_with_read_ahead {
        let heading = Heading::quantity("misses_with_read_ahead_percent", "with read-ahead");
        section = section.column(heading, |point| misses(read_ahead, point.pages));
    }
    if let Some(key_blocks) = &view.cache_with_key_blocks {
        let heading = Heading::quantity("misses_with_key_blocks_percent", "with key blocks");
        section = section.column(heading, |point| misses(key_blocks, point.pages));
    }
    let page_count = |pages: Option<u64>| pages.map_or_else(|| "-".to_owned(), count);
    let unit = if curve.pages_for_99_percent == Some(1) { "page" } else { "pages" };
    let smallest = format!(
        "Cache size for 50 / 90 / 99 % of achievable hits: {} / {} / {} {unit}.",
        page_count(curve.pages_for_50_percent),
        page_count(curve.pages_for_90_percent),
        page_count(curve.pages_for_99_percent)
    );
    section.build().line(anstyle::Style::new(), smallest)
}

fn filter(costs: &FilterCosts, report: &IoReport) -> Section<'static> {
    let note = costs.device.map_or_else(
        || "no times; to estimate them, specify --device latency=…,bandwidth=…".to_owned(),
        |device| {
            let origin = match device.origin {
                DeviceOrigin::Given => "as specified",
                DeviceOrigin::Fitted => "fitted to the recorded disk reads",
            };
            let rate = size(device.bytes_per_second as u64);
            format!("model: {} per operation and {rate}/s, {origin}", duration(device.latency_ns))
        },
    );
    let cached = format!("{} cached", counted(costs.cache_pages, "page"));
    let filter_name = format!("filter ({} blocks)", size(report.page_bytes));
    let rows = [
        ("no filter, no cache".to_owned(), &costs.plain),
        (format!("no filter, {cached}"), &costs.plain_cached),
        (format!("{filter_name}, no cache"), &costs.filtered),
        (format!("{filter_name}, {cached}"), &costs.filtered_cached),
    ];
    Section::builder("filter", "Cost of a filter", rows)
        .note(note)
        .name("what", "", 48, |row| Value::Text(row.0.clone().into()))
        .quantity("operations", "operations", |row| Value::Count(row.1.operations))
        .quantity("bytes", "bytes", |row| Value::Bytes(row.1.bytes))
        .quantity("time_ns", "time", |row| Cell::duration_or_dash(row.1.time_ns))
        .build()
}

fn groups(view: &IoView, top: usize) -> Option<Section<'_>> {
    if view.groups.is_empty() {
        return None;
    }
    let rows = view.groups.iter().map(|group| (view, group));
    let section = group_columns(Section::builder("groups", "By process and file", rows));
    Some(section.top_with_remainder(if top == 0 { usize::MAX } else { top }).build())
}

/// Lists the groups of all views.
#[must_use]
pub fn all_groups(report: &IoReport) -> Section<'_> {
    let rows = report.views.iter().flat_map(|view| view.groups.iter().map(move |group| (view, group)));
    group_columns(Section::builder("groups", "By process and file", rows)).build()
}

/// Returns the display name of a group.
fn group_name(group: &IoGroup) -> String {
    let mut name: Vec<String> = Vec::new();
    if !group.phase.is_empty() {
        name.push(group.phase.clone());
    }
    if let Some(start_ns) = group.slice_start_ns {
        name.push(duration(start_ns));
    }
    if !group.process.is_empty() || group.pid.is_some() {
        name.push(process_name(&group.process, group.pid));
    }
    let texts = [&group.file, &group.folder, &group.extension].into_iter().filter(|text| !text.is_empty());
    name.extend(texts.map(|text| printable(text).into_owned()));
    name.extend(group.handle.map(|handle| format!("handle {handle:#x}")));
    if name.is_empty() { "unnamed".to_owned() } else { name.join("  ") }
}

fn group_columns<'a>(
    section: SectionBuilder<'a, (&'a IoView, &'a IoGroup)>,
) -> SectionBuilder<'a, (&'a IoView, &'a IoGroup)> {
    let count = Value::Count;
    let real = |value| Value::Real { value, decimals: 3 };
    section
        .name("", "process and file", 64, |row| Value::Text(group_name(row.1).into()))
        .data("level", |row| Value::text(row.0.level))
        .data("direction", |row| Value::text(row.0.direction))
        .data("pid", |row| Value::id(row.1.pid))
        .data("process", |row| Value::text(&row.1.process))
        .data("file", |row| Value::text(&row.1.file))
        .data("extension", |row| Value::text(&row.1.extension))
        .data("folder", |row| Value::text(&row.1.folder))
        .data("handle", move |row| Value::from_option(row.1.handle, count))
        .data("slice_start_ns", |row| Value::from_option(row.1.slice_start_ns, Value::Time))
        .data("phase", |row| Value::text(&row.1.phase))
        .quantity("requests", "requests", move |row| count(row.1.table.requests))
        .quantity("bytes", "bytes", |row| Value::Bytes(row.1.table.bytes))
        .quantity("average_bytes", "average", move |row| {
            Cell::with_display_text(real(row.1.table.average_bytes), bytes(row.1.table.average_bytes))
        })
        .quantity("largest_bytes", "largest", |row| Value::Bytes(row.1.table.largest_bytes))
        .data("files", move |row| count(row.1.table.files))
        .quantity("unique_pages", "pages", move |row| count(row.1.table.unique_pages))
        .data("one_operation_pages", move |row| count(row.1.table.one_operation_pages))
        .data("minimum_pages", move |row| count(row.1.table.minimum_pages))
        .data("optimistic_pages", move |row| count(row.1.table.optimistic_pages))
        .quantity("exact_pages", "requested", move |row| count(row.1.table.exact_pages))
        .quantity("amplification", "amplification", move |row| {
            Cell::with_display_text(real(row.1.table.amplification), format!("{:.1}", row.1.table.amplification))
        })
        .data("ideal_pages", move |row| count(row.1.table.ideal_pages))
        .data("small_requests", move |row| count(row.1.table.small_requests))
        .data("misaligned_requests", move |row| count(row.1.table.misaligned_requests))
        .data("consecutive", move |row| count(row.1.patterns.consecutive))
        .data("strided", move |row| count(row.1.patterns.strided))
        .data("forward", move |row| count(row.1.patterns.forward))
        .data("backward", move |row| count(row.1.patterns.backward))
        .data("overlapping", move |row| count(row.1.patterns.overlapping))
        .data("merged_requests", move |row| count(row.1.patterns.merged_requests))
        .data("buffered_requests", move |row| count(row.1.patterns.buffered_requests))
        .data("timed_requests", move |row| count(row.1.table.timed_requests))
        .data("time_ns", |row| Value::Duration(row.1.table.time_ns))
        .quantity("pages_for_90_percent", "cache 90 %", |row| {
            match row.1.cache.as_ref().and_then(|curve| curve.pages_for_90_percent) {
                Some(pages) => Cell::with_display_text(Value::Count(pages), counted(pages, "page")).with_style(QUIET),
                None => Cell::text_only(QUIET, "-"),
            }
        })
}

fn notes(report: &IoReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if report.reads_at_end > 0 || report.failed > 0 || report.empty_requests > 0 {
        let empty = match report.empty_requests {
            0 => String::new(),
            number => format!(", {} of 0 bytes", counted(number, "request")),
        };
        writeln!(
            out,
            "{QUIET}Not counted: {} at the end of a file, {} that failed{empty}.{QUIET:#}",
            counted(report.reads_at_end, "read"),
            counted(report.failed, "request")
        )?;
    }
    if let Some(tracer) = report.tracer {
        writeln!(
            out,
            "{QUIET}All times were measured under {tracer}, which stops the program at each call: use them to compare requests, not \
             as the cost of a request.{QUIET:#}"
        )?;
    }
    if report.uncounted_pages > 0 {
        writeln!(
            out,
            "{QUIET}Not simulated one by one: {} of requests larger than 1 GiB.{QUIET:#}",
            counted(report.uncounted_pages, "page")
        )?;
    }
    Ok(())
}

/// Writes the comparison of two recordings.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_comparison(comparison: &IoComparison, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut sentences = comparison_sentences(comparison).into_iter();
    if let Some(first) = sentences.next() {
        writeln!(out, "{HEADLINE}{first}{HEADLINE:#}")?;
        sentences.try_for_each(|sentence| writeln!(out, "{sentence}"))?;
        writeln!(out)?;
    }
    section::text::write_all(&[file_changes(comparison, top), changes(comparison)], out)
}

/// Returns what became of the requests, in one sentence for reads and one for writes by programs.
#[must_use]
pub fn comparison_sentences(comparison: &IoComparison) -> Vec<String> {
    let value = |direction: &str, measure: &str| {
        let change = comparison
            .changes
            .iter()
            .find(|change| (change.level, change.direction, change.measure) == ("application", direction, measure))?;
        Some((change.was, change.is))
    };
    let sentence = |direction: &'static str| {
        let (was, is) = value(direction, "requests")?;
        let requests = |number: Option<f64>| number.unwrap_or(0.0) as u64;
        let (was, is) = (requests(was), requests(is));
        let mut sentence = if was == is {
            format!("{} in both", counted(was, direction))
        } else {
            format!("{} became {}", counted(was, direction), count(is))
        };
        if let Some((Some(was_bytes), Some(is_bytes))) = value(direction, "bytes").filter(|bytes| bytes.0 != bytes.1) {
            sentence += &format!("; {} became {}", size(was_bytes as u64), size(is_bytes as u64));
        }
        if let Some((Some(was_ns), Some(is_ns))) = value(direction, "time_ns") {
            sentence += &format!("; {} became {}", duration(was_ns as i64), duration(is_ns as i64));
        }
        Some(format!("{sentence}."))
    };
    ["read", "write"].into_iter().filter_map(sentence).collect()
}

/// Lists the requests of programs by file in two recordings.
#[must_use]
pub fn file_changes(comparison: &IoComparison, top: usize) -> Section<'_> {
    let files = comparison.files.iter();
    Section::builder("files", "By file", files)
        .top_with_remainder(if top == 0 { usize::MAX } else { top })
        .name("file", "file", 56, |change| match change.file.as_str() {
            "" => Cell::text_only(QUIET, "unnamed"),
            file => Value::text(file).into(),
        })
        .name("direction", "", 6, |change| Value::text(change.direction))
        .quantity("was_requests", "before", |change| Value::Count(change.was_requests))
        .quantity("is_requests", "after", |change| Value::Count(change.is_requests))
        .quantity("was_bytes", "bytes before", |change| Value::Bytes(change.was_bytes))
        .quantity("is_bytes", "after", |change| Value::Bytes(change.is_bytes))
        .quantity("was_time_ns", "time before", |change| Cell::duration_or_dash(change.was_time_ns))
        .quantity("is_time_ns", "after", |change| Cell::duration_or_dash(change.is_time_ns))
        .build()
}

/// Formats a ratio with three significant digits, however small it is.
fn ratio(was: f64, is: f64) -> String {
    let ratio = is / was;
    if ratio == 0.0 {
        return "0".to_owned();
    }
    let digits = (2.0 - ratio.abs().log10().floor()).clamp(2.0, 17.0) as usize;
    format!("{ratio:.digits$}")
}

/// Lists the changes between two recordings.
#[must_use]
pub fn changes(comparison: &IoComparison) -> Section<'_> {
    let formatted = |measure: &str, value: Option<f64>| {
        let text = match (value, measure) {
            (None, _) => "-".to_owned(),
            (Some(value), "bytes" | "average_bytes" | "largest_bytes") => size(value.round() as u64),
            (Some(value), "time_ns") => duration(value as i64),
            (Some(value), "amplification") => format!("{value:.1}"),
            (Some(value), _) => count(value as u64),
        };
        Cell::with_display_text(Value::from_option(value, |value| Value::Text(value.to_string().into())), text)
    };
    Section::builder("changes", "Measures", &comparison.changes)
        .name("level", "requests by", 12, |change| Value::text(change.level))
        .name("direction", "", 6, |change| Value::text(change.direction))
        .name("measure", "measure", 20, |change| {
            let measure = change.measure.trim_end_matches("_ns").trim_end_matches("_bytes").replace('_', " ");
            Cell::with_display_text(Value::text(change.measure), measure)
        })
        .quantity("was", "before", move |change| formatted(change.measure, change.was))
        .quantity("is", "after", move |change| formatted(change.measure, change.is))
        .quantity("", "ratio", |change| match (change.was, change.is) {
            (Some(was), Some(is)) if was > 0.0 => Value::Text(ratio(was, is).into()),
            _ => Value::text("-"),
        })
        .build()
}

/// Returns the one-line message for a recording without reads and writes.
#[must_use]
pub fn no_requests(report: &IoReport, recorder: &str) -> String {
    let mut sentence =
        format!("no reads or writes in the recording ({})", if recorder.is_empty() { "unnamed" } else { recorder });
    if report.reads_at_end + report.failed > 0 {
        sentence += &format!(
            ": {} at the end of a file, {} that failed",
            counted(report.reads_at_end, "read"),
            counted(report.failed, "request")
        );
    }
    sentence
        + "; on Windows, record the kernel flags FILE_IO, FILE_IO_INIT and DISK_IO; on Linux, run 'onoff io record -- COMMAND'"
}
