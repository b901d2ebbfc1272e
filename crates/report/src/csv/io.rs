//! Groups of requests, one row each, for a spreadsheet.

use std::io::{self, Write};

use onoff_analysis::io::{IoComparison, IoReport};

use super::row;

/// Writes the groups of all levels and directions. Names and units are those of the JSON; what a row does not have is empty.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &IoReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "level,direction,pid,process,file,extension,folder,handle,slice_start_ns,requests,bytes,average_bytes,largest_bytes,\
         files,unique_pages,one_operation_pages,minimum_pages,optimistic_pages,exact_pages,amplification,ideal_pages,\
         small_requests,misaligned_requests,consecutive,strided,forward,backward,overlapping,merged_requests,\
         buffered_requests,timed_requests,time_ns,pages_for_90_percent"
    )?;
    let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    for view in &report.views {
        for group in &view.groups {
            let (table, patterns) = (&group.table, &group.patterns);
            let counts = [
                table.unique_pages,
                table.one_operation_pages,
                table.minimum_pages,
                table.optimistic_pages,
                table.exact_pages,
            ];
            let last = [
                table.ideal_pages,
                table.small_requests,
                table.misaligned_requests,
                patterns.consecutive,
                patterns.strided,
                patterns.forward,
                patterns.backward,
                patterns.overlapping,
                patterns.merged_requests,
                patterns.buffered_requests,
                table.timed_requests,
            ];
            let mut cells = vec![
                view.level.to_owned(),
                view.direction.to_owned(),
                number(group.pid.map(u64::from)),
                group.process.clone(),
                group.file.clone(),
                group.extension.clone(),
                group.folder.clone(),
                number(group.handle),
                group.slice_start_ns.map_or_else(String::new, |ns| ns.to_string()),
                table.requests.to_string(),
                table.bytes.to_string(),
                format!("{:.3}", table.average_bytes),
                table.largest_bytes.to_string(),
                table.files.to_string(),
            ];
            cells.extend(counts.iter().map(u64::to_string));
            cells.push(format!("{:.3}", table.amplification));
            cells.extend(last.iter().map(u64::to_string));
            cells.push(table.time_ns.to_string());
            cells.push(number(group.cache.as_ref().and_then(|curve| curve.pages_for_90_percent)));
            row(cells.iter().map(String::as_str), out)?;
        }
    }
    Ok(())
}

/// Writes the comparison of two recordings.
///
/// # Errors
/// What `out` answers.
pub fn write_comparison(comparison: &IoComparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "level,direction,measure,was,is")?;
    for change in &comparison.changes {
        let [was, is] = [change.was, change.is].map(|value| value.map_or_else(String::new, |value| value.to_string()));
        row([change.level, change.direction, change.measure, &was, &is], out)?;
    }
    Ok(())
}
