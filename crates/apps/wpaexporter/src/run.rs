//! Reads the recording once for all graphs of all profiles, and writes their files.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use onoff_evidence::{Interval, Scope};
use onoff_sections::terminal::printable::printable;
use onoff_sink::{Inputs, OutputFile};
use onoff_sources::{EventFilter, EventStream};
use onoff_trace::{TableName, TableSet, Trace, milestone};
use onoff_usage::functions::FunctionResolver;
use onoff_xperf::quality::Quality;
use onoff_xperf::{Failure, NewProgress};

use crate::cell::{Cell, Kind, title};
use crate::command_line::{Export, View};
use crate::pivot::{Aggregation, MAX_ROWS, Pivot, PivotColumn, TooManyRows};
use crate::profile::{self, Column, Preset};
use crate::query::Query;
use crate::tables::{Context, Graph, Rows, other_name};

/// A graph to write.
struct Job {
    graph: &'static Graph,
    preset: Preset,
    /// Visible columns that are known: their index in the preset, index in the graph, and kind.
    columns: Vec<(usize, usize, Kind)>,
    /// Columns of the filter that are not visible.
    filter: Option<Query>,
    filter_columns: Vec<(String, usize)>,
    pivot: Option<Pivot>,
    /// Reason why the graph is not written.
    problem: Option<String>,
}

/// Counts what is not written.
#[derive(Default)]
struct Report {
    omissions: usize,
}

impl Report {
    fn omit(&mut self, text: &str) {
        self.omissions += 1;
        note(text);
    }
}

/// Writes the files.
///
/// # Errors
/// The recording or a profile cannot be read, a file cannot be written, or something in the profile is not known: then
/// everything else is written.
pub fn run(export: &Export, progress: NewProgress<'_>, functions: Option<FunctionResolver<'_>>) -> Result<(), Failure> {
    let mut report = Report::default();
    let mut jobs = Vec::new();
    for path in &export.profiles {
        let bytes = read_limited(path)?;
        let profile = profile::parse(&bytes).map_err(|error| unreadable(path, &error))?;
        if profile.without_preset > 0 {
            report.omit(&format!("{}: {} graphs have no preset", path.display(), profile.without_preset));
        }
        for graph in profile.graphs {
            match Graph::find(&graph.id) {
                Some(known) => jobs.push(prepare(known, graph.preset, &mut report)),
                None => {
                    let name = other_name(&graph.id).unwrap_or("unknown graph");
                    report.omit(&format!("not written: {name} {{{}}}, preset '{}'", graph.id, graph.preset.name));
                }
            }
        }
    }
    let names = file_names(export, &jobs);
    let trace = read(export, &mut jobs, progress)?;
    let range = view(export, &trace)?;
    let functions = functions.filter(|_| export.symbols);
    if export.symbols && functions.is_none() {
        note("_NT_SYMBOL_PATH has no symbol locations; functions are not resolved");
    }
    let mut context = Context { trace: &trace, range, functions };
    let inputs = Inputs::new(std::iter::once(&export.input).chain(&export.profiles).cloned());
    std::fs::create_dir_all(&export.folder).map_err(|error| unreadable(&export.folder, &error.to_string()))?;
    let mut written = 0;
    for (mut job, name) in jobs.into_iter().zip(names) {
        if let Rows::Tables { visit, .. } = job.graph.rows
            && job.problem.is_none()
        {
            let wanted = job.wanted();
            let result = visit(&mut context, &wanted, &mut |cells| job.add(cells).is_ok());
            job.problem = job.problem.take().or(result.err());
        }
        let Job { problem, pivot, columns, preset, graph, .. } = job;
        if let Some(problem) = problem {
            report.omit(&format!("not written: {}, preset '{}': {problem}", graph.name, preset.name));
            continue;
        }
        let path = export.folder.join(&name);
        inputs.check(&path).map_err(|error| Failure::Unreadable(error.to_string()))?;
        let lines = pivot.map(Pivot::finish).unwrap_or_default();
        write_file(&path, export.delimiter, &preset, &columns, &lines)
            .map_err(|error| unreadable(&path, &error.to_string()))?;
        written += 1;
    }
    match report.omissions {
        0 => Ok(()),
        count => {
            note(&format!("{written} files written; {count} omissions, named above"));
            Err(Failure::Reported(2))
        }
    }
}

fn note(text: &str) {
    // Nothing to do if stderr is closed.
    let _ = writeln!(io::stderr(), "onoff: {}", printable(text));
}

fn unreadable(path: &Path, error: &str) -> Failure {
    Failure::Unreadable(format!("{}: {error}", path.display()))
}

fn read_limited(path: &PathBuf) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let result = File::open(path).and_then(|file| file.take(profile::MAX_BYTES + 1).read_to_end(&mut bytes));
    result.map_err(|error| unreadable(path, &error.to_string()))?;
    match bytes.len() as u64 > profile::MAX_BYTES {
        true => Err(unreadable(path, &format!("larger than {} MiB", profile::MAX_BYTES >> 20))),
        false => Ok(bytes),
    }
}

/// Finds the columns of a preset.
fn prepare(graph: &'static Graph, preset: Preset, report: &mut Report) -> Job {
    let mut problem = None;
    let mut parse = |text: &str, what: &str| match text.trim() {
        "" => None,
        text => Query::parse(text).map_err(|error| problem = Some(format!("{what}: {error}"))).ok(),
    };
    let (filter, expansion) = (parse(&preset.filter, "filter"), parse(&preset.expansion, "expansion"));
    let mut columns = Vec::new();
    for (index, column) in preset.columns.iter().enumerate().filter(|(_, column)| column.is_visible) {
        let place = format!("{}, preset '{}', column '{}'", graph.name, preset.name, column.name);
        match ((graph.column)(&column.guid), Aggregation::named(&column.aggregation)) {
            (Some((found, kind)), Some(_)) => columns.push((index, found, kind)),
            (None, _) => report.omit(&format!("not written: {place}: unknown column {{{}}}", column.guid)),
            (_, None) => report.omit(&format!("not written: {place}: unknown aggregation '{}'", column.aggregation)),
        }
        if column.stack_mode == "StackTag" || column.stack_mode == "FrameTags" {
            note(&format!("{place}: no stack tags are read; frames have no tags"));
        }
    }
    let mut filter_columns = Vec::new();
    for name in filter.iter().flat_map(Query::columns) {
        match column_named(graph, &preset.columns, name) {
            Some(index) => filter_columns.push((name.to_owned(), index)),
            None => problem = Some(format!("the filter uses the unknown column '{name}'")),
        }
    }
    let pivot_columns = columns.iter().map(|&(index, ..)| {
        let Column { name, aggregation, sort, format, .. } = &preset.columns[index];
        PivotColumn {
            name: name.clone(),
            is_key: index < preset.key_columns,
            aggregation: Aggregation::named(aggregation).unwrap_or(Aggregation::None),
            sort: *sort,
            format: format.clone(),
        }
    });
    let pivot = Pivot::new(pivot_columns.collect(), expansion);
    Job { graph, columns, filter, filter_columns, pivot: Some(pivot), problem, preset }
}

/// Finds a column by the name it has in the preset, or by WPA's name.
fn column_named(graph: &Graph, columns: &[Column], name: &str) -> Option<usize> {
    let in_preset = columns.iter().filter(|column| column.name.eq_ignore_ascii_case(name));
    let by_guid = in_preset.filter_map(|column| (graph.column)(&column.guid)).next();
    by_guid.or_else(|| (graph.column_named)(name)).map(|(index, _)| index)
}

impl Job {
    /// Returns the columns whose cells are needed: the visible columns, then the columns of the filter.
    fn wanted(&self) -> Vec<usize> {
        let visible = self.columns.iter().map(|&(_, found, _)| found);
        visible.chain(self.filter_columns.iter().map(|(_, index)| *index)).collect()
    }

    /// Adds a row with the wanted cells.
    fn add(&mut self, cells: &[Cell]) -> Result<(), TooManyRows> {
        let (visible, hidden) = cells.split_at(self.columns.len().min(cells.len()));
        if let Some(filter) = &self.filter {
            let text_of = |name: &str| {
                let position = self.filter_columns.iter().position(|(column, _)| column == name)?;
                hidden.get(position).map(|cell| cell.format(&self.format_of(name)))
            };
            if filter.matches(&text_of) != self.preset.keeps_matches {
                return Ok(());
            }
        }
        let Some(pivot) = &mut self.pivot else { return Ok(()) };
        pivot.add(visible).inspect_err(|TooManyRows| {
            self.problem = Some(format!("more than {MAX_ROWS} rows; use -range, or fewer keys in the preset"));
        })
    }

    fn format_of(&self, name: &str) -> Cow<'_, str> {
        let column = self.preset.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        column.map_or(Cow::Borrowed(""), |column| Cow::Borrowed(column.format.as_str()))
    }
}

/// Returns the names of the files. A preset that is in the profiles twice gets a number, so that no file is lost.
fn file_names(export: &Export, jobs: &[Job]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(jobs.len());
    for job in jobs {
        let base = safe_name(&format!("{}_{}", job.graph.name, job.preset.name));
        let candidates = (1..).map(|number| match number {
            1 => format!("{}{base}.csv", export.prefix),
            number => format!("{}{base}_({number}).csv", export.prefix),
        });
        let free = candidates.into_iter().find(|name| !names.iter().any(|other| other.eq_ignore_ascii_case(name)));
        names.extend(free);
    }
    names
}

/// Replaces spaces, as WPA does, and characters that file names cannot have.
fn safe_name(name: &str) -> String {
    /// Maximum length of a name, which file systems limit.
    const MAX_CHARACTERS: usize = 200;
    let replace = |character: char| match character {
        ' ' | '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' => '_',
        character if character.is_control() => '_',
        character => character,
    };
    name.chars().take(MAX_CHARACTERS).map(replace).collect()
}

/// Reads the tables that the graphs need, and adds the events of graphs of events.
fn read(export: &Export, jobs: &mut [Job], progress: NewProgress<'_>) -> Result<Trace, Failure> {
    let options = onoff_files::Options { manifests: export.manifests.clone(), ..onoff_files::Options::default() };
    let mut options = options.read()?;
    let files = onoff_files::open_all(std::slice::from_ref(&export.input), &options.limits)?;
    let mut wanted = TableSet::from_names(&[TableName::Milestones]);
    for job in jobs.iter().filter(|job| job.problem.is_none()) {
        if let Rows::Tables { wanted: tables, .. } = job.graph.rows {
            wanted = wanted.union(tables());
        }
    }
    let progress = progress();
    options.progress = Some(progress.listener());
    let has_events = jobs.iter().any(|job| job.problem.is_none() && matches!(job.graph.rows, Rows::Events { .. }));
    let trace = if has_events {
        // The range can depend on marks, which are in the tables.
        let filter = match &export.range {
            View::All => EventFilter::default(),
            View::Times(from_ns, until_ns) => {
                EventFilter { from_ns: Some(*from_ns), until_ns: Some(*until_ns), ..EventFilter::default() }
            }
            View::Marks(..) => {
                let marks =
                    onoff_sources::open_files(&files, TableSet::from_names(&[TableName::Milestones]), &options)?;
                let range = view(export, &marks)?;
                EventFilter { from_ns: Some(range.start_ns), until_ns: Some(range.end_ns), ..EventFilter::default() }
            }
        };
        let stream = EventStream::open(&files, &options)?.without_stack_fields();
        let (_, trace) = stream.for_each_with_tables(wanted, &filter, &options, |event| {
            for job in jobs.iter_mut().filter(|job| job.problem.is_none()) {
                if let Rows::Events { row } = job.graph.rows
                    && let Some(cells) = row(event, &job.wanted())
                {
                    // The problem is in the job then.
                    let _ = job.add(&cells);
                }
            }
            ControlFlow::<()>::Continue(())
        })?;
        trace
    } else {
        onoff_sources::open_files(&files, wanted, &options)?
    };
    files.check_complete()?;
    let quality = Quality::from_trace(&trace);
    if let Some(warning) = quality.loss_warning() {
        // Nothing to do if stderr is closed.
        let _ = write!(io::stderr(), "{warning}");
    }
    match quality.refusal(export.tolerates_losses, export.tolerates_inversions) {
        Some(reason) => Err(Failure::Unanswerable(reason)),
        None => Ok(trace),
    }
}

/// Returns the exported part of the recording.
fn view(export: &Export, trace: &Trace) -> Result<Interval, Failure> {
    let (from_ns, until_ns) = match &export.range {
        View::All => return Ok(Scope::whole_recording(trace).range),
        View::Times(from_ns, until_ns) => (*from_ns, *until_ns),
        View::Marks(first, second) => {
            let times = [first, second].map(|text| {
                let marks = trace.milestones.iter().filter(|row| trace.text(row.name) == milestone::MARK);
                let time_ns = marks.filter(|row| trace.text(row.detail) == text).map(|row| row.time_ns).next();
                time_ns.ok_or_else(|| Failure::Unanswerable(format!("-marks: the recording has no mark '{text}'")))
            });
            let [first, second] = times;
            (first?, second?)
        }
    };
    match Scope::between(trace, from_ns, until_ns) {
        Some(scope) => Ok(scope.range),
        None => Err(Failure::Unanswerable("the range is not in the recording".to_owned())),
    }
}

/// Writes a file as WPA does: UTF-8 with a byte order mark, lines that end in CR LF, quotes only where necessary.
fn write_file(
    path: &Path,
    delimiter: char,
    preset: &Preset,
    columns: &[(usize, usize, Kind)],
    lines: &[Vec<Cell>],
) -> io::Result<()> {
    let file = OutputFile::create(path)?;
    let mut out = BufWriter::new(file);
    let of = |index: usize| preset.columns.get(index);
    let titles = columns.iter().filter_map(|&(index, _, kind)| {
        of(index).map(|column| title(&column.name, kind, &column.format, &column.stack_mode))
    });
    write!(out, "\u{feff}")?;
    write_line(&mut out, delimiter, titles)?;
    for line in lines {
        let cells = line.iter().zip(columns);
        let formatted =
            cells.map(|(cell, &(index, ..))| cell.format(of(index).map_or("", |column| column.format.as_str())));
        write_line(&mut out, delimiter, formatted)?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
}

fn write_line(out: &mut dyn Write, delimiter: char, values: impl Iterator<Item = String>) -> io::Result<()> {
    for (index, value) in values.enumerate() {
        if index > 0 {
            write!(out, "{delimiter}")?;
        }
        if value.contains([delimiter, '"', '\r', '\n']) {
            write!(out, "\"{}\"", value.replace('"', "\"\""))?;
        } else {
            write!(out, "{value}")?;
        }
    }
    write!(out, "\r\n")
}
