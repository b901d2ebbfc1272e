//! CPU, disk, device, service, process and function usage of a recording.

#![forbid(unsafe_code)]

pub mod address_names;
pub mod asleep;
pub mod call_stacks;
pub mod cpu;
pub mod device_work;
pub mod devices;
pub mod disk;
pub mod functions;
pub mod idle;
pub mod interrupt_modules;
pub mod interruptions;
pub mod modules;
pub mod owners;
pub mod processes;
pub mod storage;
pub mod units;
pub mod user_input;
