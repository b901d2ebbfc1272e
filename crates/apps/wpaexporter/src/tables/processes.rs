//! *Processes*: lifetimes of processes.

use onoff_trace::{Process, TableName, TableSet, Trace};

use super::{Column, Context, Graph, Rows, Sink, finders, label};
use crate::cell::{Cell, Kind};
use onoff_usage::owners::file_name;

pub const GRAPH: Graph = Graph {
    guid: "b186f02d-8d06-4bbb-9ad1-abf7985fb61a",
    name: "Processes",
    rows: Rows::Tables { wanted, visit },
    column,
    column_named,
};

fn wanted() -> TableSet {
    TableSet::from_names(&[TableName::Processes])
}

struct Row<'t> {
    process: Process,
    trace: &'t Trace,
    /// Start and end, clipped to the exported range, ns.
    start_ns: i64,
    end_ns: i64,
}

impl Row<'_> {
    fn image(&self) -> &str {
        match (file_name(self.trace.text(self.process.image)), self.process.pid) {
            ("", 0) => "Idle",
            (image, _) => image,
        }
    }

    fn is_permanent(&self) -> bool {
        self.process.start_ns.is_none() && self.process.end_ns.is_none()
    }

    fn duration(&self) -> Cell {
        Cell::Time(self.end_ns.saturating_sub(self.start_ns).max(0))
    }

    /// Returns a recorded text, or WPA's text for a value that is not recorded.
    fn text_or<'a>(text: &'a str, otherwise: &'a str) -> Cell {
        Cell::text(if text.is_empty() { otherwise } else { text })
    }
}

type Get = for<'t> fn(&Row<'t>) -> Cell;

static COLUMNS: [Column<Get>; 20] = [
    Column::new("0edbeee1-8d7b-5652-6639-86415222c6e0", "Process", Kind::Text, |row| {
        Cell::Text(label(row.image(), row.process.pid).1)
    }),
    Column::new("0b34b57d-f3cd-519a-4584-b182e0088701", "Process Name", Kind::Text, |row| {
        Cell::Text(label(row.image(), row.process.pid).0)
    }),
    Column::new("5f381ee6-ad8e-5906-7de0-4b678b7d78f1", "Process ID", Kind::Number, |row| {
        Cell::Number(row.process.pid.into())
    }),
    Column::new("32ba004c-d028-5def-cc60-016892805d03", "Parent Process ID", Kind::Number, |row| {
        Cell::number(row.process.parent_pid)
    }),
    Column::new("226170ea-7139-5ea5-ef82-c7b8eb950467", "Session ID", Kind::Number, |row| {
        Cell::number(row.process.session)
    }),
    Column::new("1093bbae-e3f8-570d-d300-fe006ec801fe", "Command Line", Kind::Text, |row| {
        Row::text_or(row.trace.text(row.process.command_line), "<Unknown>")
    }),
    Column::new("a5e0fdb2-8afa-59e2-91e7-5ade1195b805", "Package Full Name", Kind::Text, |row| {
        Row::text_or(row.trace.text(row.process.package), "<None>")
    }),
    Column::new("1ba44c8d-e138-5cfa-c4d8-49580277ab41", "Lifetime", Kind::Text, |row| {
        Cell::text(if row.is_permanent() { "Permanent" } else { "Transient" })
    }),
    Column::new("36c00ec5-61f8-5f89-a066-641288a34ca9", "Start Time", Kind::Time, |row| Cell::Time(row.start_ns)),
    Column::new("19fb5aa9-a5fc-5f14-cb83-fad0691e92a8", "End Time", Kind::Time, |row| Cell::Time(row.end_ns)),
    Column::new("c4cf3680-7ab6-5b50-a66e-bb282e861842", "Duration", Kind::Time, |row| row.duration()),
    Column::new("3546d491-9447-5abe-f1ea-c8363af9b77f", "Avg Duration", Kind::Time, |row| row.duration()),
    Column::new("fa105ddf-fff0-57fb-8472-3b02066ee626", "Max Duration", Kind::Time, |row| row.duration()),
    Column::new("fd1c6bea-5148-5a94-f0d2-720385dfddf6", "Min Duration", Kind::Time, |row| row.duration()),
    Column::new("26dd2129-e3d6-57aa-c56b-34b5a5b79fcb", "Count", Kind::Number, |_| Cell::Number(1)),
    Column::new("7b96de49-17c2-5b21-e879-cd3fa850202f", "Permanent Count", Kind::Number, |row| {
        Cell::Number(row.is_permanent().into())
    }),
    Column::new("ce84d427-a0a7-58d9-0fde-e8d2e84770bc", "Table", Kind::Text, |_| Cell::Empty),
    Column::new("cb796d44-2927-5ac1-d231-4b71904c18f5", "Thread Name", Kind::Text, |_| Cell::Empty),
    Column::new("82ddfdff-ee93-5f35-08ac-4705069618dc", "Thread Activity Tag", Kind::Text, |_| Cell::Empty),
    Column::new("2818954f-2d30-5569-4510-dade0a5a605c", "Annotation", Kind::Text, |_| Cell::text("<Not Annotated>")),
];

finders!();

fn visit(context: &mut Context<'_, '_>, wanted: &[usize], sink: Sink<'_>) -> Result<(), String> {
    let (trace, range) = (context.trace, context.range);
    if trace.processes.is_empty() {
        return Err("no processes recorded; this needs the kernel's PROC_THREAD events".to_owned());
    }
    for process in trace.processes.iter() {
        let start_ns = process.start_ns.unwrap_or(trace.start_ns).max(range.start_ns);
        let end_ns = process.end_ns.unwrap_or(trace.duration_ns).min(range.end_ns);
        if end_ns < start_ns {
            continue;
        }
        let row = Row { process, trace, start_ns, end_ns };
        let cells: Vec<Cell> =
            wanted.iter().filter_map(|&column| COLUMNS.get(column)).map(|column| (column.get)(&row)).collect();
        if !sink(&cells) {
            break;
        }
    }
    Ok(())
}
