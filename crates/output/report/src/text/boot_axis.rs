//! A boot on one time axis from reset to desktop: the stages, their parts, and the evidence for their positions.

use std::io::{self, Write};

use onoff_network::report::StageKind;
use onoff_transitions::boot_axis::{
    AxisEvidence, AxisEvidenceKind, AxisJoin, AxisMoment, AxisPart, AxisSource, AxisStage, BootAxis,
};

use super::bar::Axis;
use super::printable::printable;
use super::quantity::{capitalized, counted, duration, share};
use super::style::{BAR, DOUBT, HEADLINE, QUIET, WORST};
use onoff_sections::section::{self, Cell, Line, Section};
use onoff_sections::table::Value;

/// Width of the axis, in characters.
const BAR_CELLS: usize = 28;
/// Parts with a smaller share of their stage than this, in percent, are combined into one row.
const BRIEF_PERCENT: f64 = 0.5;
/// Maximum number of parts shown per stage; the others are combined into one row.
const MAX_PARTS: usize = 12;

/// Writes the axis as a separate report, for firmware tables and captures without a recording.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(axis: &BootAxis, out: &mut dyn Write) -> io::Result<()> {
    match axis.total_ns {
        Some(total) => {
            let sentence = format!("{}: {}.", extent(axis), duration(total));
            writeln!(out, "{HEADLINE}{sentence}{HEADLINE:#}")?;
        }
        None => writeln!(out, "{HEADLINE}Nothing could be placed on a common timeline.{HEADLINE:#}")?,
    }
    if let Some(sentence) = download(axis) {
        writeln!(out, "{sentence}")?;
    }
    section::text::write(&section(axis), out)
}

/// Builds the section with the axis of a boot report.
#[must_use]
pub fn section(axis: &BootAxis) -> Section<'_> {
    let note = axis.total_ns.map(|total| format!("{}: {}", extent(axis).replacen("From", "from", 1), duration(total)));
    stages(axis, note.unwrap_or_default()).lines(axis.joins.iter().map(join_line))
}

/// Returns the time before the kernel by the firmware's table, in parts that add up to it.
#[must_use]
pub fn before_kernel(axis: &BootAxis) -> Vec<(i64, &'static str)> {
    // The firmware loads the loader, which is most of its time in a network boot.
    let groups: [(&[&str], &'static str); 2] =
        [(&["reset", "firmware", "loader_load"], "in firmware"), (&["loader", "exit_boot_services"], "in the loader")];
    let stages = || axis.stages.iter().filter(|stage| stage.source == AxisSource::Firmware);
    groups
        .into_iter()
        .map(|(names, what)| {
            let of_group = stages().filter(|stage| names.contains(&stage.name.as_str()));
            (of_group.fold(0_i64, |sum, stage| sum.saturating_add(stage.duration_ns)), what)
        })
        .filter(|(ns, _)| *ns > 0)
        .collect()
}

/// Returns the doubt about the firmware's times, as a phrase; `None` if the recording confirms them.
#[must_use]
pub fn firmware_doubt(axis: &BootAxis) -> Option<&'static str> {
    let join = axis.joins.iter().find(|join| join.source == AxisSource::Firmware && join.joined)?;
    is_unconfirmed(join).then_some("nothing in the recording confirms that the firmware table is of this boot")
}

/// True for the network boot stages in which a file is loaded.
fn is_file(stage: &str) -> bool {
    let others = [StageKind::Link, StageKind::Dhcp, StageKind::BootServer, StageKind::Menu, StageKind::Client];
    let without_file = others.into_iter().chain([StageKind::OperatingSystem, StageKind::Refused, StageKind::SizeProbe]);
    let mut without_file = without_file;
    without_file.all(|kind| kind.as_str() != stage)
}

fn is_unconfirmed(join: &AxisJoin) -> bool {
    matches!(join.evidence[..], [AxisEvidence { kind: AxisEvidenceKind::SameMoment, .. }])
}

/// Names the longest download of the network boot, with what is doubtful about it; `None` without packets on the axis.
#[must_use]
pub fn download(axis: &BootAxis) -> Option<String> {
    let join = axis.joins.iter().find(|join| join.source == AxisSource::Capture && join.joined)?;
    let parts = || axis.stages.iter().flat_map(|stage| &stage.parts).filter(|part| part.source == AxisSource::Capture);
    let files = || parts().filter(|part| !part.detail.is_empty() && is_file(&part.name));
    let longest = files().max_by_key(|part| part.duration_ns)?;
    // A file may lie in several stages.
    let same = files().filter(|part| part.detail == longest.detail && part.name == longest.name);
    let ns = same.fold(0_i64, |sum, part| sum.saturating_add(part.duration_ns));
    let has = |kind: AxisEvidenceKind| join.evidence.iter().any(|evidence| evidence.kind == kind);
    let doubt = if has(AxisEvidenceKind::StationsNotCompared) {
        " (the client may be another machine: stations were not compared)"
    } else {
        ""
    };
    Some(format!("Network boot: {} {} took {} to load{doubt}.", longest.name, printable(&longest.detail), duration(ns)))
}

/// True if the axis shows more than the table of phases.
#[must_use]
pub fn shows_more_than_phases(axis: &BootAxis) -> bool {
    let has_parts = axis.stages.iter().any(|stage| !stage.parts.is_empty());
    has_parts || axis.joins.iter().any(|join| join.source == AxisSource::Capture || !join.joined)
}

/// Describes the first and the last point of the axis in a phrase.
fn extent(axis: &BootAxis) -> String {
    let start = match axis.stages.first() {
        Some(stage) if stage.source == AxisSource::Firmware && stage.name == "reset" => "From CPU reset",
        Some(stage) if stage.source == AxisSource::Firmware => "From the first firmware timestamp",
        Some(stage) if stage.source == AxisSource::Capture => "From the first frame of the client",
        _ => "From the first phase",
    };
    let end = match axis.stages.last() {
        Some(stage) if stage.source == AxisSource::Recording && stage.name == "PostBoot" => {
            "until the computer was idle"
        }
        Some(stage) if stage.source == AxisSource::Recording => "to the end of the boot",
        Some(stage) if stage.source == AxisSource::Capture => "to the end of the network boot",
        _ => "to the operating system",
    };
    format!("{start} {end}")
}

/// Returns the display name of a stage or part.
#[must_use]
pub fn title(name: &str) -> String {
    match name {
        "loader_load" => "loading the loader".to_owned(),
        "exit_boot_services" => "ExitBootServices".to_owned(),
        _ => name.replace('_', " "),
    }
}

/// A row: a stage or a part of one.
struct Row<'a> {
    name: String,
    stage: &'a AxisStage,
    part: Option<&'a str>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    took_ns: i64,
    note: &'a str,
}

fn stages(axis: &BootAxis, note: String) -> Section<'_> {
    let end_ns = axis.stages.iter().map(|stage| stage.end_ns).max();
    let (start_ns, end_ns) = axis.start_ns.zip(end_ns).unwrap_or_default();
    let scale = Axis::new(start_ns, end_ns, BAR_CELLS);
    let total_ns = axis.total_ns.unwrap_or(end_ns.saturating_sub(start_ns));
    let longest_ns = axis.stages.iter().map(|stage| stage.duration_ns).max();
    let mut rows = Vec::new();
    for stage in axis.stages.iter().filter(|_| axis.start_ns.is_some()) {
        rows.push(Row {
            name: title(&stage.name),
            stage,
            part: None,
            start_ns: Some(stage.start_ns),
            end_ns: Some(stage.end_ns),
            took_ns: stage.duration_ns,
            note: source(stage.source),
        });
        add_parts(stage, &mut rows);
    }
    let style = |row: &Row<'_>| match row.part {
        None if Some(row.took_ns) == longest_ns => WORST,
        _ => BAR,
    };
    Section::builder("axis", "Boot timeline", rows)
        .note(note)
        .name("stage", "stage", 24, |row| Cell::with_display_text(Value::text(&row.stage.name), row.name.clone()))
        .data("part", |row| Value::text(row.part.unwrap_or_default()))
        .time("start_ns", "start", |row| {
            Value::from_option(row.start_ns, |ns| Value::Since { ns, origin_ns: start_ns })
        })
        .data("end_ns", |row| Value::from_option(row.end_ns, Value::Time))
        .quantity("duration_ns", "duration", |row| Value::Duration(row.took_ns))
        .quantity("share_percent", "share", |row| Value::Percent(share(row.took_ns, total_ns)))
        .name("", "", BAR_CELLS, |row| match row.start_ns.zip(row.end_ns) {
            Some((start, end)) => Cell::text_only(style(row), scale.bar(start, end)),
            None => Value::Nothing.into(),
        })
        .name("detail", "", 56, |row| Value::text(row.note).styled(QUIET))
        .build()
}

fn source(source: AxisSource) -> &'static str {
    match source {
        AxisSource::Firmware => "firmware table",
        AxisSource::Capture => "capture",
        AxisSource::Recording => "recording",
    }
}

fn add_parts<'a>(stage: &'a AxisStage, rows: &mut Vec<Row<'a>>) {
    let mut lengths: Vec<i64> = stage.parts.iter().map(|part| part.duration_ns).collect();
    lengths.sort_by_key(|&length| std::cmp::Reverse(length));
    let shortest_shown = lengths.get(MAX_PARTS).map_or(i64::MIN, |&length| length.saturating_add(1));
    let is_shown = |part: &&AxisPart| {
        part.duration_ns >= shortest_shown && share(part.duration_ns, stage.duration_ns) >= BRIEF_PERCENT
    };
    let row = |name: String, part: &'a str, took_ns: i64, note: &'a str| Row {
        name: format!("  {name}"),
        stage,
        part: Some(part),
        start_ns: None,
        end_ns: None,
        took_ns,
        note,
    };
    rows.extend(stage.parts.iter().filter(is_shown).map(|part| Row {
        start_ns: Some(part.start_ns),
        end_ns: Some(part.end_ns),
        ..row(title(&part.name), &part.name, part.duration_ns, &part.detail)
    }));
    let hidden: Vec<&AxisPart> = stage.parts.iter().filter(|part| !is_shown(part)).collect();
    if !hidden.is_empty() {
        let took_ns = hidden.iter().fold(0_i64, |sum, part| sum.saturating_add(part.duration_ns));
        rows.push(row(format!("and {}", counted(hidden.len() as u64, "shorter part")), "others", took_ns, ""));
    }
    let on_network = stage.parts.iter().any(|part| part.source == AxisSource::Capture);
    let is_worth_a_row = |ns: &i64| on_network && share(*ns, stage.duration_ns) >= BRIEF_PERCENT;
    if let Some(off_ns) = stage.off_network_ns.filter(is_worth_a_row) {
        let note = "the client ran the loaded program, or waited";
        rows.push(row("off the network".to_owned(), "off_network", off_ns, note));
    }
}

/// Explains why a source is at its position on the axis, or why it is not on the axis.
#[must_use]
pub fn join_sentence(join: &AxisJoin) -> String {
    join_line(join).text
}

fn join_line(join: &AxisJoin) -> Line {
    let source = match join.source {
        AxisSource::Firmware => "Firmware table",
        AxisSource::Capture => "Capture",
        AxisSource::Recording => "Recording",
    };
    if join.joined {
        // A doubt follows the evidence.
        let (doubts, evidence): (Vec<&AxisEvidence>, Vec<&AxisEvidence>) =
            join.evidence.iter().partition(|evidence| evidence.kind == AxisEvidenceKind::StationsNotCompared);
        let evidence: Vec<String> = evidence.into_iter().chain(doubts).filter_map(supporting).collect();
        let mut sentence = match evidence.is_empty() {
            true => format!("{source}: positioned by its timestamps."),
            false => format!("{source}: {}.", evidence.join("; ")),
        };
        if join.source == AxisSource::Capture && !join.evidence.is_empty() {
            sentence += &match join.max_earlier_ns {
                Some(0) => String::new(),
                Some(ns) => format!(" Its packets may be up to {} earlier than shown.", duration(ns)),
                None => " Its packets may be earlier than shown, by an unknown amount.".to_owned(),
            };
        }
        if is_unconfirmed(join) {
            sentence += " Nothing in the recording confirms that the table is from this boot.";
        }
        return Line { style: QUIET, text: printable(&sentence).into_owned() };
    }
    let contradictions: Vec<String> = join.opposing.iter().map(contradicting).collect();
    let reason = match join.equal_matches {
        0 => contradictions.join("; "),
        boots => format!("{boots} boots in the capture match equally well; select the boot of one machine"),
    };
    let sentence = format!("{source}: not on the timeline. {}.", capitalized(&reason));
    Line { style: DOUBT, text: printable(&sentence).into_owned() }
}

fn moment(moment: AxisMoment) -> &'static str {
    match moment {
        AxisMoment::Reset => "the processor's reset",
        AxisMoment::FirstRequest => "the client's first request",
        AxisMoment::LoaderLoad => "the load of the loader image",
        AxisMoment::LoaderStart => "the start of the loader",
        AxisMoment::ExitCall => "the call to ExitBootServices",
        AxisMoment::ExitReturn => "the return from ExitBootServices",
        AxisMoment::KernelStart => "the kernel start",
        AxisMoment::BootProgramRequest => "the request for the boot program",
        AxisMoment::BootProgramEnd => "the acknowledgment of the last byte of the boot program",
        AxisMoment::NextRequest => "the next request",
        AxisMoment::LastByte => "the acknowledgment of the last byte loaded",
        AxisMoment::SystemNetwork => "the first packet of the operating system",
    }
}

/// Returns the evidence for a join; `None` for kinds that only narrow it down.
fn supporting(evidence: &AxisEvidence) -> Option<String> {
    use AxisEvidenceKind as Kind;
    let first = evidence.first.map_or("", moment);
    let second = evidence.second.map_or("", moment);
    let difference_ns = evidence.difference_ns.unwrap_or(0);
    let difference = duration(difference_ns.saturating_abs());
    Some(match evidence.kind {
        Kind::SameMoment => format!("{first} is taken as {second}; the time between them was not measured"),
        Kind::InRecording => "the table is in the recording".to_owned(),
        Kind::SameTimes => "the recording has the same five timestamps".to_owned(),
        Kind::ServiceManagerTimes => format!("systemd's firmware and loader times differ by {difference}"),
        Kind::MacAddress => format!("client {} is the recorded machine", evidence.detail),
        Kind::StationsNotCompared => {
            "the recording or the capture names no MAC address, so stations were not compared".to_owned()
        }
        Kind::Clocks => format!("the clocks of capture and recording agree within {difference}"),
        Kind::Order if difference_ns == 0 => format!("aligned so that {first} is {second}"),
        Kind::FillsLoadTime => {
            let load_ns = evidence.load_ns.unwrap_or(0);
            format!(
                "DHCP and the boot program took {} of the {} that the firmware measured for loading the loader",
                duration(load_ns.saturating_sub(difference_ns)),
                duration(load_ns)
            )
        }
        Kind::Order
        | Kind::OtherTimes
        | Kind::SpansResets
        | Kind::NoExitTime
        | Kind::NoLoadedBoot
        | Kind::NoEvidence => {
            return None;
        }
    })
}

/// Returns the evidence against a join.
fn contradicting(evidence: &AxisEvidence) -> String {
    use AxisEvidenceKind as Kind;
    let first = evidence.first.map_or("", moment);
    let second = evidence.second.map_or("", moment);
    let difference_ns = evidence.difference_ns.unwrap_or(0);
    let difference = duration(difference_ns.saturating_abs());
    match evidence.kind {
        Kind::OtherTimes => {
            format!("the recording has different timestamps, so the table is from another boot ({})", evidence.detail)
        }
        Kind::ServiceManagerTimes => format!(
            "systemd's firmware and loader times differ by {difference}, so the table is from another boot"
        ),
        Kind::SpansResets => {
            "its clock kept running across earlier boots, so its times do not start at the reset of this boot".to_owned()
        }
        Kind::NoExitTime => {
            "it has no timestamp for the return from ExitBootServices: a legacy boot has none, and a log may be truncated"
                .to_owned()
        }
        Kind::MacAddress => format!("client {} is not the recorded machine", evidence.detail),
        Kind::Clocks => {
            let direction = if difference_ns < 0 { "earlier" } else { "later" };
            format!("according to the clocks of capture and recording, this network boot was {difference} {direction}")
        }
        Kind::Order => format!("{first} would be {difference} after {second}, so the capture is from another boot"),
        Kind::NoLoadedBoot => "no network boot in the capture loaded a file completely".to_owned(),
        Kind::NoEvidence => {
            "nothing links it to this boot: they share neither a MAC address nor a clock".to_owned()
        }
        Kind::SameMoment
        | Kind::InRecording
        | Kind::SameTimes
        | Kind::FillsLoadTime
        | Kind::StationsNotCompared => String::new(),
    }
}
