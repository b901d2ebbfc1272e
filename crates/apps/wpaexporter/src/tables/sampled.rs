//! *CPU Usage (Sampled)*: profile samples.

use hashbrown::HashSet;
use onoff_trace::{InterruptKind, TableName, TableSet, Trace};
use onoff_usage::asleep;
use onoff_usage::cpu::{CpuInterval, charge_from_samples, processors, sampling_period};
use onoff_usage::owners::Owners;

use super::stacks::{self, Stacks};
use super::{Column, Context, Graph, Labels, Rows, Sink, finders, percent};
use crate::cell::{Cell, Kind};

pub const GRAPH: Graph = Graph {
    guid: "b855361e-7be0-4bc8-a754-3e8507715ca5",
    name: "CPU Usage (Sampled)",
    rows: Rows::Tables { wanted, visit },
    column,
    column_named,
};

fn wanted() -> TableSet {
    stacks::TABLES.union(asleep::TABLES).with(TableName::Samples).with(TableName::Interrupts)
}

struct Sample<'a, 't> {
    run: CpuInterval,
    pid: u32,
    period_ns: i64,
    labels: &'a Labels,
    stacks: &'a mut Stacks<'t>,
    thread_name: &'t str,
    interrupts: &'a InterruptsByCpu,
    range: onoff_evidence::Interval,
    processors: u32,
}

type Get = for<'a, 't> fn(&mut Sample<'a, 't>) -> Cell;

const STACK: usize = 7;
const MODULE: usize = 8;
const FUNCTION: usize = 9;

static COLUMNS: [Column<Get>; 18] = [
    Column::new("5b77e48f-6d24-4f29-8972-69c30e32f87d", "Process", Kind::Text, |row| row.labels.process(row.run.owner)),
    Column::new("9c1ceec3-ef4a-4865-b678-d774881187b9", "Process Name", Kind::Text, |row| {
        row.labels.name(row.run.owner)
    }),
    Column::new("05100ece-df05-40c7-aad6-ffff99b60491", "Thread ID", Kind::Number, |row| {
        Cell::Number(row.run.tid.into())
    }),
    Column::new("cb796d44-2927-5ac1-d231-4b71904c18f5", "Thread Name", Kind::Text, |row| Cell::text(row.thread_name)),
    Column::new("55d56ebb-77af-4af5-a056-6122751ea093", "CPU", Kind::Number, |row| {
        Cell::Number(row.run.processor.into())
    }),
    Column::new("0bbf4299-0176-445e-b1d9-991df475d631", "TimeStamp", Kind::Time, |row| Cell::Time(row.run.start_ns)),
    Column::new("9aa2e00d-db0a-4207-a0bd-964aa492356e", "Address", Kind::Address, |row| Cell::Address(row.run.address)),
    Column::new("842af11e-661d-477e-b7b6-556ed8181177", "Stack", Kind::Stack, |row| {
        row.stacks.stack(row.pid, row.run.tid, row.run.start_ns)
    }),
    Column::new("ccdb05c1-04a9-4289-aaa6-a376d1d66012", "Module", Kind::Text, |row| {
        row.stacks.module(row.pid, row.run.address, row.run.start_ns)
    }),
    Column::new("7ad93780-708c-471c-9e3f-5a497cbefdd7", "Function", Kind::Text, |row| {
        row.stacks.function(row.pid, row.run.address, row.run.start_ns)
    }),
    Column::new("d0028ea0-aa66-452a-882a-616fd8b9fdce", "DPC/ISR", Kind::Text, |row| {
        Cell::text(row.interrupts.kind_at(row.run.processor, row.run.start_ns))
    }),
    Column::new("5a1e1ba4-6a14-43e5-96eb-3b462be470fe", "Priority", Kind::Number, |row| {
        Cell::Number(row.run.priority.into())
    }),
    Column::new("01a82c2c-5048-4c9d-ac37-eaf6556f6af5", "Count", Kind::Number, |row| {
        Cell::Number(row.run.ns / row.period_ns.max(1))
    }),
    Column::new("e0c6cb9e-04c2-4bb5-ba5f-4ed765f4ecaa", "Weight", Kind::Time, |row| Cell::Time(row.run.ns)),
    Column::new("63cfb4e2-a24c-4e9d-80f2-393f03794d60", "Weight (in view)", Kind::Time, |row| Cell::Time(row.run.ns)),
    Column::new("f5ebf01b-f7cb-4afb-877d-c36edb2a62b6", "% Weight", Kind::Percent, |row| {
        percent(row.run.ns, row.range, row.processors)
    }),
    // Columns that need what recordings do not have are empty in WPA too.
    Column::new("82ddfdff-ee93-5f35-08ac-4705069618dc", "Thread Activity Tag", Kind::Text, |_| Cell::Empty),
    Column::new("2818954f-2d30-5569-4510-dade0a5a605c", "Annotation", Kind::Text, |_| Cell::text("<Not Annotated>")),
];

finders!();

fn visit(context: &mut Context<'_, '_>, wanted: &[usize], sink: Sink<'_>) -> Result<(), String> {
    let (trace, range) = (context.trace, context.range);
    if trace.samples.is_empty() {
        return Err("no profile samples recorded; this needs the kernel's PROFILE events".to_owned());
    }
    let mut owners = Owners::from_trace(trace);
    let list = owners.list().to_vec();
    let labels = Labels::new(trace, &list);
    let pid_of = |run: &CpuInterval| list.get(run.owner as usize).and_then(|owner| owner.pid).unwrap_or(0);
    let cuts = [range.start_ns, range.end_ns];
    let wants = |columns: &[usize]| columns.iter().any(|column| wanted.contains(column));
    let mut addresses = HashSet::new();
    if wants(&[MODULE, FUNCTION]) && context.functions.is_some() {
        charge_from_samples(trace, &mut owners, &cuts, |run| {
            addresses.insert((pid_of(&run), run.address, run.start_ns));
        });
        owners = Owners::from_trace(trace);
    }
    let mut stacks = Stacks::new(
        trace,
        (range.start_ns, range.end_ns),
        wants(&[STACK]),
        &addresses,
        context.functions.as_mut().filter(|_| wants(&[STACK, MODULE, FUNCTION])),
    );
    let interrupts = InterruptsByCpu::new(trace);
    let thread_names = thread_names(trace, &mut owners);
    let (period_ns, processors) = (sampling_period(trace), processors(trace));
    let mut cells = Vec::with_capacity(wanted.len());
    let mut is_open = true;
    charge_from_samples(trace, &mut owners, &cuts, |run| {
        if !is_open {
            return;
        }
        let mut row = Sample {
            pid: pid_of(&run),
            thread_name: thread_names.get(run.life as usize).copied().unwrap_or_default(),
            run,
            period_ns,
            labels: &labels,
            stacks: &mut stacks,
            interrupts: &interrupts,
            range,
            processors,
        };
        cells.clear();
        cells.extend(wanted.iter().filter_map(|&column| COLUMNS.get(column)).map(|column| (column.get)(&mut row)));
        is_open = sink(&cells);
    });
    Ok(())
}

/// Returns the names of threads by lifetime.
pub(super) fn thread_names<'t>(trace: &'t Trace, owners: &mut Owners) -> Vec<&'t str> {
    let lives = (0_u32..).map_while(|life| owners.thread_row(life));
    lives.map(|row| trace.threads.get(row).map_or("", |thread| trace.text(thread.name))).collect()
}

/// Interrupts of each processor, by start.
struct InterruptsByCpu {
    processors: Vec<Vec<(i64, i64, InterruptKind)>>,
}

impl InterruptsByCpu {
    fn new(trace: &Trace) -> Self {
        let mut processors: Vec<Vec<(i64, i64, InterruptKind)>> = Vec::new();
        for interrupt in trace.interrupts.iter() {
            let cpu = usize::from(interrupt.cpu);
            if cpu >= processors.len() {
                processors.resize_with(cpu + 1, Vec::new);
            }
            processors[cpu].push((interrupt.start_ns, interrupt.end_ns, interrupt.kind));
        }
        processors.iter_mut().for_each(|list| list.sort_by_key(|(start_ns, end_ns, _)| (*start_ns, *end_ns)));
        Self { processors }
    }

    /// Returns what the processor ran at a time, in WPA's words. The innermost interrupt started last.
    fn kind_at(&self, cpu: u16, time_ns: i64) -> &'static str {
        /// Number of interrupts to look back: an interrupt can be interrupted by others.
        const MAX_NESTED: usize = 8;
        let list = self.processors.get(usize::from(cpu)).map_or(&[][..], Vec::as_slice);
        let before = list.get(..list.partition_point(|(start_ns, ..)| *start_ns <= time_ns)).unwrap_or_default();
        match before.iter().rev().take(MAX_NESTED).find(|(_, end_ns, _)| time_ns < *end_ns) {
            None => "Regular CPU Usage",
            Some((.., InterruptKind::Interrupt)) => "ISR",
            Some(_) => "DPC",
        }
    }
}
