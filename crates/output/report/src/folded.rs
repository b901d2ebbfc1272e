//! Critical paths and call stacks as folded stacks, the input format of flame graph tools: one line per stack,
//! outermost frame first, with nanoseconds as the count.

use std::collections::BTreeMap;
use std::io::{self, Write};

use onoff_blame::waits::{PathStep, StepKind};
use onoff_blame::why::{ExplainedInterval, WhyReport};
use onoff_lists::flame::Flame;

use crate::text::why::state;

/// Writes the steps of `report`.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(report: &WhyReport, out: &mut dyn Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, i64> = BTreeMap::new();
    for interval in &report.intervals {
        let root = root(interval);
        for step in &interval.path.steps {
            let line = lines.entry(line(&root, step)).or_default();
            *line = line.saturating_add(step.duration_ns);
        }
        if interval.path.omitted_ns > 0 {
            let line = lines.entry(format!("{root};short steps")).or_default();
            *line = line.saturating_add(interval.path.omitted_ns);
        }
    }
    for (line, ns) in lines {
        writeln!(out, "{line} {ns}")?;
    }
    Ok(())
}

/// Writes the call stacks of `flame`.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_flame(flame: &Flame, out: &mut dyn Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, i64> = BTreeMap::new();
    for stack in flame.stacks() {
        let frames: Vec<String> = stack.iter().map(|&node| frame(&flame.nodes[node].name)).collect();
        let own_ns = stack.last().map_or(0, |&node| flame.nodes[node].own_ns);
        let line = lines.entry(frames.join(";")).or_default();
        *line = line.saturating_add(own_ns);
    }
    for (line, ns) in lines {
        writeln!(out, "{line} {ns}")?;
    }
    Ok(())
}

fn root(interval: &ExplainedInterval) -> String {
    let end = &interval.path.end_thread;
    match interval.thread {
        Some(_) => frame(&format!("{} {}", end.process, end.tid)),
        None => frame(&format!("{} {}", interval.action, interval.name)),
    }
}

fn line(root: &str, step: &PathStep) -> String {
    let mut line = root.to_owned();
    for waiter in step.waiters.iter().rev() {
        line.push_str(&format!(";thread {waiter}"));
    }
    line.push(';');
    line.push_str(&frame(&format!("{} {}", step.thread.process, step.thread.tid)));
    for stack in step.stack.iter().rev() {
        line.push(';');
        line.push_str(&frame(&stack.label()));
    }
    line.push(';');
    line.push_str(state(step.kind));
    if let (Some(service), StepKind::ServiceDependency) = (&step.service, step.kind) {
        line.push(' ');
        line.push_str(&frame(&service.name));
    } else if !step.detail.is_empty() {
        line.push(' ');
        line.push_str(&frame(&step.detail));
    }
    line
}

/// Replaces the characters in a frame that separate frames and lines.
fn frame(text: &str) -> String {
    text.trim()
        .chars()
        .map(|character| match character {
            ';' => ',',
            character if character.is_control() => ' ',
            character => character,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_blame::waits::{CriticalPath, PathThread, StackFrame};
    use onoff_blame::why::ExplainedIntervalKind;

    #[test]
    fn writes_one_line_per_step_outermost_frame_first() {
        let thread = |tid| PathThread { tid, process: "a;b.exe".to_owned(), ..PathThread::default() };
        let step = PathStep {
            start_ns: 0,
            end_ns: 30,
            duration_ns: 30,
            thread: thread(20),
            kind: StepKind::Disk,
            detail: "C:\\x".to_owned(),
            service: None,
            certainty: onoff_evidence::Certainty::Measured,
            wait_reason: String::new(),
            readies_tid: None,
            waiters: vec![64, 44],
            device: String::new(),
            stack: vec![StackFrame { module: "m.dll".to_owned(), function: "f".to_owned(), ..StackFrame::default() }],
            stack_ns: None,
        };
        let report = WhyReport {
            intervals: vec![ExplainedInterval {
                kind: ExplainedIntervalKind::Phase,
                name: "ExplorerInit".to_owned(),
                action: "boot".to_owned(),
                thread: None,
                start_ns: 0,
                end_ns: 40,
                duration_ns: 40,
                account: onoff_blame::account::PhaseAccount::default(),
                path: CriticalPath { steps: vec![step], omitted_ns: 10, ..CriticalPath::default() },
            }],
            ..WhyReport::default()
        };
        let mut out = Vec::new();
        write(&report, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "boot ExplorerInit;short steps 10\n\
             boot ExplorerInit;thread 44;thread 64;a,b.exe 20;m.dll!f;waiting for a disk C:\\x 30\n"
        );
    }
}
