//! `-export csv` and `-export xml`: modules as rows or elements.

use std::io::{self, Write};

use onoff_usage::call_stacks::{CallStacks, Neighbor};
use quick_xml::escape::escape;

use onoff_report::text::printable::printable;

/// Writes one row per module, most frames first.
pub fn write_csv(stacks: &CallStacks, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Function, Exclusive, UniInclusive, MultiInclusive")?;
    for row in &stacks.modules {
        writeln!(
            out,
            "{}, {}, {}, {}",
            printable(&row.name),
            row.exclusive,
            row.unique_inclusive,
            row.multi_inclusive
        )?;
    }
    Ok(())
}

/// Writes one element per module, with its callers and callees.
pub fn write_xml(stacks: &CallStacks, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<stacks count=\"{}\">", stacks.stacks)?;
    for row in &stacks.modules {
        writeln!(
            out,
            "  <function name=\"{}\" exclusive=\"{}\" uniInclusive=\"{}\" multiInclusive=\"{}\">",
            escape(&*printable(&row.name)),
            row.exclusive,
            row.unique_inclusive,
            row.multi_inclusive
        )?;
        write_neighbors("caller", &row.callers, out)?;
        write_neighbors("callee", &row.callees, out)?;
        writeln!(out, "  </function>")?;
    }
    writeln!(out, "</stacks>")
}

fn write_neighbors(name: &str, list: &[Neighbor], out: &mut dyn Write) -> io::Result<()> {
    for neighbor in list {
        writeln!(out, "    <{name} name=\"{}\" hits=\"{}\"/>", escape(&*printable(&neighbor.name)), neighbor.hits)?;
    }
    Ok(())
}
