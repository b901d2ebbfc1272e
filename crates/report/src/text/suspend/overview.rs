//! Several transitions as a list.

use std::io::{self, Write};

use onoff_analysis::transition::suspend::{PowerTransition, SuspendReport};

use super::headline::{cause, kind_name, longest_phase, resume};
use crate::text::quantity::{counted, duration, duration_or_dash};
use crate::text::style::{HEADLINE, QUIET};
use crate::text::table::{Table, cell, styled_cell};

pub(super) fn write(report: &SuspendReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{HEADLINE}{}.{HEADLINE:#} {QUIET}--transition N shows one.{QUIET:#}",
        counted(report.found.into(), "power transition")
    )?;
    let mut table = Table::new()
        .right("no")
        .left("kind", 20)
        .right("begins")
        .right("suspend")
        .right("away")
        .right("resume")
        .right("then work")
        .left("longest", 90);
    for transition in &report.transitions {
        let work = transition.settled().map(|settling| settling.busy_ns);
        let half = |measured: Option<i64>, kernel: Option<i64>| duration_or_dash(measured.or(kernel));
        let up = resume(transition);
        table.row([
            cell(transition.number.to_string()),
            cell(kind_name(transition.variant)),
            cell(duration(transition.start_or_zero_ns())),
            cell(half(transition.details.suspend.measured.duration_ns, transition.details.suspend.kernel_ns)),
            cell(half(transition.details.asleep.wall_ns, transition.details.asleep.measured.duration_ns)),
            cell(half(up.measured.duration_ns, up.kernel_ns)),
            cell(duration_or_dash(work)),
            styled_cell(QUIET, longest(transition)),
        ]);
    }
    table.write(out)
}

fn longest(transition: &PowerTransition) -> String {
    let Some(phase) = longest_phase(transition) else {
        return String::new();
    };
    let mut text = phase.name.as_str().to_owned();
    if let Some(ns) = phase.duration_ns {
        text += &format!(" {}", duration(ns));
    }
    if let Some(cause) = cause(transition, phase) {
        text += &format!(": {cause}");
    }
    text
}
