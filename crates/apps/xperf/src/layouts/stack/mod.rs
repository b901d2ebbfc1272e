//! `xperf -a stack`: modules in call stacks.

mod butterfly;
mod export;

pub use butterfly::write as write_butterfly;
pub use export::{write_csv, write_xml};
