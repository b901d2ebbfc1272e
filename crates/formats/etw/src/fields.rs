//! Decoded fields of a record.

use std::fmt;

use crate::value::{Value, write_json_string};

/// Maximum number of fields per record, including array elements and struct members. The limit of a record is smaller:
/// it depends on the number of properties and the payload size ([`Fields::set_limit`]).
///
/// Without a limit, a schema from a malicious file could create billions of zero-sized fields.
const MAX_FIELDS: usize = 1 << 17;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry<'r> {
    name: &'r str,
    value: Value<'r>,
    /// Number of following entries nested in this entry: elements, members and their children.
    descendants: u32,
}

/// Named values in payload order. Reuse the memory for the next record with [`Fields::reuse`].
///
/// Values are stored flat, a parent before its children, so that decoding does not allocate once the capacity suffices.
#[derive(Debug)]
pub struct Fields<'r> {
    entries: Vec<Entry<'r>>,
    /// Integer values by property index, for lengths and counts that refer to them.
    pub(crate) numbers: Vec<u64>,
    limit: usize,
}

impl Default for Fields<'_> {
    fn default() -> Self {
        Self { entries: Vec::new(), numbers: Vec::new(), limit: MAX_FIELDS }
    }
}

impl<'r> Fields<'r> {
    /// Creates an empty collection without capacity.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all fields and releases their borrows, keeping the capacity for another record.
    ///
    /// ```
    /// # use onoff_etw::Fields;
    /// let mut spare: Fields<'static> = Fields::new();
    /// for payload in [vec![1u8], vec![2]] {
    ///     let fields = std::mem::take(&mut spare).reuse();
    ///     // … decode a record of `payload` into `fields` and use them …
    ///     # let _ = &payload;
    ///     spare = fields.reuse();
    /// }
    /// ```
    #[must_use]
    pub fn reuse<'s>(mut self) -> Fields<'s> {
        self.entries.clear();
        self.numbers.clear();
        // Collecting an emptied vector into one of the same layout keeps its capacity.
        let entries = self
            .entries
            .into_iter()
            .map(|entry| Entry { name: "", value: Value::Null, descendants: entry.descendants })
            .collect();
        Fields { entries, numbers: self.numbers, limit: MAX_FIELDS }
    }

    /// Removes all fields.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.numbers.clear();
        self.limit = MAX_FIELDS;
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the top-level fields, in payload order.
    pub fn iter(&self) -> FieldIter<'_, 'r> {
        FieldIter { entries: &self.entries }
    }

    /// Returns the value of the first top-level field named `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'r>> {
        self.iter().find(|field| field.name() == name).map(|field| field.value())
    }

    /// Returns the first top-level field named `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Field<'_, 'r>> {
        self.iter().find(|field| field.name() == name)
    }

    /// Writes the fields as one JSON object. Unnamed fields are named by their index.
    ///
    /// # Errors
    /// `out` fails.
    pub fn write_json(&self, out: &mut impl fmt::Write) -> fmt::Result {
        write_object(self.iter(), out)
    }

    /// Sets the maximum number of fields for a schema of `properties` properties and a payload of `payload` bytes.
    pub(crate) fn set_limit(&mut self, properties: usize, payload: usize) {
        self.limit = properties.saturating_add(payload.saturating_mul(3)).clamp(16, MAX_FIELDS);
    }

    /// Returns the limit set by [`Fields::set_limit`].
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Adds a field. Returns its index, or `None` if the limit is reached.
    pub(crate) fn push(&mut self, name: &'r str, value: Value<'r>) -> Option<usize> {
        let index = self.entries.len();
        if index >= self.limit {
            return None;
        }
        self.entries.push(Entry { name, value, descendants: 0 });
        Some(index)
    }

    /// Makes all fields added since the field at `index` its descendants.
    pub(crate) fn adopt(&mut self, index: usize) {
        let descendants = self.entries.len().saturating_sub(index + 1);
        if let Some(parent) = self.entries.get_mut(index) {
            parent.descendants = u32::try_from(descendants).unwrap_or(u32::MAX);
        }
    }
}

impl<'f, 'r> IntoIterator for &'f Fields<'r> {
    type Item = Field<'f, 'r>;
    type IntoIter = FieldIter<'f, 'r>;

    fn into_iter(self) -> FieldIter<'f, 'r> {
        self.iter()
    }
}

/// A decoded field.
#[derive(Clone, Copy)]
pub struct Field<'f, 'r> {
    entry: &'f Entry<'r>,
    descendants: &'f [Entry<'r>],
}

impl<'f, 'r> Field<'f, 'r> {
    /// Returns the name; empty for array elements.
    #[must_use]
    pub fn name(&self) -> &'r str {
        self.entry.name
    }

    #[must_use]
    pub fn value(&self) -> Value<'r> {
        self.entry.value
    }

    /// Iterates over the array elements or struct members; empty for other values.
    #[must_use]
    pub fn children(&self) -> FieldIter<'f, 'r> {
        FieldIter { entries: self.descendants }
    }

    /// Writes the value as JSON, including elements and members.
    ///
    /// # Errors
    /// `out` fails.
    pub fn write_json(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match self.entry.value {
            Value::Array => {
                out.write_char('[')?;
                for (index, child) in self.children().enumerate() {
                    if index > 0 {
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
        let (open, close, has_names) = match self.entry.value {
            Value::Array => ("[", "]", false),
            Value::Struct => ("{", "}", true),
            value => return write!(f, "{value}"),
        };
        f.write_str(open)?;
        for (index, child) in self.children().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            if has_names {
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

/// Iterates over the fields of one level, in payload order.
#[derive(Clone)]
pub struct FieldIter<'f, 'r> {
    entries: &'f [Entry<'r>],
}

impl<'f, 'r> Iterator for FieldIter<'f, 'r> {
    type Item = Field<'f, 'r>;

    fn next(&mut self) -> Option<Field<'f, 'r>> {
        let (entry, following) = self.entries.split_first()?;
        let descendants = following.len().min(entry.descendants as usize);
        let (descendants, following) = following.split_at(descendants);
        self.entries = following;
        Some(Field { entry, descendants })
    }
}

fn write_object(fields: FieldIter<'_, '_>, out: &mut impl fmt::Write) -> fmt::Result {
    out.write_char('{')?;
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        if field.name().is_empty() {
            write!(out, "\"{index}\"")?;
        } else {
            write_json_string(out, field.name().chars())?;
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
    fn children_are_nested_in_parent() {
        let fields = nested();
        let names: Vec<_> = fields.iter().map(|field| field.name()).collect();
        assert_eq!(names, ["a", "list", "b"]);
        assert_eq!(fields.field("list").unwrap().to_string(), "[{x: 2}, {x: 3}]");
        assert_eq!(fields.get("x"), None, "members are not top-level fields");
        let mut json = String::new();
        fields.write_json(&mut json).unwrap();
        assert_eq!(json, r#"{"a":1,"list":[{"x":2},{"x":3}],"b":true}"#);
    }

    #[test]
    fn reuse_keeps_capacity() {
        let fields = nested();
        let capacity = fields.entries.capacity();
        let reused: Fields<'_> = fields.reuse();
        assert!(reused.is_empty());
        assert_eq!(reused.entries.capacity(), capacity);
    }

    #[test]
    fn limits_number_of_fields() {
        let mut fields = Fields::new();
        fields.set_limit(20, 100);
        while fields.push("", Value::Null).is_some() {}
        assert_eq!(fields.iter().count(), 320);
    }
}
