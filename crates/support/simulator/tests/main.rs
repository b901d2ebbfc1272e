//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.
#![allow(clippy::unwrap_used)]

mod accounts;
mod boot;
mod one_account;
mod power_totals;
mod sample;
mod scenarios;
mod transitions;
mod vocabulary;
mod whose_time;
