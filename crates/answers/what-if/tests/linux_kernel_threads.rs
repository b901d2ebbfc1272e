//! Removing a subject that waited for kernel threads on Linux.

use onoff_testkit::synthetic::{MS, as_linux, milestone, ready_threads, switches_in_ms, thread};
use onoff_trace::{Process, SystemKind, Trace, milestone as names};
use onoff_what_if::changes::ChangeError;
use onoff_what_if::prediction::{Assumption, Basis, WhatIfError};

use crate::support::{ask, without};

const KTHREADD: u32 = 2;
const SERVICE: u32 = 50;
const WAITING: (u8, u8) = (5, 0);

/// A boot in which thread [`SERVICE`] waits `wait_ms` for thread `worker`, a child of `parent`.
fn boot(kind: SystemKind, (worker, image, parent): (u32, &str, u32), wait_ms: i64) -> Trace {
    let mut trace = as_linux(Trace { duration_ns: 6_000 * MS, ..Trace::default() });
    trace.system.kind = kind;
    trace.system.processors = 1;
    milestone(&mut trace, 100 * MS, names::USER_SPACE_BEGIN, "");
    milestone(&mut trace, 4_000 * MS, names::STARTUP_FINISHED, "multi-user.target");
    for (pid, image, parent) in
        [(1, "systemd", 0), (KTHREADD, "kthreadd", 0), (SERVICE, "backupd", 1), (worker, image, parent)]
    {
        let image = trace.strings.intern(image);
        trace.processes.push(Process { parent_pid: Some(parent), image, ..Process::unknown(pid) });
        thread(&mut trace, pid, pid, None, None);
    }
    let end_ms = 1_010 + wait_ms;
    switches_in_ms(
        &mut trace,
        &[
            (150, 0, 0, (0, 0), 1),
            (1_000, 0, 1, WAITING, SERVICE),
            (1_010, 0, SERVICE, WAITING, worker),
            (end_ms, 0, worker, WAITING, SERVICE),
            (end_ms + 500, 0, SERVICE, WAITING, 1),
            (4_500, 0, 1, WAITING, 0),
        ],
    );
    ready_threads(
        &mut trace,
        &[
            (1_000 * MS, SERVICE, 1),
            (1_010 * MS, worker, SERVICE),
            (end_ms * MS, SERVICE, worker),
            ((end_ms + 500) * MS, 1, SERVICE),
        ],
    );
    trace
}

fn is_refused(trace: &Trace) -> bool {
    let answer = ask(trace, &[without("backupd")]);
    match answer {
        Err(WhatIfError::Change(ChangeError::NotPossible { reason, .. })) => {
            assert!(reason.contains("kernel threads"), "{reason}");
            true
        }
        Err(error) => panic!("{error}"),
        Ok(prediction) => {
            assert_eq!(prediction.basis, Basis::Threads);
            assert_eq!(prediction.assumptions, [Assumption::ManagerWaitsForLast]);
            false
        }
    }
}

const KERNEL_WORKER: (u32, &str, u32) = (30, "kworker/0:1", KTHREADD);

#[test]
fn refuses_a_subject_that_waited_long_for_a_kernel_thread() {
    assert!(is_refused(&boot(SystemKind::Linux, KERNEL_WORKER, 200)));
}

#[test]
fn accepts_a_subject_that_waited_briefly() {
    assert!(!is_refused(&boot(SystemKind::Linux, KERNEL_WORKER, 10)));
}

#[test]
fn accepts_a_subject_that_waited_for_a_program() {
    assert!(!is_refused(&boot(SystemKind::Linux, (60, "helperd", 1), 200)));
}
