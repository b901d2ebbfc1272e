//! What a recording means: boot phases, services, devices, processes, CPU, disk.

#![forbid(unsafe_code)]

pub mod recording;
