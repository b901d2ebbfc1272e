//! Reads unit properties (`systemctl show '*'`): start and stop times and dependencies of each unit.
//!
//! systemd keeps only the latest time of each kind: the earlier start of a restarted unit is only in the journal.

use std::borrow::Cow;

use onoff_trace::{
    DependencyKind, ServiceChange, ServiceOutcome, ServiceProcess, ServiceTransition, StringId, counters, milestone,
};

use super::assembly::Assembly;
use super::clocks::{ClockPairs, Clocks};
use super::parts::Part;
use super::unit_dependencies::UnitDependencies;
use onoff_linux_log::duration::duration_ns;
use onoff_linux_log::unit_names::names;

/// Event name of rows from unit properties.
pub(super) const EVENT: &str = "systemd unit properties";

/// Maximum number of processes of a unit's commands.
const MAX_PROCESSES: usize = 64;

counters! {
    WITHOUT_NAME = "units_without_name", Notice, [ServiceTransitions],
        "Unit property blocks without 'Id=' were skipped. Record all properties with 'systemctl show \"*\"'.";
}

/// The properties that are used. Times are µs since the kernel's start, 0 for never.
#[derive(Clone, Debug, Default)]
struct Unit<'a> {
    id: Cow<'a, str>,
    names: Cow<'a, str>,
    slice: Cow<'a, str>,
    description: Cow<'a, str>,
    result: Cow<'a, str>,
    active_state: Cow<'a, str>,
    command: Cow<'a, str>,
    service_type: Cow<'a, str>,
    cpu_ns: Option<i64>,
    main_pid: Option<u32>,
    /// PIDs of the unit's commands.
    pids: Vec<u32>,
    inactive_exit_us: i64,
    active_enter_us: i64,
    active_exit_us: i64,
    inactive_enter_us: i64,
    main_start_us: i64,
    start_timeout_ns: Option<i64>,
    stop_timeout_ns: Option<i64>,
    timeout_ns: Option<i64>,
    job_timeout_ns: Option<i64>,
    dependencies: Vec<(Option<DependencyKind>, Cow<'a, str>)>,
    lines: u32,
}

impl<'a> Unit<'a> {
    fn set(&mut self, name: &[u8], value: &'a [u8]) {
        self.lines = self.lines.saturating_add(1);
        let text = || String::from_utf8_lossy(value);
        let time_us = || text().parse().ok().filter(|&us: &i64| us >= 0).unwrap_or(0);
        match name {
            b"Id" => self.id = text(),
            b"Names" => self.names = text(),
            b"Slice" => self.slice = text(),
            b"Description" => self.description = text(),
            b"Result" => self.result = text(),
            b"ActiveState" => self.active_state = text(),
            b"Type" => self.service_type = text(),
            // `[not set]` without accounting, or the largest number in old versions.
            b"CPUUsageNSec" => self.cpu_ns = text().parse().ok(),
            b"ExecStart" => {
                self.command = text();
                self.add_pids(value);
            }
            b"ExecCondition" | b"ExecStartPre" | b"ExecStartPost" => self.add_pids(value),
            b"ExecMainPID" => self.main_pid = text().parse().ok().filter(|&pid| pid > 0),
            b"InactiveExitTimestampMonotonic" => self.inactive_exit_us = time_us(),
            b"ActiveEnterTimestampMonotonic" => self.active_enter_us = time_us(),
            b"ActiveExitTimestampMonotonic" => self.active_exit_us = time_us(),
            b"InactiveEnterTimestampMonotonic" => self.inactive_enter_us = time_us(),
            b"ExecMainStartTimestampMonotonic" => self.main_start_us = time_us(),
            b"TimeoutStartUSec" => self.start_timeout_ns = duration_ns(&text()),
            b"TimeoutStopUSec" => self.stop_timeout_ns = duration_ns(&text()),
            b"TimeoutUSec" => self.timeout_ns = duration_ns(&text()),
            b"JobRunningTimeoutUSec" => self.job_timeout_ns = duration_ns(&text()),
            b"After" => self.dependencies.push((Some(DependencyKind::After), text())),
            b"Before" => self.dependencies.push((None, text())),
            b"Requires" => self.dependencies.push((Some(DependencyKind::Requires), text())),
            b"Requisite" => self.dependencies.push((Some(DependencyKind::Requisite), text())),
            b"BindsTo" => self.dependencies.push((Some(DependencyKind::BindsTo), text())),
            b"PartOf" => self.dependencies.push((Some(DependencyKind::PartOf), text())),
            b"Wants" => self.dependencies.push((Some(DependencyKind::Wants), text())),
            _ => {}
        }
    }

    /// Adds the process of a command, given as `{ path=/bin/a ; … ; pid=217 ; … }`.
    fn add_pids(&mut self, command: &[u8]) {
        let command = String::from_utf8_lossy(command);
        let digits = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().and_then(|pid| pid.parse().ok());
        let pids = command.split(" ; ").filter_map(|part| digits(part.trim().strip_prefix("pid=")?));
        self.pids.extend(pids.filter(|&pid: &u32| pid > 0).take(MAX_PROCESSES.saturating_sub(self.pids.len())));
    }

    /// Returns the end of the latest start, µs: the unit became active, or inactive again if it runs once.
    /// `systemd-analyze blame` uses the same rule.
    fn start_end_us(&self) -> Option<i64> {
        [self.active_enter_us, self.inactive_enter_us]
            .into_iter()
            .find(|&end_us| end_us > 0 && end_us >= self.inactive_exit_us)
    }

    fn has_failed(&self) -> bool {
        self.active_state == "failed" || !matches!(&*self.result, "" | "success")
    }
}

pub(super) fn clock_pairs(_part: &Part<'_>, _pairs: &mut ClockPairs) {}

pub(super) fn read(part: &Part<'_>, _clocks: &Clocks, assembly: &mut Assembly) {
    let mut dependencies = UnitDependencies::default();
    let mut unit = Unit::default();
    for line in part.bytes.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            add_unit(&unit, &mut dependencies, assembly);
            unit = Unit::default();
        } else if let Some(name_len) = memchr::memchr(b'=', line) {
            let (name, value) = line.split_at(name_len);
            unit.set(name, value.get(1..).unwrap_or_default());
        }
    }
    add_unit(&unit, &mut dependencies, assembly);
    dependencies.finish(assembly);
}

fn add_unit(unit: &Unit<'_>, dependencies: &mut UnitDependencies, assembly: &mut Assembly) {
    if unit.id.is_empty() {
        assembly.losses.add(&WITHOUT_NAME, u64::from(unit.lines > 0));
        return;
    }
    for name in names(&unit.names) {
        if name == "default.target" {
            assembly.default_target = unit.id.clone().into_owned();
        }
        dependencies.add_alias(name, &unit.id);
    }
    for (kind, list) in &unit.dependencies {
        for name in names(list) {
            match kind {
                Some(kind) => dependencies.add(&unit.id, *kind, name),
                None => dependencies.add_before(&unit.id, name),
            }
        }
    }
    assembly.add_description(&unit.id, &unit.description);
    let command = command(&unit.command);
    if !unit.pids.is_empty() {
        let service = assembly.intern(&unit.id);
        assembly.service_processes.extend(unit.pids.iter().map(|&pid| ServiceProcess { service, pid }));
    }
    if let Some(pid) = unit.main_pid {
        let name = program(command);
        let (name, command) = (assembly.intern(name), assembly.intern(command));
        assembly.processes.identify(pid, name, command, StringId::EMPTY);
    }
    add_start(unit, command, assembly);
    add_stop(unit, command, assembly);
}

fn add_start(unit: &Unit<'_>, command: &str, assembly: &mut Assembly) {
    if unit.inactive_exit_us == 0 {
        return;
    }
    let end_us = unit.start_end_us();
    let became_active = end_us.is_some() && end_us == Some(unit.active_enter_us);
    let outcome = match end_us {
        Some(_) if became_active || !unit.has_failed() => ServiceOutcome::Completed,
        Some(_) => ServiceOutcome::Failed,
        None => ServiceOutcome::Unfinished,
    };
    let row = ServiceTransition {
        kind: ServiceChange::Start,
        start_ns: ns(unit.inactive_exit_us),
        checkpoint_ns: (unit.main_start_us > 0).then(|| ns(unit.main_start_us)),
        end_ns: end_us.map(ns),
        outcome,
        timeout_ns: unit.start_timeout_ns.or(unit.timeout_ns).or(unit.job_timeout_ns),
        // The CPU time of other types includes what they did after their start.
        cpu_ns: unit.cpu_ns.filter(|&ns| ns >= 0 && unit.service_type == "oneshot"),
        cpu_max_ns: unit.cpu_ns.filter(|&ns| ns >= 0),
        ..base_row(unit, command, assembly)
    };
    if unit.id.ends_with(".target")
        && became_active
        && let Some(end_ns) = row.end_ns
    {
        assembly.add_milestone(end_ns, milestone::TARGET_REACHED, &unit.id, None, EVENT);
    }
    add_transition(row, assembly);
}

fn add_stop(unit: &Unit<'_>, command: &str, assembly: &mut Assembly) {
    if unit.active_exit_us == 0 {
        return;
    }
    let end_us = Some(unit.inactive_enter_us).filter(|&end_us| end_us >= unit.active_exit_us);
    let row = ServiceTransition {
        kind: ServiceChange::Stop,
        start_ns: ns(unit.active_exit_us),
        end_ns: end_us.map(ns),
        outcome: match end_us {
            Some(_) if unit.has_failed() => ServiceOutcome::Failed,
            Some(_) => ServiceOutcome::Completed,
            None => ServiceOutcome::Unfinished,
        },
        timeout_ns: unit.stop_timeout_ns.or(unit.timeout_ns),
        ..base_row(unit, command, assembly)
    };
    if unit.id.ends_with(".target") {
        assembly.add_milestone(row.start_ns, milestone::TARGET_STOPPED, &unit.id, None, EVENT);
    }
    add_transition(row, assembly);
}

fn add_transition(row: ServiceTransition, assembly: &mut Assembly) {
    assembly.extend_to(row.end_ns.unwrap_or(row.start_ns));
    assembly.service_transitions.push(row);
}

/// Builds a row with the fields that starts and stops have in common.
fn base_row(unit: &Unit<'_>, command: &str, assembly: &mut Assembly) -> ServiceTransition {
    ServiceTransition {
        service: assembly.intern(&unit.id),
        group: assembly.intern(&unit.slice),
        kind: ServiceChange::Start,
        container: assembly.intern(command),
        container_pid: unit.main_pid,
        outcome: ServiceOutcome::Unfinished,
        result: assembly.intern(&unit.result),
        event: assembly.intern(EVENT),
        ..ServiceTransition::UNKNOWN
    }
}

fn ns(us: i64) -> i64 {
    us.saturating_mul(1_000)
}

/// Extracts the command line from `{ path=/bin/a ; argv[]=/bin/a -b ; ignore_errors=no ; … }`.
fn command(property: &str) -> &str {
    let Some((_, arguments)) = property.split_once("argv[]=") else { return "" };
    arguments.split(" ; ").next().unwrap_or(arguments).trim()
}

/// Returns the file name of a command line's program.
pub(super) fn program(command_line: &str) -> &str {
    let path = command_line.split_ascii_whitespace().next().unwrap_or("");
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{TableSet, Trace};

    pub(crate) fn read_units(text: &[u8]) -> Trace {
        let mut assembly = Assembly::new(TableSet::all());
        let part = Part { kind: super::super::parts::PartKind::Units, name: "units", bytes: text };
        read(&part, &Clocks::default(), &mut assembly);
        crate::unit_reconciliation::reconciled_trace(assembly)
    }

    #[test]
    fn reads_cpu_time_of_units_that_run_once() {
        let cpu_ns = |properties: &str| {
            let text = format!(
                "Id=a.service\nInactiveExitTimestampMonotonic=10\nActiveEnterTimestampMonotonic=20\n{properties}"
            );
            read_units(text.as_bytes()).service_transitions.iter().map(|row| row.cpu_ns).collect::<Vec<_>>()
        };
        assert_eq!(cpu_ns("Type=oneshot\nCPUUsageNSec=1234000\n"), [Some(1_234_000)]);
        assert_eq!(cpu_ns("Type=notify\nCPUUsageNSec=1234000\n"), [None]);
        assert_eq!(cpu_ns("Type=oneshot\nCPUUsageNSec=[not set]\n"), [None]);
        assert_eq!(cpu_ns("Type=oneshot\nCPUUsageNSec=18446744073709551615\n"), [None]);
        assert_eq!(cpu_ns("Type=oneshot\n"), [None]);
    }

    #[test]
    fn reads_unit_times_and_dependencies() {
        let trace = read_units(
            b"ExecStartPre={ path=/bin/true ; argv[]=/bin/true ; ignore_errors=no ; pid=99 ; code=exited ; status=0 }\n\
              ExecStartPost={ path=/bin/true ; argv[]=/bin/true ; ignore_errors=no ; pid=0 ; code=(null) ; status=0/0 }\n\
              ExecMainPID=217\nExecStart={ path=/bin/sleep ; argv[]=/bin/sleep 6 ; ignore_errors=no ; pid=217 }\n\
              Id=slow.service\nNames=slow.service s.service\nSlice=system.slice\nResult=success\n\
              After=a.socket b.service\nBefore=late.target\nWants=c.service\nTimeoutStartUSec=1min 30s\n\
              ExecMainStartTimestampMonotonic=11\nInactiveExitTimestampMonotonic=10\n\
              ActiveEnterTimestampMonotonic=6010\nActiveExitTimestampMonotonic=0\n\n\
              Id=once.service\nResult=exit-code\nActiveState=failed\nAfter=s.service\n\
              InactiveExitTimestampMonotonic=20\nActiveEnterTimestampMonotonic=0\nInactiveEnterTimestampMonotonic=50\n\n\
              Id=never.service\nInactiveExitTimestampMonotonic=0\n\n\
              Id=graphical.target\nNames=graphical.target default.target\nInactiveExitTimestampMonotonic=70\n\
              ActiveEnterTimestampMonotonic=70\n",
        );
        let rows: Vec<_> = trace
            .service_transitions
            .iter()
            .map(|row| (trace.text(row.service).to_owned(), row.start_ns, row.checkpoint_ns, row.end_ns, row.outcome))
            .collect();
        assert_eq!(
            rows,
            [
                ("slow.service".to_owned(), 10_000, Some(11_000), Some(6_010_000), ServiceOutcome::Completed),
                ("once.service".to_owned(), 20_000, None, Some(50_000), ServiceOutcome::Failed),
                ("graphical.target".to_owned(), 70_000, None, Some(70_000), ServiceOutcome::Completed),
            ]
        );
        let processes: Vec<(&str, u32)> =
            trace.service_processes.iter().map(|row| (trace.text(row.service), row.pid)).collect();
        assert_eq!(processes, [("slow.service", 99), ("slow.service", 217)]);
        let first_row = trace.service_transitions.get(0).unwrap();
        assert_eq!(trace.text(first_row.container), "/bin/sleep 6");
        assert_eq!(first_row.timeout_ns, Some(90_000_000_000));
        let mut ordering: Vec<(&str, &str)> = trace
            .service_dependencies
            .iter()
            .filter(|row| row.kind == DependencyKind::After)
            .map(|row| (trace.text(row.service), trace.text(row.on)))
            .collect();
        ordering.sort_unstable();
        assert_eq!(
            ordering,
            [
                ("late.target", "slow.service"),
                ("once.service", "slow.service"),
                ("slow.service", "a.socket"),
                ("slow.service", "b.service"),
            ]
        );
        let reached = trace.milestones.get(0).unwrap();
        assert_eq!(trace.text(reached.detail), "graphical.target");
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_bytes(bytes: Vec<u8>, time: i64) {
            read_units(&bytes);
            let text = format!("Id=a.target\nInactiveExitTimestampMonotonic={time}\nActiveEnterTimestampMonotonic={time}\n");
            read_units(text.as_bytes());
        }
    }
}
