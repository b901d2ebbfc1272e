//! Analyzes where the time goes when a computer boots, shuts down, sleeps, hibernates or wakes. Every front end calls
//! this library.
//!
//! ```
//! use onoff::{Session, Transitions};
//! use onoff::answers::transitions::boot::BootOptions;
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../samples/slow-boot.etl");
//! # let bytes = std::fs::read(path)?;
//!
//! let session = Session::from_bytes([("slow-boot.etl".to_owned(), bytes)])?;
//! assert_eq!(session.transitions()?, Transitions { boot: true, shutdown: false, sleep: false });
//!
//! let boot = session.boot(&BootOptions::default())?;
//! let mut page = Vec::new();
//! boot.write_text(&mut page)?;
//! assert!(String::from_utf8(page)?.contains("winlogon"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design constraints
//!
//! * A [`Session`] is created from bytes or, with the feature `files`, from paths; everything else is independent of
//!   the source.
//! * A query reads only the tables it needs; tables already in memory are not read again.
//! * This crate selects the analysis (full boot or fast startup, Windows or Linux), so every front end gives the same
//!   result.
//! * Results are values with units in their field names; `write_text` and `write_json` format them as the `onoff`
//!   program does.
//! * The library prints nothing and, without the feature `files`, opens no files, so it builds for WebAssembly.

#![forbid(unsafe_code)]

mod baseline;
mod boot_history;
#[cfg(feature = "files")]
mod cause_checks;
#[cfg(feature = "files")]
mod configurations;
mod error;
mod events;
#[cfg(feature = "files")]
mod firmware;
#[cfg(feature = "symbols")]
mod functions;
#[cfg(feature = "files")]
mod image;
mod lanes;
mod lists;
#[cfg(feature = "files")]
mod other_kinds;
mod overview;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "files")]
mod prefetch;
mod range;
mod requests;
mod runs;
mod session;
#[cfg(feature = "files")]
mod summary;
mod tables;
mod transition_answers;

pub use baseline::{read_baseline, write_baseline};
#[cfg(feature = "files")]
pub use cause_checks::check_causes;
#[cfg(feature = "files")]
pub use configurations::{
    BadRecording, ConfigurationSource, Listener, ReadRuns, RunsQuery, TransitionChoice, read_runs, read_study,
    split_recording_path,
};
pub use error::{Error, QueryError};
pub use events::{EventQuery, Events, EventsError};
#[cfg(feature = "files")]
pub use firmware::{
    FirmwareTimesError, add_capture, add_firmware, boot_axis_without_recording, firmware, firmware_provenance,
};
#[cfg(feature = "symbols")]
pub use functions::resolve_functions;
#[cfg(feature = "files")]
pub use image::{ImageContext, OpenedImage};
pub use lanes::Lanes;
pub use lists::{List, ListAnswer, ListError, ListQuery};
#[cfg(feature = "files")]
pub use other_kinds::identify_other_kind;
#[cfg(feature = "files")]
pub use overview::file_overview;
#[cfg(feature = "files")]
pub use prefetch::prefetch;
pub use range::{RangeError, check_order, resolve_scope};
pub use requests::RequestsError;
pub use runs::{TransitionRuns, firmware_run};
pub use session::{Session, Transitions};
#[cfg(feature = "files")]
pub use summary::summarize_all;
pub use tables::run_tables;
pub use transition_answers::{
    Boot, BootAnswer, Shutdown, ShutdownAnswer, SleepAnswer, Sleeps, TransitionAnswer, TransitionReportSource,
};

/// The analysis crates, one module each.
pub mod answers {
    pub use onoff_blame as blame;
    pub use onoff_compare as compare;
    pub use onoff_evidence as evidence;
    pub use onoff_firmware_times as firmware_times;
    pub use onoff_image as image;
    pub use onoff_lanes as lanes;
    pub use onoff_lists as lists;
    pub use onoff_network as network;
    pub use onoff_requests as requests;
    pub use onoff_transitions as transitions;
    pub use onoff_usage as usage;
    pub use onoff_what_if as what_if;
}

pub use onoff_findings as findings;
pub use onoff_report as report;
pub use onoff_sections as sections;
pub use onoff_sources as sources;
pub use onoff_trace as trace;
