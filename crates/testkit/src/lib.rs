//! Recordings for tests: an Event Trace Log assembler and a machine simulator.
//!
//! * [`assemble`] writes files record by record: every header kind, 32- and 64-bit events,
//!   compressed or not, any file mode, and damage on purpose.
//! * [`compress`] holds the encoders of compressed buffers.
//!
//! This crate is a development dependency only; nothing of it is linked into the program.

pub mod assemble;
pub mod compress;
