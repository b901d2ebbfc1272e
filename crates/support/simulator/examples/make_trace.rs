//! Simulates a scenario and writes its recording.
//!
//! ```text
//! cargo run -p onoff-simulator --example make_trace -- SCENARIO OUT [--size 1GiB] [--compress xpress] [--truth FILE]
//!     [--logs FOLDER]
//! ```
//!
//! `SCENARIO` is a file, or the name of one in this crate's `scenarios` folder. With `--size` the recording continues
//! until it has about that size; if the scenario alone is larger, its endless loops run less often. The recording is
//! streamed, so memory use stays small: 1 GiB takes seconds, 16 GiB two minutes. If the size cannot be reached, the
//! program deletes the recording and fails. With `--logs`, the event logs of the computer are written to a folder. A
//! scenario that splits kernel and user events writes `OUT`, to which the size applies, and a second file with the
//! extension `.user.etl`.
#![allow(clippy::print_stderr)]

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use onoff_simulator::{Scenario, Size};

/// Mean size of the benchmark scenario's records, bytes: converts a file size to a record count.
const MEAN_RECORD: u64 = 53;

struct Arguments {
    scenario: PathBuf,
    out: PathBuf,
    size: Option<u64>,
    compress: Option<String>,
    truth: Option<PathBuf>,
    logs: Option<PathBuf>,
}

fn parse_arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut positional = Vec::new();
    let (mut size, mut compress, mut truth, mut logs) = (None, None, None, None);
    let mut raw = std::env::args().skip(1);
    while let Some(argument) = raw.next() {
        let mut value = || raw.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--size" => size = Some(value()?.parse::<Size>()?.0),
            "--compress" => compress = Some(value()?),
            "--truth" => truth = Some(PathBuf::from(value()?)),
            "--logs" => logs = Some(PathBuf::from(value()?)),
            _ => positional.push(argument),
        }
    }
    let [scenario, out] = <[String; 2]>::try_from(positional).map_err(
        |_| "usage: make_trace SCENARIO OUT [--size 1GiB] [--compress xpress] [--truth FILE] [--logs FOLDER]",
    )?;
    Ok(Arguments { scenario: PathBuf::from(scenario), out: PathBuf::from(out), size, compress, truth, logs })
}

fn scenario_text(scenario: &Path) -> std::io::Result<String> {
    if scenario.exists() {
        return fs::read_to_string(scenario);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    fs::read_to_string(folder.join(scenario).with_extension("toml"))
}

/// A sink that only measures the length of a file.
#[derive(Default)]
struct LengthSink {
    position: u64,
    length: u64,
}

impl Write for LengthSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.position += bytes.len() as u64;
        self.length = self.length.max(self.position);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for LengthSink {
    fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        let position = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(delta) => self.length.checked_add_signed(delta),
            SeekFrom::Current(delta) => self.position.checked_add_signed(delta),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// Returns the length of the scenario's recording without a minimum number of records, bytes.
fn natural_length(scenario: &Scenario) -> Result<u64, Box<dyn Error>> {
    let user = scenario.recording.split.then(LengthSink::default);
    let (kernel, ..) = scenario.simulate_into(LengthSink::default(), user, None)?;
    Ok(kernel.length)
}

fn is_near(length: u64, target_size: u64) -> bool {
    length >= target_size / 5 * 4 && length <= target_size.saturating_mul(5) / 4
}

/// Maximum factor for the pauses of loops: they get longer than a minute.
const MAX_PAUSE_FACTOR: f64 = 1e6;

/// Returns the scenario with loops rare enough for a recording of about `target_size` bytes, and whether the recording
/// must be extended to reach that size.
fn fit_to_size(scenario: Scenario, target_size: u64) -> Result<(Scenario, bool), Box<dyn Error>> {
    let natural_size = natural_length(&scenario)?;
    if natural_size <= target_size.saturating_mul(5) / 4 {
        return Ok((scenario, true));
    }
    let min_length = natural_length(&scenario.with_rarer_loops(MAX_PAUSE_FACTOR))?;
    let mut pause_factor =
        natural_size.saturating_sub(min_length) as f64 / target_size.saturating_sub(min_length).max(1) as f64;
    for _ in 0..MAX_ATTEMPTS {
        let adjusted = scenario.with_rarer_loops(pause_factor);
        let length = natural_length(&adjusted)?;
        if is_near(length, target_size) {
            return Ok((adjusted, false));
        }
        pause_factor *= length.saturating_sub(min_length) as f64 / target_size.saturating_sub(min_length).max(1) as f64;
        if !(1.0..MAX_PAUSE_FACTOR).contains(&pause_factor) {
            break;
        }
    }
    Err(format!(
        "--size: cannot reach {target_size} bytes; the scenario gives {natural_size} bytes, and at least {min_length}"
    )
    .into())
}

/// Maximum number of attempts to reach a size.
const MAX_ATTEMPTS: usize = 6;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = parse_arguments()?;
    let mut scenario = Scenario::from_toml(&scenario_text(&arguments.scenario)?)?;
    if let Some(name) = &arguments.compress {
        scenario.recording.compression = Some(name.parse()?);
    }
    let mut is_extended = false;
    if let Some(size) = arguments.size {
        (scenario, is_extended) = fit_to_size(scenario, size)?;
    }
    let create = |path: &Path| File::create(path).map(|file| BufWriter::with_capacity(1 << 20, file));
    let user_path = scenario.recording.split.then(|| arguments.out.with_extension("user.etl"));
    let kernel = create(&arguments.out)?;
    let user = user_path.as_deref().map(create).transpose()?;
    let min_records = arguments.size.filter(|_| is_extended).map(|size| size / MEAN_RECORD);
    let (kernel, _, truth) = scenario.simulate_into(kernel, user, min_records)?;
    let length = kernel.get_ref().metadata()?.len();
    if let Some(size) = arguments.size.filter(|&size| !is_near(length, size)) {
        drop(kernel);
        fs::remove_file(&arguments.out)?;
        user_path.map_or(Ok(()), fs::remove_file)?;
        return Err(format!(
            "--size: the recording has {length} bytes instead of {size}, because its records do not have the usual size"
        )
        .into());
    }
    if let Some(path) = &arguments.truth {
        fs::write(path, serde_json::to_string_pretty(&truth)?)?;
    }
    if let Some(folder) = &arguments.logs {
        fs::create_dir_all(folder)?;
        for (name, bytes) in scenario.event_logs(&truth).files() {
            fs::write(folder.join(name), bytes)?;
        }
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
