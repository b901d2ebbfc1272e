//! Exports to the file formats of other programs.

pub mod chrome;
pub mod firefox;
pub mod openmetrics;
pub mod otlp;
pub mod perfetto;
pub mod pprof;
