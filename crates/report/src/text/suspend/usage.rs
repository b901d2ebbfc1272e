//! What processors and disks did, phase by phase.

use std::io::{self, Write};

use onoff_analysis::transition::suspend::{PowerHalf, PowerPhase, PowerTransition};

use super::title;
use crate::text::printable::printable;
use crate::text::quantity::{duration, percent, share, size};
use crate::text::style::QUIET;
use crate::text::table::{Table, cell, styled_cell};

/// Phases shorter than this are not worth a line, ns.
const NOTABLE_NS: i64 = 1_000_000;

/// Names beside each phase.
const NAMES: usize = 2;

pub(super) fn write(transition: &PowerTransition, out: &mut dyn Write) -> io::Result<()> {
    let phases: Vec<&PowerPhase> = transition
        .phases
        .iter()
        .filter(|phase| phase.half != PowerHalf::Asleep)
        .filter(|phase| phase.duration_ns.is_some_and(|ns| ns >= NOTABLE_NS))
        .filter(|phase| phase.cpu.is_some() || phase.disk.is_some())
        .collect();
    if phases.is_empty() {
        return Ok(());
    }
    title("Processors and disks", "busy share of all processors; service time summed over disks", out)?;
    let mut table = Table::new()
        .left("phase", 18)
        .right("processors")
        .left("most by", 60)
        .right("disks")
        .right("read")
        .right("written")
        .right("flushes")
        .left("most by", 60);
    for phase in phases {
        let (busy, busiest) = phase.cpu.as_ref().map_or_else(Default::default, |cpu| {
            let names: Vec<String> = cpu
                .by_process
                .iter()
                .take(NAMES)
                .map(|row| format!("{} {}", process(&row.image, row.pid), duration(row.cpu_ns)))
                .collect();
            (percent(share(cpu.busy_ns, cpu.capacity_ns)), names.join(", "))
        });
        let disk = phase.disk.as_ref().filter(|disk| disk.service_ns > 0);
        let (read, written, flushes, most) = disk.map_or_else(Default::default, |disk| {
            let names: Vec<String> = disk
                .by_process
                .iter()
                .take(NAMES)
                .map(|row| format!("{} {}", process(&row.image, row.pid), duration(row.service_ns)))
                .collect();
            let operations = &disk.operations;
            (
                size(operations.read.bytes),
                size(operations.write.bytes),
                operations.flush.operations.to_string(),
                names.join(", "),
            )
        });
        table.row([
            cell(phase.name.as_str()),
            cell(busy),
            styled_cell(QUIET, busiest),
            cell(disk.map(|disk| duration(disk.service_ns)).unwrap_or_default()),
            cell(read),
            cell(written),
            cell(flushes),
            styled_cell(QUIET, most),
        ]);
    }
    table.write(out)
}

fn process(image: &str, pid: Option<u32>) -> String {
    match (image, pid) {
        ("", None) => "unknown".to_owned(),
        ("", Some(pid)) => format!("process {pid}"),
        (image, Some(pid)) => format!("{} ({pid})", printable(image)),
        (image, None) => printable(image).into_owned(),
    }
}
