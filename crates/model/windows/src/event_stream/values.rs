//! Converts decoded fields to the model's values.

use std::borrow::Cow;

use onoff_etw::kernel::Stack;
use onoff_etw::{Fields, FixedLayout, Value};
use onoff_trace::{Field, FieldValue};

/// Buffer for the fields of an event.
pub(super) type FieldBuffer<'r> = Vec<Field<'r>>;

/// Clears the fields and keeps their buffer for an event with a different lifetime.
pub(super) fn reuse<'s>(mut fields: FieldBuffer<'_>) -> FieldBuffer<'s> {
    fields.clear();
    // Collecting an empty vector into one of the same layout reuses its allocation.
    fields.into_iter().map(|_| Field { name: Cow::Borrowed(""), value: FieldValue::Null }).collect()
}

/// Adds the fields of an event that contains only numbers.
pub(super) fn add_numbers<'r>(
    fixed: &'r FixedLayout<'static>,
    payload: &[u8],
    digits: u8,
    fields: &mut FieldBuffer<'r>,
) {
    let field = |(name, value)| {
        let value = match value {
            Value::UInt(number) | Value::Ticks(number) => FieldValue::Unsigned(number),
            Value::Int(number) => FieldValue::Signed(number),
            Value::Hex(number) => FieldValue::Hexadecimal(number, 1),
            Value::Pointer(address) => FieldValue::Hexadecimal(address, digits),
            _ => FieldValue::Null,
        };
        Field { name: Cow::Borrowed(name), value }
    };
    fields.extend(fixed.values(payload).map(field));
}

/// Adds the fields of a call stack with the return addresses `frames`, named as in its schema.
pub(super) fn add_stack<'r>(stack: &Stack<'_>, frames: &'r [u64], digits: u8, fields: &mut FieldBuffer<'r>) {
    let stack_fields = [
        ("EventTimeStamp", FieldValue::Unsigned(stack.event_ticks)),
        ("StackProcess", FieldValue::Unsigned(stack.process_id.into())),
        ("StackThread", FieldValue::Unsigned(stack.thread_id.into())),
        ("Frames", FieldValue::Addresses(frames, digits)),
    ];
    fields.extend(stack_fields.map(|(name, value)| Field { name: Cow::Borrowed(name), value }));
}

/// Adds the fields of an event from a machine with pointers of `pointer_size` bytes.
pub(super) fn add_fields<'r>(decoded: &Fields<'r>, pointer_size: usize, fields: &mut FieldBuffer<'r>) {
    fields.extend(decoded.iter().map(|field| convert_field(&field, pointer_size)));
}

fn convert_field<'r>(field: &onoff_etw::Field<'_, 'r>, pointer_size: usize) -> Field<'r> {
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
        // Convert through the shortest text, so that 0.1 stays 0.1 as an `f64`.
        Value::Float(number) => FieldValue::Float(number.to_string().parse().unwrap_or_else(|_| f64::from(number))),
        Value::Double(number) => FieldValue::Float(number),
        Value::FileTime(time) if time.is_none() => FieldValue::Null,
        Value::Utf16(text) => FieldValue::Text(Cow::Owned(text.to_string())),
        Value::Ansi(text) => FieldValue::Text(text.to_str()),
        Value::Message(message) => FieldValue::Text(Cow::Owned(message.to_string())),
        Value::Array => FieldValue::List(field.children().map(|child| value(&child, pointer_size)).collect()),
        Value::Struct => {
            FieldValue::Structure(field.children().map(|child| convert_field(&child, pointer_size)).collect())
        }
        value => FieldValue::Formatted(Cow::Owned(value.to_string())),
    }
}
