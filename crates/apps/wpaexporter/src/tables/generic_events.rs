//! *Generic Events*: events with a manifest and self-describing events. The kernel's own events are in other graphs.

use onoff_trace::{DescribedEvent, EventOrigin, Field, FieldValue};

use super::{Column, Graph, Rows, UNKNOWN, label};
use crate::cell::{Cell, Kind};

pub const GRAPH: Graph = Graph {
    guid: "04f69f98-176e-4d1c-b44e-97f734996ab8",
    name: "Generic Events",
    rows: Rows::Events { row },
    column,
    column_named,
};

type Get = fn(&DescribedEvent<'_>) -> Cell;

static COLUMNS: [Column<Get>; 22] = [
    Column::new("8b4c40f8-0d99-437d-86ab-56ec200137dc", "Provider Name", Kind::Text, |event| {
        Cell::text(event.provider)
    }),
    Column::new("2a23f9b1-65d6-46d2-87b2-72f3606b7f75", "Provider Id", Kind::Text, |event| Cell::text(event.guid)),
    Column::new("511777f7-30ef-4e86-bd0b-0facaf23a0d3", "Task Name", Kind::Text, |event| Cell::text(event.task)),
    Column::new("5b51716b-b88f-443a-a396-c6316296d5f8", "Opcode Name", Kind::Text, |event| {
        Cell::text(event.opcode_name)
    }),
    Column::new("19eb156f-1908-4134-a783-b9e7e2555a1d", "Opcode/Type", Kind::Number, |event| {
        Cell::Number(event.opcode.into())
    }),
    Column::new("90fe0b49-e3bb-440f-b829-5813c42108a1", "Event Name", Kind::Text, event_name),
    Column::new("72892fbe-0f55-426a-9aa1-26b6baf09ffb", "Event Type", Kind::Text, |event| match event.origin {
        EventOrigin::Manifest => Cell::text("Manifested"),
        EventOrigin::TraceLogging => Cell::text("TraceLogging"),
        EventOrigin::Message => Cell::text("WPP"),
        _ => Cell::text(UNKNOWN),
    }),
    Column::new("c72e1c5a-f6db-4c84-8c0b-85989e514075", "Id", Kind::Number, |event| Cell::Number(event.id.into())),
    Column::new("d446a182-5203-4a29-aca1-4ab9bea0d1b5", "Version", Kind::Number, |event| {
        Cell::Number(event.version.into())
    }),
    Column::new("65bc19fd-8f80-4011-8b00-c7be7d8ec256", "Level", Kind::Number, |event| {
        Cell::Number(event.level.into())
    }),
    Column::new("27165170-b6d1-44fe-ac86-a52749c651f4", "Channel", Kind::Number, |event| {
        Cell::Number(event.channel.into())
    }),
    Column::new("704a10b2-3e2d-40e9-98c8-7f22e09f6d95", "Keyword", Kind::Address, |event| Cell::Address(event.keyword)),
    Column::new("7ee6a5ff-1faf-428a-a7c2-7d2cb2b5cf26", "Process", Kind::Text, |event| match event.pid {
        Some(pid) => Cell::Text(label(process_name(event), pid).1),
        None => Cell::text(UNKNOWN),
    }),
    Column::new("85d40897-ae0f-4a6b-aea3-b4bcd27c14f7", "Process Name", Kind::Text, |event| match event.pid {
        Some(pid) => Cell::Text(label(process_name(event), pid).0),
        None => Cell::text(UNKNOWN),
    }),
    Column::new("edf01e5d-3644-4dbc-ab9d-f8954e6db6ea", "ThreadId", Kind::Number, |event| Cell::number(event.tid)),
    Column::new("3be8610c-babb-4154-9970-1b2210928024", "Cpu", Kind::Number, |event| Cell::Number(event.cpu.into())),
    Column::new("bbfc990a-b6c9-4dcd-858b-f040ab4a1efe", "Time", Kind::Time, |event| Cell::Time(event.time_ns)),
    Column::new("342f7677-17b2-4c7e-b9ec-e89612c49792", "Count", Kind::Number, |_| Cell::Number(1)),
    Column::new("ebb63d26-9372-4ab1-9f0b-d0d15edbc41e", "etw:ActivityId", Kind::Text, |event| {
        event.context.activity.map_or(Cell::Empty, |id| Cell::text(&braced(id)))
    }),
    Column::new("82ddfdff-ee93-5f35-08ac-4705069618dc", "Thread Activity Tag", Kind::Text, |_| Cell::Empty),
    Column::new("2818954f-2d30-5569-4510-dade0a5a605c", "Annotation", Kind::Text, |_| Cell::text("<Not Annotated>")),
    Column::new("0734f1a4-fbd9-4ff6-aec0-cf43875c8253", "Message", Kind::Text, |_| Cell::Empty),
];

/// GUIDs of the columns `Field 1`, `Field 2` and so on.
const FIELDS: [&str; 33] = [
    "0c5cf8cd-9b9e-5798-1a5d-09d429f7fa3c",
    "71badd11-26e5-56bc-44ec-12f4cc6a8f3e",
    "411dba2d-5d6e-5272-8287-636d0841768c",
    "048f5050-1f17-59b3-fa22-4b0781ee630b",
    "94e48f22-d499-5227-bb04-be011b4159b0",
    "c1054028-424a-59ba-e760-6d30abbd69c5",
    "5cbc4b58-2de1-5449-55b2-4651d4edf90a",
    "fc01e6c9-a43b-51a1-fd2e-112ba48aff65",
    "e3dcf300-46e2-5c43-ef4b-2c3db489ec25",
    "87c21ddb-4b29-58e3-5ddc-f114c5ca209a",
    "65f8fe42-ad02-5016-3521-f93329c76227",
    "03d48fd3-0fe4-57f5-a477-49beb0d70a1f",
    "998f8e2d-0f5a-5a54-0133-226e2de62c0b",
    "bb772c34-9600-5bf7-3f54-e6080f8a0611",
    "1479add7-3dcb-580b-f1e9-87d5186ced61",
    "23f4d26d-f02e-592e-f16b-2980410ed2b2",
    "40dce5c1-dea9-5dbc-ab35-c942b2d0bc12",
    "dab0dfee-6f35-5deb-6df3-0ea67c831edb",
    "213da6f4-f8e3-5177-4d42-fef0d1e6b0cb",
    "d14459a6-d8e9-5de7-3bca-ab658234e784",
    "24d8ee5e-37d8-571b-a820-350e442abe6d",
    "7aa0e585-9480-5032-2fb3-c4fdad8ed100",
    "cd98d7dd-4336-53c0-600c-ee3c469698ce",
    "db99d24f-59c7-56cf-0734-a8f7f592ea4a",
    "b864ad7f-3ed9-55d4-a159-60cb9df0ab4b",
    "6b9c053a-8ef9-5f1c-474b-d2842bc953bc",
    "3f2879b6-445e-56a9-5014-eba8acae2689",
    "8ef7b298-825f-5633-eac1-fdef22992ba3",
    "38cab6fb-a56b-5ced-5572-b646ef314d75",
    "f38da267-5d37-5386-6ec4-36fd9a54c511",
    "4f5815e2-c2ad-5c2a-acba-59fb35efd0ee",
    "9082489b-ea82-56f3-2a3e-0ac9d9382fee",
    "3c287902-5328-564e-238a-f64e08b7370c",
];

/// Finds a column. Fields follow the others.
fn column(guid: &str) -> Option<(usize, Kind)> {
    let field = || FIELDS.iter().position(|field| *field == guid).map(|field| (COLUMNS.len() + field, Kind::Text));
    super::index_of(&COLUMNS, |column| column.guid == guid).or_else(field)
}

fn column_named(name: &str) -> Option<(usize, Kind)> {
    let field = || {
        let number: usize = name.strip_prefix("Field ")?.parse().ok()?;
        (1..=FIELDS.len()).contains(&number).then_some((COLUMNS.len() + number - 1, Kind::Text))
    };
    super::index_of(&COLUMNS, |column| column.name.eq_ignore_ascii_case(name)).or_else(field)
}

/// Returns the cells of an event; `None` for an event of other graphs.
fn row(event: &DescribedEvent<'_>, wanted: &[usize]) -> Option<Vec<Cell>> {
    if !matches!(event.origin, EventOrigin::Manifest | EventOrigin::TraceLogging) {
        return None;
    }
    let cell = |&index: &usize| match (COLUMNS.get(index), index.checked_sub(COLUMNS.len())) {
        (Some(column), _) => (column.get)(event),
        (None, field) => {
            field.and_then(|field| event.fields.get(field)).map_or(Cell::Empty, |field| value(&field.value))
        }
    };
    Some(wanted.iter().map(cell).collect())
}

fn process_name<'e>(event: &DescribedEvent<'e>) -> &'e str {
    match (event.process(), event.pid) {
        (Some(name), _) if !name.is_empty() => name,
        (_, Some(0)) => "Idle",
        _ => "",
    }
}

/// Returns the event's own name, or its task and opcode.
fn event_name(event: &DescribedEvent<'_>) -> Cell {
    match (event.origin, event.task, event.opcode_name) {
        (EventOrigin::Manifest, task, "") => Cell::text(task),
        (EventOrigin::Manifest, task, opcode) => Cell::text(&format!("{task}/{opcode}")),
        (_, task, _) => Cell::text(task),
    }
}

fn braced(id: u128) -> String {
    let text = format!("{id:032x}");
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    format!("{{{}-{}-{}-{}-{}}}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

fn value(value: &FieldValue<'_>) -> Cell {
    match value {
        FieldValue::Null => Cell::Empty,
        FieldValue::Signed(number) => Cell::Number(*number),
        FieldValue::Unsigned(number) => {
            i64::try_from(*number).map_or_else(|_| Cell::text(&number.to_string()), Cell::Number)
        }
        FieldValue::Hexadecimal(number, _) => Cell::Address(*number),
        FieldValue::Text(text) | FieldValue::Formatted(text) => Cell::text(text),
        other => Cell::text(&text(other, 0)),
    }
}

fn text(value: &FieldValue<'_>, depth: usize) -> String {
    /// Structures can contain structures.
    const MAX_DEPTH: usize = 8;
    if depth > MAX_DEPTH {
        return "…".to_owned();
    }
    let join = |parts: Vec<String>| format!("[{}]", parts.join(", "));
    match value {
        FieldValue::Null => String::new(),
        FieldValue::Boolean(true) => "True".to_owned(),
        FieldValue::Boolean(false) => "False".to_owned(),
        FieldValue::Signed(number) => number.to_string(),
        FieldValue::Unsigned(number) => number.to_string(),
        FieldValue::Hexadecimal(number, _) => format!("0x{number:x}"),
        FieldValue::Float(number) => number.to_string(),
        FieldValue::Text(text) | FieldValue::Formatted(text) => text.to_string(),
        FieldValue::List(values) => join(values.iter().map(|value| text(value, depth + 1)).collect()),
        FieldValue::Addresses(addresses, _) => join(addresses.iter().map(|address| format!("0x{address:x}")).collect()),
        FieldValue::Structure(fields) => {
            let field = |field: &Field<'_>| format!("{}: {}", field.name, text(&field.value, depth + 1));
            join(fields.iter().map(field).collect())
        }
    }
}
