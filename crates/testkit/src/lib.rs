//! Recordings for tests: an Event Trace Log assembler and a machine simulator.
