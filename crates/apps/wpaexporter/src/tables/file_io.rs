//! *File I/O*: file operations that were in progress in the range.

use hashbrown::HashSet;
use onoff_trace::{FileIo, FileOperation, TableName, TableSet, Trace};
use onoff_usage::owners::file_name;
use onoff_usage::processes::Images;

use super::stacks::{self, Stacks};
use super::{Column, Context, Graph, Rows, Sink, UNKNOWN, finders, label};
use crate::cell::{Cell, Kind};

pub const GRAPH: Graph = Graph {
    guid: "e2a7d340-0dbd-4f24-8b26-e5388eeaf562",
    name: "File I/O",
    rows: Rows::Tables { wanted, visit },
    column,
    column_named,
};

fn wanted() -> TableSet {
    stacks::TABLES.with(TableName::FileIos)
}

struct Row<'t> {
    io: FileIo,
    trace: &'t Trace,
    /// Name and label of the process.
    process: (Cell, Cell),
    stack: Cell,
}

impl Row<'_> {
    fn path(&self) -> String {
        match self.trace.text(self.io.file) {
            "" => UNKNOWN.to_owned(),
            path => self.trace.system.drive_paths.readable(path).into_owned(),
        }
    }
}

type Get = for<'t> fn(&Row<'t>) -> Cell;

/// Index of the column with the call stack.
const STACK: usize = 11;

static COLUMNS: [Column<Get>; 15] = [
    Column::new("f7732c29-62d3-4b32-ba4e-ced7ebe6b8ea", "Process Name", Kind::Text, |row| row.process.0.clone()),
    Column::new("01cb52ab-5bb1-4cb6-9cff-e50ce2836e39", "Process", Kind::Text, |row| row.process.1.clone()),
    Column::new("71a12a2f-ac40-4906-a979-5760738e4ad7", "Thread", Kind::Number, |row| Cell::number(row.io.tid)),
    Column::new("db4da22c-8331-4243-9094-44f05969de01", "Event Type", Kind::Text, |row| {
        Cell::text(event_type(row.io.operation))
    }),
    Column::new("0b043700-c82e-4d03-bc9c-ae7138093b47", "File Path", Kind::Text, |row| Cell::text(&row.path())),
    Column::new("95611700-8168-452a-859d-b266392c7de0", "File Name", Kind::Text, |row| {
        Cell::text(file_name(&row.path()))
    }),
    Column::new("1a6168db-c962-472b-9c4a-a04621f1dc03", "Count", Kind::Number, |_| Cell::Number(1)),
    Column::new("8b8d220b-a24d-4773-81cb-6c6caebb084f", "Size", Kind::Bytes, |row| Cell::Bytes(row.io.size)),
    Column::new("0f0fd63e-942e-441d-829b-3f921965cc9a", "Duration", Kind::Time, |row| {
        Cell::time(row.io.end_ns.map(|end_ns| end_ns.saturating_sub(row.io.start_ns)))
    }),
    Column::new("26d231f4-e6e3-4ea0-b8f1-3c3cfacf067b", "Start", Kind::Time, |row| Cell::Time(row.io.start_ns)),
    Column::new("e2c7e540-4aeb-47e0-99ba-dacf63ec19cf", "End", Kind::Time, |row| Cell::time(row.io.end_ns)),
    Column::new("ecf6e842-d5da-4d95-84c7-63ab3b6cf318", "Stack", Kind::Stack, |row| row.stack.clone()),
    Column::new("13e15a02-094f-4326-b5bd-e6721bdd3e87", "Result", Kind::Text, |row| match row.io.status {
        Some(status) => Cell::text(&format!("{status:#010x}")),
        None => Cell::Empty,
    }),
    Column::new("cb796d44-2927-5ac1-d231-4b71904c18f5", "Thread Name", Kind::Text, |_| Cell::Empty),
    Column::new("2818954f-2d30-5569-4510-dade0a5a605c", "Annotation", Kind::Text, |_| Cell::text("<Not Annotated>")),
];

fn event_type(operation: FileOperation) -> &'static str {
    match operation {
        FileOperation::Create => "Create",
        FileOperation::Cleanup => "Cleanup",
        FileOperation::Close => "Close",
        FileOperation::Read => "Read",
        FileOperation::Write => "Write",
        FileOperation::Flush => "Flush",
        FileOperation::QueryInformation => "Query Information",
        FileOperation::SetInformation => "Set Information",
        FileOperation::Delete => "Delete",
        FileOperation::Rename => "Rename",
        FileOperation::DirectoryEnumeration => "Directory Enumeration",
        FileOperation::DirectoryNotification => "Directory Notification",
        FileOperation::FileSystemControl => "File System Control",
        FileOperation::Map => "Map",
    }
}

finders!();

fn visit(context: &mut Context<'_, '_>, wanted: &[usize], sink: Sink<'_>) -> Result<(), String> {
    let (trace, range) = (context.trace, context.range);
    if trace.file_ios.is_empty() {
        return Err("no file operations recorded; this needs the kernel's FILE_IO and FILE_IO_INIT events".to_owned());
    }
    let wants_stack = wanted.contains(&STACK);
    let mut stacks = Stacks::new(
        trace,
        (trace.start_ns, trace.duration_ns),
        wants_stack,
        &HashSet::new(),
        context.functions.as_mut().filter(|_| wants_stack),
    );
    let names = Images::new(trace);
    for io in trace.file_ios.iter() {
        if io.start_ns >= range.end_ns || io.end_ns.unwrap_or(io.start_ns) < range.start_ns {
            continue;
        }
        let process = match io.pid {
            Some(pid) => {
                let image = names.image_at(pid, io.start_ns).map_or("", file_name);
                let (name, label) = label(image, pid);
                (Cell::Text(name), Cell::Text(label))
            }
            None => (Cell::text(UNKNOWN), Cell::text(UNKNOWN)),
        };
        let stack = match (wants_stack, io.pid, io.tid) {
            (true, Some(pid), Some(tid)) => stacks.stack(pid, tid, io.start_ns),
            (true, ..) => Cell::text("n/a"),
            (false, ..) => Cell::Empty,
        };
        let row = Row { io, trace, process, stack };
        let cells: Vec<Cell> =
            wanted.iter().filter_map(|&column| COLUMNS.get(column)).map(|column| (column.get)(&row)).collect();
        if !sink(&cells) {
            break;
        }
    }
    Ok(())
}
