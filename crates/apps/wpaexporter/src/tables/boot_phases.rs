//! *Boot Phases Summary Table*: the phases of a boot, with WPA's names.

use onoff_trace::TableSet;
use onoff_transitions::PhaseName;
use onoff_transitions::boot::{self, BootOptions};

use super::{Column, Context, Graph, Rows, Sink, finders};
use crate::cell::{Cell, Kind};

pub const GRAPH: Graph = Graph {
    guid: "da13748b-71c7-4ba1-a61d-6ae4e527e261",
    name: "Boot Phases Summary Table",
    rows: Rows::Tables { wanted, visit },
    column,
    column_named,
};

fn wanted() -> TableSet {
    boot::TABLES
}

struct Row {
    name: &'static str,
    number: i64,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
}

type Get = fn(&Row) -> Cell;

static COLUMNS: [Column<Get>; 9] = [
    Column::new("09f9ab65-72c9-5447-c56b-99d749bced3c", "Phase Name", Kind::Text, |row| Cell::text(row.name)),
    Column::new("4d7f9f8e-bbe4-5ca7-003d-b982d1642eb9", "Phase #", Kind::Number, |row| Cell::Number(row.number)),
    Column::new("40fb0280-d775-513b-203f-77a5fb761913", "Duration", Kind::Time, |row| {
        Cell::time(row.start_ns.zip(row.end_ns).map(|(start_ns, end_ns)| end_ns.saturating_sub(start_ns)))
    }),
    Column::new("12020749-a4c5-5ed4-7316-9eefb76c72c9", "Start Time", Kind::Time, |row| Cell::time(row.start_ns)),
    Column::new("a80e59b2-f58f-543e-18e9-6e8fd4b49a84", "End Time", Kind::Time, |row| Cell::time(row.end_ns)),
    Column::new("ce84d427-a0a7-58d9-0fde-e8d2e84770bc", "Table", Kind::Text, |_| Cell::Empty),
    Column::new("cb796d44-2927-5ac1-d231-4b71904c18f5", "Thread Name", Kind::Text, |_| Cell::Empty),
    Column::new("82ddfdff-ee93-5f35-08ac-4705069618dc", "Thread Activity Tag", Kind::Text, |_| Cell::Empty),
    Column::new("2818954f-2d30-5569-4510-dade0a5a605c", "Annotation", Kind::Text, |_| Cell::text("<Not Annotated>")),
];

finders!();

/// WPA's names of phases.
const NAMES: [(PhaseName, &str); 6] = [
    (PhaseName::PreSmss, "Pre Session Init"),
    (PhaseName::SmssInit, "Session Init"),
    (PhaseName::WinLogonInit, "Winlogon Init"),
    (PhaseName::ExplorerInit, "Explorer Init"),
    (PhaseName::PostBoot, "Post Boot"),
    (PhaseName::TraceTail, "Trace Tail"),
];

fn visit(context: &mut Context<'_, '_>, wanted: &[usize], sink: Sink<'_>) -> Result<(), String> {
    let report = boot::analyze(context.trace, &BootOptions::default())
        .map_err(|error| onoff_report::text::boot::no_boot(&error))?;
    let mut number = 0;
    for phase in &report.phases {
        let Some((_, name)) = NAMES.iter().find(|(phase_name, _)| *phase_name == phase.name) else { continue };
        let row = Row { name, number, start_ns: phase.start_ns, end_ns: phase.end_ns };
        number += 1;
        let cells: Vec<Cell> =
            wanted.iter().filter_map(|&column| COLUMNS.get(column)).map(|column| (column.get)(&row)).collect();
        if !sink(&cells) {
            break;
        }
    }
    Ok(())
}
