//! How programs ask for their data, for a person: the answer first, then the paper's table, sizes, patterns, caches, files.

use std::io::{self, Write};

use onoff_analysis::io::{
    CacheCurve, DeviceOrigin, FilterCosts, FindingCode, IoComparison, IoFinding, IoReport, IoView,
};

use super::losses;
use super::printable::printable;
use super::quantity::{count, counted, duration, duration_or_dash, percent, size};
use super::style::{HEADLINE, QUIET, TITLE, WORST};
use super::table::{Table, cell, styled_cell};

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoTextOptions {
    /// Rows of each list.
    pub top: usize,
}

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &IoReport, options: &IoTextOptions, out: &mut dyn Write) -> io::Result<()> {
    headline(report, out)?;
    findings(report, options.top, out)?;
    for view in &report.views {
        write_view(report, view, options.top, out)?;
    }
    notes(report, out)?;
    losses::write(&report.losses, out)
}

/// Who made the requests of a view, in words.
fn who(view: &IoView) -> &'static str {
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
    let Some(view) = report.views.first() else { return Ok(()) };
    let table = &view.table;
    writeln!(
        out,
        "{HEADLINE}{} by {}, {} on average: {}.{HEADLINE:#}",
        requests(view, table.requests),
        who(view),
        bytes(table.average_bytes),
        size(table.bytes)
    )?;
    if table.amplification >= 1.5 && table.requests > 1 {
        writeln!(
            out,
            "A filter that keeps nothing would move {} pages of {} for them, {} times the bytes; {} hold everything they touch.",
            count(table.exact_pages),
            size(report.page_bytes),
            count(table.amplification.round() as u64),
            counted(table.unique_pages, "page")
        )?;
    }
    Ok(())
}

/// A mean size: whole bytes from 1 up.
fn bytes(mean: f64) -> String {
    if mean < 1024.0 { format!("{mean:.0} B") } else { size(mean.round() as u64) }
}

fn title(text: &str, note: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if note.is_empty() {
        writeln!(out, "{TITLE}{text}{TITLE:#}")
    } else {
        writeln!(out, "{TITLE}{text}{TITLE:#}  {QUIET}{note}{QUIET:#}")
    }
}

fn findings(report: &IoReport, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if report.findings.is_empty() {
        let note = "more than 1,000 requests of one process to one file are needed for one";
        writeln!(out)?;
        return writeln!(out, "{QUIET}No findings; {note}.{QUIET:#}");
    }
    title("What to change", "", out)?;
    for finding in report.findings.iter().take(top) {
        writeln!(out, "  {WORST}{}{WORST:#}", sentence(finding))?;
        if let Some(cure) = cure(finding, report.buffer_bytes) {
            writeln!(out, "    {cure}")?;
        }
    }
    if report.findings.len() > top {
        let more = (report.findings.len() - top) as u64;
        writeln!(out, "  {QUIET}and {} more; --top 0 shows all{QUIET:#}", count(more))?;
    }
    Ok(())
}

/// What a finding says.
fn sentence(finding: &IoFinding) -> String {
    let process = match (finding.process.as_str(), finding.pid) {
        ("", None) => "A process that was not recorded".to_owned(),
        ("", Some(pid)) => format!("Process {pid}"),
        (name, Some(pid)) => format!("{} ({pid})", printable(name)),
        (name, None) => printable(name).into_owned(),
    };
    let file = match finding.file.as_str() {
        "" => "a file without a name".to_owned(),
        file => printable(file).into_owned(),
    };
    let verb = finding.direction;
    let (part, all) = (count(finding.requests), count(finding.of_requests));
    let share = percent(finding.requests as f64 * 100.0 / finding.of_requests.max(1) as f64);
    let time = finding.time_ns.map_or_else(String::new, |ns| format!(" All {all} took {}.", duration(ns)));
    match finding.code {
        FindingCode::SmallRequests => {
            format!("{process}: {part} of {all} {verb}s ({share}) of less than 512 B, {file}.{time}")
        }
        FindingCode::Amplification => format!(
            "{process}: {all} {verb}s that a filter makes {} times as large, {file}.{time}",
            count(finding.amplification.unwrap_or(0.0).round() as u64)
        ),
        FindingCode::ReadAgain => {
            format!("{process}: {part} of {all} {verb}s ({share}) go back to data read before, {file}.{time}")
        }
        FindingCode::Unbuffered => {
            format!(
                "{process}: {part} of {all} {verb}s ({share}) pass the cache by with less than a page, {file}.{time}"
            )
        }
        FindingCode::Misaligned => {
            format!("{process}: {part} of {all} {verb}s ({share}) start or end inside a page, {file}.{time}")
        }
        FindingCode::ScatteredWrites => {
            format!("{process}: {part} of {all} {verb}s ({share}) in no order, {file}.{time}")
        }
        FindingCode::FlushAfterWrite => format!(
            "{process}: {} after {all} {verb}s, {file}.{}",
            counted(finding.flushes.unwrap_or(0), "flush").replace("flushs", "flushes"),
            finding.flush_ns.map_or_else(String::new, |ns| format!(" The flushes took {}.", duration(ns)))
        ),
    }
}

/// What to do about a finding, with the number it would have then.
fn cure(finding: &IoFinding, buffer_bytes: u64) -> Option<String> {
    let verb = finding.direction;
    let buffer = finding.buffered_requests.map(|after| {
        format!("a {} buffer makes {} {verb}s {}", size(buffer_bytes), count(finding.of_requests), count(after))
    });
    let cache =
        finding.cache_pages.zip(finding.cache_hit_percent).filter(|&(_, hits)| hits >= 1.0).map(|(pages, hits)| {
            format!("a cache of {} has {} of the page accesses", counted(pages, "page"), percent(hits))
        });
    let sentence = match (finding.code, buffer, cache) {
        (FindingCode::Misaligned, ..) => "Start and end on whole pages.".to_owned(),
        (FindingCode::ScatteredWrites, ..) => "Collect writes and give them in the order of the file.".to_owned(),
        (FindingCode::FlushAfterWrite, ..) => "Flush once after a group of writes that belong together.".to_owned(),
        (_, Some(buffer), Some(cache)) => format!("{}; {cache}.", capital(&buffer)),
        (_, Some(one), None) | (_, None, Some(one)) => format!("{}.", capital(&one)),
        (_, None, None) => return None,
    };
    Some(sentence)
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn write_view(report: &IoReport, view: &IoView, top: usize, out: &mut dyn Write) -> io::Result<()> {
    let table = &view.table;
    let note = format!(
        "{}, {} on average, the largest {}, {}",
        requests(view, table.requests),
        bytes(table.average_bytes),
        size(table.largest_bytes),
        counted(table.files, "file")
    );
    let name = match view.direction {
        "write" => format!("Writes by {}", who(view)),
        _ => format!("Reads by {}", who(view)),
    };
    title(&name, &note, out)?;
    let keys = match report.key_blocks {
        0 => String::new(),
        number => format!(" and {}", counted(number, "key block")),
    };
    let mut rows = Table::new().left("", 56).right("pages").right("bytes");
    for (what, pages) in [
        ("pages touched".to_owned(), table.unique_pages),
        (format!("each file in one operation{}", keys.replace(" and ", ", with ")), table.one_operation_pages),
        (format!("each page once{keys}"), table.minimum_pages),
        (format!("as requested, one page{keys} each"), table.optimistic_pages),
        (format!("as requested, every page touched{keys}"), table.exact_pages),
        ("if the bytes lay together".to_owned(), table.ideal_pages),
    ] {
        rows.row([cell(what), cell(count(pages)), cell(size(pages.saturating_mul(report.page_bytes)))]);
    }
    rows.write(out)?;
    sizes(view, out)?;
    patterns(report, view, out)?;
    caches(report, view, out)?;
    if let Some(costs) = &view.filter {
        filter(costs, report, out)?;
    }
    groups(view, top, out)
}

fn sizes(view: &IoView, out: &mut dyn Write) -> io::Result<()> {
    let table = &view.table;
    writeln!(out)?;
    let mut rows = Table::new().left("size", 24).right("requests").right("share").right("bytes");
    for bin in view.histogram.bins.iter().filter(|bin| bin.requests > 0) {
        let name = match (bin.from_bytes, bin.to_bytes) {
            (from, to) if from == to => size(from),
            (from, to) => format!("{} to {}", size(from), size(to.saturating_add(1))),
        };
        let share = percent(bin.requests as f64 * 100.0 / table.requests.max(1) as f64);
        rows.row([cell(name), cell(count(bin.requests)), cell(share), cell(size(bin.bytes))]);
    }
    rows.write(out)?;
    let exact: Vec<String> = view
        .histogram
        .exact
        .iter()
        .filter(|exact| exact.requests > 0)
        .map(|exact| format!("{} of {} B", count(exact.requests), count(exact.size_bytes)))
        .collect();
    if exact.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {QUIET}Exactly: {}.{QUIET:#}", exact.join(", "))
}

fn patterns(report: &IoReport, view: &IoView, out: &mut dyn Write) -> io::Result<()> {
    let patterns = &view.patterns;
    let all = view.table.requests;
    writeln!(out)?;
    let mut rows = Table::new().left("order", 40).right("requests").right("share");
    let strided = match patterns.stride_bytes {
        Some(stride) => format!("at a fixed distance, mostly {} B", signed_count(stride)),
        None => "at a fixed distance".to_owned(),
    };
    for (what, number) in [
        ("first of its file", patterns.first),
        ("where the one before ended", patterns.consecutive),
        (strided.as_str(), patterns.strided),
        ("further on", patterns.forward),
        ("further back", patterns.backward),
        ("inside the one before", patterns.overlapping),
    ] {
        if number > 0 {
            rows.row([cell(what), cell(count(number)), cell(percent(number as f64 * 100.0 / all.max(1) as f64))]);
        }
    }
    rows.write(out)?;
    writeln!(
        out,
        "  Consecutive ones merged into whole pages: {}; through a buffer of {} for each file: {}.",
        requests(view, patterns.merged_requests),
        size(report.buffer_bytes),
        count(patterns.buffered_requests)
    )
}

fn signed_count(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", count(number.unsigned_abs()))
}

fn caches(report: &IoReport, view: &IoView, out: &mut dyn Write) -> io::Result<()> {
    let curve = &view.cache;
    if curve.most_hits() == 0 {
        writeln!(out)?;
        return writeln!(out, "{QUIET}A cache would not help: no page is touched twice.{QUIET:#}");
    }
    let sampled = curve.sampled.map_or_else(String::new, |how| {
        format!(
            "; sampled from {} of the pages, at most {} off where {} were also followed exactly",
            percent(how.share * 100.0),
            percent(how.largest_error * 100.0),
            counted(how.compared_accesses, "access").replace("accesss", "accesses")
        )
    });
    title("A cache of pages", &format!("accesses that miss, by its size{sampled}"), out)?;
    let ahead = view.cache_with_read_ahead.as_ref();
    let keys = view.cache_with_key_blocks.as_ref();
    let mut rows = Table::new().right("pages").right("bytes").right("misses");
    if ahead.is_some() {
        rows = rows.right("with read-ahead");
    }
    if keys.is_some() {
        rows = rows.right("with key blocks");
    }
    for point in &curve.points {
        let miss = |curve: &CacheCurve| {
            let misses = curve.accesses.saturating_sub(curve.hits(point.pages));
            percent(misses as f64 * 100.0 / curve.accesses.max(1) as f64)
        };
        let mut cells = vec![
            cell(count(point.pages)),
            cell(size(point.pages.saturating_mul(report.page_bytes))),
            cell(percent(point.miss_ratio * 100.0)),
        ];
        cells.extend([ahead, keys].into_iter().flatten().map(|curve| cell(miss(curve))));
        rows.row(cells);
    }
    rows.write(out)?;
    let enough = |pages: Option<u64>| pages.map_or_else(|| "-".to_owned(), count);
    writeln!(
        out,
        "  Smallest cache for 50, 90 and 99 % of the hits that can be had: {}, {} and {} pages.",
        enough(curve.pages_for_50_percent),
        enough(curve.pages_for_90_percent),
        enough(curve.pages_for_99_percent)
    )
}

fn filter(costs: &FilterCosts, report: &IoReport, out: &mut dyn Write) -> io::Result<()> {
    let note = costs.device.map_or_else(
        || "no times: give --device latency=…,bandwidth=…".to_owned(),
        |device| {
            let origin = match device.origin {
                DeviceOrigin::Given => "as given",
                DeviceOrigin::Fitted => "fitted to the recording's disk reads",
            };
            let rate = size(device.bytes_per_second as u64);
            format!("model: {} for each operation and {rate}/s, {origin}", duration(device.latency_ns))
        },
    );
    title("What a filter costs", &note, out)?;
    let mut rows = Table::new().left("", 48).right("operations").right("bytes").right("time");
    let cached = format!("{} cached", counted(costs.cache_pages, "page"));
    let with = format!("filter with blocks of {}", size(report.page_bytes));
    for (what, cost) in [
        ("no filter, no cache".to_owned(), &costs.plain),
        (format!("no filter, {cached}"), &costs.plain_cached),
        (format!("{with}, no cache"), &costs.filtered),
        (format!("{with}, {cached} above it"), &costs.filtered_cached),
    ] {
        rows.row([
            cell(what),
            cell(count(cost.operations)),
            cell(size(cost.bytes)),
            cell(duration_or_dash(cost.time_ns)),
        ]);
    }
    rows.write(out)
}

fn groups(view: &IoView, top: usize, out: &mut dyn Write) -> io::Result<()> {
    if view.groups.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut rows = Table::new()
        .left("who and what", 64)
        .right("requests")
        .right("bytes")
        .right("average")
        .right("largest")
        .right("pages")
        .right("requested")
        .right("amplified")
        .right("cache 90 %");
    let shown = if top == 0 { usize::MAX } else { top };
    for group in view.groups.iter().take(shown) {
        let table = &group.table;
        let mut name: Vec<String> = Vec::new();
        if let Some(start_ns) = group.slice_start_ns {
            name.push(duration(start_ns));
        }
        match (group.process.as_str(), group.pid) {
            ("", Some(pid)) => name.push(format!("process {pid}")),
            ("", None) => {}
            (process, Some(pid)) => name.push(format!("{} ({pid})", printable(process))),
            (process, None) => name.push(printable(process).into_owned()),
        }
        for text in [&group.file, &group.folder, &group.extension] {
            if !text.is_empty() {
                name.push(printable(text).into_owned());
            }
        }
        if let Some(handle) = group.handle {
            name.push(format!("handle {handle:#x}"));
        }
        let name = if name.is_empty() { "not named".to_owned() } else { name.join("  ") };
        let pages = group.cache.as_ref().and_then(|curve| curve.pages_for_90_percent);
        rows.row([
            cell(name),
            cell(count(table.requests)),
            cell(size(table.bytes)),
            cell(bytes(table.average_bytes)),
            cell(size(table.largest_bytes)),
            cell(count(table.unique_pages)),
            cell(count(table.exact_pages)),
            cell(format!("{:.1}", table.amplification)),
            styled_cell(QUIET, pages.map_or_else(|| "-".to_owned(), |pages| counted(pages, "page"))),
        ]);
    }
    rows.write(out)?;
    if view.groups.len() > shown {
        let more = (view.groups.len() - shown) as u64;
        writeln!(out, "  {QUIET}and {} more; --top 0 shows all{QUIET:#}", count(more))?;
    }
    Ok(())
}

fn notes(report: &IoReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    if report.reads_at_end > 0 || report.failed > 0 {
        writeln!(
            out,
            "{QUIET}Left out: {} at the end of a file, {} that failed.{QUIET:#}",
            counted(report.reads_at_end, "read"),
            counted(report.failed, "request")
        )?;
    }
    if report.pages_not_followed > 0 {
        writeln!(
            out,
            "{QUIET}Not followed one by one: {} of requests beyond 1 GiB.{QUIET:#}",
            counted(report.pages_not_followed, "page")
        )?;
    }
    Ok(())
}

/// Writes the comparison of two recordings.
///
/// # Errors
/// What `out` answers.
pub fn write_comparison(comparison: &IoComparison, out: &mut dyn Write) -> io::Result<()> {
    let mut rows =
        Table::new().left("requests by", 12).left("", 6).left("measure", 20).right("was").right("is").right("times");
    for change in &comparison.changes {
        let shown = |value: Option<f64>| {
            value.map_or_else(
                || "-".to_owned(),
                |value| match change.measure {
                    "bytes" | "average_bytes" | "largest_bytes" => size(value.round() as u64),
                    "time_ns" => duration(value as i64),
                    "amplification" => format!("{value:.1}"),
                    _ => count(value as u64),
                },
            )
        };
        let times = match (change.was, change.is) {
            (Some(was), Some(is)) if was > 0.0 => format!("{:.2}", is / was),
            _ => "-".to_owned(),
        };
        let measure = change.measure.trim_end_matches("_ns").trim_end_matches("_bytes").replace('_', " ");
        rows.row([
            cell(change.level),
            cell(change.direction),
            cell(measure),
            cell(shown(change.was)),
            cell(shown(change.is)),
            cell(times),
        ]);
    }
    rows.write(out)
}

/// Why there is no report, in one line.
#[must_use]
pub fn nothing(report: &IoReport, recorder: &str) -> String {
    let mut sentence =
        format!("no read or write in the recording ({})", if recorder.is_empty() { "unnamed" } else { recorder });
    if report.reads_at_end + report.failed > 0 {
        sentence += &format!(
            ": {} at the end of a file, {} that failed",
            counted(report.reads_at_end, "read"),
            counted(report.failed, "request")
        );
    }
    sentence
        + "; of Windows, record the kernel's FILE_IO, FILE_IO_INIT and DISK_IO; of a program on Linux, 'onoff io record -- COMMAND'"
}
