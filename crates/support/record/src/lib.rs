//! Records a computer turning on and off: plans what is to be done, does it, and puts everything back.
//!
//! Planning and doing are apart. [`capabilities`] looks at what the kernel, systemd and the boot loader offer; [`plan`] makes of it
//! and of the [`job`] a list of [`step`]s, each of which can be said as a sentence, done and undone; [`session`] does them.
//! What undoes a step is on disk before the step is done ([`state`]), so that a computer that crashed between any two
//! steps can be put back.
//!
//! ```text
//!  start ─► steps ─► ┌─► arm, restart ─► (hook: the shutdown) ─► resume ─► settle ─► collect ─► pack ─┐ ─► put back
//!                    └──────────────────────── next run ◄─────────────────────────────────────────────┘
//! ```
//!
//! Everything that touches the computer goes through [`machine::Machine`]: below a root folder, with commands run by it,
//! so that tests work on a tree of files and an invented systemd.
//!
//! [`windows`] is the same job on Windows: by the recorder that comes with it, with the same [`state`] and [`step`]s; and as command
//! lines for a person to type.

mod alarm;
pub mod capabilities;
pub mod check;
pub mod collect;
pub mod collection;
pub mod error;
pub mod file_operations;
pub mod grub;
pub mod job;
pub mod kernel_options;
#[cfg(target_os = "linux")]
pub mod live;
pub mod loader;
pub mod machine;
pub mod pack;
pub mod plan;
mod power;
pub mod private;
mod recorded_boot;
pub mod redaction;
pub mod running;
pub mod session;
pub mod settle;
pub mod shutdown_hook;
pub mod sleep;
pub mod state;
pub mod step;
mod trace_group;
pub mod tracing;
pub mod windows;
