//! `xperf -a process`: processes with their threads and modules, times in µs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use onoff_evidence::Interval;
use onoff_trace::{Process, Trace};

use super::microseconds;
use super::process_name::ProcessName;
use onoff_report::text::printable::printable;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessOptions {
    /// List threads under their process.
    pub threads: bool,
    /// List modules under their process.
    pub images: bool,
    /// List processes under their parent.
    pub tree: bool,
    /// Show the user's security identifier.
    pub with_sid: bool,
    pub with_command_line: bool,
}

/// Writes the processes that were alive in `range`.
pub fn write(trace: &Trace, range: Interval, options: &ProcessOptions, out: &mut dyn Write) -> io::Result<()> {
    let sid = if options.with_sid { ", UserSid" } else { "" };
    let command_line = if options.with_command_line { ", Command Line" } else { "" };
    writeln!(
        out,
        "{:>11}, {:>10}, Process,          UniqueKey,    Process Name ( PID),  ParentPID,  SessionID, DirectoryTableBase{sid}{command_line}",
        "Start", "End"
    )?;
    let mut writer = Writer {
        trace,
        range,
        options,
        children: BTreeMap::new(),
        threads: BTreeMap::new(),
        images: BTreeMap::new(),
        shown: BTreeSet::new(),
    };
    writer.collect_rows();
    writer.write(out)
}

struct Writer<'a> {
    trace: &'a Trace,
    range: Interval,
    options: &'a ProcessOptions,
    /// Row indexes of child processes by the row index of their parent.
    children: BTreeMap<usize, Vec<usize>>,
    /// Row indexes of threads by the row index of their process.
    threads: BTreeMap<usize, Vec<usize>>,
    /// Row indexes of modules by the row index of their process.
    images: BTreeMap<usize, Vec<usize>>,
    shown: BTreeSet<usize>,
}

impl Writer<'_> {
    fn collect_rows(&mut self) {
        let process_lifetimes = onoff_usage::processes::Images::new(self.trace);
        if self.options.tree {
            for (row, process) in self.trace.processes.iter().enumerate() {
                let start_ns = process.start_ns.unwrap_or(0);
                let parent = process
                    .parent_pid
                    .and_then(|pid| process_lifetimes.row_at(pid, start_ns))
                    .filter(|&parent| parent != row);
                if let Some(parent) = parent {
                    self.children.entry(parent).or_default().push(row);
                }
            }
        }
        if self.options.threads {
            for (row, thread) in self.trace.threads.iter().enumerate() {
                let start_ns = thread.start_ns.unwrap_or(0);
                if let Some(process) = process_lifetimes.row_at(thread.pid, start_ns) {
                    self.threads.entry(process).or_default().push(row);
                }
            }
        }
        if self.options.images {
            for (row, image) in self.trace.images.iter().enumerate() {
                let load_ns = image.load_ns.unwrap_or(0);
                if let Some(process) = process_lifetimes.row_at(image.pid, load_ns) {
                    self.images.entry(process).or_default().push(row);
                }
            }
        }
    }

    fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let is_child: BTreeSet<usize> = self.children.values().flatten().copied().collect();
        let rows = 0..self.trace.processes.len();
        let roots: Vec<usize> = rows.clone().filter(|row| !is_child.contains(row)).collect();
        for row in roots {
            self.write_branch(row, out)?;
        }
        // In a damaged recording, parents may form a cycle that no root reaches.
        for row in rows {
            self.write_branch(row, out)?;
        }
        Ok(())
    }

    /// Writes a process and, in a tree, its descendants. Iterative, because the recording determines the depth.
    fn write_branch(&mut self, root: usize, out: &mut dyn Write) -> io::Result<()> {
        let mut pending = vec![(root, 0_usize)];
        while let Some((row, depth)) = pending.pop() {
            if !self.shown.insert(row) {
                continue;
            }
            let Some(process) = self.trace.processes.get(row) else { continue };
            if self.range.overlaps(process.start_ns, process.end_ns) {
                self.write_process(row, &process, depth, out)?;
            }
            if let Some(children) = self.children.get(&row) {
                pending.extend(children.iter().rev().map(|&child| (child, depth + 1)));
            }
        }
        Ok(())
    }

    fn write_process(&self, row: usize, process: &Process, depth: usize, out: &mut dyn Write) -> io::Result<()> {
        let indent = depth.min(32) * 2;
        let digits = usize::from(self.trace.system.pointer_bits == 64) * 8 + 8;
        write!(
            out,
            "{:indent$}{}, {}, Process, 0X{:0digits$X}, {}, {:>10}, {:>10}, 0x{:08x}",
            "",
            start_cell(process.start_ns),
            end_cell(process.end_ns),
            process.unique_key,
            ProcessName(Some(self.trace.text(process.image)), Some(process.pid)),
            process.parent_pid.map_or(-1, i64::from),
            process.session.map_or(-1, i64::from),
            process.page_directory,
        )?;
        if self.options.with_sid {
            write!(out, ", {}", printable(self.trace.text(process.user)))?;
        }
        if self.options.with_command_line {
            // Scripts that split the row would skip an empty field.
            let command_line = match self.trace.text(process.command_line) {
                "" => "\"\"",
                text => text,
            };
            write!(out, ", {}", printable(command_line))?;
        }
        writeln!(out)?;
        let rows_of_process = |rows: &BTreeMap<usize, Vec<usize>>| rows.get(&row).cloned().unwrap_or_default();
        for row in rows_of_process(&self.threads) {
            let Some(thread) = self.trace.threads.get(row) else { continue };
            if self.range.overlaps(thread.start_ns, thread.end_ns) {
                writeln!(
                    out,
                    "{:indent$}{}, {},  Thread, {:>10}, 0x{:0digits$x}",
                    "",
                    start_cell(thread.start_ns),
                    end_cell(thread.end_ns),
                    thread.tid,
                    thread.start_address,
                )?;
            }
        }
        for row in rows_of_process(&self.images) {
            let Some(image) = self.trace.images.get(row) else { continue };
            if self.range.overlaps(image.load_ns, image.unload_ns) {
                writeln!(
                    out,
                    "{:indent$}{}, {},   Image, 0x{:0digits$x}, 0x{:0digits$x}, \"{}\"",
                    "",
                    start_cell(image.load_ns),
                    end_cell(image.unload_ns),
                    image.base,
                    image.base.saturating_add(image.size),
                    printable(&self.trace.system.drive_paths.readable(self.trace.text(image.path))),
                )?;
            }
        }
        Ok(())
    }
}

/// Formats a start time; `MIN` if it was before the recording.
fn start_cell(ns: Option<i64>) -> String {
    match ns {
        Some(_) => format!("{:>11}", microseconds(ns)),
        None => format!("{:>11}", "MIN"),
    }
}

/// Formats an end time; `MAX` if it was after the recording.
fn end_cell(ns: Option<i64>) -> String {
    match ns {
        Some(_) => format!("{:>10}", microseconds(ns)),
        None => format!("{:>10}", "MAX"),
    }
}
