//! `-butterfly`: an HTML page with each module between its callers and callees.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::io::{self, Write};

use onoff_usage::call_stacks::{CallStacks, ModuleHits, Neighbor};
use quick_xml::escape::escape;

use onoff_report::text::quantity::share;

/// Writes the page. Modules and neighbors with fewer than `min_hits` hits are omitted and counted as trimmed.
pub fn write(stacks: &CallStacks, min_hits: u64, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>Stacks</title></head><body>\n\
         <p>{} stacks. Functions without a name are counted under their module.</p>",
        stacks.stacks
    )?;
    let page = Page { stacks, min_hits };
    page.list("TblE", "Functions by Exclusive Hits", |row| row.exclusive, out)?;
    page.list("TblU", "Functions by UniInclusive Hits", |row| row.unique_inclusive, out)?;
    page.neighbors(
        "TblSN",
        "Functions by Multi-Inclusive Hits with Callers and Callees",
        |row| row.multi_inclusive,
        out,
    )?;
    page.neighbors("TblSE", "Functions by Exclusive Hits with Callers and Callees", |row| row.exclusive, out)?;
    writeln!(out, "</body></html>")
}

/// Marks the rows that links point to. They have the CSS class of other module rows.
const TARGET: &str = "target";

/// Formats `module!function`, also for a name that is only a module or an address.
fn full_name(name: Cow<'_, str>) -> Cow<'_, str> {
    match (name.contains('!'), name.starts_with("0x")) {
        (true, _) => name,
        (false, true) => Cow::Owned(format!("\"Unknown\"!{name}")),
        (false, false) => Cow::Owned(format!("{name}!\"Unknown\"")),
    }
}

struct Page<'a> {
    stacks: &'a CallStacks,
    min_hits: u64,
}

impl Page<'_> {
    /// Returns the modules with hits of one kind, most hits first, and the number of omitted modules.
    fn rows(&self, hits: fn(&ModuleHits) -> u64) -> (Vec<&ModuleHits>, usize) {
        let modules = self.stacks.modules.iter();
        let mut rows: Vec<&ModuleHits> = modules.filter(|row| hits(row) > 0).collect();
        let total_rows = rows.len();
        rows.retain(|row| hits(row) >= self.min_hits);
        rows.sort_by_key(|row| Reverse(hits(row)));
        let trimmed = total_rows - rows.len();
        (rows, trimmed)
    }

    fn list(&self, id: &str, title: &str, hits: fn(&ModuleHits) -> u64, out: &mut dyn Write) -> io::Result<()> {
        let (rows, trimmed) = self.rows(hits);
        begin(id, title, "<th>Hits</th>", out)?;
        for row in rows {
            self.row(("ff", "", &row.name), &[hits(row)], hits(row), out)?;
        }
        end(trimmed, 3, out)
    }

    fn neighbors(&self, id: &str, title: &str, hits: fn(&ModuleHits) -> u64, out: &mut dyn Write) -> io::Result<()> {
        let (rows, trimmed) = self.rows(hits);
        begin(id, title, "<th>Multi-Inclusive</th><th>Exclusive</th>", out)?;
        let class = if id == "TblSN" { TARGET } else { "ff" };
        for row in rows {
            let cells = [row.multi_inclusive, row.exclusive];
            self.row((class, "", &row.name), &cells, hits(row), out)?;
            self.write_neighbors(&row.callers, &row.name, "&lt;-- ", out)?;
            self.write_neighbors(&row.callees, &row.name, "--&gt; ", out)?;
            if row.exclusive > 0 {
                let cells = [0, row.exclusive];
                self.row(("fs", "***itself*** ", &row.name), &cells, row.exclusive, out)?;
            }
        }
        end(trimmed, 4, out)
    }

    fn write_neighbors(
        &self,
        neighbors: &[Neighbor],
        module: &str,
        arrow: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut trimmed = 0_u64;
        for neighbor in neighbors {
            if neighbor.hits < self.min_hits {
                trimmed += neighbor.hits;
                continue;
            }
            let cells = [neighbor.hits, 0];
            let class = if neighbor.name == module { "fi" } else { "fn" };
            self.row((class, arrow, &neighbor.name), &cells, neighbor.hits, out)?;
        }
        if trimmed > 0 {
            writeln!(out, "<tr class='fn'><td>{arrow}(trimmed)</td><td>{trimmed}</td><td>0</td><td></td></tr>")?;
        }
        Ok(())
    }

    /// Writes a row with class, prefix and name, its numbers, and the percentage of `hits`.
    fn row(
        &self,
        (class, prefix, name): (&str, &str, &str),
        cells: &[u64],
        hits: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let is_target = class == TARGET;
        let class = if is_target { "ff" } else { class };
        let name = full_name(onoff_report::text::printable::printable(name));
        let name = escape(&*name);
        write!(out, "<tr class='{class}'><td>{prefix}<a href='#{name}'>{name}</a>")?;
        // Links point to the module's row in the first of the two tables with neighbors.
        if is_target {
            write!(out, "<a id='{name}'></a>")?;
        }
        write!(out, "</td>")?;
        for cell in cells {
            write!(out, "<td>{cell}</td>")?;
        }
        let hits = i64::try_from(hits).unwrap_or(i64::MAX);
        let total = i64::try_from(self.stacks.stacks).unwrap_or(i64::MAX);
        writeln!(out, "<td>{:.2}%</td></tr>", share(hits, total))
    }
}

fn begin(id: &str, title: &str, columns: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>{title}</h2>\n<table id='{id}'>\n<tr><th>Function</th>{columns}<th>%</th></tr>")
}

fn end(trimmed: usize, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    if trimmed > 0 {
        writeln!(out, "<tr><td colspan='{columns}'>{trimmed} more (trimmed)</td></tr>")?;
    }
    writeln!(out, "</table>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_names_and_lists_callers_and_callees() {
        let neighbor = |name: &str, hits| Neighbor { name: name.to_owned(), hits };
        let stacks = CallStacks {
            stacks: 10,
            modules: vec![ModuleHits {
                name: "<a&b>.exe".to_owned(),
                exclusive: 4,
                unique_inclusive: 10,
                multi_inclusive: 12,
                callers: vec![neighbor("ntdll.dll!RtlUserThreadStart", 9), neighbor("rare.dll", 1)],
                callees: vec![neighbor("0x7f00", 6)],
            }],
        };
        let mut out = Vec::new();
        write(&stacks, 2, &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        for line in [
            "<table id='TblSN'>",
            "Functions by Multi-Inclusive Hits with Callers and Callees",
            "<tr class='ff'><td><a href='#&lt;a&amp;b&gt;.exe!&quot;Unknown&quot;'>&lt;a&amp;b&gt;.exe!&quot;Unknown&quot;</a><a id='&lt;a&amp;b&gt;.exe!&quot;Unknown&quot;'></a></td><td>12</td><td>4</td><td>120.00%</td></tr>",
            "<td>&lt;-- <a href='#ntdll.dll!RtlUserThreadStart'>ntdll.dll!RtlUserThreadStart</a></td><td>9</td>",
            "<td>&lt;-- (trimmed)</td><td>1</td>",
            "<td>--&gt; <a href='#&quot;Unknown&quot;!0x7f00'>&quot;Unknown&quot;!0x7f00</a></td><td>6</td>",
            "***itself***",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
