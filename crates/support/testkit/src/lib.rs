//! Recordings for tests: an Event Trace Log assembler and a machine simulator.
//!
//! * [`assemble`] writes files record by record: every header kind, 32- and 64-bit events,
//!   compressed or not, any file mode, and damage on purpose.
//! * [`capture`] writes network captures, and plays transfers into them.
//! * [`compress`] holds the encoders of compressed buffers.
//! * [`events`] names the events of a Windows boot.
//! * [`hive`] writes registry hives and their logs.
//! * [`hostile`] builds recordings that no machine makes, from a seed.
//! * [`journal`] writes files of the systemd journal, whole or damaged.
//! * [`linux`] plays a machine of Linux, and writes what its recorders do.
//! * [`prefetch`] writes plans, boots' traces of ReadyBoot and databases of SuperFetch.
//! * [`program`] makes a file of a Windows program, signed or not.
//! * [`synthetic`] builds small traces in memory, row by row.
//! * [`real`] finds the real recordings, which tests use where they are present.
//!
//! This crate is a development dependency only; nothing of it is linked into the program.

pub mod assemble;
pub mod capture;
pub mod compress;
pub mod events;
pub mod hive;
pub mod hostile;
pub mod journal;
pub mod linux;
pub mod prefetch;
mod program;
pub mod real;
pub mod synthetic;

pub use program::program;
