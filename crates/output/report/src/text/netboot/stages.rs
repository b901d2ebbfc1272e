//! The stages, with bars on a common axis.

use onoff_network::report::{NetworkBoot, Stage, StageKind};

use crate::text::bar::Axis;
use crate::text::quantity::{counted, duration};
use crate::text::style::{BAR, QUIET, WORST};
use onoff_sections::section::{Cell, Section};
use onoff_sections::table::Value;

const BAR_CELLS: usize = 28;
/// Maximum number of rows, to fit on a screen. The shortest are combined into one line.
const MAX_ROWS: usize = 24;
/// Pauses with a smaller share of the boot than this, in percent, are combined into one line.
const BRIEF_PERCENT: f64 = 0.5;

pub(super) fn section(boot: &NetworkBoot) -> Section<'_> {
    let axis = Axis::new(boot.start_ns, boot.end_ns, BAR_CELLS);
    let longest_ns = boot.stages.iter().map(|stage| stage.duration_ns).max();
    let mut lengths: Vec<i64> = boot.stages.iter().map(|stage| stage.duration_ns).collect();
    lengths.sort_by_key(|&length| std::cmp::Reverse(length));
    let shortest_shown = lengths.get(MAX_ROWS).map_or(i64::MIN, |&length| length.saturating_add(1));
    let is_brief = |stage: &&Stage| {
        stage.kind == StageKind::Client && stage.share_percent < BRIEF_PERCENT || stage.duration_ns < shortest_shown
    };
    let (hidden, shown): (Vec<&Stage>, Vec<&Stage>) = boot.stages.iter().partition(is_brief);
    let hidden_ns = hidden.iter().fold(0_i64, |sum, stage| sum.saturating_add(stage.duration_ns));
    let hidden_note = (!hidden.is_empty())
        .then(|| format!("and {}, {} in total", counted(hidden.len() as u64, "short stage"), duration(hidden_ns)));
    let style = |stage: &Stage| if Some(stage.duration_ns) == longest_ns { WORST } else { BAR };
    Section::builder("stages", "Stages", shown)
        .name("kind", "stage", 16, |stage| Value::text(stage.kind.as_str()))
        .time("start_ns", "start", |stage| Cell::since(stage.start_ns, boot.start_ns))
        .data("end_ns", |stage| Value::Time(stage.end_ns))
        .quantity("duration_ns", "duration", |stage| Value::Duration(stage.duration_ns))
        .quantity("share_percent", "share", |stage| Value::Percent(stage.share_percent))
        .name("", "", BAR_CELLS, |stage| Cell::text_only(style(stage), axis.bar(stage.start_ns, stage.end_ns)))
        .name("detail", "", 64, |stage| match stage.kind {
            StageKind::Link => {
                Cell::with_display_text(Value::text(&stage.detail), "from the first frame of the client")
                    .with_style(QUIET)
            }
            _ => Value::text(&stage.detail).styled(QUIET),
        })
        .build()
        .line_if(QUIET, hidden_note)
}
