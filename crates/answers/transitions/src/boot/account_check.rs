//! Compares the phases of a trace with Windows' own account of the same boot.
//!
//! Both measure the phases of the Microsoft paper, but not in the same way: Windows leaves the wait for a user out of
//! all sums, starts with the kernel instead of the first event, and does not document how it counts idle time. Such
//! differences are by definition. Any other difference beyond the tolerance is a disagreement; which of the two is
//! right is not known.

use onoff_evidence::Certainty;
use onoff_trace::{Trace, WindowsAccount};

use super::report::BootReport;
use crate::PhaseName;
use crate::account_comparison::{AccountComparison, ComparedTime, Pair};

/// Tolerance of PostBoot. Windows waits for more idle time than onoff does, and so counts more of the work after it.
const POST_BOOT_TOLERANCE: (i64, i64) = (5_000_000_000, 25);

/// Tolerance of the total, which contains PostBoot.
const TOTAL_TOLERANCE: (i64, i64) = (5_000_000_000, 10);

const KERNEL_START: &str = "Windows counts from the kernel's start, the trace from its first event";
const USER_WAIT: &str = "the two divide the logon and the wait for a user differently";
const EXPLORER_UNMEASURED: &str = "Windows did not measure the start of the shell; its time is part of the logon";
const WALL_TIME: &str = "Windows' PostBoot is wall time here, and onoff leaves out idle time";

/// Compares the report of a traced boot with the account of the logs that accompany the trace.
pub(super) fn compare(trace: &Trace, report: &BootReport) -> Option<AccountComparison> {
    let logs = trace.logged_account.clone()?;
    let times = logs.account.as_ref().map(|account| compared_times(report, account, logs.start_difference_ns));
    Some(AccountComparison::new(logs, times))
}

fn compared_times(
    report: &BootReport,
    account: &WindowsAccount,
    start_difference_ns: Option<i64>,
) -> Vec<ComparedTime> {
    let length = |name: PhaseName| report.phase(name).and_then(crate::Phase::duration_without_input_ns);
    let certainty = |name: PhaseName| report.phase(name).map_or(Certainty::Missing, |phase| phase.certainty);
    let certainty_of_path = [PhaseName::PreSmss, PhaseName::ExplorerInit].map(certainty);
    let certainty_of_path = certainty_of_path.into_iter().fold(Certainty::Measured, Certainty::and);
    // An earlier start makes every time that begins with it longer.
    let start_ns = start_difference_ns.unwrap_or(0).saturating_neg();
    let wait_ns = account.user_wait_ns.unwrap_or(0);
    let wait_difference_ns = wait_ns.saturating_sub(report.user_input_ns);
    // The trace may have no event of the wait, or of its exact length; the time with the wait is the same for both.
    let logon_difference_ns = wait_difference_ns.saturating_neg();
    let interval = |start_ns: Option<i64>, end_ns: Option<i64>| Some(end_ns?.saturating_sub(start_ns?));
    let shell_start_ns = account.explorer_ns.map(|explorer_ns| account.main_path_ns.saturating_sub(explorer_ns));
    let mut pairs = vec![
        Pair::new(
            "OSLoader",
            report.details.os_loader_ns,
            account.os_loader_ns,
            report.details.before_kernel.os_loader.certainty,
        ),
        Pair::new(
            PhaseName::PreSmss.as_str(),
            length(PhaseName::PreSmss),
            account.session_manager_ns,
            certainty(PhaseName::PreSmss),
        )
        .or_by_definition(start_ns, KERNEL_START),
        Pair::new(
            PhaseName::SmssInit.as_str(),
            length(PhaseName::SmssInit),
            interval(account.session_manager_ns, account.logon_process_ns),
            certainty(PhaseName::SmssInit),
        ),
    ];
    if account.explorer_ns.is_some() {
        pairs.push(
            Pair::new(
                PhaseName::WinLogonInit.as_str(),
                length(PhaseName::WinLogonInit),
                interval(account.logon_process_ns, shell_start_ns),
                certainty(PhaseName::WinLogonInit),
            )
            .or_by_definition(logon_difference_ns, USER_WAIT),
        );
        pairs.push(Pair::new(
            PhaseName::ExplorerInit.as_str(),
            length(PhaseName::ExplorerInit),
            account.explorer_ns,
            certainty(PhaseName::ExplorerInit),
        ));
    } else {
        let both = length(PhaseName::WinLogonInit).zip(length(PhaseName::ExplorerInit));
        let pair = Pair::new(
            "WinLogonInit and ExplorerInit",
            both.map(|(logon_ns, shell_ns)| logon_ns.saturating_add(shell_ns)),
            interval(account.logon_process_ns, Some(account.main_path_ns)),
            certainty(PhaseName::WinLogonInit).and(certainty(PhaseName::ExplorerInit)),
        );
        pairs.push(pair.or_by_definition(logon_difference_ns, USER_WAIT));
        pairs.push(Pair {
            incomparable: Some(EXPLORER_UNMEASURED),
            ..Pair::new(
                PhaseName::ExplorerInit.as_str(),
                length(PhaseName::ExplorerInit),
                None,
                certainty(PhaseName::ExplorerInit),
            )
        });
    }
    let logon_excess_ns = pairs
        .iter()
        .filter(|pair| pair.name.starts_with(PhaseName::WinLogonInit.as_str()))
        .find_map(|pair| Some(pair.windows_ns?.saturating_sub(pair.trace_ns?)));
    if wait_ns > 0 || report.user_input_ns > 0 {
        let pair = Pair::new(
            "wait for a user",
            Some(report.user_input_ns),
            account.user_wait_ns,
            certainty(PhaseName::WinLogonInit),
        );
        // A longer wait is explained only by a logon that is shorter by as much.
        pairs.push(match logon_excess_ns {
            Some(ns) => pair.or_by_definition(ns.saturating_neg(), USER_WAIT),
            None => pair,
        });
    }
    let with_start_and_wait = |pair: Pair| {
        pair.or_by_definition(start_ns, KERNEL_START)
            .or_by_definition(logon_difference_ns, USER_WAIT)
            .or_by_definition(start_ns.saturating_add(logon_difference_ns), USER_WAIT)
    };
    pairs.push(with_start_and_wait(Pair::new(
        "MainPathBoot",
        report.main_path_ns(),
        Some(account.main_path_ns),
        certainty_of_path,
    )));
    // The work after the desktop is complete only if the computer became idle.
    let work_ns = report.settled().and(report.work_after_ns());
    let incomparable = (!account.is_post_boot_without_idle).then_some(WALL_TIME);
    pairs.push(Pair {
        tolerance: POST_BOOT_TOLERANCE,
        incomparable,
        ..Pair::new(PhaseName::PostBoot.as_str(), work_ns, Some(account.post_boot_ns), certainty(PhaseName::PostBoot))
    });
    pairs.push(Pair {
        tolerance: TOTAL_TOLERANCE,
        incomparable,
        ..with_start_and_wait(Pair::new("total", report.total_ns, Some(account.boot_ns), report.total_certainty))
    });
    pairs.into_iter().filter(|pair| pair.trace_ns.is_some() || pair.windows_ns.is_some()).map(Pair::compare).collect()
}
