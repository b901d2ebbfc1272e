//! Sections as JSON objects.

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use super::{Cell, Column, Section};
use crate::table::Value;

impl Serialize for Section<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Section", 4)?;
        object.serialize_field("name", self.name)?;
        object.serialize_field("title", &self.title)?;
        object.serialize_field("columns", &Columns(self))?;
        object.serialize_field("rows", &Rows(self))?;
        object.end()
    }
}

struct Columns<'s, 'a>(&'s Section<'a>);

impl Serialize for Columns<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for Column { heading, .. } in self.0.data() {
            list.serialize_element(&ColumnDescription {
                name: heading.name,
                title: heading.title,
                unit: heading.unit(),
            })?;
        }
        list.end()
    }
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ColumnDescription {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
}

struct Rows<'s, 'a>(&'s Section<'a>);

impl Serialize for Rows<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.rows))?;
        for index in 0..self.0.rows {
            list.serialize_element(&Row(self.0, index))?;
        }
        list.end()
    }
}

struct Row<'s, 'a>(&'s Section<'a>, usize);

impl Serialize for Row<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        for column in self.0.data() {
            if let Some(cell) = column.cells.get(self.1) {
                row.serialize_entry(column.heading.name, cell)?;
            }
        }
        row.end()
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Nothing | Value::Unknown | Value::AtLeast(_) => serializer.serialize_none(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Id(number)
            | Value::Time(number)
            | Value::Duration(number)
            | Value::AtMost(number)
            | Value::Since { ns: number, .. } => serializer.serialize_i64(*number),
            Value::Count(number) | Value::Bytes(number) => serializer.serialize_u64(*number),
            Value::Percent(value) | Value::Real { value, .. } => serializer.serialize_f64(*value),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::section;

    #[test]
    fn serializes_numbers_and_null() {
        let json = serde_json::to_value(section()).unwrap();
        assert_eq!(json["columns"][1], serde_json::json!({"name": "duration_ns", "title": "duration", "unit": "ns"}));
        assert_eq!(json["columns"].as_array().unwrap().len(), 3);
        assert_eq!(
            json["rows"][0],
            serde_json::json!({"name": "=cmd", "duration_ns": 1_500_000_000_i64, "system": "linux"})
        );
        assert_eq!(json["rows"][1]["duration_ns"], serde_json::Value::Null);
    }
}
