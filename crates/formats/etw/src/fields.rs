//! The decoded fields of one record.

use std::fmt;

use crate::value::{Value, write_json_text};

/// How many fields a record may decode to, elements of arrays and members of structs counted: one for each
/// property of its schema, some for each byte of its payload, and never more than this.
///
/// A schema out of a hostile file could otherwise make billions of fields without size out of nothing.
const MAX_FIELDS: usize = 1 << 17;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry<'r> {
    name: &'r str,
    value: Value<'r>,
    /// How many of the entries that follow belong to this one: elements, members, and theirs.
    descendants: u32,
}

/// Named values in payload order. Meant to be used again for the next record: [`Fields::reuse`].
///
/// Values are kept flat, a parent before its children, so that decoding allocates nothing once the room is
/// there.
#[derive(Debug)]
pub struct Fields<'r> {
    entries: Vec<Entry<'r>>,
    /// Integer values by property index, which lengths and counts refer to.
    pub(crate) numbers: Vec<u64>,
    limit: usize,
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Self { entries: Vec::new(), numbers: Vec::new(), limit: MAX_FIELDS }
    }
}

impl<'r> Fields<'r> {
    /// No fields, no room yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the fields and lets go of what they borrow, keeping their room for another record.
    ///
    /// ```
    /// # use onoff_etw::Fields;
    /// let mut spare: Fields<'static> = Fields::new();
    /// for payload in [vec![1u8], vec![2]] {
    ///     let fields = std::mem::take(&mut spare).reuse();
    ///     // … decode a record of `payload` into `fields`, look at them …
    ///     # let _ = &payload;
    ///     spare = fields.reuse();
    /// }
    /// ```
    #[must_use]
    pub fn reuse<'s>(mut self) -> Fields<'s> {
        self.entries.clear();
        self.numbers.clear();
        // Collecting an emptied vector into one of the same layout keeps its room.
        let entries = self
            .entries
            .into_iter()
            .map(|entry| Entry { name: "", value: Value::Null, descendants: entry.descendants })
            .collect();
        Fields { entries, numbers: self.numbers, limit: MAX_FIELDS }
    }

    /// Empties the fields.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.numbers.clear();
        self.limit = MAX_FIELDS;
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The top-level fields, in payload order.
    pub fn iter(&self) -> Siblings<'_, 'r> {
        Siblings { entries: &self.entries }
    }

    /// The value of the first top-level field of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'r>> {
        self.iter().find(|field| field.name() == name).map(|field| field.value())
    }

    /// The first top-level field of a name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Field<'_, 'r>> {
        self.iter().find(|field| field.name() == name)
    }

    /// Writes the fields as one JSON object. A field without a name gets its place, from 0, as its name.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_json(&self, out: &mut impl fmt::Write) -> fmt::Result {
        write_object(self.iter(), out)
    }

    /// Sets how many fields a payload of so many bytes may decode to by a schema of so many properties.
    pub(crate) fn allow(&mut self, properties: usize, payload: usize) {
        self.limit = properties.saturating_add(payload.saturating_mul(3)).clamp(16, MAX_FIELDS);
    }

    /// The number set by [`Fields::allow`].
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Adds a field. Returns its place, or nothing when there are too many.
    pub(crate) fn push(&mut self, name: &'r str, value: Value<'r>) -> Option<usize> {
        let place = self.entries.len();
        if place >= self.limit {
            return None;
        }
        self.entries.push(Entry { name, value, descendants: 0 });
        Some(place)
    }

    /// Makes everything added since the field at `place` its descendants.
    pub(crate) fn adopt(&mut self, place: usize) {
        let descendants = self.entries.len().saturating_sub(place + 1);
        if let Some(parent) = self.entries.get_mut(place) {
            parent.descendants = u32::try_from(descendants).unwrap_or(u32::MAX);
        }
    }
}

impl<'f, 'r> IntoIterator for &'f Fields<'r> {
    type Item = Field<'f, 'r>;
    type IntoIter = Siblings<'f, 'r>;

    fn into_iter(self) -> Siblings<'f, 'r> {
        self.iter()
    }
}

/// One decoded field.
#[derive(Clone, Copy)]
pub struct Field<'f, 'r> {
    entry: &'f Entry<'r>,
    descendants: &'f [Entry<'r>],
}

impl<'f, 'r> Field<'f, 'r> {
    /// Its name. Elements of arrays have none.
    #[must_use]
    pub fn name(&self) -> &'r str {
        self.entry.name
    }

    /// Its value.
    #[must_use]
    pub fn value(&self) -> Value<'r> {
        self.entry.value
    }

    /// Its elements or members; nothing for other values.
    #[must_use]
    pub fn children(&self) -> Siblings<'f, 'r> {
        Siblings { entries: self.descendants }
    }

    /// Writes its value as JSON, elements and members included.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_json(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match self.entry.value {
            Value::Array => {
                out.write_char('[')?;
                for (at, child) in self.children().enumerate() {
                    if at > 0 {
                        out.write_char(',')?;
                    }
                    child.write_json(out)?;
                }
                out.write_char(']')
            }
            Value::Struct => write_object(self.children(), out),
            value => value.write_json(out),
        }
    }
}

impl fmt::Display for Field<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close, named) = match self.entry.value {
            Value::Array => ("[", "]", false),
            Value::Struct => ("{", "}", true),
            value => return write!(f, "{value}"),
        };
        f.write_str(open)?;
        for (at, child) in self.children().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            if named {
                write!(f, "{}: ", child.name())?;
            }
            write!(f, "{child}")?;
        }
        f.write_str(close)
    }
}

impl fmt::Debug for Field<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.name())
    }
}

/// Fields of one level, in payload order.
#[derive(Clone)]
pub struct Siblings<'f, 'r> {
    entries: &'f [Entry<'r>],
}

impl<'f, 'r> Iterator for Siblings<'f, 'r> {
    type Item = Field<'f, 'r>;

    fn next(&mut self) -> Option<Field<'f, 'r>> {
        let (entry, rest) = self.entries.split_first()?;
        let descendants = rest.len().min(entry.descendants as usize);
        let (descendants, rest) = rest.split_at(descendants);
        self.entries = rest;
        Some(Field { entry, descendants })
    }
}

fn write_object(fields: Siblings<'_, '_>, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('{')?;
    for (at, field) in fields.enumerate() {
        if at > 0 {
            out.write_char(',')?;
        }
        if field.name().is_empty() {
            write!(out, "\"{at}\"")?;
        } else {
            write_json_text(out, field.name().chars())?;
        }
        out.write_char(':')?;
        field.write_json(out)?;
    }
    out.write_char('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested() -> Fields<'static> {
        let mut fields = Fields::new();
        fields.push("a", Value::UInt(1));
        let array = fields.push("list", Value::Array).unwrap();
        for value in [2, 3] {
            let element = fields.push("", Value::Struct).unwrap();
            fields.push("x", Value::UInt(value));
            fields.adopt(element);
        }
        fields.adopt(array);
        fields.push("b", Value::Bool(true));
        fields
    }

    #[test]
    fn children_stay_with_their_parent() {
        let fields = nested();
        let names: Vec<_> = fields.iter().map(|field| field.name()).collect();
        assert_eq!(names, ["a", "list", "b"]);
        assert_eq!(fields.field("list").unwrap().to_string(), "[{x: 2}, {x: 3}]");
        assert_eq!(fields.get("x"), None, "members are no top-level fields");
        let mut json = String::new();
        fields.write_json(&mut json).unwrap();
        assert_eq!(json, r#"{"a":1,"list":[{"x":2},{"x":3}],"b":true}"#);
    }

    #[test]
    fn reuse_keeps_the_room() {
        let fields = nested();
        let room = fields.entries.capacity();
        let again: Fields<'_> = fields.reuse();
        assert!(again.is_empty());
        assert_eq!(again.entries.capacity(), room);
    }

    #[test]
    fn there_is_an_end_to_fields() {
        let mut fields = Fields::new();
        fields.allow(20, 100);
        while fields.push("", Value::Null).is_some() {}
        assert_eq!(fields.iter().count(), 320);
    }
}
