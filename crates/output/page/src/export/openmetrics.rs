//! OpenMetrics text, e.g. for the textfile collector of the Prometheus node exporter: durations of transitions and
//! phases, the blame, and the cost of findings. All values are gauges, because a file describes one recording.

use std::io::{self, Write};

use onoff_compare::RunSubject;
use onoff_transitions::overview::{TransitionOverview, overview};

use crate::build::LoadedRecording;
use crate::page::PageTransition;

/// Maximum number of subjects in the blame of a phase: a time series each.
const MAX_SUBJECTS: usize = 8;

/// A metric: its name, unit, and explanation.
struct Family {
    name: &'static str,
    help: &'static str,
    rows: Vec<(String, f64)>,
}

impl Family {
    const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, rows: Vec::new() }
    }

    fn add(&mut self, labels: &[(&str, &str)], value: f64) {
        let labels = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        self.rows.push((labels.collect::<Vec<_>>().join(","), value));
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// Writes the metrics of a recording. Values that are not known are absent.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(recording: &LoadedRecording, out: &mut dyn Write) -> io::Result<()> {
    let trace = &recording.trace;
    let rows = overview(trace);
    let mut start = Family::new(
        "onoff_transition_start_timestamp_seconds",
        "When the boot, shutdown or sleep began, as seconds since 1970.",
    );
    let mut duration = Family::new("onoff_transition_duration_seconds", "Duration of the boot, shutdown or sleep.");
    let mut phases = Family::new("onoff_phase_duration_seconds", "Duration of a phase.");
    let mut blame = Family::new("onoff_blame_seconds", "Time of a phase by the subject that it is blamed on.");
    let mut findings = Family::new("onoff_finding_cost_seconds", "Cost of what is found to be slow.");
    let mut lost = Family::new("onoff_recording_lost_events", "Events that the recorder lost.");
    for transition in &recording.content.transitions {
        let number = transition.number.to_string();
        let labels = [("transition", transition.kind.as_str()), ("number", &number), ("variant", &transition.variant)];
        if let Some(origin_ns) = trace.clock.start_unix_ns {
            start.add(&labels, seconds(origin_ns.saturating_add(transition.start_ns)));
        }
        let (duration_ns, phases_ns) = durations(transition, &rows);
        if let Some(ns) = duration_ns {
            duration.add(&labels, seconds(ns));
        }
        for (phase, ns) in phases_ns {
            phases.add(&[&labels[..2], &[("phase", phase)]].concat(), seconds(ns));
        }
        add_blame(transition, &labels[..2], &mut blame);
        for finding in &transition.findings {
            let Some(cost_ns) = finding.cost_ns else { continue };
            let subject = finding.subject.as_ref().map_or("", |subject| subject.name.as_str());
            findings.add(
                &[&labels[..2], &[("finding", finding.code.as_str()), ("subject", subject)]].concat(),
                seconds(cost_ns),
            );
        }
    }
    lost.add(&[], trace.events_lost as f64);
    for family in [start, duration, phases, blame, findings, lost] {
        write_family(family, out)?;
    }
    writeln!(out, "# EOF")
}

/// Returns the duration of a transition, and the known durations of its phases, ns: as in the summary.
fn durations<'t>(transition: &'t PageTransition, rows: &'t [TransitionOverview]) -> (Option<i64>, Vec<(&'t str, i64)>) {
    let is_same = |row: &&TransitionOverview| row.kind.as_str() == transition.kind && row.number == transition.number;
    if let Some(row) = rows.iter().find(is_same) {
        return (row.duration_ns, row.measured_phases().map(|(phase, ns)| (phase.name.as_str(), ns)).collect());
    }
    // A network boot ends with its last stage.
    if transition.kind != RunSubject::Netboot.as_str() {
        return (None, Vec::new());
    }
    let length_ns = |start_ns: i64, end_ns: i64| end_ns.saturating_sub(start_ns);
    let stages = transition.phases.iter().map(|stage| (stage.name.as_str(), length_ns(stage.start_ns, stage.end_ns)));
    (Some(length_ns(transition.start_ns, transition.end_ns)), stages.collect())
}

fn add_blame(transition: &PageTransition, labels: &[(&str, &str)], blame: &mut Family) {
    for phase in &transition.phases {
        for entry in phase.account.iter().take(MAX_SUBJECTS).filter(|entry| entry.ns > 0) {
            let names = [("phase", phase.name.as_str()), ("subject", &entry.subject), ("kind", &entry.kind)];
            blame.add(&[labels, &names].concat(), seconds(entry.ns));
        }
    }
}

/// Writes a metric. Rows with equal labels, e.g. two findings with one subject, are added up: a series has one value.
fn write_family(mut family: Family, out: &mut dyn Write) -> io::Result<()> {
    if family.rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "# HELP {} {}", family.name, family.help)?;
    writeln!(out, "# TYPE {} gauge", family.name)?;
    family.rows.sort_by(|a, b| a.0.cmp(&b.0));
    let mut rows: Vec<(String, f64)> = Vec::with_capacity(family.rows.len());
    for (labels, value) in family.rows {
        match rows.last_mut().filter(|last| last.0 == labels) {
            Some(last) => last.1 += value,
            None => rows.push((labels, value)),
        }
    }
    for (labels, value) in rows {
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        writeln!(out, "{}{labels} {value}", family.name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_equal_series_added() {
        let mut family = Family::new("onoff_x_seconds", "X.");
        for value in [1.0, 0.5] {
            family.add(&[("subject", "a\"b\\c\nd")], value);
        }
        let mut out = Vec::new();
        write_family(family, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = "onoff_x_seconds{subject=\"a\\\"b\\\\c\\nd\"} 1.5\n";
        assert_eq!(text, format!("# HELP onoff_x_seconds X.\n# TYPE onoff_x_seconds gauge\n{line}"));
    }
}
