//! The phases of any transition on one axis: start, end, duration, and what ended each.

use anstyle::Style;
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;
use onoff_firmware_times::FirmwareStageName;
use onoff_trace::firmware::FirmwareProblem;
use onoff_transitions::{Phase, PhaseName, SuspendStage};
use onoff_usage::cpu::CpuSource;
use onoff_usage::idle::Settling;

use super::bar::Axis;
use super::printable::printable;
use super::quantity::{counted, duration, share};
use super::style::{BAR, DOUBT, MISSING, QUIET, WORST};
use onoff_sections::section::{Cell, Line, Section};
use onoff_sections::table::Value;

/// Width of the axis, in characters.
const AXIS_CELLS: usize = 32;

/// Minimum gap between phases that gets a row, ns.
const NOTABLE_GAP_NS: i64 = 1_000_000;

/// The display name of a phase.
#[must_use]
pub fn name(phase: PhaseName) -> String {
    phase.display_name()
}

/// The display name of a phase with the given JSON name.
#[must_use]
pub fn display_name(phase: &str) -> String {
    let of_firmware = || {
        FirmwareStageName::parse(phase)
            .map_or_else(|| printable(phase).into_owned(), |stage| stage.display_name().to_owned())
    };
    PhaseName::parse(phase).map_or_else(of_firmware, PhaseName::display_name)
}

/// A row of the table: a phase, or a gap between phases.
#[derive(Clone, Debug)]
pub struct PhaseRow {
    pub name: String,
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    pub duration_ns: Option<i64>,
    /// The duration is a lower bound: the end is not in the recording.
    pub is_lower_bound: bool,
    /// Part of the total: the row has a share and may be the longest.
    pub is_part_of_total: bool,
    /// The row has a bar.
    pub has_bar: bool,
    /// A gap between phases.
    pub is_gap: bool,
    /// What ended the phase, or what was in the gap.
    pub note: (Style, String),
}

impl PhaseRow {
    /// The row of a phase.
    #[must_use]
    pub fn of(phase: &Phase) -> Self {
        let open = phase.duration_ns.is_none() && phase.start_ns.is_some();
        Self {
            name: name(phase.name),
            start_ns: phase.start_ns,
            end_ns: phase.end_ns,
            duration_ns: phase.took_ns().or(Some(phase.recorded_ns).filter(|&ns| open && ns > 0)),
            is_lower_bound: open,
            is_part_of_total: phase.name != PhaseName::TraceTail && phase.half != Some(SuspendStage::Asleep),
            has_bar: phase.name != PhaseName::TraceTail && phase.half != Some(SuspendStage::Asleep),
            is_gap: false,
            note: note(phase),
        }
    }

    /// The row of a gap between phases.
    #[must_use]
    pub fn between(start_ns: i64, end_ns: i64, note: String) -> Self {
        Self {
            name: "  between".to_owned(),
            start_ns: Some(start_ns),
            end_ns: Some(end_ns),
            duration_ns: Some(end_ns.saturating_sub(start_ns)),
            is_lower_bound: false,
            is_part_of_total: true,
            has_bar: true,
            is_gap: true,
            note: (QUIET, note),
        }
    }

    /// The row of the work until idle, without the idle time that ends it.
    #[must_use]
    pub fn settled(self, settling: Option<&Settling>) -> Self {
        let Some(settling) = settling else { return self };
        let known = settling.start_ns.is_some() && !settling.slices.is_empty();
        let note = match settling.end_ns {
            Some(_) => (QUIET, format!("{} of idle time reached", duration(settling.idle_ns))),
            None => self.note,
        };
        Self { duration_ns: known.then_some(settling.busy_ns), is_lower_bound: false, note, ..self }
    }
}

/// What ended a phase, or what its end waited for.
fn note(phase: &Phase) -> (Style, String) {
    let rule = phase.ends.rule.to_string();
    let rule = printable(&rule);
    let (style, text) = match (phase.ends.certainty, phase.starts.certainty) {
        (Certainty::Measured, _) if phase.work.items > 0 => (QUIET, String::new()),
        (Certainty::Measured, _) => (QUIET, rule.into_owned()),
        (Certainty::Inferred, _) => (DOUBT, format!("inferred: {rule}")),
        (Certainty::Missing, _) if phase.start_ns.is_some() => (DOUBT, "the end is not in the recording".to_owned()),
        (Certainty::Missing, _) if phase.ends.rule != Rule::None && phase.half.is_some() => {
            (MISSING, rule.into_owned())
        }
        (Certainty::Missing, _) => (MISSING, "not recorded".to_owned()),
    };
    let person = match phase.user_input_ns {
        0 => String::new(),
        ns => format!("excluding {} waiting for a user", duration(ns)),
    };
    let parts: Vec<String> = [person, text, work(phase)].into_iter().filter(|part| !part.is_empty()).collect();
    (style, parts.join("; "))
}

/// The notifications or requests of a sleep phase, and what its end waited for.
fn work(phase: &Phase) -> String {
    let work = &phase.work;
    if work.items == 0 {
        return String::new();
    }
    let what = match phase.name {
        PhaseName::UserSession | PhaseName::QueryApps | PhaseName::SuspendApps | PhaseName::ResumeApps => "application",
        PhaseName::QueryServices | PhaseName::SuspendServices | PhaseName::ResumeServices => "service",
        PhaseName::QueryDevices | PhaseName::SuspendDevices | PhaseName::ResumeDevices => "device",
        _ => "callback",
    };
    let mut text = counted(work.items, what);
    if work.total_ns > 0 {
        text += &format!(", {} in total", duration(work.total_ns));
    }
    if matches!(what, "application" | "service") {
        if let Some(beyond) = work.other_ns.filter(|&ns| ns > 0) {
            text += &format!(", plus {} outside them", duration(beyond));
            if phase.name == PhaseName::SuspendApps {
                text += " (usually the display fading out)";
            }
        }
    } else if let Some(last) = &work.last {
        text += &format!(", last {}", printable(&last.name));
        if let Some(after) = last.after_others_ns.filter(|&ns| ns > 0) {
            text += &format!(", {} after the others", duration(after));
        }
    }
    if let Some(step) = work.path.iter().max_by_key(|step| step.duration_ns).filter(|step| step.duration_ns > 0) {
        text += &format!(", longest wait {} {}", device(&step.device, &step.driver), duration(step.duration_ns));
    }
    text
}

/// A device with its driver in parentheses.
#[must_use]
pub fn device(device: &str, driver: &str) -> String {
    match driver {
        "" => printable(device).into_owned(),
        driver => format!("{} ({})", printable(device), printable(driver)),
    }
}

/// The table of the phases of a transition.
#[derive(Clone, Debug, Default)]
pub struct PhaseTable {
    /// Times are relative to this, ns.
    pub origin_ns: i64,
    /// The total that shares refer to, ns; `None` if unknown.
    pub total_ns: Option<i64>,
    /// Start and end of the sleep, which the axis leaves out, ns.
    pub asleep: Option<(i64, i64)>,
    pub rows: Vec<PhaseRow>,
}

impl PhaseTable {
    /// The rows of the phases and of the gaps between them; `gap` gives the note of a gap, and the last gap ends at `until_ns`.
    #[must_use]
    pub fn with_gaps<'p>(
        phases: impl IntoIterator<Item = &'p Phase>,
        from_ns: i64,
        until_ns: Option<i64>,
        gap: impl Fn(i64, i64) -> String,
    ) -> Vec<PhaseRow> {
        let mut rows = Vec::new();
        let mut known_until = from_ns;
        let add_gap = |rows: &mut Vec<PhaseRow>, known_until: i64, to_ns: i64| {
            if to_ns.saturating_sub(known_until) >= NOTABLE_GAP_NS {
                rows.push(PhaseRow::between(known_until, to_ns, gap(known_until, to_ns)));
            }
        };
        for phase in phases {
            if let Some(start) = phase.start_ns {
                add_gap(&mut rows, known_until, start);
                known_until = known_until.max(start.saturating_add(phase.recorded_ns));
            }
            rows.push(PhaseRow::of(phase));
        }
        if let Some(until) = until_ns {
            add_gap(&mut rows, known_until, until);
        }
        rows
    }

    /// The time minus the part of the sleep before it.
    fn awake(&self, time_ns: i64) -> i64 {
        match self.asleep {
            Some((from, to)) if from < to => time_ns.saturating_sub(time_ns.clamp(from, to).saturating_sub(from)),
            _ => time_ns,
        }
    }

    #[must_use]
    pub fn section(self, note: impl Into<String>) -> Section<'static> {
        let drawn = || self.rows.iter().filter(|row| row.has_bar);
        let until = |row: &PhaseRow| {
            row.end_ns.or_else(|| Some(row.start_ns?.saturating_add(row.duration_ns?))).map(|end| self.awake(end))
        };
        let start = drawn().filter_map(|row| row.start_ns).min().unwrap_or(0);
        let end = drawn().filter_map(until).max().unwrap_or(0);
        let axis = Axis::new(self.awake(start), end, AXIS_CELLS);
        let longest =
            self.rows.iter().filter(|row| row.is_part_of_total && !row.is_gap).filter_map(|row| row.duration_ns).max();
        let style = |row: &PhaseRow| match row.is_gap {
            true => QUIET,
            false if row.is_part_of_total && row.duration_ns.is_some_and(|ns| ns > 0) && row.duration_ns == longest => {
                WORST
            }
            false => Style::new(),
        };
        let bar = |row: &PhaseRow| match (row.start_ns, until(row)) {
            (Some(start), Some(end)) if row.has_bar => axis.bar(self.awake(start), end),
            _ => String::new(),
        };
        let part = |row: &PhaseRow| match (row.duration_ns, self.total_ns) {
            (Some(took), Some(whole)) if row.is_part_of_total && took > 0 => Value::Percent(share(took, whole)),
            _ => Value::Nothing,
        };
        Section::of("phases", "Phases", &self.rows)
            .note(note)
            .name("name", "phase", 34, |row| Value::Text(row.name.clone().into()).styled(style(row)))
            .time("start_ns", "start", |row| Cell::since_or_dash(row.start_ns, self.origin_ns))
            .time("end_ns", "end", |row| Cell::since_or_dash(row.end_ns, self.origin_ns))
            .quantity("duration_ns", "duration", |row| match row.duration_ns {
                Some(ns) if row.is_lower_bound => {
                    Cell::shown(Value::Nothing, format!("≥ {}", duration(ns))).styled(style(row))
                }
                took => Cell::duration_or_dash(took).styled(style(row)),
            })
            .data("at_least_ns", |row| Value::of(row.duration_ns, Value::Duration))
            .quantity("share_percent", "share", |row| part(row))
            .name("", "", AXIS_CELLS, |row| Cell::words(if row.is_gap { QUIET } else { BAR }, bar(row)))
            .name("ended_by", "ended by", 150, |row| Value::Text(row.note.1.clone().into()).styled(row.note.0))
            .build()
    }
}

/// How the end of the work after a boot or a resume was determined; `what` names that work.
#[must_use]
pub fn settling(what: &str, settling: Option<&Settling>) -> Option<Line> {
    let settling = settling.filter(|settling| settling.start_ns.is_some())?;
    if settling.slices.is_empty() {
        return Some(Line { style: DOUBT, text: format!("{what}: {}.", printable(&settling.rule.to_string())) });
    }
    let idle = duration(settling.idle_ns);
    let found = match settling.end_ns {
        Some(_) => format!("the {idle} of idle time that end it do not count"),
        None => {
            format!(
                "the recording has only {idle} of the required {} of idle time",
                duration(settling.metric.required_idle_ns)
            )
        }
    };
    let source = match settling.cpu_source {
        CpuSource::ContextSwitches => "context switches",
        CpuSource::Samples => "samples (estimate)",
        CpuSource::None => "disk requests only: CPU time was not recorded",
    };
    let disk = if settling.disk_recorded { "" } else { "; disk requests were not recorded" };
    let text = format!(
        "{what}: {} of work; {found} ({} metric, based on {source}{disk}).",
        duration(settling.busy_ns),
        settling.metric.name,
    );
    Some(Line { style: QUIET, text })
}

/// A problem with firmware times.
#[must_use]
pub fn fault(fault: &FirmwareProblem) -> Line {
    Line { style: DOUBT, text: format!("Firmware, {}: {}.", fault.kind.as_str(), printable(&fault.text)) }
}

/// The names of the losses that affect any phase, each once.
#[must_use]
pub fn affecting_losses<'p>(phases: impl IntoIterator<Item = &'p Phase>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in phases.into_iter().flat_map(|phase| &phase.affecting_losses) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// What the inferred ends would need to be exact, each item once.
#[must_use]
pub fn inexact_ends<'p>(phases: impl IntoIterator<Item = &'p Phase>) -> Option<Line> {
    // The first rule defines the end; the others are substitutes.
    let best = phases
        .into_iter()
        .filter(|phase| phase.ends.certainty != Certainty::Measured)
        .filter_map(|phase| phase.ends.unmatched_rules.first());
    let mut missing: Vec<String> = Vec::new();
    for rule in best.map(Rule::to_string) {
        if !missing.contains(&rule) {
            missing.push(rule);
        }
    }
    let text = format!("For exact phase ends, record: {}.", printable(&missing.join("; ")));
    (!missing.is_empty()).then_some(Line { style: DOUBT, text })
}
