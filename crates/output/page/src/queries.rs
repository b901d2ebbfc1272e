//! Queries of the page about a range of a recording: a name and a query string in, JSON out.
//!
//! Called by the server on 127.0.0.1, or by WebAssembly in the page itself.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use onoff_evidence::Interval;
use serde::Serialize;

use crate::build::LoadedRecording;
use crate::waits::{self, WaitSubject};
use crate::{path, ranges, what_if};

/// Maximum number of tracks per query, and of pixels per lane: more than any screen has.
const MAX_TRACKS: usize = 512;
const MAX_PIXELS: u32 = 16_384;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// There is no such query, recording or track.
    #[error("not found")]
    NotFound,
    /// A value is missing, malformed or out of bounds.
    #[error("malformed query")]
    Malformed,
    /// The answer cannot be serialized.
    #[error("internal error")]
    Internal,
}

/// Answers the query `name` about one of `recordings` as JSON.
///
/// # Errors
/// The query is unknown or malformed.
pub fn answer(recordings: &[Arc<LoadedRecording>], name: &str, query: &str) -> Result<String, QueryError> {
    let answer = match name {
        "lanes" => lanes,
        "arrows" => arrows,
        "steps" => steps,
        "table" => table,
        "flame" => flame,
        "what-if" => what_if,
        "waits" => waits,
        "chain" => chain,
        "process" => process,
        _ => return Err(QueryError::NotFound),
    };
    let query = QueryString(query);
    let index: usize = query.number("recording").unwrap_or(0);
    match recordings.get(index) {
        Some(recording) => answer(recording, &query),
        None => Err(QueryError::NotFound),
    }
}

fn lanes(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let (start_ns, end_ns) = query.range()?;
    let pixels = query.pixels()?;
    let tracks = query.value("tracks").ok_or(QueryError::Malformed)?;
    let tracks: Vec<usize> =
        tracks.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| QueryError::Malformed)?;
    if tracks.len() > MAX_TRACKS {
        return Err(QueryError::Malformed);
    }
    let lanes = tracks
        .into_iter()
        .map(|track| Ok(recording.tracks.get(track).ok_or(QueryError::NotFound)?.draw(start_ns, end_ns, pixels)))
        .collect::<Result<Vec<_>, QueryError>>()?;
    json(&lanes)
}

fn arrows(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let (start_ns, end_ns) = query.range()?;
    json(&path::draw(&recording.arrows, start_ns, end_ns, query.pixels()?))
}

fn steps(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let (start_ns, end_ns) = query.range()?;
    json(&path::steps(&recording.paths, start_ns, end_ns, path::MAX_STEPS))
}

fn table(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let subject = query.value("about").ok_or(QueryError::Malformed)?;
    let groups: Vec<String> = match query.value("by") {
        None | Some("") => Vec::new(),
        // Names of fields can contain any character; the separator is a comma that is not encoded.
        Some(groups) => groups.split(',').map(decoded).collect::<Result<_, _>>()?,
    };
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let filter = decoded(query.value("where").unwrap_or_default())?;
    let skipped = query.number("skip").unwrap_or(0);
    let table = ranges::table(
        (&recording.trace, &recording.paths, &recording.interval_tables),
        (recording.events.as_ref(), &filter, skipped),
        subject,
        &groups,
        query.range()?,
    );
    json(&table.ok_or(QueryError::Malformed)?)
}

fn flame(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let kind = query.value("of").ok_or(QueryError::Malformed)?;
    let graph = ranges::flame_graph(&recording.trace, &recording.paths, kind, query.range()?, ranges::MAX_NODES);
    json(&graph.ok_or(QueryError::Malformed)?)
}

/// Predicts a transition without some of its findings.
fn what_if(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let index: usize = query.number("transition").ok_or(QueryError::Malformed)?;
    let transition = recording.content.transitions.get(index).ok_or(QueryError::NotFound)?;
    let findings = query.value("findings").ok_or(QueryError::Malformed)?.split(',').map(str::parse);
    let findings: BTreeSet<usize> = findings.collect::<Result<_, _>>().map_err(|_| QueryError::Malformed)?;
    let set = findings.into_iter().collect();
    let predictions = what_if::predict(&recording.trace, transition, &[set]).ok_or(QueryError::NotFound)?;
    json(&predictions.first().ok_or(QueryError::Internal)?)
}

/// Lists the waits of a thread or of a process.
fn waits(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let thread = query.number("thread").map(WaitSubject::Thread);
    let subject = thread.or_else(|| query.number("process").map(WaitSubject::Process)).ok_or(QueryError::Malformed)?;
    json(&waits::waits(&recording.trace, subject, query.interval()?))
}

/// Returns the chain that a wait of a thread depended on.
fn chain(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let tid: u32 = query.number("thread").ok_or(QueryError::Malformed)?;
    json(&waits::chain(&recording.trace, tid, query.interval()?, query.pixels()?))
}

/// Returns one process over time.
fn process(recording: &LoadedRecording, query: &QueryString<'_>) -> Result<String, QueryError> {
    let pid: u32 = query.number("process").ok_or(QueryError::Malformed)?;
    let time_ns: i64 = query.number("at").ok_or(QueryError::Malformed)?;
    let duration_ns = recording.trace.duration_ns;
    let interval = query.interval()?;
    let within = Interval::new(interval.start_ns.max(0), interval.end_ns.min(duration_ns));
    json(&waits::process(&recording.trace, (pid, time_ns), within, query.pixels()?))
}

fn json(answer: &impl Serialize) -> Result<String, QueryError> {
    serde_json::to_string(answer).map_err(|_| QueryError::Internal)
}

/// Decodes a percent-encoded value.
fn decoded(encoded: &str) -> Result<String, QueryError> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (high, low) = digit().zip(digit()).ok_or(QueryError::Malformed)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| QueryError::Malformed)?);
    }
    String::from_utf8(bytes).map_err(|_| QueryError::Malformed)
}

/// A query string without the question mark. Values are percent-encoded; only names of fields and filters can contain
/// characters that are.
struct QueryString<'a>(&'a str);

impl<'a> QueryString<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        self.0.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.value(name)?.parse().ok()
    }

    fn pixels(&self) -> Result<u32, QueryError> {
        self.number("pixels").filter(|&pixels| pixels <= MAX_PIXELS).ok_or(QueryError::Malformed)
    }

    fn interval(&self) -> Result<Interval, QueryError> {
        self.range().map(|(start_ns, end_ns)| Interval::new(start_ns, end_ns))
    }

    fn range(&self) -> Result<(i64, i64), QueryError> {
        let bounds = self.number("from").zip(self.number("to"));
        bounds.filter(|(start, end)| start < end).ok_or(QueryError::Malformed)
    }
}
