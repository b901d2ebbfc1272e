//! Lists for any part of a recording: CPU usage, disk requests, service starts and so on.

use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::Arc;

use onoff_evidence::Scope;
use onoff_evidence::recording::Provenance;
use onoff_lists::cpu::CpuGroup;
use onoff_lists::flame::Flame;
use onoff_lists::functions::{CodeGroup, CodeTimes, TimeKind};
use onoff_lists::interrupts::InterruptGroup;
use onoff_lists::{cpu, devices, functions, interrupts, policy, processes, services};
use onoff_report::text::quantity::duration;
use onoff_report::text::style::QUIET;
use onoff_report::text::time_point::TimePoint;
use onoff_sections::json::{self, document::Document};
use onoff_sections::lists::write_on;
use onoff_sections::report_writer::{HtmlWriter, ReportWriter, TextWriter};
use onoff_sections::table::{RowSelection, TableReport, UnknownColumn, sort_and_truncate, write_csv};
use onoff_sources::Pattern;
use onoff_trace::{SystemKind, TableSet, Trace};
use onoff_transitions::{NamedPhase, PHASE_TABLES, PhaseNotFound, named_phase};
use onoff_usage::functions::{FunctionNames, FunctionResolver};
use onoff_usage::storage::{Key, disk, files, hard_faults};

use crate::error::QueryError;
use crate::range::{RangeError, resolve_scope};
use crate::session::Session;

/// The rows to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List {
    /// CPU usage, grouped by these keys.
    Cpu(Vec<CpuGroup>),
    /// Device and driver operations.
    Devices,
    /// Disk requests, grouped by these keys.
    Disk(Vec<Key>),
    /// File operations, grouped by these keys.
    Files(Vec<Key>),
    /// Hard faults, grouped by these keys.
    HardFaults(Vec<Key>),
    /// Interrupts and DPCs, grouped by these keys.
    Interrupts(Vec<InterruptGroup>),
    /// Group Policy work.
    Policy,
    Processes,
    /// Service starts and stops.
    Services,
}

/// Selects the part of the recording, the rows and their order.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Start and end; calendar times are resolved with the recording's clock. `None` means the whole recording.
    pub range: Option<(TimePoint, TimePoint)>,
    /// The name of a phase, instead of `range`.
    pub phase: Option<String>,
    /// The processes to select; empty means all.
    pub processes: Vec<Pattern>,
    pub selection: RowSelection,
}

/// A list query that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The sort column does not exist.
    #[error(transparent)]
    Column(UnknownColumn),
    #[error(transparent)]
    Range(RangeError),
    #[error(transparent)]
    Phase(PhaseNotFound),
    /// Processes were selected, but the rows are not attributed to processes.
    #[error("cannot select processes: {0} are not attributed to processes")]
    NotPerProcess(&'static str),
    /// No row matches.
    #[error("{0}")]
    NoRows(String),
}

/// A list, sorted and limited to the requested rows.
#[derive(Debug)]
pub struct ListAnswer {
    table: Box<dyn AnyTable>,
    omitted: usize,
    phase: Option<NamedPhase>,
}

/// A table with any type of row.
trait AnyTable: Debug {
    fn write_on(&self, omitted: usize, writer: &mut dyn ReportWriter) -> io::Result<()>;
    fn json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()>;
    fn csv(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl<T: TableReport + Document + Debug> AnyTable for T {
    fn write_on(&self, omitted: usize, writer: &mut dyn ReportWriter) -> io::Result<()> {
        write_on(self, omitted, writer)
    }

    fn json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        json::document::write(recordings, self, out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        write_csv(self, out)
    }
}

impl ListAnswer {
    /// Writes the list as text for people.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_on(&mut TextWriter(out))
    }

    /// Writes the list as an HTML page without scripts.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_html(&self, out: &mut dyn Write) -> io::Result<()> {
        HtmlWriter::write("List", out, |writer| self.write_on(writer))
    }

    fn write_on(&self, writer: &mut dyn ReportWriter) -> io::Result<()> {
        if let Some(phase) = &self.phase {
            writer.lines(&mut |out| writeln!(out, "{QUIET}{phase}{QUIET:#}"))?;
        }
        self.table.write_on(self.omitted, writer)
    }

    /// Writes the list as JSON. `recordings` is the provenance ([`Session::provenance`]).
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        self.table.json(recordings, out)
    }

    /// Writes the list as CSV.
    ///
    /// # Errors
    /// Write errors of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table.csv(out)
    }
}

impl Session {
    /// Lists rows of one kind for a part of the recording.
    ///
    /// # Errors
    /// The recording is unreadable, or no row matches.
    pub fn list(&self, list: &List, query: &ListQuery) -> Result<ListAnswer, QueryError<ListError>> {
        let not_per_process = match list {
            List::Devices => Some("device operations"),
            List::Interrupts(_) => Some("interrupts"),
            _ => None,
        };
        if let Some(rows) = not_per_process.filter(|_| !query.processes.is_empty()) {
            return Err(QueryError::Unanswerable(ListError::NotPerProcess(rows)));
        }
        match list {
            List::Cpu(groups) => self.rows(cpu::tables(groups), query, |trace, scope| cpu::list(trace, scope, groups)),
            List::Devices => self.rows(devices::TABLES, query, devices::list),
            List::Disk(groups) => self.rows(disk::TABLES, query, |trace, scope| disk::analyze(trace, scope, groups)),
            List::Files(groups) => self.rows(files::TABLES, query, |trace, scope| files::analyze(trace, scope, groups)),
            List::HardFaults(groups) => {
                self.rows(hard_faults::TABLES, query, |trace, scope| hard_faults::analyze(trace, scope, groups))
            }
            List::Interrupts(groups) => {
                self.rows(interrupts::TABLES, query, |trace, scope| interrupts::list(trace, scope, groups))
            }
            List::Policy => self.rows(policy::TABLES, query, policy::list),
            List::Processes => self.rows(processes::TABLES, query, processes::list),
            List::Services => self.rows(services::TABLES, query, services::list),
        }
    }

    /// Lists the time by function or call stack for a part of the recording. `name_functions` resolves code addresses
    /// (see `resolve_functions` with the feature `symbols`); without a name, addresses show their module.
    ///
    /// # Errors
    /// The recording is unreadable, or has no such events in that part.
    pub fn functions(
        &self,
        kind: TimeKind,
        groups: &[CodeGroup],
        query: &ListQuery,
        name_functions: Option<FunctionResolver<'_>>,
    ) -> Result<ListAnswer, QueryError<ListError>> {
        self.rows(functions::tables(kind), query, |trace, scope| {
            let times = CodeTimes::new(trace, scope, kind);
            times.list(groups, &function_names(trace, &times, name_functions))
        })
    }

    /// Returns the time by process and call stack as a tree.
    ///
    /// # Errors
    /// The recording is unreadable, or has no such events in that part.
    pub fn flame(
        &self,
        kind: TimeKind,
        query: &ListQuery,
        name_functions: Option<FunctionResolver<'_>>,
    ) -> Result<(Flame, Scope), QueryError<ListError>> {
        let (trace, scope, _) = self.resolve_query(functions::tables(kind), query)?;
        let scope = scope.with_processes(query.processes.clone());
        let times = CodeTimes::new(&trace, &scope, kind);
        let names = function_names(&trace, &times, name_functions);
        let flame = times.flame(&names).ok_or_else(|| no_rows(&trace, &times.list(&[CodeGroup::Module], &names)))?;
        Ok((flame, scope))
    }

    /// Returns the tables, the selected part, and the phase that the query names.
    fn resolve_query(
        &self,
        tables: TableSet,
        query: &ListQuery,
    ) -> Result<(Arc<Trace>, Scope, Option<NamedPhase>), QueryError<ListError>> {
        let tables = if query.phase.is_some() { tables.union(PHASE_TABLES) } else { tables };
        let trace = self.tables(tables)?;
        let phase = query.phase.as_deref().map(|name| named_phase(&trace, name)).transpose();
        let phase = phase.map_err(|error| QueryError::Unanswerable(ListError::Phase(error)))?;
        let phase_range =
            |phase: &NamedPhase| (TimePoint::SinceStart(phase.start_ns), TimePoint::SinceStart(phase.end_ns));
        let range = phase.as_ref().map(phase_range).or(query.range);
        let scope = resolve_scope(&trace, range).map_err(|error| QueryError::Unanswerable(ListError::Range(error)))?;
        Ok((trace, scope, phase))
    }

    /// Reads the tables, runs `list` on the selected part, and sorts its rows.
    fn rows<T: TableReport + Document + Debug + 'static>(
        &self,
        tables: TableSet,
        query: &ListQuery,
        list: impl FnOnce(&Trace, &Scope) -> T,
    ) -> Result<ListAnswer, QueryError<ListError>> {
        let (trace, scope, phase) = self.resolve_query(tables, query)?;
        let mut report = list(&trace, &scope.with_processes(query.processes.clone()));
        let omitted = sort_and_truncate(&mut report, &query.selection)
            .map_err(|error| QueryError::Unanswerable(ListError::Column(error)))?;
        if report.rows().is_empty() {
            return Err(no_rows(&trace, &report));
        }
        Ok(ListAnswer { table: Box::new(report), omitted, phase })
    }
}

fn function_names(trace: &Trace, times: &CodeTimes<'_>, resolve: Option<FunctionResolver<'_>>) -> FunctionNames {
    resolve.map_or_else(FunctionNames::default, |resolve| resolve(trace, &times.locations()))
}

fn no_rows(trace: &Trace, list: &impl TableReport) -> QueryError<ListError> {
    let linux_message = list.empty_message_on_linux().filter(|_| trace.system.kind == SystemKind::Linux);
    let reason = linux_message.map_or_else(|| list.empty_message(), str::to_owned);
    QueryError::Unanswerable(ListError::NoRows(format!("{reason}. {}", describe_recording(trace))))
}

/// Describes the recording in an error message.
fn describe_recording(trace: &Trace) -> String {
    if !trace.channels.is_empty() {
        return "The recording is a Windows event log: see 'onoff boot', 'onoff shutdown' and 'onoff suspend'"
            .to_owned();
    }
    let recorder = match trace.recorder.as_str() {
        "" => "an unnamed session",
        name => name,
    };
    format!("Recorded by {recorder} over {}; 'onoff info' shows the contents", duration(trace.length_ns()))
}
