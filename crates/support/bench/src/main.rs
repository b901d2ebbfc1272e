//! The library measurements of `make bench`: one measurement per run, with the result as one line of JSON.
//!
//! ```text
//! onoff-bench headers FILE...   read all record headers, buffer by buffer, on all threads
//! onoff-bench ordered FILE...   read all records, merged into time order, on one thread
//! onoff-bench decode FILE...    decode all events into the tables of the model, on all threads
//! ```
//!
//! `crates/support/bench/compare.py` runs it, measures time and memory from outside, and compares it with other programs.

#![allow(clippy::print_stdout, reason = "stdout carries the result")]

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use onoff_etl::{BufferScratch, Recording};
use onoff_files::Options;
use onoff_sources::Limits;
use onoff_trace::TableSet;
use rayon::prelude::*;

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let measure = arguments.next().context("name a measurement: headers, ordered or decode")?;
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let began = Instant::now();
    let events = match measure.to_str() {
        Some("headers") => headers(&paths)?,
        Some("ordered") => ordered(&paths)?,
        Some("decode") => decode(&paths)?,
        _ => bail!("unknown measurement: {}", measure.display()),
    };
    let answer = serde_json::json!({ "events": events, "seconds": began.elapsed().as_secs_f64() });
    println!("{answer}");
    Ok(())
}

fn headers(paths: &[PathBuf]) -> Result<u64> {
    let files = onoff_files::open_all(paths, &Limits::default())?;
    let recording = Recording::open(&files.inputs())?;
    Ok(recording
        .buffers()
        .par_iter()
        .map_init(BufferScratch::default, |space, buffer| {
            let walk = recording.for_each_in_buffer(buffer, space, |_| ControlFlow::<()>::Continue(()));
            walk.records
        })
        .sum())
}

fn ordered(paths: &[PathBuf]) -> Result<u64> {
    let files = onoff_files::open_all(paths, &Limits::default())?;
    let recording = Recording::open(&files.inputs())?;
    Ok(recording.for_each(|_| ControlFlow::<()>::Continue(())).records)
}

fn decode(paths: &[PathBuf]) -> Result<u64> {
    let trace = onoff_files::open(paths, TableSet::all(), &Options::default())?;
    Ok(trace.inventory.map_or(0, |inventory| inventory.events))
}
