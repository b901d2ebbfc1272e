//! The processed profile format of the Firefox Profiler (<https://profiler.firefox.com>): samples with their stacks by
//! process and thread; phases, services, devices and the critical path as markers.

use std::io::{self, Write};

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, MarkerFieldFlags, MarkerFieldFormat,
    MarkerTiming, Profile, ReferenceTimestamp, SamplingInterval, StaticSchemaMarker, StaticSchemaMarkerField,
    StringHandle, ThreadHandle, Timestamp,
};
use hashbrown::HashMap;
use onoff_evidence::Interval;
use onoff_lists::flame;
use onoff_usage::functions::FunctionNames;

use super::perfetto::{group_name, tone_name};
use crate::build::LoadedRecording;
use onoff_lanes::{Lane, TrackGroup};

/// Writes a recording. `names` resolves the functions of samples.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(recording: &LoadedRecording, names: &FunctionNames, out: &mut dyn Write) -> io::Result<()> {
    let profile = profile(recording, names);
    serde_json::to_writer(out, &profile).map_err(io::Error::other)
}

fn profile(recording: &LoadedRecording, names: &FunctionNames) -> Profile {
    let trace = &recording.trace;
    let since_epoch_ms = trace.clock.start_unix_ns.map_or(0.0, |ns| ns as f64 / 1e6);
    let reference = ReferenceTimestamp::from_millis_since_unix_epoch(since_epoch_ms);
    let period_ns = u64::try_from(flame::sampling_period_ns(trace)).unwrap_or(1_000_000).max(1);
    let mut profile = Profile::new(&recording.content.name, reference, SamplingInterval::from_nanos(period_ns));
    profile.set_product("onoff");
    profile.set_os_name(&recording.content.machine);
    profile.set_symbolicated(true);
    let zero = Timestamp::from_nanos_since_reference(0);
    let transitions = profile.add_process(&recording.content.name, 0, zero);
    let times = Times { origin_ns: recording.content.start_ns.min(0) };

    let phases = profile.add_thread(transitions, 1, zero, false);
    profile.set_thread_name(phases, "Phases");
    let category = profile.add_category("Phase", CategoryColor::Blue);
    for transition in &recording.content.transitions {
        for phase in &transition.phases {
            let detail = format!("{} ({})", phase.rule, phase.certainty.as_str());
            let marker = MarkerText { name: phase.name.clone(), label: transition.title.clone(), detail, category };
            times.add_marker(&mut profile, phases, (phase.start_ns, phase.end_ns), marker);
        }
    }
    for (group, tid, color) in [
        (TrackGroup::CriticalPath, 2, CategoryColor::Red),
        (TrackGroup::Services, 3, CategoryColor::Green),
        (TrackGroup::Devices, 4, CategoryColor::Orange),
        (TrackGroup::Session, 5, CategoryColor::Purple),
        (TrackGroup::Notifications, 6, CategoryColor::Yellow),
        (TrackGroup::Power, 7, CategoryColor::Brown),
        (TrackGroup::Log, 8, CategoryColor::Gray),
    ] {
        let tracks = || recording.tracks.iter().filter(move |track| track.group == group);
        if tracks().next().is_none() {
            continue;
        }
        let thread = profile.add_thread(transitions, tid, zero, false);
        profile.set_thread_name(thread, group_name(group));
        profile.set_thread_show_markers_in_timeline(thread, true);
        let category = profile.add_category(group_name(group), color);
        for track in tracks() {
            let Lane::Slices(lane) = &track.lane else { continue };
            for (start_ns, end_ns, label, tone) in lane.slice_rows().flatten() {
                let detail = tone_name(tone).to_owned();
                let marker = MarkerText { name: track.name.clone(), label: label.to_owned(), detail, category };
                times.add_marker(&mut profile, thread, (start_ns, end_ns), marker);
            }
        }
    }
    samples(recording, names, &mut profile, &times);
    profile
}

/// Adds the samples of every thread, with stacks.
fn samples(recording: &LoadedRecording, names: &FunctionNames, profile: &mut Profile, times: &Times) {
    let entire = Interval::new(0, recording.trace.duration_ns);
    let mut processes = HashMap::new();
    let mut threads: HashMap<(Option<u32>, String, u32), ThreadHandle> = HashMap::new();
    flame::for_each_sample(&recording.trace, entire, names, |sample| {
        let time = times.timestamp(sample.time_ns);
        let process = *processes
            .entry((sample.pid, sample.process.clone()))
            .or_insert_with(|| profile.add_process(&sample.process, sample.pid.unwrap_or(0), time));
        let key = (sample.pid, sample.process.clone(), sample.tid);
        let thread = *threads.entry(key).or_insert_with(|| profile.add_thread(process, sample.tid, time, false));
        let names: Vec<StringHandle> = sample.frames.iter().map(|name| profile.intern_string(name)).collect();
        let frames = names.into_iter().map(|name| FrameInfo {
            frame: Frame::Label(name),
            category_pair: CategoryHandle::OTHER.into(),
            flags: FrameFlags::empty(),
        });
        let stack = profile.intern_stack_frames(thread, frames);
        let ns = u64::try_from(sample.ns).unwrap_or(0);
        profile.add_sample(thread, time, stack, CpuDelta::from_nanos(ns), 1);
    });
}

/// Converts times of the recording to times of the profile, which cannot be negative.
struct Times {
    origin_ns: i64,
}

impl Times {
    fn timestamp(&self, time_ns: i64) -> Timestamp {
        let ns = u64::try_from(time_ns.saturating_sub(self.origin_ns)).unwrap_or(0);
        Timestamp::from_nanos_since_reference(ns)
    }

    fn add_marker(
        &self,
        profile: &mut Profile,
        thread: ThreadHandle,
        (start_ns, end_ns): (i64, i64),
        marker: MarkerText,
    ) {
        let timing = if end_ns > start_ns {
            MarkerTiming::Interval(self.timestamp(start_ns), self.timestamp(end_ns))
        } else {
            MarkerTiming::Instant(self.timestamp(start_ns))
        };
        let marker = InternedMarker {
            name: profile.intern_string(&marker.name),
            fields: [profile.intern_string(&marker.label), profile.intern_string(&marker.detail)],
            category: marker.category,
        };
        profile.add_marker(thread, timing, marker);
    }
}

/// Content of a marker.
struct MarkerText {
    name: String,
    label: String,
    detail: String,
    category: CategoryHandle,
}

/// A marker with strings interned in the profile.
struct InternedMarker {
    name: StringHandle,
    fields: [StringHandle; 2],
    category: CategoryHandle,
}

impl StaticSchemaMarker for InternedMarker {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "onoff";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.what}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.what} ({marker.data.detail})");
    const TOOLTIP_LABEL: Option<&'static str> = Some("{marker.name}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[
        StaticSchemaMarkerField {
            key: "what",
            label: "Name",
            format: MarkerFieldFormat::String,
            flags: MarkerFieldFlags::SEARCHABLE,
        },
        StaticSchemaMarkerField {
            key: "detail",
            label: "Detail",
            format: MarkerFieldFormat::String,
            flags: MarkerFieldFlags::SEARCHABLE,
        },
    ];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field_index: u32) -> StringHandle {
        self.fields[usize::from(field_index != 0)]
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}
