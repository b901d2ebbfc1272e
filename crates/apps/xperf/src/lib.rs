//! `onoff xperf`: the trace-processing command line of xperf, for scripts that were written for it.
//!
//! Options may begin with `-` or `/`, an action's options follow the action, and the number of values depends on the
//! option. No general argument parser accepts that grammar, so this crate has a hand-written parser.
//!
//! | module | purpose |
//! | --- | --- |
//! | [`command_words`] | splits the line into options, values and lists |
//! | [`command_line`] | parses the whole line |
//! | [`action`] | the type of an action, and the queries of actions |
//! | `actions` | all actions, one file each |
//! | [`help`] | the text of `-help` |
//! | [`mod@run`] | reads the recording and runs the actions in order |
//! | `listen` | dispatches the events of one pass to listeners |
//! | `quality` | rejects recordings with lost events or time inversions |
//! | [`output`] | the files that actions write to |
//! | `merge` | merges several recordings into one file |
//! | `event_analyses`, [`boot_prefetch`], [`cpu_disk`] | analyses that only xperf's actions use, one file each |
//! | [`layouts`] | writes xperf's formats, one file each |
//!
//! # How to add an action
//!
//! 1. Write its output format in [`layouts`], over tables, results or described events.
//! 2. Write `actions/<action>.rs`: a constant `ACTION` with name, summary, help and a `parse` function, which takes the
//!    action's options from [`Words`](command_words::Words) until `option()` returns `None`, and returns a
//!    [`Query`](action::Query): either the tables it needs and a closure that writes the output from them, or a filter
//!    and a listener that receives the events one by one. `actions::services` is a short example of the first,
//!    `actions::dumper` of the second.
//! 3. Add it to `actions/mod.rs`: a `mod` line and an entry in `ACTIONS`.
//!
//! Reading, losses, `-ao`, `-ae` and exit codes are handled outside the action.

#![forbid(unsafe_code)]

pub mod action;
mod actions;
pub mod boot_prefetch;
pub mod command_line;
pub mod command_words;
pub mod cpu_disk;
pub mod event_analyses;
mod failure;
pub mod help;
pub mod layouts;
mod listen;
mod merge;
pub mod output;
pub mod quality;
mod ranges;
pub mod reading;
pub mod run;

pub use command_line::{CommandLine, parse};
pub use failure::Failure;
pub use merge::{MergeRequest, run as merge};
pub use reading::{NewProgress, ReadingProgress};
pub use run::run;
