//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.
#![allow(clippy::unwrap_used)]

mod assembled;
mod damage;
mod defects;
mod losses_documented;
mod merged;
mod prefetch;
mod recordings;
mod records;
mod samples;
mod samples_folder;
