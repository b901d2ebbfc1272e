//! Plays a scenario into a recording.
//!
//! ```text
//! cargo run -p onoff-testkit --example make_trace -- SCENARIO OUT [--size 1GiB] [--compress xpress] [--truth FILE]
//! ```
//!
//! `SCENARIO` is a file, or the name of one in this crate's `scenarios` folder. With `--size` the
//! recording goes on until it is about that large; it is written as it is played, so memory stays
//! small. Where what the scenario plays is not near that size, the recording is kept and the program fails. A scenario that splits kernel and user events writes `OUT` and `OUT` with `.user`
//! before its extension.
#![allow(clippy::print_stderr)]

use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use onoff_testkit::simulate::{Scenario, Size};

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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let mut scenario = Scenario::from_toml(&scenario_text(&arguments.scenario)?)?;
    if let Some(name) = &arguments.compress {
        scenario.recording.compression = Some(name.parse()?);
    }
    let create = |path: &Path| File::create(path).map(|file| BufWriter::with_capacity(1 << 20, file));
    let kernel = create(&arguments.out)?;
    let user = scenario.recording.split.then(|| create(&arguments.out.with_extension("user.etl"))).transpose()?;
    let at_least = arguments.size.map(|size| size / MEAN_RECORD);
    let (kernel, _, truth) = scenario.simulate_into(kernel, user, at_least)?;
    let length = kernel.get_ref().metadata()?.len();
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
    match arguments.size {
        Some(size) if length > size.saturating_mul(5) / 4 => Err(format!(
            "--size: the scenario alone takes {length} bytes, more than the {size} wanted; one with fewer events a second takes less"
        )
        .into()),
        Some(size) if length < size / 5 * 4 => {
            Err(format!("--size: the recording has {length} bytes, fewer than the {size} wanted: its records are smaller than most").into())
        }
        _ => Ok(()),
    }
}
