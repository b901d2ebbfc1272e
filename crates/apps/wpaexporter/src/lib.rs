//! `onoff wpaexporter`: the command line of WPA's exporter. Reads a WPA profile and writes one CSV file for each of its
//! graphs that onoff knows.
//!
//! A profile (`.wpaProfile`) names graphs and, for each, a preset: columns, their order, aggregation, a filter, and a
//! bar. Columns left of the bar are keys: rows with equal keys are one row, with the other columns aggregated.
//!
//! | module | purpose |
//! | --- | --- |
//! | [`command_line`] | parses the arguments |
//! | [`profile`] | reads profiles, in both of their XML formats |
//! | [`query`] | filters, in WPA's query language |
//! | [`cell`] | values of a row, and how WPA formats them |
//! | [`pivot`] | groups, aggregates and sorts rows |
//! | [`tables`] | the known graphs, one file each |
//! | [`mod@run`] | reads the recording and writes the files |
//!
//! # How to add a graph
//!
//! Write `tables/<graph>.rs` with a row type, its columns (GUID, name, kind, and a function from the row to the cell)
//! and a function that visits the rows, and add it to `tables::ALL`. The GUIDs are in profiles that WPA saved.

#![forbid(unsafe_code)]

pub mod cell;
pub mod command_line;
pub mod pivot;
pub mod profile;
pub mod query;
pub mod run;
pub mod tables;

pub use command_line::{CommandLine, Export, HELP, parse};
pub use run::run;
