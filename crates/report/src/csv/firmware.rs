//! A firmware's time: stages, phases and every measured piece of work, one row each.

use std::io::{self, Write};

use onoff_analysis::firmware::{FirmwareComparison, FirmwareReport};

use super::row;

/// Writes the report. Names and units are those of the JSON; what a row does not have is empty.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &FirmwareReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "kind,text,module,guid,phase,start_ns,end_ns,duration_ns,self_ns,depth,caller,handle,apic")?;
    for stage in &report.stages {
        let [start, end, took] = [stage.start_ns, stage.end_ns, stage.duration_ns].map(|ns| ns.to_string());
        let cells = ["stage", stage.name.as_str(), "", "", "", &start, &end, &took];
        row(cells.into_iter().chain([""; 5]), out)?;
    }
    for phase in &report.phases {
        let [start, end, took, own] =
            [phase.start_ns, phase.end_ns, phase.duration_ns, phase.self_ns].map(|ns| ns.to_string());
        let cells = ["phase", &phase.name, "", "", &phase.inside, &start, &end, &took, &own];
        row(cells.into_iter().chain([""; 4]), out)?;
    }
    for work in &report.work {
        let [start, end, took, own] =
            [work.start_ns, work.end_ns, work.duration_ns, work.self_ns].map(|ns| ns.to_string());
        let cells = [
            work.work.as_str(),
            &work.text,
            &work.module,
            &work.guid,
            &work.phase,
            &start,
            &end,
            &took,
            &own,
            &work.depth.to_string(),
            &work.caller,
            &work.handle,
            &work.apic.to_string(),
        ];
        row(cells, out)?;
    }
    for (marks, ends) in [(&report.marks, true), (&report.unended, false)] {
        for mark in marks {
            let time = mark.time_ns.to_string();
            let end = if ends { time.as_str() } else { "" };
            let cells = [mark.work.as_str(), &mark.text, &mark.module, &mark.guid, "", &time, end];
            row(cells.into_iter().chain([""; 6]), out)?;
        }
    }
    Ok(())
}

/// Writes the comparison of two boots.
///
/// # Errors
/// What `out` answers.
pub fn write_comparison(comparison: &FirmwareComparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "kind,name,guid,was_ns,is_ns,change_ns")?;
    for (kind, changes) in [
        ("interval", &comparison.intervals),
        ("phase", &comparison.phases),
        ("driver", &comparison.drivers),
        ("device", &comparison.devices),
    ] {
        for change in changes {
            let [was, is, grown] = [change.was_ns, change.is_ns, change.change_ns]
                .map(|ns| ns.map_or_else(String::new, |ns| ns.to_string()));
            row([kind, &change.name, &change.guid, &was, &is, &grown], out)?;
        }
    }
    Ok(())
}
