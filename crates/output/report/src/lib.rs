//! One file per output format for the results of the analysis.
//!
//! # Design constraints
//!
//! - A format takes a result and writes it; it computes nothing that another format or front end would also need.
//! - Pure: writers get a `&mut dyn Write` and never open, print or ask for the time.
//! - Text carries its colors as escape sequences ([`text::style`]); who owns the stream strips them.
//! - Names from a recording are made safe before they reach a terminal ([`text::printable`]).

#![forbid(unsafe_code)]

pub mod folded;
pub mod github;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod speedscope;
pub mod svg;
pub mod text;
