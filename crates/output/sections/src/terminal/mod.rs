//! Building blocks of text for a terminal: colors, quantities, escaping, titles, and tables that fit the width.

pub mod layout;
pub mod losses;
pub mod printable;
pub mod quantity;
pub mod section;
pub mod style;
pub mod table;
