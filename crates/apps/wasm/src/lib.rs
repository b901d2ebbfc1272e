//! The library for WebAssembly, as plain exported functions: a page writes a recording's files into memory and reads
//! the results.
//!
//! For each file, [`onoff_reserve`] allocates memory for its name and bytes, the page fills that memory, and
//! [`onoff_add_file`] adds the file. A query such as `onoff_boot` then stores its answer at [`onoff_answer`]: UTF-8,
//! [`onoff_answer_length`] bytes long, valid until the next call. [`onoff_clear`] drops the files.
//!
//! For the interactive page, [`onoff_open`] reads the files, which may be several recordings, and [`onoff_ask`] answers
//! the queries of the page until the next [`onoff_clear`].
//!
//! # Design constraints
//!
//! * No function takes a pointer from the caller, and the caller writes only to memory from [`onoff_reserve`].
//! * A query returns 0 for success, 1 for an unreadable recording, and 2 for a recording without data for the query.
//!   For 1 and 2, the answer is the error message.

// The lint also rejects exported names; there are no unsafe blocks.
#![allow(unsafe_code, reason = "exported names")]

#[cfg(feature = "documents")]
mod documents;
mod folders;
mod page;

use std::fmt::{Debug, Display};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onoff::{Error, Lanes, QueryError};
use onoff_page::build::LoadedRecording;
use onoff_page::queries;

/// The state shared with the page.
#[derive(Debug)]
struct Exchange {
    input: Vec<u8>,
    files: Vec<(String, Vec<u8>)>,
    /// Built on first use.
    lanes: Option<Lanes>,
    /// Recordings between the first picture and the page.
    opening: Option<page::Opening>,
    /// The recordings of the opened page.
    recordings: Vec<Arc<LoadedRecording>>,
    answer: Vec<u8>,
}

impl Exchange {
    const EMPTY: Self = Self {
        input: Vec::new(),
        files: Vec::new(),
        lanes: None,
        opening: None,
        recordings: Vec::new(),
        answer: Vec::new(),
    };
}

static EXCHANGE: Mutex<Exchange> = Mutex::new(Exchange::EMPTY);

fn exchange() -> MutexGuard<'static, Exchange> {
    EXCHANGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reserves `length` bytes for the name and bytes of a file and returns their address; null if out of memory.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_reserve(length: usize) -> *mut u8 {
    let mut exchange = exchange();
    exchange.input = Vec::new();
    if exchange.input.try_reserve_exact(length).is_err() {
        return std::ptr::null_mut();
    }
    exchange.input.resize(length, 0);
    exchange.input.as_mut_ptr()
}

/// Adds the file in the reserved memory: the last `name_length` bytes are its name, the rest are its contents.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_add_file(name_length: usize) {
    let mut exchange = exchange();
    let mut bytes = std::mem::take(&mut exchange.input);
    // The contents can be large and are not copied.
    let name = bytes.split_off(bytes.len().saturating_sub(name_length));
    exchange.files.push((String::from_utf8_lossy(&name).into_owned(), bytes));
    exchange.lanes = None;
}

/// Drops all files and the answer.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_clear() {
    *exchange() = Exchange::EMPTY;
}

/// Reads the phases of the files. The answer is JSON: the first picture of the page, until [`onoff_open`] has read the
/// rest.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_open_first() -> u32 {
    let mut exchange = exchange();
    let opening = page::Opening::new(std::mem::take(&mut exchange.files));
    let first = serde_json::to_vec(&opening.first_page()).map_err(|error| error.to_string());
    exchange.opening = Some(opening);
    let (code, answer) = code_and_answer(first.map_err(QueryError::Unanswerable));
    exchange.answer = answer;
    code
}

/// Reads the files as the interactive page. The answer is JSON: the page, and the files that are not shown.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_open() -> u32 {
    let mut exchange = exchange();
    let opening = exchange.opening.take();
    let opening = opening.unwrap_or_else(|| page::Opening::new(std::mem::take(&mut exchange.files)));
    let result = opening.finish().and_then(|(recordings, opened)| {
        exchange.recordings = recordings.into_iter().map(Arc::new).collect();
        serde_json::to_vec(&opened).map_err(|error| error.to_string())
    });
    let (code, answer) = code_and_answer(result.map_err(QueryError::Unanswerable));
    exchange.answer = answer;
    code
}

/// Answers the query of the page in the reserved memory, such as `steps?from=0&to=1000`, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_ask() -> u32 {
    let mut exchange = exchange();
    let request = String::from_utf8_lossy(&std::mem::take(&mut exchange.input)).into_owned();
    let (name, query) = request.split_once('?').unwrap_or((&request, ""));
    let answer = queries::answer(&exchange.recordings, name, query).map(String::into_bytes);
    let (code, answer) = code_and_answer(answer.map_err(QueryError::Unanswerable));
    exchange.answer = answer;
    code
}

/// Returns the address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_answer() -> *const u8 {
    exchange().answer.as_ptr()
}

/// Returns the length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_answer_length() -> usize {
    exchange().answer.len()
}

fn code_and_answer<N: Debug + Display>(result: Result<Vec<u8>, QueryError<N>>) -> (u32, Vec<u8>) {
    match result {
        Ok(answer) => (0, answer),
        // A recording of another kind is readable, but has no data for the query.
        Err(QueryError::Unreadable(error @ Error::OtherKind { .. })) => (2, error.to_string().into_bytes()),
        Err(QueryError::Unreadable(error)) => (1, error.to_string().into_bytes()),
        Err(QueryError::Unanswerable(reason)) => (2, reason.to_string().into_bytes()),
    }
}
