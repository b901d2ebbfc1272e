//! Lists of any part of a recording: who used the processors, what the disks did, what started.

use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::Arc;

use onoff_evidence::Scope;
use onoff_evidence::recording::Provenance;
use onoff_lists::cpu::CpuGroup;
use onoff_lists::flame::Flame;
use onoff_lists::functions::{CodeGroup, CodeTimes, TimeOf};
use onoff_lists::interrupts::InterruptGroup;
use onoff_lists::{cpu, devices, functions, interrupts, policy, processes, services};
use onoff_report::text::quantity::duration;
use onoff_report::text::style::QUIET;
use onoff_report::text::time_point::TimePoint;
use onoff_sections::json::{self, document::Document};
use onoff_sections::lists::write_on;
use onoff_sections::paper::{HtmlPaper, Paper, TextPaper};
use onoff_sections::table::{Order, TableReport, UnknownColumn, arrange, write_csv};
use onoff_sources::Pattern;
use onoff_trace::{SystemKind, Tables, Trace};
use onoff_transitions::{NamedPhase, NoSuchPhase, PHASE_TABLES, named_phase};
use onoff_usage::functions::NameFunctions;
use onoff_usage::storage::{Key, disk, files, hard_faults};

use crate::error::Refusal;
use crate::range::{OutOfRange, scope_of};
use crate::session::Session;

/// What to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List {
    /// Who used the processors, divided by these.
    Cpu(Vec<CpuGroup>),
    /// Work on devices and drivers.
    Devices,
    /// Requests to disks, grouped by these.
    Disk(Vec<Key>),
    /// File operations, grouped by these.
    Files(Vec<Key>),
    /// Hard faults, grouped by these.
    HardFaults(Vec<Key>),
    /// Interrupts, divided by these.
    Interrupts(Vec<InterruptGroup>),
    /// Work for group policy.
    Policy,
    /// Processes.
    Processes,
    /// Starts and stops of services.
    Services,
}

/// Of which part of the recording, and which rows.
#[derive(Clone, Debug, Default)]
pub struct ListQuestion {
    /// From when to when; calendar times wait for the recording's clock. All of it when `None`.
    pub range: Option<(TimePoint, TimePoint)>,
    /// The name of the phase that is meant instead.
    pub phase: Option<String>,
    /// The processes; all when empty.
    pub processes: Vec<Pattern>,
    /// Which rows, in which order.
    pub order: Order,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum NoList {
    /// It cannot be sorted as requested.
    #[error(transparent)]
    Column(UnknownColumn),
    /// The range is not in the recording.
    #[error(transparent)]
    Range(OutOfRange),
    /// No phase is called so.
    #[error(transparent)]
    Phase(NoSuchPhase),
    /// Processes were chosen, and what is listed belongs to none.
    #[error("{0} belongs to no process")]
    OfNoProcess(&'static str),
    /// No row matches; what the recording holds instead.
    #[error("{0}")]
    Nothing(String),
}

/// A list, sorted and cut.
#[derive(Debug)]
pub struct ListAnswer {
    table: Box<dyn AnyTable>,
    left_out: usize,
    /// The phase that it is about.
    phase: Option<NamedPhase>,
}

/// A table of any rows, as the formats take it.
trait AnyTable: Debug {
    fn on(&self, left_out: usize, paper: &mut dyn Paper) -> io::Result<()>;
    fn json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()>;
    fn csv(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl<T: TableReport + Document + Debug> AnyTable for T {
    fn on(&self, left_out: usize, paper: &mut dyn Paper) -> io::Result<()> {
        write_on(self, left_out, paper)
    }

    fn json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        json::document::write(recordings, self, out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        write_csv(self, out)
    }
}

impl ListAnswer {
    /// Writes the list for a person.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_on(&mut TextPaper(out))
    }

    /// Writes the list as a page of HTML without scripts.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_html(&self, out: &mut dyn Write) -> io::Result<()> {
        HtmlPaper::write("List", out, |paper| self.write_on(paper))
    }

    fn write_on(&self, paper: &mut dyn Paper) -> io::Result<()> {
        if let Some(phase) = &self.phase {
            paper.lines(&mut |out| writeln!(out, "{QUIET}{phase}{QUIET:#}"))?;
        }
        self.table.on(self.left_out, paper)
    }

    /// Writes the list as JSON; `recordings` are where it comes from ([`Session::provenance`]).
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, recordings: &[Provenance], out: &mut dyn Write) -> io::Result<()> {
        self.table.json(recordings, out)
    }

    /// Writes the list as comma-separated values.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        self.table.csv(out)
    }
}

impl Session {
    /// Lists what a part of the recording holds.
    ///
    /// # Errors
    /// A recording that cannot be read, or a list that it has no row of.
    pub fn list(&self, list: &List, question: &ListQuestion) -> Result<ListAnswer, Refusal<NoList>> {
        let of_no_process = match list {
            List::Devices => Some("work on a device"),
            List::Interrupts(_) => Some("an interrupt"),
            _ => None,
        };
        if let Some(what) = of_no_process.filter(|_| !question.processes.is_empty()) {
            return Err(Refusal::Nothing(NoList::OfNoProcess(what)));
        }
        match list {
            List::Cpu(by) => self.rows(cpu::tables(by), question, |trace, scope| cpu::list(trace, scope, by)),
            List::Devices => self.rows(devices::TABLES, question, devices::list),
            List::Disk(by) => self.rows(disk::TABLES, question, |trace, scope| disk::analyze(trace, scope, by)),
            List::Files(by) => self.rows(files::TABLES, question, |trace, scope| files::analyze(trace, scope, by)),
            List::HardFaults(by) => {
                self.rows(hard_faults::TABLES, question, |trace, scope| hard_faults::analyze(trace, scope, by))
            }
            List::Interrupts(by) => {
                self.rows(interrupts::TABLES, question, |trace, scope| interrupts::list(trace, scope, by))
            }
            List::Policy => self.rows(policy::TABLES, question, policy::list),
            List::Processes => self.rows(processes::TABLES, question, processes::list),
            List::Services => self.rows(services::TABLES, question, services::list),
        }
    }

    /// Lists in which functions, or with which call stacks, a part of the recording spent its time. `name` gives the functions at places
    /// in code (`function_names`, with the feature `symbols`); places that it does not name are shown as their module.
    ///
    /// # Errors
    /// A recording that cannot be read, or holds no such event there.
    pub fn functions(
        &self,
        of: TimeOf,
        by: &[CodeGroup],
        question: &ListQuestion,
        name: NameFunctions<'_>,
    ) -> Result<ListAnswer, Refusal<NoList>> {
        self.rows(functions::tables(of), question, |trace, scope| {
            let times = CodeTimes::of(trace, scope, of);
            times.list(by, &name(trace, &times.places()))
        })
    }

    /// The same as a tree of time: processes, and the functions of their call stacks.
    ///
    /// # Errors
    /// A recording that cannot be read, or holds no such event there.
    pub fn flame(
        &self,
        of: TimeOf,
        question: &ListQuestion,
        name: NameFunctions<'_>,
    ) -> Result<(Flame, Scope), Refusal<NoList>> {
        let (trace, scope, _) = self.part(functions::tables(of), question)?;
        let scope = scope.of_processes(question.processes.clone());
        let times = CodeTimes::of(&trace, &scope, of);
        let names = name(&trace, &times.places());
        // What is not worth a list is not worth a picture.
        let list = times.list(&[CodeGroup::Module], &names);
        if list.rows.is_empty() {
            return Err(nothing(&trace, &list));
        }
        Ok((times.flame(&names), scope))
    }

    /// The tables, the part that is meant, and the phase that it is.
    fn part(
        &self,
        tables: Tables,
        question: &ListQuestion,
    ) -> Result<(Arc<Trace>, Scope, Option<NamedPhase>), Refusal<NoList>> {
        let tables = if question.phase.is_some() { tables.union(PHASE_TABLES) } else { tables };
        let trace = self.tables(tables)?;
        let phase = question.phase.as_deref().map(|name| named_phase(&trace, name)).transpose();
        let phase = phase.map_err(|error| Refusal::Nothing(NoList::Phase(error)))?;
        let of_phase =
            |phase: &NamedPhase| (TimePoint::SinceStart(phase.start_ns), TimePoint::SinceStart(phase.end_ns));
        let range = phase.as_ref().map(of_phase).or(question.range);
        let scope = scope_of(&trace, range).map_err(|error| Refusal::Nothing(NoList::Range(error)))?;
        Ok((trace, scope, phase))
    }

    /// Reads the tables, asks `list` about the part that is meant, and brings its rows into order.
    fn rows<T: TableReport + Document + Debug + 'static>(
        &self,
        tables: Tables,
        question: &ListQuestion,
        list: impl FnOnce(&Trace, &Scope) -> T,
    ) -> Result<ListAnswer, Refusal<NoList>> {
        let (trace, scope, phase) = self.part(tables, question)?;
        let mut report = list(&trace, &scope.of_processes(question.processes.clone()));
        let left_out =
            arrange(&mut report, &question.order).map_err(|error| Refusal::Nothing(NoList::Column(error)))?;
        if report.rows().is_empty() {
            return Err(nothing(&trace, &report));
        }
        Ok(ListAnswer { table: Box::new(report), left_out, phase })
    }
}

/// Why a list has no row.
fn nothing(trace: &Trace, list: &impl TableReport) -> Refusal<NoList> {
    let on_linux = list.nothing_on_linux().filter(|_| trace.system.kind == SystemKind::Linux);
    let why = on_linux.map_or_else(|| list.nothing(), str::to_owned);
    Refusal::Nothing(NoList::Nothing(format!("{why}; {}", what_it_is(trace))))
}

/// What the recording is, for who got no answer from it.
fn what_it_is(trace: &Trace) -> String {
    let recorder = match trace.recorder.as_str() {
        "" => "an unnamed session",
        name => name,
    };
    format!("it was recorded by {recorder} over {}, and 'onoff info' lists what it holds", duration(trace.length_ns()))
}
