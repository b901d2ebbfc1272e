//! `-butterfly`: an HTML page of processes, modules and functions, with each function between its callers and callees.
//!
//! The tables, their ids and titles, the classes and the columns are the ones that public readers of xperf's page look
//! for. xperf writes the page in one line.

use std::cmp::Reverse;
use std::io::{self, Write};

use hashbrown::HashMap;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::share;
use onoff_usage::call_stacks::{Butterfly, ImageHits, ModuleHits, Neighbor};
use quick_xml::escape::escape;

const PROCESSES: &str = "Processes and Root functions";
const WITH_NEIGHBORS: &str = "Functions by Multi-Inclusive Hits with Callers and Callees";
/// Ids and titles of all tables, in the order of the page.
const TABLES: [(&str, &str); 6] = [
    ("TblP", PROCESSES),
    ("TblME", "Modules by Exclusive Hits"),
    ("TblMI", "Modules by UniInclusive Hits"),
    ("TblSE", "Functions by Exclusive Hits"),
    ("TblSI", "Functions by UniInclusive Hits"),
    ("TblSN", WITH_NEIGHBORS),
];

/// Writes the page. Rows with fewer than `min_hits` hits are omitted and counted as trimmed.
pub fn write(stacks: &Butterfly, min_hits: u64, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<!DOCTYPE html><html><head><meta charset='utf-8'><title>Stacks</title></head><body>\
         <p>{} stacks. Each address without a function name has a row.</p><ul>",
        stacks.stacks
    )?;
    for (id, title) in TABLES {
        write!(out, "<li><a href='#{id}'>{title}</a></li>")?;
    }
    write!(out, "</ul>")?;
    let (mut anchors, mut exclusive) = (HashMap::new(), HashMap::new());
    let mut number = 0_u32;
    for row in &stacks.functions {
        let name = row.hits.name.as_str();
        *exclusive.entry(name).or_default() += row.hits.exclusive;
        if row.hits.multi_inclusive >= min_hits {
            number += 1;
            anchors.entry(name).or_insert(number);
        }
    }
    let page = Page { stacks, min_hits, anchors, exclusive };
    page.processes(out)?;
    page.modules("TblME", |row| row.exclusive, out)?;
    page.modules("TblMI", |row| row.unique_inclusive, out)?;
    page.functions(
        "TblSE",
        ("ExclusiveHits", |row| row.exclusive),
        ("UniInclusiveHits", |row| row.unique_inclusive),
        out,
    )?;
    page.functions(
        "TblSI",
        ("UniInclusiveHits", |row| row.unique_inclusive),
        ("ExclusiveHits", |row| row.exclusive),
        out,
    )?;
    page.neighbors(out)?;
    writeln!(out, "</body></html>")
}

/// The title of a column with hits, and the hits.
type Column = (&'static str, fn(&ModuleHits) -> u64);

struct Page<'a> {
    stacks: &'a Butterfly,
    min_hits: u64,
    /// Numbers of the blocks in the table with neighbors, by name.
    anchors: HashMap<&'a str, u32>,
    /// Exclusive hits of all functions by name.
    exclusive: HashMap<&'a str, u64>,
}

impl Page<'_> {
    fn processes(&self, out: &mut dyn Write) -> io::Result<()> {
        begin("TblP", &["process name", "PID", "ExclusiveHits", "%"], out)?;
        for process in &self.stacks.processes {
            let name = if process.name.is_empty() { "Unknown" } else { &process.name };
            let (name, stacks) = (printable(name), process.stacks);
            let percent = self.percent(stacks);
            write!(
                out,
                "<tr class='pp'><td>{}</td><td>{}</td><td>{stacks}</td><td>{percent}</td></tr>",
                escape(&*name),
                process.pid
            )?;
            for root in process.roots.iter().filter(|root| root.hits >= self.min_hits) {
                let (name, percent) = (self.linked(&root.name), self.percent(root.hits));
                let hits = root.hits;
                write!(out, "<tr class='pf'><td>&nbsp;{name}</td><td></td><td>{hits}</td><td>{percent}</td></tr>")?;
            }
        }
        end(0, 4, out)
    }

    fn modules(&self, id: &str, hits: fn(&ImageHits) -> u64, out: &mut dyn Write) -> io::Result<()> {
        let column = if id == "TblME" { "ExclusiveHits" } else { "UniInclusiveHits" };
        begin(id, &["module name", column, "%", "base", "limit"], out)?;
        let (rows, trimmed) = self.rows(&self.stacks.modules, hits);
        for row in rows {
            let (name, hits) = (printable(&row.name), hits(row));
            let (base, limit) = row.range.unwrap_or_default();
            let percent = self.percent(hits);
            let name = escape(&*name);
            write!(
                out,
                "<tr class='mm'><td>{name}</td><td>{hits}</td><td>{percent}</td><td>{base:#x}</td><td>{limit:#x}</td></tr>"
            )?;
        }
        end(trimmed, 5, out)
    }

    fn functions(
        &self,
        id: &str,
        (title, hits): Column,
        (other_title, other): Column,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        begin(id, &["function name", title, "%", other_title, "base", "limit", "size"], out)?;
        let (rows, trimmed) = self.rows(&self.stacks.functions, |row| hits(&row.hits));
        for row in rows {
            let (name, count, other) = (self.linked(&row.hits.name), hits(&row.hits), other(&row.hits));
            let percent = self.percent(count);
            write!(out, "<tr class='ff'><td>{name}</td><td>{count}</td><td>{percent}</td><td>{other}</td>")?;
            end_with_place(row.offset, out)?;
        }
        end(trimmed, 7, out)
    }

    fn neighbors(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns =
            ["function name", "MultiInclusiveHits", "%", "% of function", "ExclusiveHits", "base", "limit", "size"];
        begin("TblSN", &columns, out)?;
        let (rows, trimmed) = self.rows(&self.stacks.functions, |row| row.hits.multi_inclusive);
        for (row, number) in rows.into_iter().zip(1_u32..) {
            let hits = &row.hits;
            let (total, count) = (self.percent(hits.multi_inclusive), hits.multi_inclusive);
            let exclusive = hits.exclusive;
            let name = self.linked(&hits.name);
            write!(
                out,
                "<tr class='ff'><td><a id='SN{number}'></a>{name}</td><td>{count}</td><td>{total}</td><td>{total}</td>\
                 <td>{exclusive}</td>"
            )?;
            end_with_place(row.offset, out)?;
            self.callers_or_callees(&hits.callers, "&lt;-- ", count, out)?;
            write!(
                out,
                "<tr class='fs'><td>***itself***</td><td>{count}</td><td>{total}</td><td>100.00%</td><td>{exclusive}</td>"
            )?;
            end_with_place(row.offset, out)?;
            self.callers_or_callees(&hits.callees, "--&gt; ", count, out)?;
        }
        end(trimmed, 8, out)
    }

    fn callers_or_callees(&self, list: &[Neighbor], arrow: &str, of: u64, out: &mut dyn Write) -> io::Result<()> {
        let mut trimmed = 0_u64;
        for neighbor in list {
            if neighbor.hits < self.min_hits {
                trimmed += neighbor.hits;
                continue;
            }
            let (name, hits, total) = (self.linked(&neighbor.name), neighbor.hits, self.percent(neighbor.hits));
            let exclusive = self.exclusive.get(neighbor.name.as_str()).copied().unwrap_or(0);
            let percent = percent(hits, of);
            write!(
                out,
                "<tr class='fn'><td>{arrow}{name}</td><td>{hits}</td><td>{total}</td><td>{percent}</td><td>{exclusive}</td>"
            )?;
            end_with_place(None, out)?;
        }
        if trimmed > 0 {
            let (total, percent) = (self.percent(trimmed), percent(trimmed, of));
            write!(
                out,
                "<tr class='fn'><td>{arrow}(trimmed)</td><td>{trimmed}</td><td>{total}</td><td>{percent}</td><td></td>"
            )?;
            end_with_place(None, out)?;
        }
        Ok(())
    }

    /// Returns the rows with enough hits, most hits first, and the number of omitted rows.
    fn rows<'r, T>(&self, rows: &'r [T], hits: impl Fn(&T) -> u64) -> (Vec<&'r T>, usize) {
        let mut rows: Vec<&T> = rows.iter().filter(|row| hits(row) > 0).collect();
        let total = rows.len();
        rows.retain(|row| hits(row) >= self.min_hits);
        rows.sort_by_key(|row| Reverse(hits(row)));
        let trimmed = total - rows.len();
        (rows, trimmed)
    }

    /// Formats a name with a link to its block, or marks it as trimmed.
    fn linked(&self, name: &str) -> String {
        let text = printable(name);
        let text = escape(&*text);
        match self.anchors.get(name) {
            Some(number) => format!("<a href='#SN{number}'>{text}</a>"),
            None => format!("{text} (trimmed)"),
        }
    }

    fn percent(&self, hits: u64) -> String {
        percent(hits, self.stacks.stacks)
    }
}

fn percent(hits: u64, total: u64) -> String {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    format!("{:.2}%", share(number(hits), number(total)))
}

/// Ends a row with the columns `base`, `limit` and `size`. The extent of a named function is not known.
fn end_with_place(offset: Option<u64>, out: &mut dyn Write) -> io::Result<()> {
    match offset {
        Some(offset) => write!(out, "<td>{offset:#x}</td><td>{offset:#x}</td><td>0x0</td></tr>"),
        None => write!(out, "<td></td><td></td><td></td></tr>"),
    }
}

fn begin(id: &str, columns: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let title = TABLES.iter().find(|(table, _)| *table == id).map_or("", |(_, title)| title);
    write!(out, "<a id='{id}'></a><h2>{title}</h2><table><thead><tr>")?;
    for column in columns {
        write!(out, "<th>{column}</th>")?;
    }
    write!(out, "</tr></thead><tbody>")
}

fn end(trimmed: usize, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    if trimmed > 0 {
        write!(out, "<tr><td colspan='{columns}'>{trimmed} more (trimmed)</td></tr>")?;
    }
    write!(out, "</tbody></table>")
}

#[cfg(test)]
mod tests {
    use onoff_usage::call_stacks::{FunctionHits, ProcessHits, UNKNOWN};

    use super::*;

    fn function(name: &str, exclusive: u64, offset: Option<u64>) -> FunctionHits {
        let neighbor = |name: &str, hits| Neighbor { name: name.to_owned(), hits };
        let hits = ModuleHits {
            name: name.to_owned(),
            exclusive,
            unique_inclusive: 10,
            multi_inclusive: 12,
            callers: vec![neighbor("ntdll.dll!RtlUserThreadStart", 9), neighbor("rare.dll!f", 1)],
            callees: vec![neighbor(name, 6)],
        };
        FunctionHits { hits, offset }
    }

    fn page() -> String {
        let root = Neighbor { name: "<a&b>.exe!main".to_owned(), hits: 10 };
        let stacks = Butterfly {
            stacks: 10,
            processes: vec![ProcessHits { name: "<a&b>.exe".to_owned(), pid: 42, stacks: 10, roots: vec![root] }],
            modules: vec![
                ImageHits {
                    name: "<a&b>.exe".to_owned(),
                    exclusive: 6,
                    unique_inclusive: 10,
                    range: Some((0x1000, 0x2000)),
                },
                ImageHits { name: UNKNOWN.to_owned(), exclusive: 4, unique_inclusive: 4, range: None },
            ],
            functions: vec![
                function("<a&b>.exe!main", 6, None),
                function(&format!("<a&b>.exe!{UNKNOWN}"), 4, Some(0x123)),
                FunctionHits {
                    hits: ModuleHits { multi_inclusive: 1, ..function("rare.dll!f", 1, None).hits },
                    offset: None,
                },
            ],
        };
        let mut out = Vec::new();
        write(&stacks, 2, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tables_have_the_columns_that_readers_expect() {
        let page = page();
        for text in [
            "<li><a href='#TblME'>Modules by Exclusive Hits</a></li>",
            "<a id='TblME'></a><h2>Modules by Exclusive Hits</h2><table><thead><tr><th>module name</th>",
            "<tr class='pp'><td>&lt;a&amp;b&gt;.exe</td><td>42</td><td>10</td><td>100.00%</td></tr>",
            "<tr class='pf'><td>&nbsp;<a href='#SN1'>&lt;a&amp;b&gt;.exe!main</a></td><td></td><td>10</td>",
            "<td>&lt;a&amp;b&gt;.exe</td><td>6</td><td>60.00%</td><td>0x1000</td><td>0x2000</td></tr>",
            "<td>***unknown***</td><td>4</td><td>40.00%</td><td>0x0</td><td>0x0</td></tr>",
            // By exclusive hits: function, exclusive, percent, inclusive, base, limit, size.
            "!***unknown***</a></td><td>4</td><td>40.00%</td><td>10</td><td>0x123</td><td>0x123</td><td>0x0</td></tr>",
            // By inclusive hits: function, inclusive, percent, exclusive.
            "!main</a></td><td>10</td><td>100.00%</td><td>6</td><td></td><td></td><td></td></tr>",
            "<td><a id='SN1'></a><a href='#SN1'>&lt;a&amp;b&gt;.exe!main</a></td><td>12</td><td>120.00%</td>",
            "<td>&lt;-- ntdll.dll!RtlUserThreadStart (trimmed)</td><td>9</td><td>90.00%</td><td>75.00%</td>",
            "<td>&lt;-- (trimmed)</td><td>1</td>",
            "<td>***itself***</td><td>12</td><td>120.00%</td><td>100.00%</td><td>6</td>",
            "<td>--&gt; <a href='#SN1'>&lt;a&amp;b&gt;.exe!main</a></td><td>6</td><td>60.00%</td><td>50.00%</td><td>6</td>",
            "<tr><td colspan='7'>1 more (trimmed)</td></tr>",
        ] {
            assert!(page.contains(text), "{text} in {page}");
        }
        assert_eq!(page.lines().count(), 1);
    }
}
