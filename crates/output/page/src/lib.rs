//! The content of the interactive page, its questions and their answers, and the same as a file for other viewers.
//!
//! # Design constraints
//!
//! * No analysis: what the page says comes from the answers; here times become pixels.
//! * The page (`viewer/`, built into `built/index.html`) has view state only: it computes no sum, and its lists of tones, groups and
//!   tables come from here ([`legend`]).
//! * The served page and the single file have the same content; they differ in who answers [`questions`].
//! * Pure: no file, no network, no clock. It builds for WebAssembly.

#![forbid(unsafe_code)]

pub mod build;
pub mod compare;
pub mod events;
pub mod export;
pub mod file;
mod firmware;
pub mod legend;
mod network;
pub mod page;
pub mod path;
pub mod picture;
pub mod questions;
pub mod ranges;
mod requests;
pub mod table;
pub mod track;
mod transitions;
mod usage;
