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

use onoff::analysis::transition::boot::BootOptions;
use onoff::{Error, Refusal, Session};

/// What the page has handed over, and what it gets.
#[derive(Debug)]
struct Exchange {
    input: Vec<u8>,
    files: Vec<(String, Vec<u8>)>,
    answer: Vec<u8>,
}

static EXCHANGE: Mutex<Exchange> = Mutex::new(Exchange { input: Vec::new(), files: Vec::new(), answer: Vec::new() });

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
}

/// Forgets all files and the answer.
#[unsafe(no_mangle)]
pub extern "C" fn onoff_clear() {
    let mut exchange = exchange();
    exchange.input = Vec::new();
    exchange.files = Vec::new();
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
    let mut exchange = exchange();
    let (code, answer) = answered(boot(&exchange.files, json != 0));
    exchange.answer = answer;
    code
}

fn boot(files: &[(String, Vec<u8>)], json: bool) -> Result<Vec<u8>, Refusal<String>> {
    let session = Session::from_bytes(files.iter().cloned())?;
    let boot = session.boot(&BootOptions::default()).map_err(|refusal| match refusal {
        Refusal::Unreadable(error) => Refusal::Unreadable(error),
        Refusal::Nothing(instead) => Refusal::Nothing(onoff::report::text::boot::no_boot(&instead)),
    })?;
    let mut answer = Vec::new();
    let written =
        if json { boot.write_json(&[session.provenance()?], &mut answer) } else { boot.write_text(&mut answer) };
    match written {
        Ok(()) => Ok(answer),
        Err(error) => Err(Refusal::Nothing(error.to_string())),
    }
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
