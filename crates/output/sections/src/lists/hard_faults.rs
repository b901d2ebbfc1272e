//! The list of hard faults.

use std::io::{self, Write};

use onoff_usage::storage::SharedValues;
use onoff_usage::storage::hard_faults::{HardFaultGroup, HardFaultReport};

use super::grouped::{self, Grouped};
use super::{headline, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, counted, duration, size};

impl Grouped for HardFaultGroup {
    fn shared(&self) -> &SharedValues {
        &self.shared
    }
}

impl TableReport for HardFaultReport {
    type Row = HardFaultGroup;

    fn columns(&self) -> Vec<Column<HardFaultGroup>> {
        let new = Column::<HardFaultGroup>::new;
        let mut columns = grouped::columns(&self.by);
        columns.extend([
            new("waited_ns", "waited", Kind::Quantity, |row| Value::Duration(row.amounts.waited_ns)),
            new("longest_ns", "longest", Kind::Quantity, |row| Value::Duration(row.amounts.longest_ns)),
            new("faults", "faults", Kind::Quantity, |row| Value::Count(row.amounts.faults)),
            new("bytes", "read", Kind::Quantity, |row| Value::Bytes(row.amounts.bytes)),
        ]);
        // Every hard fault is a read.
        columns.retain(|column| column.name != "operation");
        columns
    }

    fn rows(&self) -> &[HardFaultGroup] {
        &self.groups
    }

    fn rows_mut(&mut self) -> &mut Vec<HardFaultGroup> {
        &mut self.groups
    }

    fn empty_message_on_linux(&self) -> Option<&'static str> {
        (true).then_some("only Windows recordings have hard faults; 'onoff disk' shows disk reads")
    }

    fn empty_message(&self) -> String {
        match self.recorded {
            0 => "no hard faults were recorded; record the kernel flag HARD_FAULTS".to_owned(),
            recorded => format!("no hard fault matches (the recording has {})", count(recorded)),
        }
    }

    fn write_headline(&self, _rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let total = &self.total;
        let answer = format!(
            "{}, {} read, {} of waiting",
            counted(total.faults, "hard fault"),
            size(total.bytes),
            duration(total.waited_ns)
        );
        headline(&answer, self.range, out)
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}
