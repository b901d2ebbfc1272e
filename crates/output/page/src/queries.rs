//! Queries of the page about a range of a recording: a name and a query string in, JSON out.
//!
//! Called by the server on 127.0.0.1, or by WebAssembly in the page itself.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::Serialize;

use crate::build::LoadedRecording;
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
pub fn answer(recordings: &[LoadedRecording], name: &str, query: &str) -> Result<String, QueryError> {
    let answer = match name {
        "lanes" => lanes,
        "arrows" => arrows,
        "steps" => steps,
        "table" => table,
        "flame" => flame,
        "what-if" => what_if,
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
    let groups: Vec<&str> =
        query.value("by").unwrap_or_default().split(',').filter(|group| !group.is_empty()).collect();
    let table = ranges::table(
        (&recording.trace, &recording.paths),
        recording.events.as_ref(),
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

fn json(answer: &impl Serialize) -> Result<String, QueryError> {
    serde_json::to_string(answer).map_err(|_| QueryError::Internal)
}

/// A query string without the question mark. The page never percent-encodes values.
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

    fn range(&self) -> Result<(i64, i64), QueryError> {
        let bounds = self.number("from").zip(self.number("to"));
        bounds.filter(|(start, end)| start < end).ok_or(QueryError::Malformed)
    }
}
