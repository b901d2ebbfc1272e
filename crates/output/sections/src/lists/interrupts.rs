//! The list of interrupts and DPCs.

use std::io::{self, Write};

use onoff_lists::interrupts::{InterruptGroup, InterruptList, InterruptRow};

use super::{headline, write_losses};
use crate::section::{self, Section};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, counted};

impl TableReport for InterruptList {
    type Row = InterruptRow;

    fn columns(&self) -> Vec<Column<InterruptRow>> {
        let new = Column::<InterruptRow>::new;
        let is_grouped_by = |group| self.by.contains(&group);
        let mut columns = Vec::new();
        if is_grouped_by(InterruptGroup::Module) || is_grouped_by(InterruptGroup::Routine) {
            columns.push(new("module", "driver", Kind::Name, |row| Value::text_or_unknown(&row.module)));
        }
        if is_grouped_by(InterruptGroup::Routine) {
            columns.push(new("routine", "routine", Kind::Name, |row| Value::text(&row.routine)));
        }
        columns.push(new("kind", "kind", Kind::Name, |row| Value::text(row.kind.as_str())));
        if is_grouped_by(InterruptGroup::Processor) {
            columns.push(new("processor", "processor", Kind::Id, |row| Value::id(row.processor)));
        }
        columns.extend([
            new("count", "count", Kind::Quantity, |row| Value::Count(row.count)),
            new("total_ns", "total", Kind::Quantity, |row| Value::Duration(row.total_ns)),
            new("percent", "share", Kind::Quantity, |row| Value::Percent(row.percent)),
            new("mean_ns", "mean", Kind::Quantity, |row| Value::Duration(row.mean_ns)),
            new("longest_ns", "longest", Kind::Quantity, |row| Value::Duration(row.longest_ns)),
            new("longest_start_ns", "start of longest", Kind::Time, |row| Value::Time(row.longest_start_ns)),
            new("histogram", "count by duration", Kind::Name, |row| Value::Text(histogram(row).into())).with_width(100),
        ]);
        columns
    }

    fn rows(&self) -> &[InterruptRow] {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Vec<InterruptRow> {
        &mut self.rows
    }

    fn empty_message_on_linux(&self) -> Option<&'static str> {
        (self.recorded == 0).then_some("no complete interrupts were recorded; record the trace events irq:*")
    }

    fn empty_message(&self) -> String {
        match self.recorded {
            0 => "no interrupts and no DPCs were recorded; record the kernel flags INTERRUPT and DPC".to_owned(),
            recorded => format!("no interrupt or DPC ended in that range (the recording has {})", count(recorded)),
        }
    }

    fn write_headline(&self, _: usize, out: &mut dyn Write) -> io::Result<()> {
        let sum = |count: fn(&onoff_lists::interrupts::ProcessorInterrupts) -> u64| {
            self.processors.iter().map(count).sum::<u64>()
        };
        let answer =
            format!("{} and {}", counted(sum(|row| row.interrupts), "interrupt"), counted(sum(|row| row.dpcs), "DPC"),);
        headline(&answer, self.range, out)
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        let processors = Section::builder("processors", "By processor", &self.processors)
            .note("nested interrupts count only once in the share")
            .id("processor", "processor", |row| Value::Id(row.processor.into()))
            .quantity("interrupts", "interrupts", |row| Value::Count(row.interrupts))
            .quantity("interrupt_ns", "time", |row| Value::Duration(row.interrupt_ns))
            .quantity("dpcs", "DPCs", |row| Value::Count(row.dpcs))
            .quantity("dpc_ns", "time", |row| Value::Duration(row.dpc_ns))
            .quantity("total_percent", "share", |row| Value::Percent(row.total_percent))
            .build();
        section::text::write(&processors, out)?;
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

/// Formats the non-empty bins as text: `≤1 µs 12, ≤2 µs 3, >2048 µs 1`.
fn histogram(row: &InterruptRow) -> String {
    let bins = row.histogram.iter().filter(|bin| bin.count > 0);
    let texts: Vec<String> = bins
        .map(|bin| match bin.up_to_ns {
            Some(ns) => format!("≤{} µs {}", ns / 1_000, count(bin.count)),
            None => format!(">{} µs {}", bin.over_ns / 1_000, count(bin.count)),
        })
        .collect();
    texts.join(", ")
}
