//! A cell: its value, and how people see it.

use std::borrow::Cow;

use anstyle::Style;

use crate::table::Value;
use crate::terminal::style::DOUBT;

/// A cell of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell<'a> {
    /// What programs get.
    pub(super) value: Value<'a>,
    /// What people see in its place.
    shown: Option<Cow<'a, str>>,
    /// How it looks.
    pub(super) style: Style,
}

impl<'a> Cell<'a> {
    /// Words for people where there is no value.
    pub fn words(style: Style, text: impl Into<Cow<'a, str>>) -> Self {
        Self { value: Value::Nothing, shown: Some(text.into()), style }
    }

    /// A value that people see as `text`.
    pub fn shown(value: Value<'a>, text: impl Into<Cow<'a, str>>) -> Self {
        Self { value, shown: Some(text.into()), style: Style::new() }
    }

    /// The same in a style.
    #[must_use]
    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// How long something took, ns; `unfinished` where it has no end.
    #[must_use]
    pub fn took(ns: Option<i64>) -> Self {
        ns.map_or_else(|| Self::words(DOUBT, "unfinished"), |ns| Value::Duration(ns).into())
    }

    /// A length of time, ns; a dash where it is not known.
    #[must_use]
    pub fn duration_or_dash(ns: Option<i64>) -> Self {
        ns.map_or_else(|| Self::words(Style::new(), "-"), |ns| Value::Duration(ns).into())
    }

    /// A point in time, ns, which people see counted from `origin_ns`.
    #[must_use]
    pub fn since(ns: i64, origin_ns: i64) -> Self {
        Value::Since { ns, origin_ns }.into()
    }

    /// The same; a dash where it is not known.
    #[must_use]
    pub fn since_or_dash(ns: Option<i64>, origin_ns: i64) -> Self {
        ns.map_or_else(|| Self::words(Style::new(), "-"), |ns| Self::since(ns, origin_ns))
    }

    /// As a person reads it; blank when it is `sparse` and there is none of it.
    pub(super) fn text(&self, sparse: bool) -> Cow<'_, str> {
        match &self.shown {
            Some(text) => Cow::Borrowed(text),
            None if sparse && self.value.is_zero() => Cow::Borrowed(""),
            None => self.value.shown(),
        }
    }
}

impl<'a> From<Value<'a>> for Cell<'a> {
    fn from(value: Value<'a>) -> Self {
        Self { value, shown: None, style: Style::new() }
    }
}

impl<'a> Value<'a> {
    /// The cell with this value, in a style.
    #[must_use]
    pub fn styled(self, style: Style) -> Cell<'a> {
        Cell { value: self, shown: None, style }
    }
}
