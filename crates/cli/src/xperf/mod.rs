//! `onoff xperf`: the command line of xperf's processing, for scripts that were written for it.
//!
//! xperf's grammar is its own: options may begin with `-` or `/`, an action's options follow it, and how many words an
//! option takes depends on the option. So it has a parser of its own, which answers what it does not understand with a
//! sentence.
//!
//! | module | question |
//! | --- | --- |
//! | [`words`] | what is the next word: an option, its value, its list? |
//! | [`command_line`] | what does the whole line ask for? |
//! | [`action`] | what is an action, and what does it need? |
//! | [`actions`] | which actions are there? One file each |
//! | [`help`] | what does `-help` say? |
//! | [`mod@run`] | in which order is it read, answered and written? |
//! | `listen` | who is told which event in one reading? |
//! | `quality` | is the recording good enough? |
//! | [`output`] | where does each answer go? |
//!
//! # How to add an action
//!
//! 1. Write what it prints in `onoff_report::xperf`, over tables, results or described events.
//! 2. Write `actions/<action>.rs`: a constant `ACTION` with name, summary, help and a `parse` function, which takes the
//!    action's own options from [`Words`](words::Words) until `option()` gives `None`, and returns a
//!    [`Question`](action::Question): the tables it wants and a closure that answers from them, or a filter and a
//!    listener that is told the events one by one. [`actions::services`] is a short example of the first,
//!    [`actions::dumper`] of the second.
//! 3. Name it in `actions/mod.rs`: `mod`, and its place in `ACTIONS`.
//!
//! Reading, losses, `-ao`, `-ae` and exit codes are done for it.

pub mod action;
pub mod actions;
pub mod command_line;
pub mod help;
mod listen;
pub mod output;
mod quality;
pub mod run;
pub mod words;

pub use command_line::{CommandLine, parse};
pub use run::run;
