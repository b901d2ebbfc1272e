//! Recordings for tests: writers for every input format, and a simulated Linux machine.
//!
//! * [`assemble`] writes Event Trace Log files record by record: every header kind, 32- and 64-bit events, compressed or
//!   not, any file mode, and deliberate damage.
//! * [`capture`] writes network captures and whole network boots.
//! * [`compress`] contains the encoders of compressed buffers.
//! * [`event_log`] writes Windows event logs and their XML export.
//! * [`power_report`] writes the sleep studies of `powercfg`.
//! * [`power_tables`] writes the battery reports and system sleep diagnostics of `powercfg`.
//! * [`events`] contains the events of Windows turning on and off.
//! * [`hive`] writes registry hives and their logs.
//! * [`hostile`] builds traces that no machine produces, from a seed.
//! * [`journal`] writes systemd journal files.
//! * [`linux`] simulates a Linux machine and its recorders.
//! * [`planted_logs`] writes the event logs of a computer with planted names.
//! * [`prefetch`] writes prefetch plans, ReadyBoot traces and Superfetch databases.
//! * [`program`] writes a Windows executable, signed or not.
//! * [`synthetic`] builds small traces in memory, row by row.
//! * [`real_recordings`] finds the real recordings, which tests use if present.
//!
//! This crate is a development dependency only and is never linked into the program.

pub mod assemble;
pub mod capture;
pub mod compress;
pub mod event_log;
pub mod events;
pub mod hive;
pub mod hostile;
pub mod journal;
pub mod linux;
pub mod planted_linux;
pub mod planted_logs;
pub mod power_report;
pub mod power_tables;
pub mod prefetch;
mod program;
pub mod real_recordings;
pub mod synthetic;

pub use program::{Program, program};
