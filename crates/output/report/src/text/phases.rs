//! The phases of any transition on one axis: start, end, duration, and what ended each phase.

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

/// Returns the display name of a phase.
#[must_use]
pub fn name(phase: PhaseName) -> String {
    phase.display_name()
}

/// Returns the display name of a phase with the given JSON name.
#[must_use]
pub fn display_name(phase: &str) -> String {
    let firmware_name = || {
        FirmwareStageName::parse(phase)
            .map_or_else(|| printable(phase).into_owned(), |stage| stage.display_name().to_owned())
    };
    PhaseName::parse(phase).map_or_else(firmware_name, PhaseName::display_name)
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
    pub has_bar: bool,
    pub is_gap: bool,
    /// What ended the phase, or what was in the gap.
    pub note: (Style, String),
}

impl PhaseRow {
    /// Creates the row of a phase.
    #[must_use]
    pub fn from_phase(phase: &Phase) -> Self {
        let open = phase.duration_ns.is_none() && phase.start_ns.is_some();
        Self {
            name: name(phase.name),
            start_ns: phase.start_ns,
            end_ns: phase.end_ns,
            duration_ns: phase.duration_without_input_ns().or(Some(phase.recorded_ns).filter(|&ns| open && ns > 0)),
            is_lower_bound: open,
            is_part_of_total: phase.name != PhaseName::TraceTail && phase.half != Some(SuspendStage::Asleep),
            has_bar: phase.name != PhaseName::TraceTail && phase.half != Some(SuspendStage::Asleep),
            is_gap: false,
            note: note(phase),
        }
    }

    /// Creates the row of a gap between phases.
    #[must_use]
    pub fn gap(start_ns: i64, end_ns: i64, note: String) -> Self {
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

    /// Converts the row into the row of the work until idle, without the idle time that ends it.
    #[must_use]
    pub fn with_settling(self, settling: Option<&Settling>) -> Self {
        let Some(settling) = settling else { return self };
        let is_by_windows = matches!(settling.rule, Rule::WindowsAccount { .. });
        let is_known = settling.start_ns.is_some() && (is_by_windows || !settling.slices.is_empty());
        let note = match settling.end_ns {
            Some(_) if is_by_windows => (QUIET, settling.rule.to_string()),
            Some(_) => (QUIET, format!("{} of idle time reached", duration(settling.idle_ns))),
            None => self.note,
        };
        Self { duration_ns: is_known.then_some(settling.busy_ns), is_lower_bound: false, note, ..self }
    }
}

/// Says what ended a phase, or what its end waited for.
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
    let user_wait = match phase.user_input_ns {
        0 => String::new(),
        ns => format!("excluding {} waiting for a user", duration(ns)),
    };
    let parts: Vec<String> = [user_wait, text, work(phase)].into_iter().filter(|part| !part.is_empty()).collect();
    (style, parts.join("; "))
}

/// Describes the notifications or requests of a sleep phase, and what its end waited for.
fn work(phase: &Phase) -> String {
    let work = &phase.work;
    if work.items == 0 {
        return String::new();
    }
    let item_name = match phase.name {
        PhaseName::UserSession | PhaseName::QueryApps | PhaseName::SuspendApps | PhaseName::ResumeApps => "application",
        PhaseName::QueryServices | PhaseName::SuspendServices | PhaseName::ResumeServices => "service",
        PhaseName::QueryDevices | PhaseName::SuspendDevices | PhaseName::ResumeDevices => "device",
        _ => "callback",
    };
    let mut text = counted(work.items, item_name);
    if work.total_ns > 0 {
        text += &format!(", {} in total", duration(work.total_ns));
    }
    if matches!(item_name, "application" | "service") {
        if let Some(outside_ns) = work.other_ns.filter(|&ns| ns > 0) {
            text += &format!(", plus {} outside them", duration(outside_ns));
            if phase.name == PhaseName::SuspendApps {
                text += " (usually the display fading out)";
            }
        }
    } else if let Some(last) = &work.last {
        text += &format!("; {} ended last", printable(&last.name));
        if let Some(delay_ns) = last.after_others_ns.filter(|&ns| ns > 0) {
            text += &format!(", {} after the others", duration(delay_ns));
        }
    }
    if let Some(step) = work.path.iter().max_by_key(|step| step.duration_ns).filter(|step| step.duration_ns > 0) {
        text += &format!(", longest wait {} {}", device(&step.device, &step.driver), duration(step.duration_ns));
    }
    text
}

/// Formats a device with its driver in parentheses.
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
    /// True for a sleep: its notes say what the phases waited for.
    pub is_sleep: bool,
    pub rows: Vec<PhaseRow>,
}

impl PhaseTable {
    /// Returns the rows of the phases and of the gaps between them. `gap_note` gives the note of a gap; the last gap
    /// ends at `end_ns`.
    #[must_use]
    pub fn with_gaps<'p>(
        phases: impl IntoIterator<Item = &'p Phase>,
        start_ns: i64,
        end_ns: Option<i64>,
        gap_note: impl Fn(i64, i64) -> String,
    ) -> Vec<PhaseRow> {
        let mut rows = Vec::new();
        let mut covered_until = start_ns;
        let add_gap = |rows: &mut Vec<PhaseRow>, covered_until: i64, gap_end_ns: i64| {
            if gap_end_ns.saturating_sub(covered_until) >= NOTABLE_GAP_NS {
                rows.push(PhaseRow::gap(covered_until, gap_end_ns, gap_note(covered_until, gap_end_ns)));
            }
        };
        for phase in phases {
            if let Some(start) = phase.start_ns {
                add_gap(&mut rows, covered_until, start);
                covered_until = covered_until.max(start.saturating_add(phase.recorded_ns));
            }
            rows.push(PhaseRow::from_phase(phase));
        }
        if let Some(end) = end_ns {
            add_gap(&mut rows, covered_until, end);
        }
        rows
    }

    /// Subtracts the part of the sleep before a time.
    fn awake(&self, time_ns: i64) -> i64 {
        match self.asleep {
            Some((start, end)) if start < end => {
                time_ns.saturating_sub(time_ns.clamp(start, end).saturating_sub(start))
            }
            _ => time_ns,
        }
    }

    #[must_use]
    pub fn section(self, note: impl Into<String>) -> Section<'static> {
        let rows_with_bar = || self.rows.iter().filter(|row| row.has_bar);
        let row_end = |row: &PhaseRow| {
            row.end_ns.or_else(|| Some(row.start_ns?.saturating_add(row.duration_ns?))).map(|end| self.awake(end))
        };
        let start = rows_with_bar().filter_map(|row| row.start_ns).min().unwrap_or(0);
        let end = rows_with_bar().filter_map(row_end).max().unwrap_or(0);
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
        let bar = |row: &PhaseRow| match (row.start_ns, row_end(row)) {
            (Some(start), Some(end)) if row.has_bar => axis.bar(self.awake(start), end),
            _ => String::new(),
        };
        let share_value = |row: &PhaseRow| match (row.duration_ns, self.total_ns) {
            (Some(ns), Some(total_ns)) if row.is_part_of_total && ns > 0 => Value::Percent(share(ns, total_ns)),
            _ => Value::Nothing,
        };
        Section::builder("phases", "Phases", &self.rows)
            .note(note)
            .name("name", "phase", 34, |row| Value::Text(row.name.clone().into()).styled(style(row)))
            .time("start_ns", "start", |row| Cell::since_or_dash(row.start_ns, self.origin_ns))
            .time("end_ns", "end", |row| Cell::since_or_dash(row.end_ns, self.origin_ns))
            .quantity("duration_ns", "duration", |row| match row.duration_ns {
                Some(ns) if row.is_lower_bound => {
                    Cell::with_display_text(Value::Nothing, format!("≥ {}", duration(ns))).with_style(style(row))
                }
                took => Cell::duration_or_dash(took).with_style(style(row)),
            })
            .data("at_least_ns", |row| Value::from_option(row.duration_ns, Value::Duration))
            .quantity("share_percent", "share", |row| share_value(row))
            .name("", "", AXIS_CELLS, |row| Cell::text_only(if row.is_gap { QUIET } else { BAR }, bar(row)))
            .name("ended_by", if self.is_sleep { "details" } else { "ended by" }, 150, |row| {
                Value::Text(row.note.1.clone().into()).styled(row.note.0)
            })
            .build()
    }
}

/// Says how the end of the work after a boot or a resume was determined. `name` is the name of that work.
#[must_use]
pub fn settling(name: &str, settling: Option<&Settling>) -> Option<Line> {
    let settling = settling.filter(|settling| settling.start_ns.is_some())?;
    if let Rule::WindowsAccount { .. } = settling.rule {
        let text = format!("{name} is Windows' own count: {} of work.", duration(settling.busy_ns));
        return Some(Line { style: QUIET, text });
    }
    if settling.slices.is_empty() {
        return Some(Line { style: DOUBT, text: format!("{name}: {}.", printable(&settling.rule.to_string())) });
    }
    let idle = duration(settling.idle_ns);
    let idle_phrase = match settling.end_ns {
        Some(_) => format!("the final {idle} of idle time do not count"),
        None => {
            format!(
                "the recording has {idle} of the required {} of idle time",
                duration(settling.metric.required_idle_ns)
            )
        }
    };
    let source = match settling.cpu_source {
        CpuSource::ContextSwitches => "context switches",
        CpuSource::Samples => "samples (estimate)",
        CpuSource::None => "disk requests only: CPU time was not recorded",
    };
    let disk_note = if settling.disk_recorded { "" } else { "; disk requests were not recorded" };
    let text = format!(
        "{name}: {} of work; {idle_phrase} ({} metric, based on {source}{disk_note}).",
        duration(settling.busy_ns),
        settling.metric.name,
    );
    Some(Line { style: QUIET, text })
}

/// Describes a problem with firmware times.
#[must_use]
pub fn fault(fault: &FirmwareProblem) -> Line {
    Line { style: DOUBT, text: format!("Firmware, {}: {}.", fault.kind.as_str(), printable(&fault.text)) }
}

/// Returns the names of the losses that affect any phase, each once.
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

/// Lists what must be recorded for exact phase ends, each item once.
#[must_use]
pub fn inexact_ends<'p>(phases: impl IntoIterator<Item = &'p Phase>) -> Option<Line> {
    // The first rule defines the end; the others are substitutes.
    let exact_rules = phases
        .into_iter()
        .filter(|phase| phase.ends.certainty != Certainty::Measured)
        .filter_map(|phase| phase.ends.unmatched_rules.first());
    let mut missing: Vec<String> = Vec::new();
    for rule in exact_rules.map(Rule::to_string) {
        if !missing.contains(&rule) {
            missing.push(rule);
        }
    }
    let text = format!("For exact phase ends, record: {}.", printable(&missing.join("; ")));
    (!missing.is_empty()).then_some(Line { style: DOUBT, text })
}
