//! Where the time goes while a computer boots, shuts down, sleeps, hibernates and wakes: recordings in, answers out. What every
//! front end calls.
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
//! * A [`Session`] is made from bytes, or with the feature `files` from paths; everything after that is the same.
//! * A question reads the tables that it needs; tables that are there already are not read again.
//! * Which answer a recording gets (a boot from off or the half of a fast startup that comes back; Windows or Linux) is decided
//!   here, once for every front end.
//! * An answer is a value with units in its names; `write_text` and `write_json` show it as the program does.
//! * Nothing is printed, and without the feature `files` nothing is opened: the library builds for WebAssembly.

#![forbid(unsafe_code)]

mod baseline;
mod boot_history;
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
pub use configurations::{
    BadRecording, ConfigurationSource, Listener, ReadRuns, RunsQuestion, TransitionChoice, files_of_one_recording,
    read_runs, read_study,
};
pub use error::{Error, Refusal};
pub use events::{EventQuestion, Events, NoEvents};
#[cfg(feature = "files")]
pub use firmware::{
    NoFirmwareTimes, add_capture, add_firmware, boot_axis_without_a_recording, firmware, provenance_of_firmware,
};
#[cfg(feature = "symbols")]
pub use functions::function_names;
#[cfg(feature = "files")]
pub use image::{ImageKnowledge, OpenedImage};
pub use lanes::Lanes;
pub use lists::{List, ListAnswer, ListQuestion, NoList};
#[cfg(feature = "files")]
pub use other_kinds::other_kind;
#[cfg(feature = "files")]
pub use overview::overview_of_files;
#[cfg(feature = "files")]
pub use prefetch::prefetch;
pub use range::{OutOfRange, check_order, scope_of};
pub use requests::NoRequests;
pub use runs::{RunsOfTransition, firmware_run};
pub use session::{Session, Transitions};
#[cfg(feature = "files")]
pub use summary::summarize_all;
pub use tables::tables_of_runs;
pub use transition_answers::{
    Boot, BootAnswer, OfAnySystem, Shutdown, ShutdownAnswer, SleepAnswer, Sleeps, TransitionAnswer,
};

/// What a recording means, a module for each kind of answer.
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
}

pub use onoff_findings as findings;
pub use onoff_report as report;
pub use onoff_sections as sections;
pub use onoff_sources as sources;
pub use onoff_trace as trace;
