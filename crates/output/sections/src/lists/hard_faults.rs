//! Hard faults.

use std::io::{self, Write};

use onoff_usage::storage::Shared;
use onoff_usage::storage::hard_faults::{HardFaultGroup, HardFaultReport};

use super::grouped::{self, Grouped};
use super::{headline, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{counted, duration, size};

impl Grouped for HardFaultGroup {
    fn shared(&self) -> &Shared {
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

    fn nothing_on_linux(&self) -> Option<&'static str> {
        (true).then_some("hard faults are read from recordings of Windows only; 'onoff disk' shows what was read")
    }

    fn nothing(&self) -> String {
        match self.recorded {
            0 => "the recording holds no hard faults; recorders take them with the kernel flag HARD_FAULTS".to_owned(),
            recorded => format!("none of the recording's {} matches in that range", counted(recorded, "hard fault")),
        }
    }

    fn write_before(&self, _rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let total = &self.total;
        let answer = format!(
            "{}, {} read, threads waited {}",
            counted(total.faults, "hard fault"),
            size(total.bytes),
            duration(total.waited_ns)
        );
        headline(&answer, self.range, out)
    }

    fn write_after(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.touched_by, &self.losses, out)
    }
}
