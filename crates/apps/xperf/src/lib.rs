//! `onoff xperf`: the command line of xperf's processing, for scripts that were written for it.
//!
//! xperf's grammar is its own: options may begin with `-` or `/`, an action's options follow it, and how many words an
//! option takes depends on the option. So it has a parser of its own, which answers what it does not understand with a
//! sentence.
//!
//! | module | question |
//! | --- | --- |
//! | [`command_words`] | what is the next word: an option, its value, its list? |
//! | [`command_line`] | what does the whole line ask for? |
//! | [`action`] | what is an action, and what does it need? |
//! | `actions` | which actions are there? One file each |
//! | [`help`] | what does `-help` say? |
//! | [`mod@run`] | in which order is it read, answered and written? |
//! | `listen` | who is told which event in one reading? |
//! | `quality` | is the recording good enough? |
//! | [`output`] | where does each answer go? |
//! | `merge` | how do several recordings become one file? |
//! | [`collected`], [`boot_prefetch`], [`cpu_disk`] | what do only xperf's actions compute? One file each |
//! | [`layouts`] | how is each answer written? One file each |
//!
//! # How to add an action
//!
//! 1. Write what it prints in [`layouts`], over tables, results or described events.
//! 2. Write `actions/<action>.rs`: a constant `ACTION` with name, summary, help and a `parse` function, which takes the
//!    action's own options from [`Words`](command_words::Words) until `option()` gives `None`, and returns a
//!    [`Question`](action::Question): the tables it wants and a closure that answers from them, or a filter and a
//!    listener that is told the events one by one. `actions::services` is a short example of the first,
//!    `actions::dumper` of the second.
//! 3. Name it in `actions/mod.rs`: `mod`, and its place in `ACTIONS`.
//!
//! Reading, losses, `-ao`, `-ae` and exit codes are done for it.

#![forbid(unsafe_code)]

pub mod action;
mod actions;
pub mod boot_prefetch;
pub mod collected;
pub mod command_line;
pub mod command_words;
pub mod cpu_disk;
mod failure;
pub mod help;
pub mod layouts;
mod listen;
mod merge;
pub mod output;
mod quality;
mod ranges;
pub mod reading;
pub mod run;

pub use command_line::{CommandLine, parse};
pub use failure::Failure;
pub use merge::{Merging, run as merge};
pub use reading::{NewProgress, ReadingProgress};
pub use run::run;
