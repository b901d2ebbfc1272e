//! Finds the programs that start with the session, their processes, and the CPU and disk time of these processes.

use std::cmp::Reverse;

use hashbrown::HashMap;
use onoff_trace::{ActivityKind, Process, Trace};

use super::report::{StartupApplication, StartupApplications};
use crate::Phase;
use onoff_evidence::activity::{NamedActivity, activities_of_kind};
use onoff_usage::owners::file_name;

/// Maximum number of candidate processes per program; the shell creates one process for each program it starts.
const MAX_CANDIDATES: usize = 64;

/// Returns the programs that the shell started from its startup lists, most expensive first.
pub(super) fn startup_applications(trace: &Trace, phases: &[Phase]) -> StartupApplications {
    let children = Children::from_trace(trace);
    let costs = Costs::from_phases(phases);
    let mut programs: Vec<StartupApplication> = activities_of_kind(trace, ActivityKind::StartupApplication)
        .into_iter()
        .map(|launch| program(trace, &children, &costs, launch))
        .collect();
    programs.sort_by_key(|program| {
        let cost_ns = program.cpu_ns.unwrap_or(0).saturating_add(program.disk_service_ns.unwrap_or(0));
        (Reverse(cost_ns), program.start_ns)
    });
    StartupApplications { programs, lists: activities_of_kind(trace, ActivityKind::StartupEnumeration) }
}

fn program(trace: &Trace, children: &Children, costs: &Costs<'_>, launch: NamedActivity) -> StartupApplication {
    let process = children.process_started_by(trace, &launch);
    let image = process.map_or("", |process| file_name(trace.text(process.image)));
    let cost = |is_recorded: bool, by_process: &HashMap<(u32, &str), i64>| {
        let process = process.filter(|_| is_recorded)?;
        Some(by_process.get(&(process.pid, image)).copied().unwrap_or(0))
    };
    StartupApplication {
        name: without_stray_quote(launch.name),
        start_ns: launch.start_ns,
        end_ns: launch.end_ns,
        duration_ns: launch.duration_ns,
        process_pid: process.map(|process| process.pid),
        image: image.to_owned(),
        process_end_ns: process.and_then(|process| process.end_ns),
        cpu_ns: cost(costs.cpu_recorded, &costs.cpu_ns),
        disk_service_ns: cost(costs.disk_recorded, &costs.disk_service_ns),
        event: launch.event,
    }
}

/// Removes the closing quote of a command without an opening one: Windows 10 cuts commands at their last backslash.
fn without_stray_quote(command: String) -> String {
    let is_cut = command.matches('"').count() % 2 == 1 && !command.starts_with('"');
    if is_cut { command.replacen('"', "", 1) } else { command }
}

/// CPU and disk time over all phases, by process id and image.
#[derive(Default)]
struct Costs<'a> {
    cpu_recorded: bool,
    disk_recorded: bool,
    cpu_ns: HashMap<(u32, &'a str), i64>,
    disk_service_ns: HashMap<(u32, &'a str), i64>,
}

impl<'a> Costs<'a> {
    fn from_phases(phases: &'a [Phase]) -> Self {
        let mut costs = Self::default();
        for cpu in phases.iter().filter_map(|phase| phase.cpu.as_ref()) {
            costs.cpu_recorded = true;
            for row in &cpu.by_process {
                add(&mut costs.cpu_ns, row.pid, &row.image, row.cpu_ns);
            }
        }
        for disk in phases.iter().filter_map(|phase| phase.disk.as_ref()) {
            costs.disk_recorded = true;
            for row in &disk.by_process {
                add(&mut costs.disk_service_ns, row.pid, &row.image, row.service_ns);
            }
        }
        costs
    }
}

fn add<'a>(sums: &mut HashMap<(u32, &'a str), i64>, pid: Option<u32>, image: &'a str, ns: i64) {
    if let Some(pid) = pid {
        let sum = sums.entry((pid, image)).or_default();
        *sum = sum.saturating_add(ns);
    }
}

/// Processes that started in the recording, sorted by parent and start.
struct Children {
    rows: Vec<(u32, i64, Process)>,
}

impl Children {
    fn from_trace(trace: &Trace) -> Self {
        let mut rows: Vec<(u32, i64, Process)> = trace
            .processes
            .iter()
            .filter_map(|process| Some((process.parent_pid?, process.start_ns?, process)))
            .collect();
        rows.sort_by_key(|&(parent, start, _)| (parent, start));
        Self { rows }
    }

    /// Returns the process that the shell created while it started the program. Among several, prefers the one named in
    /// the command line.
    fn process_started_by(&self, trace: &Trace, launch: &NamedActivity) -> Option<Process> {
        let shell = launch.pid?;
        let end = launch.end_ns?;
        let command = launch.name.to_lowercase();
        let first_index = self.rows.partition_point(|&(parent, start, _)| (parent, start) < (shell, launch.start_ns));
        self.rows
            .get(first_index..)?
            .iter()
            .take_while(|&&(parent, start, _)| parent == shell && start <= end)
            .take(MAX_CANDIDATES)
            .min_by_key(|(_, start, process)| {
                let image = file_name(trace.text(process.image)).to_lowercase();
                (!command.contains(&image), *start)
            })
            .map(|&(_, _, process)| process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::{BootOptions, analyze};
    use onoff_testkit::synthetic::{MS, activity, process};
    use onoff_trace::{Activity, milestone};

    #[test]
    fn only_a_stray_quote_is_removed() {
        for (recorded, expected) in [
            (r#"Box.exe" /startup"#, "Box.exe /startup"),
            (r#""C:\Box.exe" /startup"#, r#""C:\Box.exe" /startup"#),
            (r#"Box.exe /title "a b""#, r#"Box.exe /title "a b""#),
            (r#"""#, r#"""#),
            ("Box.exe", "Box.exe"),
        ] {
            assert_eq!(without_stray_quote(recorded.to_owned()), expected);
        }
    }

    #[test]
    fn a_program_is_matched_by_parent_and_time() {
        let mut trace = Trace::default();
        onoff_testkit::synthetic::milestone(&mut trace, 0, milestone::SYSTEM_START, "");
        let kind = ActivityKind::StartupApplication;
        activity(&mut trace, kind, r#""C:\Cloud\Box.exe" /startup"#, 100 * MS, Some(200 * MS));
        activity(&mut trace, kind, "gone.exe", 300 * MS, Some(310 * MS));
        // Synthetic processes have process 4 as their parent, so process 4 acts as the shell.
        trace.activities = trace.activities.iter().map(|row| Activity { pid: Some(4), ..row }).collect();
        process(&mut trace, 50, "other.exe", Some(120 * MS), None);
        process(&mut trace, 54, "box.exe", Some(150 * MS), Some(900 * MS));
        process(&mut trace, 58, "box.exe", Some(250 * MS), None);
        let report = analyze(&trace, &BootOptions::default()).unwrap();
        let programs = report.details.startup_applications.programs;
        let processes: Vec<_> = programs.iter().map(|program| (program.process_pid, program.image.as_str())).collect();
        assert_eq!(processes, [(Some(54), "box.exe"), (None, "")]);
        assert_eq!(programs[0].process_end_ns, Some(900 * MS));
        assert_eq!(programs[0].cpu_ns, None, "neither context switches nor samples were recorded");
    }
}
