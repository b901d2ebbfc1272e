//! The graphs that onoff knows. Each has the GUID of WPA's graph, and columns with the GUIDs of WPA's columns, as saved
//! in profiles.

mod boot_phases;
mod disk;
mod file_io;
mod generic_events;
mod images;
mod precise;
mod processes;
mod sampled;
mod stacks;

use std::sync::Arc;

use onoff_evidence::{Interval, Scope};
use onoff_trace::{DescribedEvent, TableSet, Trace};
use onoff_usage::functions::FunctionResolver;
use onoff_usage::owners::{IDLE, Owner, file_name};

use crate::cell::{Cell, Kind};

/// A column of a graph.
pub struct Column<F: 'static> {
    /// GUID in lower case.
    pub guid: &'static str,
    /// Name in profiles, without its unit.
    pub name: &'static str,
    pub kind: Kind,
    /// Returns the cell of a row.
    pub get: F,
}

impl<F> Column<F> {
    pub const fn new(guid: &'static str, name: &'static str, kind: Kind, get: F) -> Self {
        Self { guid, name, kind, get }
    }
}

/// Receives the cells of a row, in the order of the requested columns. False ends the visit.
pub type Sink<'s> = &'s mut dyn FnMut(&[Cell]) -> bool;

/// A graph whose rows come from the tables of a recording.
pub type VisitTables = fn(&mut Context<'_, '_>, &[usize], Sink<'_>) -> Result<(), String>;

/// Where the rows of a graph come from.
#[derive(Clone, Copy)]
pub enum Rows {
    Tables { wanted: fn() -> TableSet, visit: VisitTables },
    Events { row: fn(&DescribedEvent<'_>, &[usize]) -> Option<Vec<Cell>> },
}

/// A graph.
pub struct Graph {
    /// GUID in lower case.
    pub guid: &'static str,
    /// Name, which starts the names of its files.
    pub name: &'static str,
    pub rows: Rows,
    /// Finds a column by GUID: its index and kind.
    pub column: fn(&str) -> Option<(usize, Kind)>,
    /// Finds a column by name, for queries.
    pub column_named: fn(&str) -> Option<(usize, Kind)>,
}

impl Graph {
    pub fn find(guid: &str) -> Option<&'static Self> {
        ALL.iter().find(|graph| graph.guid == guid)
    }
}

pub static ALL: [Graph; 8] = [
    sampled::GRAPH,
    precise::GRAPH,
    disk::GRAPH,
    file_io::GRAPH,
    generic_events::GRAPH,
    processes::GRAPH,
    images::GRAPH,
    boot_phases::GRAPH,
];

/// Graphs whose names are known from the names of published files, and which onoff does not write.
const OTHER_GRAPHS: [(&str, &str); 9] = [
    ("4237fcb5-808e-4868-ae15-96772fb57e41", "CPU Usage (Attributed)"),
    ("1ce7fd53-2344-4ea8-acd6-1a0722a51427", "Regions of Interest"),
    ("21214383-88f8-4603-9eac-2a6422756b11", "TcpIp Events"),
    ("b859d131-dfb5-4605-be19-810b298b6975", "GPU Utilization Table"),
    ("3dd69094-4675-4607-9fb4-0042b9e1a610", "Virtual Memory Snapshots"),
    ("bc4f0890-4a76-4fe7-b014-6ae70677f8f5", "Reference Set"),
    ("c1718a41-aad0-477a-ba79-79180815eeb1", "Energy Estimation Engine"),
    ("3c18eb9c-2211-4988-bf94-bb029e4ce96e", "Window in Focus"),
    ("920e6241-3dea-46c4-8e4f-04ce08f62c0a", "UI Delays"),
];

/// Returns the name of a graph that onoff does not write, if it is known.
pub fn other_name(guid: &str) -> Option<&'static str> {
    OTHER_GRAPHS.iter().find(|(other, _)| *other == guid).map(|(_, name)| *name)
}

fn index_of<F>(columns: &[Column<F>], matches: impl Fn(&Column<F>) -> bool) -> Option<(usize, Kind)> {
    columns.iter().position(matches).and_then(|index| Some((index, columns.get(index)?.kind)))
}

/// Declares the functions that find a column in `COLUMNS`.
macro_rules! finders {
    () => {
        fn column(guid: &str) -> Option<(usize, crate::cell::Kind)> {
            super::index_of(&COLUMNS, |column| column.guid == guid)
        }
        fn column_named(name: &str) -> Option<(usize, crate::cell::Kind)> {
            super::index_of(&COLUMNS, |column| column.name.eq_ignore_ascii_case(name))
        }
    };
}
use finders;

/// What the visits of several graphs share.
pub struct Context<'t, 'f> {
    pub trace: &'t Trace,
    /// The exported part of the recording.
    pub range: Interval,
    /// Resolves function names; `None` without `-symbols`.
    pub functions: Option<FunctionResolver<'f>>,
}

impl Context<'_, '_> {
    pub fn scope(&self) -> Scope {
        Scope { range: self.range, processes: Vec::new() }
    }
}

/// Text of a process that is not known.
pub const UNKNOWN: &str = "Unknown";

/// Name and label (`name.exe (PID)`) of each owner of threads.
pub struct Labels {
    labels: Vec<(Arc<str>, Arc<str>)>,
}

impl Labels {
    pub fn new(trace: &Trace, owners: &[Owner]) -> Self {
        let labels = owners.iter().enumerate().map(|(index, owner)| {
            let image = file_name(trace.text(owner.image));
            match owner.pid {
                Some(0) if index == IDLE as usize => label("Idle", 0),
                Some(pid) => label(image, pid),
                None => (Arc::from(UNKNOWN), Arc::from(UNKNOWN)),
            }
        });
        Self { labels: labels.collect() }
    }

    /// Returns the process with its id.
    pub fn process(&self, owner: u32) -> Cell {
        self.labels.get(owner as usize).map_or(Cell::Empty, |(_, label)| Cell::Text(Arc::clone(label)))
    }

    /// Returns the name of the process.
    pub fn name(&self, owner: u32) -> Cell {
        self.labels.get(owner as usize).map_or(Cell::Empty, |(name, _)| Cell::Text(Arc::clone(name)))
    }
}

/// Returns the name of a process and its label.
fn label(image: &str, pid: u32) -> (Arc<str>, Arc<str>) {
    let name = if image.is_empty() { UNKNOWN } else { image };
    (Arc::from(name), format!("{name} ({pid})").into())
}

/// Returns the share of `ns` in the range on all processors, percent.
fn percent(ns: i64, range: Interval, processors: u32) -> Cell {
    let capacity_ns = range.duration_ns().max(1) as f64 * f64::from(processors.max(1));
    Cell::Percent(ns as f64 * 100.0 / capacity_ns)
}
