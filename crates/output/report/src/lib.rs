//! Writers for the results of the analysis, one module per output format.
//!
//! # Design constraints
//!
//! - A format only writes a result; it computes nothing that another format or front end would also need.
//! - Writers are pure: they take a `&mut dyn Write` and never open files, print, or read the clock.
//! - Text contains colors as escape sequences ([`text::style`]); the owner of the stream strips them.
//! - Names from a recording are escaped before they reach a terminal ([`text::printable`]).

#![forbid(unsafe_code)]

pub mod folded;
pub mod github;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod speedscope;
pub mod svg;
pub mod text;
