//! Programs that start with the session: which processes they became, and what those cost.

use std::cmp::Reverse;

use onoff_trace::{ActivityKind, Process, Trace};

use super::report::{Phase, StartupApplication, StartupApplications};
use crate::activity::{Work, of_kind};
use crate::owners::file_name;

/// The programs that the shell started from its lists, the costliest first.
pub(super) fn startup_applications(trace: &Trace, phases: &[Phase]) -> StartupApplications {
    let mut programs: Vec<StartupApplication> = of_kind(trace, ActivityKind::StartupApplication)
        .into_iter()
        .map(|work| program(trace, phases, work))
        .collect();
    programs.sort_by_key(|program| {
        let cost = |ns: Option<i64>| ns.unwrap_or(0);
        (
            Reverse(cost(program.cpu_ns).saturating_add(cost(program.disk_service_ns))),
            program.start_ns,
        )
    });
    StartupApplications {
        programs,
        lists: of_kind(trace, ActivityKind::StartupEnumeration),
    }
}

fn program(trace: &Trace, phases: &[Phase], work: Work) -> StartupApplication {
    let process = started_process(trace, &work);
    let pid = process.map(|process| process.pid);
    let image = process
        .map(|process| file_name(trace.text(process.image)).to_owned())
        .unwrap_or_default();
    let sum = |of_phase: &dyn Fn(&Phase) -> Option<i64>| -> Option<i64> {
        pid?;
        phases
            .iter()
            .filter_map(of_phase)
            .reduce(i64::saturating_add)
    };
    let cpu_ns = sum(&|phase| {
        let usage = phase.cpu.as_ref()?;
        let row = usage.by_process.iter();
        Some(
            row.filter(|row| row.pid == pid && row.image == image)
                .map(|row| row.cpu_ns)
                .sum(),
        )
    });
    let disk_service_ns = sum(&|phase| {
        let usage = phase.disk.as_ref()?;
        let row = usage.by_process.iter();
        Some(
            row.filter(|row| row.pid == pid && row.image == image)
                .map(|row| row.service_ns)
                .sum(),
        )
    });
    StartupApplication {
        name: work.name,
        start_ns: work.start_ns,
        end_ns: work.end_ns,
        duration_ns: work.duration_ns,
        process_pid: pid,
        image,
        process_end_ns: process.and_then(|process| process.end_ns),
        cpu_ns,
        disk_service_ns,
        event: work.event,
    }
}

/// The process that the shell created while it started the program; of several, the one that the command names.
fn started_process(trace: &Trace, work: &Work) -> Option<Process> {
    let shell = work.pid?;
    let end = work.end_ns?;
    let command = work.name.to_lowercase();
    trace
        .processes
        .iter()
        .filter(|process| process.parent_pid == Some(shell))
        .filter(|process| {
            process
                .start_ns
                .is_some_and(|start| (work.start_ns..=end).contains(&start))
        })
        .min_by_key(|process| {
            let image = file_name(trace.text(process.image)).to_lowercase();
            (!command.contains(&image), process.start_ns)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{MS, activity, process};
    use crate::transition::boot::{BootOptions, analyse};
    use onoff_trace::{Activity, milestone};

    #[test]
    fn a_program_is_found_by_who_created_it_and_when() {
        let mut trace = Trace::default();
        crate::hand_made::milestone(&mut trace, 0, milestone::SYSTEM_START, "");
        let kind = ActivityKind::StartupApplication;
        activity(
            &mut trace,
            kind,
            r#""C:\Cloud\Box.exe" /startup"#,
            100 * MS,
            Some(200 * MS),
        );
        activity(&mut trace, kind, "gone.exe", 300 * MS, Some(310 * MS));
        // The hand-made processes are created by process 4: so let that be the shell.
        trace.activities = trace
            .activities
            .iter()
            .map(|row| Activity {
                pid: Some(4),
                ..row
            })
            .collect();
        process(&mut trace, 50, "other.exe", Some(120 * MS), None);
        process(&mut trace, 54, "box.exe", Some(150 * MS), Some(900 * MS));
        process(&mut trace, 58, "box.exe", Some(250 * MS), None);
        let report = analyse(&trace, &BootOptions::default()).unwrap();
        let programs = report.startup_applications.programs;
        let found: Vec<_> = programs
            .iter()
            .map(|program| (program.process_pid, program.image.as_str()))
            .collect();
        assert_eq!(found, [(Some(54), "box.exe"), (None, "")]);
        assert_eq!(programs[0].process_end_ns, Some(900 * MS));
        assert_eq!(programs[0].cpu_ns, None);
    }
}
