//! The stages, with bars on a common axis.

use std::io::{self, Write};

use onoff_analysis::netboot::report::{NetworkBoot, StageKind};

use super::title;
use crate::text::bar::Axis;
use crate::text::quantity::{counted, duration, percent};
use crate::text::style::{BAR, QUIET, WORST};
use crate::text::table::{Table, cell, styled_cell};

const BAR_CELLS: usize = 28;
/// More rows than this do not fit a screen: the shortest are summed up.
const MOST_ROWS: usize = 24;
/// Silences shorter than this share of the boot are summed up.
const BRIEF_PERCENT: f64 = 0.5;

pub(super) fn write(boot: &NetworkBoot, out: &mut dyn Write) -> io::Result<()> {
    title("Stages", "", out)?;
    let axis = Axis::new(boot.start_ns, boot.end_ns, BAR_CELLS);
    let longest_ns = boot.stages.iter().map(|stage| stage.duration_ns).max();
    let mut lengths: Vec<i64> = boot.stages.iter().map(|stage| stage.duration_ns).collect();
    lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
    let shortest_shown = lengths.get(MOST_ROWS).map_or(i64::MIN, |&length| length.saturating_add(1));
    let mut table =
        Table::new().left("stage", 16).right("begins").right("took").right("share").left("", BAR_CELLS).left("", 64);
    let (mut hidden, mut hidden_ns) = (0_u64, 0_i64);
    for stage in &boot.stages {
        let brief = stage.kind == StageKind::Client && stage.share_percent < BRIEF_PERCENT;
        if brief || stage.duration_ns < shortest_shown {
            hidden += 1;
            hidden_ns = hidden_ns.saturating_add(stage.duration_ns);
            continue;
        }
        let style = if Some(stage.duration_ns) == longest_ns { WORST } else { BAR };
        let detail = match (stage.kind, stage.detail.is_empty()) {
            (StageKind::Link, _) => "from the client's first frame",
            (_, false) => &stage.detail,
            (_, true) => "",
        };
        table.row([
            cell(stage.kind.as_str()),
            cell(duration(stage.start_ns.saturating_sub(boot.start_ns))),
            cell(duration(stage.duration_ns)),
            cell(percent(stage.share_percent)),
            styled_cell(style, axis.bar(stage.start_ns, stage.end_ns)),
            styled_cell(QUIET, detail),
        ]);
    }
    table.write(out)?;
    if hidden > 0 {
        writeln!(out, "  {QUIET}and {}, {} together{QUIET:#}", counted(hidden, "short silence"), duration(hidden_ns))?;
    }
    Ok(())
}
