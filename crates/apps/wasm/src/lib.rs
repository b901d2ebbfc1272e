//! The library for WebAssembly, called by plain functions: a page writes a recording's files into memory and reads an answer.
//!
//! For each file: [`onoff_reserve`] gives the place for its name and bytes together, the page writes them there, and
//! [`onoff_add_file`] takes them. Then a question, e.g. [`onoff_boot`]; its answer lies at [`onoff_answer`], UTF-8,
//! [`onoff_answer_length`] bytes long, until the next call. [`onoff_clear`] forgets the files.
//!
//! # Design constraints
//!
//! * No reference and no pointer is taken from the caller: the only memory it writes is what [`onoff_reserve`] made.
//! * A question returns 0 with the answer, 1 for a recording that cannot be read, 2 for one that does not hold what was asked;
//!   the answer is then the message.

// What the functions are called outside is what the lint is about; there is no unsafe block.
#![allow(unsafe_code, reason = "exported names")]

use std::fmt::{Debug, Display};
use std::sync::{Mutex, MutexGuard, PoisonError};

use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::shutdown::ShutdownOptions;
use onoff::answers::transitions::suspend::SuspendOptions;
use onoff::report::text::boot::no_boot;
use onoff::report::text::shutdown::no_shutdown;
use onoff::sections::table::{Order, TEXT_ROWS};
use onoff::{Error, Lanes, List, ListQuestion, Refusal, Session};

/// What the page has handed over, and what it gets.
#[derive(Debug)]
struct Exchange {
    input: Vec<u8>,
    files: Vec<(String, Vec<u8>)>,
    /// Of these files, once somebody looked.
    lanes: Option<Lanes>,
    answer: Vec<u8>,
}

static EXCHANGE: Mutex<Exchange> =
    Mutex::new(Exchange { input: Vec::new(), files: Vec::new(), lanes: None, answer: Vec::new() });

fn exchange() -> MutexGuard<'static, Exchange> {
    EXCHANGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reserves `length` bytes for a file, name and bytes together; returns where. Null where there is no such memory.
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

/// Takes the file that was written into the reserved bytes: its name is the first `name_length` of them, what it holds the others.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_add_file(name_length: usize) {
    let mut exchange = exchange();
    let mut name = std::mem::take(&mut exchange.input);
    let bytes = name.split_off(name_length.min(name.len()));
    exchange.files.push((String::from_utf8_lossy(&name).into_owned(), bytes));
    exchange.lanes = None;
}

/// Forgets all files and the answer.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_clear() {
    let mut exchange = exchange();
    exchange.input = Vec::new();
    exchange.files = Vec::new();
    exchange.lanes = None;
    exchange.answer = Vec::new();
}

/// Where the answer lies.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_answer() -> *const u8 {
    exchange().answer.as_ptr()
}

/// How many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_answer_length() -> usize {
    exchange().answer.len()
}

/// Asks where the time of the boot went; the answer is text where `json` is 0, else JSON.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_boot(json: u32) -> u32 {
    answer(json, |session, json, out| {
        let boot = session.boot(&BootOptions::default()).map_err(|refusal| refusal.map(|no| no_boot(&no)))?;
        Ok(if json { boot.write_json(&[session.provenance()?], out) } else { boot.write_text(out) })
    })
}

/// Asks where the time of the shutdown went.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_shutdown(json: u32) -> u32 {
    answer(json, |session, json, out| {
        let shutdown = session.shutdown(&ShutdownOptions::default());
        let shutdown = shutdown.map_err(|refusal| refusal.map(|no| no_shutdown(&no)))?;
        Ok(if json { shutdown.write_json(&[session.provenance()?], out) } else { shutdown.write_text(out) })
    })
}

/// Asks where the time of the sleeps went.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_suspend(json: u32) -> u32 {
    answer(json, |session, json, out| {
        let sleeps = session.sleeps(&SuspendOptions::default());
        let sleeps = sleeps.map_err(Refusal::into_text)?;
        Ok(if json { sleeps.write_json(&[session.provenance()?], out) } else { sleeps.write_text(out) })
    })
}

/// Asks which processes ran.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_processes(json: u32) -> u32 {
    list(json, &List::Processes)
}

/// Asks which services started and stopped.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_services(json: u32) -> u32 {
    list(json, &List::Services)
}

fn list(json: u32, list: &List) -> u32 {
    answer(json, |session, json, out| {
        let order = Order { top: (!json).then_some(TEXT_ROWS), ..Order::default() };
        let list = session.list(list, &ListQuestion { order, ..ListQuestion::default() });
        let list = list.map_err(Refusal::into_text)?;
        Ok(if json { list.write_json(&[session.provenance()?], out) } else { list.write_text(out) })
    })
}

/// Asks which tracks the recording has: a list as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_tracks() -> u32 {
    with_lanes(|lanes| Some(serde_json::to_vec(&lanes.tracks())))
}

/// Asks what `pixels` pixels show of `from_ns..to_ns` of a track, by its number: JSON.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_lane(track: u32, from_ns: i64, to_ns: i64, pixels: u32) -> u32 {
    with_lanes(|lanes| Some(serde_json::to_vec(&lanes.draw(track, from_ns, to_ns, pixels.min(MAX_PIXELS))?)))
}

/// More than a screen has.
const MAX_PIXELS: u32 = 1 << 16;

fn with_lanes(draw: impl FnOnce(&Lanes) -> Option<serde_json::Result<Vec<u8>>>) -> u32 {
    let mut exchange = exchange();
    let lanes = match exchange.lanes.take() {
        Some(lanes) => Ok(lanes),
        None => Session::from_bytes(exchange.files.iter().cloned()).and_then(|session| session.lanes()),
    };
    let drawn = lanes.map_err(Refusal::from).and_then(|lanes| {
        let drawn = draw(&lanes);
        exchange.lanes = Some(lanes);
        let drawn = drawn.ok_or_else(|| Refusal::Nothing("there is no track of that number".to_owned()))?;
        drawn.map_err(|error| Refusal::Nothing(error.to_string()))
    });
    let (code, answer) = answered(drawn);
    exchange.answer = answer;
    code
}

/// Opens the files that were handed over, asks, and keeps the answer.
fn answer(
    json: u32,
    ask: impl FnOnce(&Session, bool, &mut Vec<u8>) -> Result<std::io::Result<()>, Refusal<String>>,
) -> u32 {
    let mut exchange = exchange();
    let mut written = Vec::new();
    let asked = Session::from_bytes(exchange.files.iter().cloned())
        .map_err(Refusal::Unreadable)
        .and_then(|session| ask(&session, json != 0, &mut written));
    let (code, answer) = answered(match asked {
        Ok(Ok(())) => Ok(written),
        Ok(Err(error)) => Err(Refusal::Nothing(error.to_string())),
        Err(refusal) => Err(refusal),
    });
    exchange.answer = answer;
    code
}

fn answered<N: Debug + Display>(answer: Result<Vec<u8>, Refusal<N>>) -> (u32, Vec<u8>) {
    match answer {
        Ok(answer) => (0, answer),
        // What is a recording, but of another kind than asked for, can be read.
        Err(Refusal::Unreadable(error @ Error::OtherKind { .. })) => (2, error.to_string().into_bytes()),
        Err(Refusal::Unreadable(error)) => (1, error.to_string().into_bytes()),
        Err(Refusal::Nothing(instead)) => (2, instead.to_string().into_bytes()),
    }
}
