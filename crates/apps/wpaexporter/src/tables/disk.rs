//! *Disk Usage*: disk requests that completed in the range.

use std::convert::Infallible;

use onoff_trace::{DiskOperation, IoPriority, TableName, TableSet};
use onoff_usage::storage::NO_FILE;
use onoff_usage::storage::requests::{Request, visit_requests};

use super::{Column, Context, Graph, Rows, Sink, UNKNOWN, finders, label};
use crate::cell::{Cell, Kind};

pub const GRAPH: Graph = Graph {
    guid: "12c5387c-58ca-45d4-a5c6-450475c30e06",
    name: "Disk Usage",
    rows: Rows::Tables { wanted, visit },
    column,
    column_named,
};

fn wanted() -> TableSet {
    TableSet::from_names(&[TableName::Processes, TableName::Threads, TableName::DiskIos])
}

type Get = fn(&Request<'_>) -> Cell;

static COLUMNS: [Column<Get>; 23] = [
    Column::new("0372579e-31f1-483c-8295-221e175f0cbd", "IO Type", Kind::Text, |row| {
        Cell::text(match row.io.operation {
            DiskOperation::Read => "Read",
            DiskOperation::Write => "Write",
            DiskOperation::Flush => "Flush",
        })
    }),
    Column::new("585dad88-c4ba-4e39-a1e5-c41f43c4e7fb", "Process", Kind::Text, |row| match row.pid {
        Some(pid) => Cell::Text(label(row.image, pid).1),
        None => Cell::text(UNKNOWN),
    }),
    Column::new("855b0ae3-e5fc-450c-807d-2e3f7a0ea21e", "Process Name", Kind::Text, |row| {
        Cell::text(if row.image.is_empty() { UNKNOWN } else { row.image })
    }),
    Column::new("8986994a-34ee-48bf-9a28-29f7ff7062cc", "Thread ID", Kind::Number, |row| Cell::number(row.io.tid)),
    Column::new("01745275-2844-4895-967e-03c75d9e0ffe", "Path Name", Kind::Text, path),
    Column::new("35f601bd-6be5-4c1a-9b35-495dddbe4dff", "Path Tree", Kind::Text, path),
    Column::new("cc1bde00-e396-4c90-a777-7f57a265c5a4", "File Extension", Kind::Text, |row| {
        let file = row.path.rsplit('\\').next().unwrap_or_default();
        file.rsplit_once('.').map_or(Cell::Empty, |(_, extension)| Cell::text(extension))
    }),
    Column::new("a026c5ce-1efd-4073-b379-82882f08b68d", "Count", Kind::Number, |_| Cell::Number(1)),
    Column::new("a0cb7c64-4495-494b-baeb-c699693162cc", "Size", Kind::Bytes, |row| Cell::Bytes(row.io.size)),
    Column::new("c01c5ca8-59e6-4c1d-9db7-32e00186d65c", "Disk Service Time", Kind::Time, |row| {
        Cell::Time(row.io.service_ns)
    }),
    Column::new("66852a8e-74d2-4ec7-ad13-bcae0644b9c9", "IO Time", Kind::Time, |row| Cell::Time(row.response_ns)),
    Column::new("b9c207c5-9da1-4e2d-94de-df17b84840bf", "Init Time", Kind::Time, |row| Cell::Time(row.issued_ns)),
    Column::new("59b4288c-fee0-4b90-86dc-369b79f0b526", "Complete Time", Kind::Time, |row| {
        Cell::Time(row.io.complete_ns)
    }),
    Column::new("4faeb98e-ba24-44f4-93ce-208e0321f438", "Disk", Kind::Number, |row| Cell::Number(row.io.disk.into())),
    Column::new("6cc32316-40ee-42a0-8f71-88f7d175301d", "Priority", Kind::Text, |row| {
        Cell::text(match row.io.priority {
            IoPriority::Unknown => "",
            IoPriority::VeryLow => "Very Low",
            IoPriority::Low => "Low",
            IoPriority::Normal => "Normal",
            IoPriority::High => "High",
            IoPriority::Critical => "Critical",
        })
    }),
    Column::new("5dc8b11e-45ba-40db-9807-583931a5738b", "Min Offset", Kind::Address, |row| {
        Cell::Address(row.io.offset)
    }),
    Column::new("ba4dda2c-3924-4b50-8162-69bc5ef926cc", "Max Offset", Kind::Address, |row| {
        Cell::Address(row.io.offset)
    }),
    Column::new("26c5073e-c597-460f-986d-d8392369ed55", "QD/I - Queue Depth at Init Time", Kind::Number, |row| {
        Cell::Number(row.neighbors.at_issue.into())
    }),
    Column::new("87d56527-1be8-40da-aca1-bd274f7cdf05", "QD/C - Queue Depth at Complete Time", Kind::Number, |row| {
        Cell::Number(row.neighbors.at_completion.into())
    }),
    Column::new(
        "56d83e4c-7e1d-4d70-a230-c41269f01473",
        "IBCB - #IOs Init Before Completed Before",
        Kind::Number,
        |row| Cell::Number(row.neighbors.before_and_completed.into()),
    ),
    Column::new(
        "ad341c3d-9a07-4d82-800e-e78f0f9effca",
        "IACB - #IOs Init After Completed Before",
        Kind::Number,
        |row| Cell::Number(row.neighbors.after_and_completed.into()),
    ),
    Column::new("82ddfdff-ee93-5f35-08ac-4705069618dc", "Thread Activity Tag", Kind::Text, |_| Cell::Empty),
    Column::new("2818954f-2d30-5569-4510-dade0a5a605c", "Annotation", Kind::Text, |_| Cell::text("<Not Annotated>")),
];

fn path(row: &Request<'_>) -> Cell {
    Cell::text(match row.path {
        "" => UNKNOWN,
        NO_FILE => "Unknown (0x0)",
        path => path,
    })
}

finders!();

fn visit(context: &mut Context<'_, '_>, wanted: &[usize], sink: Sink<'_>) -> Result<(), String> {
    if context.trace.disk_ios.is_empty() {
        return Err("no disk requests recorded; this needs the kernel's DISK_IO events".to_owned());
    }
    let mut is_open = true;
    let mut cells = Vec::with_capacity(wanted.len());
    let result: Result<(), Infallible> = visit_requests(context.trace, &context.scope(), &mut |request| {
        if is_open {
            cells.clear();
            cells.extend(wanted.iter().filter_map(|&column| COLUMNS.get(column)).map(|column| (column.get)(request)));
            is_open = sink(&cells);
        }
        Ok(())
    });
    match result {
        Ok(()) => Ok(()),
    }
}
