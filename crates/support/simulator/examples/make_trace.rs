//! Plays a scenario into a recording.
//!
//! ```text
//! cargo run -p onoff-simulator --example make_trace -- SCENARIO OUT [--size 1GiB] [--compress xpress] [--truth FILE]
//! ```
//!
//! `SCENARIO` is a file, or the name of one in this crate's `scenarios` folder. With `--size` the
//! recording goes on until it is about that large; where the scenario alone is larger, what its
//! processes do for ever is done less often. It is written as it is played, so memory stays small:
//! 1 GiB takes seconds, 16 GiB two minutes. Where no such recording comes near the size, nothing is kept
//! and the program fails. A scenario that splits kernel and user events writes `OUT` and `OUT` with
//! `.user` before its extension; its size is that of the former.
#![allow(clippy::print_stderr)]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use onoff_simulator::{Scenario, Size};

/// Measured mean of the benchmark scenario's records, bytes: turns a size into a record count.
const MEAN_RECORD: u64 = 53;

struct Arguments {
    scenario: PathBuf,
    out: PathBuf,
    size: Option<u64>,
    compress: Option<String>,
    truth: Option<PathBuf>,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut positional = Vec::new();
    let (mut size, mut compress, mut truth) = (None, None, None);
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--size" => size = Some(value()?.parse::<Size>()?.0),
            "--compress" => compress = Some(value()?),
            "--truth" => truth = Some(PathBuf::from(value()?)),
            _ => positional.push(argument),
        }
    }
    let [scenario, out] = <[String; 2]>::try_from(positional)
        .map_err(|_| "usage: make_trace SCENARIO OUT [--size 1GiB] [--compress xpress] [--truth FILE]")?;
    Ok(Arguments { scenario: PathBuf::from(scenario), out: PathBuf::from(out), size, compress, truth })
}

fn scenario_text(scenario: &Path) -> std::io::Result<String> {
    if scenario.exists() {
        return fs::read_to_string(scenario);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    fs::read_to_string(folder.join(scenario).with_extension("toml"))
}

/// A file that is measured and not kept.
#[derive(Default)]
struct Measured {
    position: u64,
    length: u64,
}

impl Write for Measured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.position += bytes.len() as u64;
        self.length = self.length.max(self.position);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Measured {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// How long the scenario's recording is when it ends by itself, bytes.
fn length_alone(scenario: &Scenario) -> Result<u64, Box<dyn Error>> {
    let user = scenario.recording.split.then(Measured::default);
    Ok(scenario.simulate_into(Measured::default(), user, None)?.0.length)
}

/// Whether a recording of `length` bytes is about as large as `wanted`.
fn is_near(length: u64, wanted: u64) -> bool {
    length >= wanted / 5 * 4 && length <= wanted.saturating_mul(5) / 4
}

/// Between the turns of a loop, at most so many times as long as the scenario has it: for a minute and more, which is
/// nearly never.
const RAREST: f64 = 1e6;

/// The scenario as it has to be played for a recording of at most about `wanted` bytes, and whether it is to go on
/// until there are so many.
fn no_larger(scenario: Scenario, wanted: u64) -> Result<(Scenario, bool), Box<dyn Error>> {
    let alone = length_alone(&scenario)?;
    if alone <= wanted.saturating_mul(5) / 4 {
        return Ok((scenario, true));
    }
    let least = length_alone(&scenario.with_rarer_loops(RAREST))?;
    let mut times = alone.saturating_sub(least) as f64 / wanted.saturating_sub(least).max(1) as f64;
    for _ in 0..TRIES {
        let rarer = scenario.with_rarer_loops(times);
        let length = length_alone(&rarer)?;
        if is_near(length, wanted) {
            return Ok((rarer, false));
        }
        times *= length.saturating_sub(least) as f64 / wanted.saturating_sub(least).max(1) as f64;
        if !(1.0..RAREST).contains(&times) {
            break;
        }
    }
    Err(format!(
        "--size: the scenario takes {least} bytes at least and {alone} as it is; {wanted} cannot be made of it"
    )
    .into())
}

/// How often it is tried to come near a size.
const TRIES: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let mut scenario = Scenario::from_toml(&scenario_text(&arguments.scenario)?)?;
    if let Some(name) = &arguments.compress {
        scenario.recording.compression = Some(name.parse()?);
    }
    let mut goes_on = false;
    if let Some(size) = arguments.size {
        (scenario, goes_on) = no_larger(scenario, size)?;
    }
    let create = |path: &Path| File::create(path).map(|file| BufWriter::with_capacity(1 << 20, file));
    let user_path = scenario.recording.split.then(|| arguments.out.with_extension("user.etl"));
    let kernel = create(&arguments.out)?;
    let user = user_path.as_deref().map(create).transpose()?;
    let at_least = arguments.size.filter(|_| goes_on).map(|size| size / MEAN_RECORD);
    let (kernel, _, truth) = scenario.simulate_into(kernel, user, at_least)?;
    let length = kernel.get_ref().metadata()?.len();
    if let Some(size) = arguments.size.filter(|&size| !is_near(length, size)) {
        drop(kernel);
        fs::remove_file(&arguments.out)?;
        user_path.map_or(Ok(()), fs::remove_file)?;
        return Err(format!("--size: the recording would have {length} bytes, not the {size} wanted: its records are not of the usual size").into());
    }
    if let Some(path) = &arguments.truth {
        fs::write(path, serde_json::to_string_pretty(&truth)?)?;
    }
    eprintln!(
        "{}: {} records, {} bytes, {:.3} s recorded",
        arguments.out.display(),
        truth.records,
        length,
        truth.end_ns as f64 / 1e9
    );
    Ok(())
}
