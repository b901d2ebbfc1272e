//! Builds the tracks of a recording from the tables of the model.

use hashbrown::HashMap;

use onoff_blame::waits::CriticalPath;
use onoff_evidence::Interval;
use onoff_trace::{DeviceOperationKind, ServiceChange, ServiceOutcome, StringId, TableName, TableSet, Trace};
use onoff_usage::cpu::{self, CpuSource, grid};
use onoff_usage::owners::{IDLE, Owner, Owners, file_name};
use onoff_usage::storage::utilization::utilization;
use onoff_usage::units::Unit;

use super::axis::axis_end_ns;
use super::path_tracks::{path_slice, path_tracks};
use super::slices::{LaneSlice, SliceLane, Tone};
use super::stacked::StackedLane;
use super::utilization::UtilizationLane;
use super::{Lane, Track, TrackGroup};

/// The tables that tracks need.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::ReadyThreads,
    TableName::Samples,
    TableName::Interrupts,
    TableName::DiskIos,
    TableName::ServiceTransitions,
    TableName::ServiceDependencies,
    TableName::DeviceOperations,
    TableName::Milestones,
    TableName::Activities,
    TableName::Notifications,
    TableName::PowerRequests,
    TableName::Events,
    TableName::EventFields,
]);

/// Number of buckets per strip: a screen of 1,600 pixels can zoom in to an eighth of the recording at full resolution.
const BUCKETS: i64 = 12_800;

/// Section of the tracks of single processors, which are details of the track of all processors.
pub const SINGLE_PROCESSORS: &str = "single";
/// Number of processes with a separate color in the track of all processors.
const MAX_SERIES: usize = 5;

/// Builds all tracks of `trace`, by group, with the critical `paths` of its phases and the waits of the `units` of its
/// transitions.
#[must_use]
pub fn tracks(trace: &Trace, paths: &[CriticalPath], units: &[Unit]) -> Vec<Track> {
    let end_ns = axis_end_ns(trace);
    let mut tracks = processors(trace, end_ns);
    tracks.extend(disks(trace, end_ns));
    tracks.extend(critical_path(paths));
    tracks.extend(path_tracks(paths));
    tracks.extend(devices(trace, end_ns));
    tracks.extend(services(trace, end_ns, units));
    for build in [session, notifications, power, processes] {
        tracks.extend(build(trace, end_ns));
    }
    tracks.extend(log(trace));
    tracks
}

fn bucket_ns(end_ns: i64) -> i64 {
    (end_ns / BUCKETS).max(10_000)
}

fn processors(trace: &Trace, end_ns: i64) -> Vec<Track> {
    let source = cpu::source(trace);
    if source == CpuSource::None || end_ns <= 0 {
        return Vec::new();
    }
    let bucket_ns = bucket_ns(end_ns);
    let Some(cuts) = grid::interval_bounds(0, end_ns, bucket_ns) else { return Vec::new() };
    let grid = grid::grid(trace, &cuts, source, false);
    let note = match source {
        CpuSource::Samples => "from profile samples",
        CpuSource::ContextSwitches | CpuSource::None => "from context switches",
    };
    let is_single = grid.processors == 1;
    let singles = (0..grid.processors as usize).map(|processor| {
        let processor_ns = |sums: &[i64]| sums.get(processor).copied().unwrap_or(0);
        let busy = (0..grid.intervals.len())
            .map(|index| (processor_ns(grid.busy(index)), processor_ns(grid.low_priority_busy(index))));
        Track {
            group: TrackGroup::Processors,
            section: if is_single { String::new() } else { SINGLE_PROCESSORS.to_owned() },
            name: format!("Processor {processor}"),
            note: note.to_owned(),
            lane: Lane::Utilization(UtilizationLane::new(0, bucket_ns, busy)),
        }
    });
    let stacked = Track {
        group: TrackGroup::Processors,
        section: String::new(),
        name: if is_single { "CPU by process".to_owned() } else { format!("All {} processors", grid.processors) },
        note: format!("share of CPU time by process, {note}"),
        lane: Lane::Stacked(by_process(trace, &cuts, (bucket_ns, grid.processors))),
    };
    std::iter::once(stacked).chain(singles).collect()
}

/// Returns the CPU time of the processes that used most, and of all others together, as shares of `processors`.
fn by_process(trace: &Trace, cuts: &[i64], (bucket_ns, processors): (i64, u32)) -> StackedLane {
    let mut owners = Owners::from_trace(trace);
    let mut totals: HashMap<u32, i64> = HashMap::new();
    let mut busy: HashMap<(usize, u32), i64> = HashMap::new();
    cpu::charge(trace, &mut owners, cuts, |run| {
        if run.owner != IDLE {
            let sum = totals.entry(run.owner).or_default();
            *sum = sum.saturating_add(run.ns);
            let sum = busy.entry((run.interval, run.owner)).or_default();
            *sum = sum.saturating_add(run.ns);
        }
    });
    let mut heaviest: Vec<(u32, i64)> = totals.into_iter().collect();
    heaviest.sort_by_key(|&(owner, ns)| (std::cmp::Reverse(ns), owner));
    let remaining = heaviest.len().saturating_sub(MAX_SERIES);
    heaviest.truncate(MAX_SERIES);
    let mut names: Vec<String> = heaviest
        .iter()
        .map(|&(owner, _)| match owners.list().get(owner as usize) {
            Some(Owner { pid, image }) => match (file_name(trace.text(*image)), pid) {
                ("", Some(pid)) => format!("process {pid}"),
                (image, Some(pid)) => format!("{image} ({pid})"),
                (_, None) => "unknown process".to_owned(),
            },
            None => "unknown process".to_owned(),
        })
        .collect();
    if remaining > 0 {
        names.push(format!("{remaining} other process{}", if remaining == 1 { "" } else { "es" }));
    }
    let mut buckets: Vec<Vec<i64>> = vec![vec![0; cuts.len().saturating_sub(1)]; names.len()];
    for ((interval, owner), ns) in busy {
        let series = heaviest.iter().position(|&(heavy, _)| heavy == owner).unwrap_or(MAX_SERIES);
        if let Some(sum) = buckets.get_mut(series).and_then(|series| series.get_mut(interval)) {
            *sum = sum.saturating_add(ns);
        }
    }
    let capacity = i64::from(processors.max(1));
    let series = names.into_iter().zip(buckets).map(|(name, buckets)| {
        (name, UtilizationLane::new(0, bucket_ns, buckets.into_iter().map(|ns| (ns / capacity, 0))))
    });
    StackedLane::new(series.collect())
}

fn disks(trace: &Trace, end_ns: i64) -> Vec<Track> {
    if trace.disk_ios.is_empty() || end_ns <= 0 {
        return Vec::new();
    }
    let disk_usage = utilization(trace, Interval::new(0, end_ns), bucket_ns(end_ns));
    let bucket_ns = disk_usage.intervals.first().map_or(1, |interval| interval.range.duration_ns());
    (0..disk_usage.disks.len())
        .map(|index| {
            let disk_ns = |sums: &[i64]| sums.get(index).copied().unwrap_or(0);
            let busy =
                disk_usage.intervals.iter().map(|interval| (disk_ns(&interval.busy_ns), disk_ns(&interval.low_ns)));
            Track {
                group: TrackGroup::Disks,
                section: String::new(),
                name: format!("Disk {}", disk_usage.disks[index]),
                note: "share of time the disk was busy".to_owned(),
                lane: Lane::Utilization(UtilizationLane::new(0, bucket_ns, busy)),
            }
        })
        .collect()
}

/// Collects slices by track, in the order in which the tracks first appear.
#[derive(Default)]
struct TrackBuilder {
    tracks: Vec<(String, String, String, Vec<LaneSlice>)>,
    indexes: HashMap<(String, String), usize>,
}

impl TrackBuilder {
    fn add(&mut self, section: &str, name: &str, note: &str, slices: impl IntoIterator<Item = LaneSlice>) {
        let next_index = self.tracks.len();
        let index = *self.indexes.entry((section.to_owned(), name.to_owned())).or_insert(next_index);
        if index == next_index {
            self.tracks.push((section.to_owned(), name.to_owned(), note.to_owned(), Vec::new()));
        }
        if let Some((.., track_slices)) = self.tracks.get_mut(index) {
            track_slices.extend(slices);
        }
    }

    fn into_tracks(self, group: TrackGroup) -> Vec<Track> {
        self.tracks
            .into_iter()
            .map(|(section, name, note, slices)| Track {
                group,
                section,
                name,
                note,
                lane: Lane::Slices(SliceLane::new(slices)),
            })
            .collect()
    }
}

fn critical_path(paths: &[CriticalPath]) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for path in paths {
        let slices = path.steps.iter().map(path_slice);
        builder.add("", "Critical path", "steps on the critical path of each phase", slices);
    }
    builder.into_tracks(TrackGroup::CriticalPath)
}

/// Returns the bus of a device instance: `PCI` for `PCI\VEN_8086…`.
fn bus(instance: &str) -> &str {
    instance
        .split(['\\', '/'])
        .find(|part| !part.is_empty())
        .filter(|_| instance.contains(['\\', '/']))
        .unwrap_or_default()
}

fn devices(trace: &Trace, axis_end_ns: i64) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for row in trace.device_operations.iter() {
        let end_ns = row.end_ns.unwrap_or(axis_end_ns);
        let [device, driver] = [row.device, row.driver].map(|id| trace.text(id));
        let description =
            [row.friendly_name, row.description].map(|id| trace.text(id)).into_iter().find(|text| !text.is_empty());
        let name = if driver.is_empty() { description.unwrap_or(device) } else { driver };
        let section = match row.kind {
            DeviceOperationKind::Initcall => "kernel functions",
            DeviceOperationKind::ModuleLoad => "kernel modules",
            _ if device.is_empty() => "drivers",
            _ => bus(device),
        };
        let label = match description {
            Some(description) => format!("{} · {description}", row.kind.as_str()),
            None if device.is_empty() => row.kind.as_str().to_owned(),
            None => format!("{} · {device}", row.kind.as_str()),
        };
        let returned_ns = row.pend_ns.unwrap_or(end_ns).clamp(row.start_ns, end_ns.max(row.start_ns));
        let blocked_slice =
            LaneSlice::new(row.start_ns, returned_ns, label.clone(), Tone::Blocked).with_thread(row.tid);
        let pended_slice =
            LaneSlice::new(returned_ns, end_ns, format!("{label} (pended)"), Tone::Pended).with_thread(row.end_tid);
        builder.add(
            section,
            name,
            device,
            std::iter::once(blocked_slice).chain((returned_ns < end_ns).then_some(pended_slice)),
        );
    }
    builder.into_tracks(TrackGroup::Devices)
}

fn services(trace: &Trace, axis_end_ns: i64, units: &[Unit]) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for row in trace.service_transitions.iter() {
        let name = trace.text(row.service);
        let end_ns = row.end_ns.unwrap_or(axis_end_ns).max(row.start_ns);
        let has_failed = row.outcome == ServiceOutcome::Failed;
        let mut slices = Vec::new();
        if row.kind == ServiceChange::Start {
            let container_ns = row.checkpoint_ns.unwrap_or(row.start_ns).clamp(row.start_ns, end_ns);
            let load_ns = row.load_ns.unwrap_or(container_ns).clamp(container_ns, end_ns);
            for (start_ns, end_ns, tone, part) in [
                (row.start_ns, container_ns, Tone::Container, "host process"),
                (container_ns, load_ns, Tone::Load, "image load"),
                (load_ns, end_ns, if has_failed { Tone::Failed } else { Tone::Initialize }, "start"),
            ] {
                if start_ns < end_ns {
                    slices.push(
                        LaneSlice::new(start_ns, end_ns, format!("{name}: {part}"), tone)
                            .with_thread(row.main_tid)
                            .with_process(row.container_pid),
                    );
                }
            }
        } else {
            let tone = if has_failed { Tone::Failed } else { Tone::Initialize };
            slices.push(
                LaneSlice::new(row.start_ns, end_ns, format!("{name}: stop"), tone).with_process(row.container_pid),
            );
        }
        builder.add(trace.text(row.group), name, trace.text(row.container), slices);
    }
    // The gap from the time a unit could start until its start.
    for unit in units {
        let Some(wait) = unit.waited_for.as_ref().filter(|wait| wait.time_ns < unit.start_ns) else { continue };
        let awaited = if wait.name.is_empty() { "the service manager" } else { wait.name.as_str() };
        let label = format!("{} could start: {awaited} was ready", unit.name);
        let slice = LaneSlice::new(wait.time_ns, unit.start_ns, label, Tone::Service);
        builder.add(&unit.group, &unit.name, &unit.command, [slice]);
    }
    builder.into_tracks(TrackGroup::Services)
}

fn session(trace: &Trace, axis_end_ns: i64) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for row in trace.activities.iter() {
        let [name, detail] = [row.name, row.detail].map(|id| trace.text(id));
        let kind = row.kind.as_str().replace('_', " ");
        let name = if name.is_empty() { kind.as_str() } else { name };
        let label = if detail.is_empty() { name.to_owned() } else { format!("{name} ({detail})") };
        let end_ns = row.end_ns.unwrap_or(axis_end_ns);
        builder.add("", &kind, "", [LaneSlice::new(row.start_ns, end_ns, label, Tone::Work).with_thread(row.tid)]);
    }
    builder.into_tracks(TrackGroup::Session)
}

fn notifications(trace: &Trace, axis_end_ns: i64) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for row in trace.notifications.iter() {
        let name = trace.text(row.name);
        let name = match row.pid {
            Some(pid) if name.is_empty() => format!("process {pid}"),
            _ => name.to_owned(),
        };
        let kind = row.kind.as_str().replace('_', " ");
        let end_ns = row.end_ns.unwrap_or(axis_end_ns);
        builder.add(
            &kind,
            &name,
            "",
            [LaneSlice::new(row.start_ns, end_ns, format!("{name}: {kind}"), Tone::Notified)
                .with_thread(row.tid)
                .with_process(row.pid)],
        );
    }
    builder.into_tracks(TrackGroup::Notifications)
}

fn power(trace: &Trace, axis_end_ns: i64) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for row in trace.power_requests.iter().filter(|row| !row.kind.is_runtime()) {
        let [device, driver] = [row.device, row.driver].map(|id| trace.text(id));
        let label = format!("{} {driver} {}", row.kind.as_str().replace('_', " "), trace.text(row.message));
        let tone = if row.status.is_some_and(|status| status >= 0x8000_0000) { Tone::Failed } else { Tone::Work };
        let end_ns = row.end_ns.unwrap_or(axis_end_ns);
        let name = if device.is_empty() { driver } else { device };
        builder.add(
            bus(device),
            name,
            driver,
            [LaneSlice::new(row.start_ns, end_ns, label, tone).with_thread(row.tid)],
        );
    }
    builder.into_tracks(TrackGroup::Power)
}

fn processes(trace: &Trace, axis_end_ns: i64) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for row in trace.processes.iter() {
        let image = trace.text(row.image);
        let name = if image.is_empty() { format!("process {}", row.pid) } else { format!("{image} ({})", row.pid) };
        let section = row.session.map(|session| format!("session {session}")).unwrap_or_default();
        let slice =
            LaneSlice::new(row.start_ns.unwrap_or(0), row.end_ns.unwrap_or(axis_end_ns), name.clone(), Tone::Present)
                .with_process(Some(row.pid));
        builder.add(&section, &name, trace.text(row.command_line), [slice]);
    }
    builder.into_tracks(TrackGroup::Processes)
}

fn log(trace: &Trace) -> Vec<Track> {
    let mut builder = TrackBuilder::default();
    for row in trace.milestones.iter() {
        let [name, detail] = [row.name, row.detail].map(|id| trace.text(id));
        let label = if detail.is_empty() { name.to_owned() } else { format!("{name}: {detail}") };
        builder.add(
            "",
            "Milestones",
            "",
            [LaneSlice::new(row.time_ns, row.time_ns, label, Tone::Work).with_thread(row.tid)],
        );
    }
    let mut tracks = builder.into_tracks(TrackGroup::Log);
    tracks.extend(event_tracks(trace));
    tracks
}

/// Maximum number of event providers with a separate track. Those with the most events get one; the rest share one.
const MAX_PROVIDERS: usize = 60;
/// Maximum length of a label, characters.
const MAX_LABEL_CHARS: usize = 160;

/// Builds the tracks of log lines and single events, one per provider.
fn event_tracks(trace: &Trace) -> Vec<Track> {
    let mut counts: HashMap<StringId, u64> = HashMap::new();
    for event in trace.events.iter() {
        *counts.entry(event.provider).or_default() += 1;
    }
    let mut providers: Vec<(StringId, u64)> = counts.into_iter().collect();
    providers.sort_by(|(provider_a, count_a), (provider_b, count_b)| {
        count_b.cmp(count_a).then_with(|| trace.text(*provider_a).cmp(trace.text(*provider_b)))
    });
    let indexes: HashMap<StringId, usize> =
        providers.iter().zip(0..).map(|((provider, _), index)| (*provider, index.min(MAX_PROVIDERS))).collect();
    let mut slices: Vec<Vec<LaneSlice>> = vec![Vec::new(); providers.len().min(MAX_PROVIDERS + 1)];
    let mut fields = trace.event_fields.iter();
    let mut next_field = 0_u64;
    for event in trace.events.iter() {
        // Fields are in the order of their events.
        let first_field = match event.first_field.checked_sub(next_field).map(usize::try_from) {
            Some(Ok(skipped)) if event.fields > 0 => {
                next_field = event.first_field.saturating_add(1);
                fields.nth(skipped)
            }
            _ => None,
        };
        let [task, opcode] = [event.task, event.opcode].map(|id| trace.text(id));
        // A log line has a single field, its text.
        let text =
            first_field.filter(|_| event.fields == 1 && event.id == 0).map_or("", |field| trace.text(field.value));
        let name = match (task, opcode, text) {
            ("", "", "") => format!("event {}", event.id),
            (task, "", "") => task.to_owned(),
            (task, opcode, "") => format!("{task} {opcode}"),
            ("", _, text) => text.to_owned(),
            (task, _, text) => format!("{task}: {text}"),
        };
        let label: String = name.chars().take(MAX_LABEL_CHARS).collect();
        let slice = LaneSlice::new(event.time_ns, event.time_ns, label, Tone::Work).with_thread(event.tid);
        if let Some(list) = indexes.get(&event.provider).and_then(|&index| slices.get_mut(index)) {
            list.push(slice);
        }
    }
    let name = |index: usize| match providers.get(index) {
        Some((provider, _)) if index < MAX_PROVIDERS => trace.text(*provider).to_owned(),
        _ => format!("{} other providers", providers.len().saturating_sub(MAX_PROVIDERS)),
    };
    let is_log = |name: &str| matches!(name, "kernel log" | "journal");
    slices
        .into_iter()
        .enumerate()
        .map(|(index, slices)| Track {
            group: TrackGroup::Log,
            section: if is_log(&name(index)) { String::new() } else { "events".to_owned() },
            name: name(index),
            note: String::new(),
            lane: Lane::Slices(SliceLane::new(slices)),
        })
        .collect()
}
