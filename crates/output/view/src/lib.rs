//! The page that shows a transition: its lanes, its server, and the single file that can be mailed.
//!
//! # Design constraints
//!
//! * No analysis: what the page says comes from `onoff-analysis` and `onoff-findings`; here times become pixels.
//! * The page (`viewer/`, built into `page/index.html`) holds view state only: no sum is made in JavaScript.
//! * The served page and the single file are one and the same; they differ in who draws the lanes.
//! * The server listens on 127.0.0.1 only, answers nobody without the token, and writes nothing.

#![forbid(unsafe_code)]

pub mod build;
pub mod compare;
pub mod events;
pub mod export;
pub mod file;
mod firmware;
mod network;
pub mod page;
pub mod path;
pub mod picture;
pub mod ranges;
mod requests;
pub mod server;
pub mod table;
pub mod track;
mod transitions;
mod usage;
