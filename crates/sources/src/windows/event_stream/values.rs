//! Decoded fields as the model's values.

use std::borrow::Cow;

use onoff_etw::{Fields, Value};
use onoff_trace::{Field, FieldValue};

/// The fields of an event from a machine with pointers of `pointer_size` bytes.
pub(super) fn fields<'r>(decoded: &Fields<'r>, pointer_size: usize) -> Vec<Field<'r>> {
    decoded.iter().map(|field| named(&field, pointer_size)).collect()
}

fn named<'r>(field: &onoff_etw::Field<'_, 'r>, pointer_size: usize) -> Field<'r> {
    Field { name: Cow::Borrowed(field.name()), value: value(field, pointer_size) }
}

fn value<'r>(field: &onoff_etw::Field<'_, 'r>, pointer_size: usize) -> FieldValue<'r> {
    match field.value() {
        Value::Null => FieldValue::Null,
        Value::Bool(flag) => FieldValue::Boolean(flag),
        Value::Int(number) => FieldValue::Signed(number),
        Value::UInt(number) | Value::Ticks(number) => FieldValue::Unsigned(number),
        Value::Hex(number) => FieldValue::Hexadecimal(number, 1),
        Value::Pointer(address) => FieldValue::Hexadecimal(address, if pointer_size == 4 { 8 } else { 16 }),
        Value::Status(code) => FieldValue::Hexadecimal(code.into(), 8),
        // By its shortest text: 0.1 stays 0.1 when it becomes wider.
        Value::Float(number) => FieldValue::Float(number.to_string().parse().unwrap_or_else(|_| f64::from(number))),
        Value::Double(number) => FieldValue::Float(number),
        Value::FileTime(time) if time.is_none() => FieldValue::Null,
        Value::Utf16(text) => FieldValue::Text(Cow::Owned(text.to_string())),
        Value::Ansi(text) => FieldValue::Text(text.to_str()),
        Value::Array => FieldValue::List(field.children().map(|child| value(&child, pointer_size)).collect()),
        Value::Struct => FieldValue::Structure(field.children().map(|child| named(&child, pointer_size)).collect()),
        other => FieldValue::Form(Cow::Owned(other.to_string())),
    }
}
