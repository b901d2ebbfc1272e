//! Content of the interactive page, its queries, its single-file output, and exports to other viewers.
//!
//! # Design constraints
//!
//! * No analysis: this crate converts results of other crates and maps times to pixels.
//! * The page (`viewer/`, built into `built/index.html`) holds view state only: it computes no totals, and its lists of
//!   tones, groups and tables come from [`legend`].
//! * The served page and the single file have the same content, except that a server answers [`queries`].
//! * No file, network or clock access, so that the crate builds for WebAssembly.

#![forbid(unsafe_code)]

pub mod build;
pub mod compare;
pub mod events;
pub mod export;
pub mod file;
mod firmware;
pub mod interval_tables;
pub mod legend;
mod network;
pub mod page;
pub mod path;
pub mod picture;
pub mod queries;
pub mod ranges;
mod requests;
mod sent_requests;
mod shades;
pub mod table;
pub mod track;
mod transitions;
mod usage;
pub mod waits;
mod what_if;
