//! The profile format of pprof: CPU samples with their call stacks, as read by `go tool pprof`, Pyroscope and others.
//! Field numbers are from pprof's `proto/profile.proto`. The file is not compressed; readers accept both.

use std::io::{self, Write};

use hashbrown::HashMap;
use onoff_evidence::Interval;
use onoff_lists::flame;
use onoff_usage::functions::FunctionNames;
use prost::Message;

use crate::build::LoadedRecording;

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    /// Index of the name of the sample type to show first.
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

/// Type and unit, as indices of texts.
#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// Innermost function first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
    #[prost(int64, tag = "3")]
    num: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

/// Texts by index; the first is empty.
struct Texts {
    list: Vec<String>,
    indices: HashMap<String, i64>,
}

impl Texts {
    fn index(&mut self, text: &str) -> i64 {
        let Self { list, indices } = self;
        *indices.entry_ref(text).or_insert_with(|| {
            list.push(text.to_owned());
            i64::try_from(list.len().saturating_sub(1)).unwrap_or(i64::MAX)
        })
    }
}

/// Writes the samples of a recording. `names` resolves their functions. Returns false, and writes nothing, if there are
/// no samples.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(recording: &LoadedRecording, names: &FunctionNames, out: &mut dyn Write) -> io::Result<bool> {
    let trace = &recording.trace;
    let mut texts = Texts { list: vec![String::new()], indices: HashMap::from([(String::new(), 0)]) };
    let mut value_type = |name: &str, unit: &str| ValueType { r#type: texts.index(name), unit: texts.index(unit) };
    let (samples, cpu) = (value_type("samples", "count"), value_type("cpu", "nanoseconds"));
    let default_sample_type = cpu.r#type;
    let (process_key, thread_key) = (texts.index("process"), texts.index("thread"));
    let mut functions: Vec<Function> = Vec::new();
    let mut function_ids: HashMap<String, u64> = HashMap::new();
    // Equal stacks of a thread are added up.
    let mut sums: HashMap<(i64, u32, Vec<u64>), (i64, i64)> = HashMap::new();
    let entire = Interval::new(0, trace.duration_ns);
    flame::for_each_sample(trace, entire, names, |sample| {
        let stack = sample.frames.iter().rev().map(|name| {
            *function_ids.entry_ref(name.as_str()).or_insert_with(|| {
                let id = functions.len() as u64 + 1;
                functions.push(Function { id, name: texts.index(name) });
                id
            })
        });
        let stack: Vec<u64> = stack.collect();
        let (count, ns) = sums.entry((texts.index(&sample.process), sample.tid, stack)).or_default();
        *count += 1;
        *ns = ns.saturating_add(sample.ns);
    });
    if sums.is_empty() {
        return Ok(false);
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_unstable();
    let sample = |((process, tid, location_id), (count, ns)): ((i64, u32, Vec<u64>), (i64, i64))| Sample {
        location_id,
        value: vec![count, ns],
        label: vec![
            Label { key: process_key, str: process, num: 0 },
            Label { key: thread_key, str: 0, num: i64::from(tid) },
        ],
    };
    let profile = Profile {
        sample_type: vec![samples, cpu.clone()],
        sample: rows.into_iter().map(sample).collect(),
        location: functions
            .iter()
            .map(|function| Location { id: function.id, line: vec![Line { function_id: function.id }] })
            .collect(),
        function: functions,
        string_table: texts.list,
        time_nanos: trace.clock.start_unix_ns.unwrap_or(0),
        duration_nanos: trace.duration_ns,
        period_type: Some(cpu),
        period: flame::sampling_period_ns(trace),
        default_sample_type,
    };
    out.write_all(&profile.encode_to_vec())?;
    Ok(true)
}
