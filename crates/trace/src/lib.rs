//! The model of a recording: tables, strings, system configuration, losses.
