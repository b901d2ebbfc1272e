//! The list of CPU time.

use std::io::{self, Write};

use onoff_evidence::missing_evidence::MissingRecords;
use onoff_lists::cpu::{CpuGroup, CpuList, CpuRow};
use onoff_usage::cpu::CpuSource;

use super::{headline, processors_line, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{duration, percent, share};
use crate::terminal::style::QUIET;

impl TableReport for CpuList {
    type Row = CpuRow;

    fn columns(&self) -> Vec<Column<CpuRow>> {
        let new = Column::<CpuRow>::new;
        let is_grouped_by = |group| self.by.contains(&group);
        let mut columns = Vec::new();
        if is_grouped_by(CpuGroup::Process) || is_grouped_by(CpuGroup::Thread) {
            columns.extend([
                new("image", "process", Kind::Name, |row| Value::text_or_unknown(&row.image)).with_width(32),
                new("pid", "pid", Kind::Id, |row| Value::id(row.pid)),
            ]);
        }
        if is_grouped_by(CpuGroup::Thread) {
            columns.extend([
                new("tid", "thread", Kind::Id, |row| Value::id(row.tid)),
                new("thread_name", "name", Kind::Name, |row| Value::text(&row.thread_name)).with_width(24),
                new("service", "service", Kind::Name, |row| Value::text(&row.service)).with_width(24),
                new("start_module", "start module", Kind::Name, |row| Value::text(&row.start_module)).with_width(24),
            ]);
        }
        if is_grouped_by(CpuGroup::Module) {
            columns.push(new("module", "module", Kind::Name, |row| Value::text_or_unknown(&row.module)).with_width(40));
        }
        if is_grouped_by(CpuGroup::Priority) {
            columns.push(new("priority", "priority", Kind::Id, |row| Value::id(row.priority)));
        }
        if is_grouped_by(CpuGroup::Processor) {
            columns.push(new("processor", "processor", Kind::Id, |row| Value::id(row.processor)));
        }
        columns.extend([
            new("cpu_ns", "CPU", Kind::Quantity, |row| Value::Duration(row.cpu_ns)),
            new("percent", "share", Kind::Quantity, |row| Value::Percent(row.percent)),
            new("interrupted_ns", "in interrupts", Kind::Quantity, |row| {
                Value::from_option(row.interrupted_ns, Value::Duration)
            }),
            new("switches", "switches in", Kind::Quantity, |row| Value::from_option(row.switches, Value::Count)),
            new("samples", "samples", Kind::Quantity, |row| Value::from_option(row.samples, Value::Count)),
            new("ready_ns", "ready", Kind::Quantity, |row| Value::from_option(row.ready_ns, Value::Duration)),
            new("max_ready_ns", "longest ready", Kind::Quantity, |row| {
                Value::from_option(row.max_ready_ns, Value::Duration)
            }),
            new("ready_waits", "", Kind::Quantity, |row| Value::from_option(row.ready_waits, Value::Count)),
        ]);
        columns
    }

    fn rows(&self) -> &[CpuRow] {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Vec<CpuRow> {
        &mut self.rows
    }

    fn empty_message(&self) -> String {
        match self.cpu.source {
            CpuSource::None => format!(
                "no CPU usage in this recording. Not recorded: {}",
                self.missing_evidence.iter().map(|&records| missing_records(records)).collect::<Vec<_>>().join("; ")
            ),
            _ if self.cpu.busy_ns == 0 => "no CPU usage was recorded in that range".to_owned(),
            _ => format!("no matching thread ran; other threads used {} of CPU", duration(self.cpu.busy_ns)),
        }
    }

    fn write_headline(&self, _: usize, out: &mut dyn Write) -> io::Result<()> {
        let answer = format!("CPU {} busy", percent(share(self.cpu.busy_ns, self.cpu.capacity_ns)));
        headline(&answer, self.range, out)?;
        processors_line(&self.cpu, out)?;
        if let Some(ns) = self.interrupts_ns {
            let share = percent(self.cpu.percent(ns));
            writeln!(out, "Interrupts and DPCs: {} ({share})", duration(ns))?;
        }
        Ok(())
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        for &records in &self.missing_evidence {
            writeln!(out, "  {QUIET}Not recorded: {}.{QUIET:#}", missing_records(records))?;
        }
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

/// Names missing records and what they are needed for.
fn missing_records(records: MissingRecords) -> &'static str {
    match records {
        MissingRecords::ProfileSamples => "profile samples (needed for CPU time by module)",
        MissingRecords::SwitchesOrSamples => "context switches or profile samples (needed for CPU time)",
        MissingRecords::ContextSwitches => "context switches (needed for exact CPU time)",
        MissingRecords::ModuleLoads => "module loads (needed to map addresses to modules)",
        MissingRecords::ReadyThreads => "ready threads (needed for time spent waiting for a CPU)",
        MissingRecords::Interrupts => "interrupts and DPCs (needed for their share of CPU time)",
        records => records.as_str(),
    }
}
