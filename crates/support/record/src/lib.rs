//! Records a computer's boots, shutdowns and sleeps: plans the changes, makes them, and reverts them afterwards.
//!
//! Planning and execution are separate. [`capabilities`] detects what the kernel, systemd and the boot loader support;
//! [`plan`] turns that and the [`job`] into a list of [`step`]s, each of which can be described, performed and undone;
//! [`session`] performs them. How to undo a step is on disk before the step is performed ([`state`]), so a computer
//! that crashes between any two steps can be restored.
//!
//! ```text
//!  start ─► steps ─► ┌─► arm, restart ─► (hook: the shutdown) ─► resume ─► settle ─► collect ─► pack ─┐ ─► restore
//!                    └──────────────────────── next run ◄─────────────────────────────────────────────┘
//! ```
//!
//! All access to the computer goes through [`machine::Machine`], which has a root folder and runs commands. Tests
//! replace it with a tree of files and a fake systemd.
//!
//! [`windows`] does the same job on Windows with the recorder that comes with Windows and the same [`state`] and
//! [`step`]s, or prints command lines for the user to type.

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
pub mod known_names;
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
