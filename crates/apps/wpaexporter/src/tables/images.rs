//! *Images*: modules in processes.

use onoff_trace::{Image, TableName, TableSet, Trace};
use onoff_usage::owners::file_name;
use onoff_usage::processes;

use super::{Column, Context, Graph, Rows, Sink, finders, label};
use crate::cell::{Cell, Kind};

pub const GRAPH: Graph = Graph {
    guid: "a1df89f9-5b2a-449e-aaab-1bcc3fd25c84",
    name: "Images",
    rows: Rows::Tables { wanted, visit },
    column,
    column_named,
};

fn wanted() -> TableSet {
    TableSet::from_names(&[TableName::Processes, TableName::Images])
}

struct Row<'t> {
    image: Image,
    trace: &'t Trace,
    process: &'t str,
    /// Load and unload, clipped to the exported range, ns.
    start_ns: i64,
    end_ns: i64,
}

type Get = for<'t> fn(&Row<'t>) -> Cell;

static COLUMNS: [Column<Get>; 13] = [
    Column::new("63f64d61-d8b1-5fe8-661a-4e48aaf8c613", "Process", Kind::Text, |row| {
        Cell::Text(label(row.process, row.image.pid).1)
    }),
    Column::new("1088f617-20a8-53a7-9952-3eabefc445cf", "Process Name", Kind::Text, |row| {
        Cell::Text(label(row.process, row.image.pid).0)
    }),
    Column::new("805996ba-9555-5226-f229-e3a3c0625e12", "Image Name", Kind::Text, |row| {
        Cell::text(file_name(row.trace.text(row.image.path)))
    }),
    Column::new("8db8684a-9af9-5134-8fac-ea61c4f2cee1", "Image Path", Kind::Text, |row| {
        Cell::text(&row.trace.system.drive_paths.readable(row.trace.text(row.image.path)))
    }),
    Column::new("a3ca869a-9c38-5325-e8cd-e6b0d562a72a", "ImageSize", Kind::Bytes, |row| Cell::Bytes(row.image.size)),
    Column::new("542dbdbb-e4f1-5cb0-f70a-2da71320e1ce", "Start Address", Kind::Address, |row| {
        Cell::Address(row.image.base)
    }),
    Column::new("2b724277-8050-5de3-b33f-997462ea0eed", "End Address", Kind::Address, |row| {
        Cell::Address(row.image.base.saturating_add(row.image.size))
    }),
    Column::new("84fa7f2c-c8bb-575c-e607-9b03f2839a2d", "Start Time", Kind::Time, |row| Cell::Time(row.start_ns)),
    Column::new("b5b4978f-1421-5920-14e0-f4edbe844cd6", "End Time", Kind::Time, |row| Cell::Time(row.end_ns)),
    Column::new("756d7d5a-a03f-5d80-6eba-c3aa94cfe34b", "Count", Kind::Number, |_| Cell::Number(1)),
    Column::new("0ffcc6cd-c664-593b-f363-92d7bfd0de4f", "File Version", Kind::Text, |row| {
        Cell::text(row.trace.text(row.image.version))
    }),
    Column::new("16e51d5d-f040-5d0f-072e-0242ec3890ca", "TimeDateStamp", Kind::Address, |row| {
        Cell::Address(row.image.time_stamp.into())
    }),
    Column::new("2818954f-2d30-5569-4510-dade0a5a605c", "Annotation", Kind::Text, |_| Cell::text("<Not Annotated>")),
];

finders!();

fn visit(context: &mut Context<'_, '_>, wanted: &[usize], sink: Sink<'_>) -> Result<(), String> {
    let (trace, range) = (context.trace, context.range);
    if trace.images.is_empty() {
        return Err("no modules recorded; this needs the kernel's LOADER events".to_owned());
    }
    let names = processes::Images::new(trace);
    for image in trace.images.iter() {
        let start_ns = image.load_ns.unwrap_or(trace.start_ns).max(range.start_ns);
        let end_ns = image.unload_ns.unwrap_or(trace.duration_ns).min(range.end_ns);
        if end_ns < start_ns {
            continue;
        }
        let process = match names.image_at(image.pid, start_ns) {
            Some(process) => file_name(process),
            None if image.pid == 0 => "Idle",
            None => "",
        };
        let row = Row { image, trace, process, start_ns, end_ns };
        let cells: Vec<Cell> =
            wanted.iter().filter_map(|&column| COLUMNS.get(column)).map(|column| (column.get)(&row)).collect();
        if !sink(&cells) {
            break;
        }
    }
    Ok(())
}
