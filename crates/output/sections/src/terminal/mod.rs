//! What every text for a terminal is made of: colors, numbers in words, what may be printed of a recording, titles, columns that fit.

pub mod layout;
pub mod losses;
pub mod printable;
pub mod quantity;
pub mod section;
pub mod style;
pub mod table;
