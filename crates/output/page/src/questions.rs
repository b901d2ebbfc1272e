//! The questions that the page asks about a range of a recording, as a name and a query string, answered as JSON.
//!
//! Whoever shows the page answers them: the server on 127.0.0.1, or WebAssembly in the page itself.

use std::str::FromStr;

use serde::Serialize;

use crate::build::Shown;
use crate::{path, ranges};

/// Tracks of one request, and pixels of one lane: no screen has more.
const MAX_TRACKS: usize = 512;
const MAX_PIXELS: u32 = 16_384;

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The page asks no question of that name, or about a recording or track that does not exist.
    #[error("not found")]
    NotFound,
    /// A value is missing, malformed or out of bounds.
    #[error("malformed question")]
    Malformed,
    /// The answer could not be written as JSON.
    #[error("internal error")]
    Internal,
}

/// The answer to `question` about one of `recordings`, as JSON.
///
/// # Errors
/// Questions that the page does not ask.
pub fn answer(recordings: &[Shown], question: &str, query: &str) -> Result<String, QuestionError> {
    let answer = match question {
        "lanes" => lanes,
        "arrows" => arrows,
        "steps" => steps,
        "table" => table,
        "flame" => flame,
        _ => return Err(QuestionError::NotFound),
    };
    let query = Query(query);
    let index: usize = query.number("recording").unwrap_or(0);
    let shown = recordings.get(index);
    // A malformed question is malformed whatever recording it is about.
    match shown {
        Some(shown) => answer(shown, &query),
        None => Err(QuestionError::NotFound),
    }
}

fn lanes(shown: &Shown, query: &Query<'_>) -> Result<String, QuestionError> {
    let (from_ns, to_ns) = query.range()?;
    let pixels = query.pixels()?;
    let tracks = query.value("tracks").ok_or(QuestionError::Malformed)?;
    let tracks: Vec<usize> =
        tracks.split(',').map(str::parse).collect::<Result<_, _>>().map_err(|_| QuestionError::Malformed)?;
    if tracks.len() > MAX_TRACKS {
        return Err(QuestionError::Malformed);
    }
    let lanes = tracks
        .into_iter()
        .map(|track| Ok(shown.tracks.get(track).ok_or(QuestionError::NotFound)?.draw(from_ns, to_ns, pixels)))
        .collect::<Result<Vec<_>, QuestionError>>()?;
    json(&lanes)
}

fn arrows(shown: &Shown, query: &Query<'_>) -> Result<String, QuestionError> {
    let (from_ns, to_ns) = query.range()?;
    json(&path::draw(&shown.arrows, from_ns, to_ns, query.pixels()?))
}

fn steps(shown: &Shown, query: &Query<'_>) -> Result<String, QuestionError> {
    let (from_ns, to_ns) = query.range()?;
    json(&path::steps(&shown.paths, from_ns, to_ns, path::MAX_STEPS))
}

fn table(shown: &Shown, query: &Query<'_>) -> Result<String, QuestionError> {
    let about = query.value("about").ok_or(QuestionError::Malformed)?;
    let by: Vec<&str> = query.value("by").unwrap_or_default().split(',').filter(|group| !group.is_empty()).collect();
    let table = ranges::table((&shown.trace, &shown.paths), shown.events.as_ref(), about, &by, query.range()?);
    json(&table.ok_or(QuestionError::Malformed)?)
}

fn flame(shown: &Shown, query: &Query<'_>) -> Result<String, QuestionError> {
    let of = query.value("of").ok_or(QuestionError::Malformed)?;
    let graph = ranges::flame_graph(&shown.trace, &shown.paths, of, query.range()?, ranges::MAX_NODES);
    json(&graph.ok_or(QuestionError::Malformed)?)
}

fn json(answer: &impl Serialize) -> Result<String, QuestionError> {
    serde_json::to_string(answer).map_err(|_| QuestionError::Internal)
}

/// The part of an address behind the question mark. The page writes plain numbers only.
struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        self.0.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        self.value(name)?.parse().ok()
    }

    fn pixels(&self) -> Result<u32, QuestionError> {
        self.number("pixels").filter(|&pixels| pixels <= MAX_PIXELS).ok_or(QuestionError::Malformed)
    }

    fn range(&self) -> Result<(i64, i64), QuestionError> {
        let ends = self.number("from").zip(self.number("to"));
        ends.filter(|(from, to)| from < to).ok_or(QuestionError::Malformed)
    }
}
