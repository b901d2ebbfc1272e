//! Sections of a report: described once, written as text, HTML, CSV or JSON.

#![forbid(unsafe_code)]

pub mod csv;
pub mod glossary;
pub mod html_styles;
pub mod json;
pub mod lists;
pub mod report_writer;
pub mod section;
pub mod table;
pub mod terminal;
