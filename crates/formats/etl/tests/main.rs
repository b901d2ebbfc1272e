//! All integration tests of this crate in one program, which saves linking time.
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
