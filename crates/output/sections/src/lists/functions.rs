//! The list of functions by time.

use std::io::{self, Write};

use onoff_evidence::missing_evidence::MissingRecords;
use onoff_lists::functions::{CodeGroup, FunctionList, FunctionRow, TimeKind};
use onoff_usage::functions::CodeFrame;

use super::{headline, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::printable::printable;
use crate::terminal::quantity::{counted, duration, percent, share};
use crate::terminal::style::QUIET;

/// Maximum number of files with missing symbols in text.
const MAX_SYMBOLS_NAMED: usize = 5;

impl TableReport for FunctionList {
    type Row = FunctionRow;

    fn columns(&self) -> Vec<Column<FunctionRow>> {
        let new = Column::<FunctionRow>::new;
        let is_grouped_by = |group| self.by.contains(&group);
        let mut columns = Vec::new();
        if is_grouped_by(CodeGroup::Process) {
            columns.extend([
                new("image", "process", Kind::Name, |row| Value::text_or_unknown(&row.image)).with_width(32),
                new("pid", "pid", Kind::Id, |row| Value::id(row.pid)),
            ]);
        }
        if is_grouped_by(CodeGroup::Stack) {
            // The innermost function comes first, because long stacks are cut off at the end.
            columns.push(
                new("stack", "call stack, innermost function first", Kind::Name, |row| {
                    let frames: Vec<String> = row.stack.iter().rev().map(CodeFrame::label).collect();
                    match frames.is_empty() {
                        true => Value::text_or_unknown(""),
                        false => Value::Text(frames.join(" < ").into()),
                    }
                })
                .with_width(100),
            );
        } else {
            columns.push(new("module", "module", Kind::Name, |row| Value::text_or_unknown(&row.module)).with_width(32));
            if is_grouped_by(CodeGroup::Function) {
                let name = new("function", "function", Kind::Name, |row| Value::text_or_unknown(&row.function));
                columns.push(name.with_width(56));
            }
        }
        columns.extend([
            new("own_ns", "self", Kind::Quantity, |row| Value::Duration(row.own_ns)),
            new("percent", "share", Kind::Quantity, |row| Value::Percent(row.percent)),
            new("inclusive_ns", "inclusive", Kind::Quantity, |row| {
                Value::from_option(row.inclusive_ns, Value::Duration)
            }),
        ]);
        let count = |title| new("count", title, Kind::Quantity, |row| Value::Count(row.count));
        columns.push(count(events(self.kind).1));
        if is_grouped_by(CodeGroup::Stack) {
            columns.retain(|column| column.name != "inclusive_ns");
        }
        columns
    }

    fn rows(&self) -> &[FunctionRow] {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Vec<FunctionRow> {
        &mut self.rows
    }

    fn empty_message(&self) -> String {
        match self.missing_evidence.first() {
            Some(&records) if self.rows.is_empty() && (records == MissingRecords::CallStacks || self.count == 0) => {
                format!("not recorded: {}", missing_records(records))
            }
            _ => format!("no {} of a matching process in that range", events(self.kind).0),
        }
    }

    fn empty_message_on_linux(&self) -> Option<&'static str> {
        Some(match self.missing_evidence.first()? {
            MissingRecords::ProfileSamples => {
                "the Linux tracer takes no samples; '--of waits' shows the call stacks of waits, 'onoff cpu' shows CPU usage"
            }
            MissingRecords::HardFaults => "Linux traces do not show which page faults caused disk reads",
            MissingRecords::ContextSwitches => "not recorded: context switches (event sched:sched_switch)",
            MissingRecords::DiskRequests => {
                "not recorded: disk requests (events block:block_rq_issue and block:block_rq_complete)"
            }
            MissingRecords::CallStacks => {
                "not recorded: call stacks; turn on the tracer options 'stacktrace' and 'userstacktrace', and record with trace-cmd, whose \
                 files have the addresses"
            }
            _ => return None,
        })
    }

    fn write_headline(&self, _: usize, out: &mut dyn Write) -> io::Result<()> {
        let time_kind = match self.kind {
            TimeKind::Samples => "on CPU",
            TimeKind::Waits => "off CPU",
            TimeKind::DiskRequests => "of disk requests",
            TimeKind::HardFaults => "of hard faults",
        };
        headline(
            &format!("{} {time_kind}, {}", duration(self.total_ns), counted(self.count, events(self.kind).0)),
            self.range,
            out,
        )?;
        if self.with_stack < self.count {
            let stack_share = percent(share(self.with_stack as i64, self.count as i64));
            writeln!(out, "{QUIET}{stack_share} of them have a call stack.{QUIET:#}")?;
        }
        Ok(())
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        for &records in &self.missing_evidence {
            writeln!(out, "  {QUIET}Not recorded: {}.{QUIET:#}", missing_records(records))?;
        }
        let has_names = self
            .rows
            .iter()
            .any(|row| !row.function.is_empty() || row.stack.iter().any(|frame| !frame.function.is_empty()));
        for missing in self.missing_symbols.iter().take(MAX_SYMBOLS_NAMED) {
            writeln!(out, "  {QUIET}No symbols: {}{QUIET:#}", printable(missing))?;
        }
        let hidden = self.missing_symbols.len().saturating_sub(MAX_SYMBOLS_NAMED) as u64;
        if hidden > 0 {
            writeln!(
                out,
                "  {QUIET}No symbols for {}; use '--format json' to list all.{QUIET:#}",
                counted(hidden, "more file")
            )?;
        } else if !self.by.contains(&CodeGroup::Module)
            && self.missing_symbols.is_empty()
            && !has_names
            && !self.rows.is_empty()
        {
            writeln!(out, "  {QUIET}No function names; use '--symbols PATH' to load PDB or ELF files.{QUIET:#}")?;
        }
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

/// Returns the name of one event, and the title of the column that counts them.
const fn events(kind: TimeKind) -> (&'static str, &'static str) {
    match kind {
        TimeKind::Samples => ("sample", "samples"),
        TimeKind::Waits => ("wait", "waits"),
        TimeKind::DiskRequests => ("request", "requests"),
        TimeKind::HardFaults => ("hard fault", "faults"),
    }
}

/// Names missing records and the kernel flags that record them.
fn missing_records(records: MissingRecords) -> &'static str {
    match records {
        MissingRecords::ProfileSamples => "profile samples (kernel flag PROFILE)",
        MissingRecords::ContextSwitches => "context switches (kernel flag CSWITCH)",
        MissingRecords::DiskRequests => "disk requests (kernel flags DISK_IO and DISK_IO_INIT)",
        MissingRecords::HardFaults => "hard faults (kernel flag HARD_FAULTS)",
        MissingRecords::CallStacks => "call stacks of these events (option '-stackwalk' of xperf)",
        MissingRecords::ModuleLoads => "module loads (kernel flag LOADER; needed to map addresses to modules)",
        records => records.as_str(),
    }
}
