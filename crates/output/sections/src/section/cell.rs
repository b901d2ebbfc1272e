//! Cells of a section.

use std::borrow::Cow;

use anstyle::Style;

use crate::table::Value;
use crate::terminal::style::DOUBT;

/// A cell: the value for CSV and JSON, and optionally a different text for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell<'a> {
    pub(super) value: Value<'a>,
    shown: Option<Cow<'a, str>>,
    pub(super) style: Style,
}

impl<'a> Cell<'a> {
    /// Creates a cell with text for people only, without a value.
    pub fn text_only(style: Style, text: impl Into<Cow<'a, str>>) -> Self {
        Self { value: Value::Nothing, shown: Some(text.into()), style }
    }

    /// Creates a cell with a value that is shown to people as `text`.
    pub fn with_display_text(value: Value<'a>, text: impl Into<Cow<'a, str>>) -> Self {
        Self { value, shown: Some(text.into()), style: Style::new() }
    }

    #[must_use]
    pub fn with_style(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// Creates a cell with a duration, ns; `unfinished` if there is no end.
    #[must_use]
    pub fn duration_or_unfinished(ns: Option<i64>) -> Self {
        ns.map_or_else(|| Self::text_only(DOUBT, "unfinished"), |ns| Value::Duration(ns).into())
    }

    /// Creates a cell with a duration, ns, or a dash if unknown.
    #[must_use]
    pub fn duration_or_dash(ns: Option<i64>) -> Self {
        ns.map_or_else(|| Self::text_only(Style::new(), "-"), |ns| Value::Duration(ns).into())
    }

    /// Creates a cell with a point in time, ns, shown relative to `origin_ns`.
    #[must_use]
    pub fn since(ns: i64, origin_ns: i64) -> Self {
        Value::Since { ns, origin_ns }.into()
    }

    /// Creates a cell like [`since`](Self::since), or a dash if unknown.
    #[must_use]
    pub fn since_or_dash(ns: Option<i64>, origin_ns: i64) -> Self {
        ns.map_or_else(|| Self::text_only(Style::new(), "-"), |ns| Self::since(ns, origin_ns))
    }

    /// Returns the text for people; blank for a zero in a `sparse` column.
    pub(super) fn text(&self, sparse: bool) -> Cow<'_, str> {
        match &self.shown {
            Some(text) => Cow::Borrowed(text),
            None if sparse && self.value.is_zero() => Cow::Borrowed(""),
            None => self.value.display_text(),
        }
    }
}

impl<'a> From<Value<'a>> for Cell<'a> {
    fn from(value: Value<'a>) -> Self {
        Self { value, shown: None, style: Style::new() }
    }
}

impl<'a> Value<'a> {
    /// Returns a cell with this value in a style.
    #[must_use]
    pub fn styled(self, style: Style) -> Cell<'a> {
        Cell { value: self, shown: None, style }
    }
}
