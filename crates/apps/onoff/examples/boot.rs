//! A minimal front end: prints where the time of a recorded boot went.
//!
//! `cargo run -p onoff --example boot -- samples/slow-boot.etl`

use std::error::Error;
use std::io::stdout;
use std::path::PathBuf;

use onoff::Session;
use onoff::answers::transitions::boot::BootOptions;

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let session = Session::open(&paths, &onoff_files::Options::default())?;
    let boot = session.boot(&BootOptions::default())?;
    boot.write_text(&mut stdout().lock())?;
    Ok(())
}
