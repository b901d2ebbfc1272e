//! Plans the steps of a job from its settings and the computer's capabilities.

use crate::capabilities::Capabilities;
use crate::check;
use crate::error::Error;
use crate::job::{Job, Transition};
use crate::loader;
use crate::step::{Step, Undo};
use crate::tracing;

/// Copy of the program for the duration of a job: the original may be unavailable after a restart.
pub const PROGRAM: &str = "/usr/local/sbin/onoff-record";
/// The service that continues the job after a restart.
pub const SERVICE: &str = "/etc/systemd/system/onoff-record.service";
/// The hook that systemd runs at the end of a shutdown.
pub const HOOK: &str = "/usr/lib/systemd/system-shutdown/onoff-record";

/// The steps of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Performed once, before the first run; undone at the end, in reverse order.
    pub prepare: Vec<Step>,
    /// Performed before each restart.
    pub before_restart: Option<Step>,
    /// Performed before each recorded shutdown or sleep: configures the kernel's trace.
    pub arm: Option<Step>,
}

/// Plans a job. Fails if it cannot be done on this computer.
pub fn plan(job: &Job, capabilities: &Capabilities, program: &str, id: &str) -> Result<Plan, Error> {
    check::refuse(job, capabilities, None)?;
    let mut prepare = Vec::new();
    if job.transition.restarts() {
        prepare.extend(service_steps(program, &capabilities.default_target));
    }
    if let (true, Some(staging)) = (job.transition.records_shutdown(), &capabilities.staging) {
        prepare.push(Step::File {
            path: HOOK.to_owned(),
            what: "shutdown hook that collects the recording".to_owned(),
            contents: format!("#!/bin/sh\nexec {PROGRAM} record --shutdown-hook \"$1\" --staging {staging}\n"),
            mode: 0o755,
        });
    }
    if job.transition.records_boot() {
        prepare.extend(loader::steps(job, capabilities, id)?);
    }
    let needs_arming = job.transition != Transition::Boot;
    Ok(Plan {
        prepare,
        before_restart: job.transition.records_boot().then(|| loader::before_restart(job, capabilities)).flatten(),
        arm: needs_arming.then(|| tracing::arm(job, capabilities)).flatten(),
    })
}

impl Plan {
    /// Describes the plan, one sentence per step, in order.
    #[must_use]
    pub fn describe(&self, job: &Job) -> Vec<String> {
        let mut sentences: Vec<String> = self.prepare.iter().map(Step::describe).collect();
        sentences.push(match job.train {
            0 => format!("Repeat {}:", times(job.runs)),
            train => format!("Repeat {} for training, then {} with recording:", times(train), times(job.runs)),
        });
        let mut nested = Vec::new();
        nested.extend(self.before_restart.iter().map(Step::describe));
        nested.extend(self.arm.iter().map(Step::describe));
        let wait = match job.post_delay_s {
            Some(seconds) => format!("wait {seconds} s"),
            None => "wait until the computer is idle".to_owned(),
        };
        let number = "N";
        let out = job.out.trim_end_matches('/');
        match job.transition {
            Transition::Suspend | Transition::Hibernate => {
                let wake = job
                    .wake_after_s
                    .map_or_else(String::new, |seconds| format!(" and wake it after {seconds} s (RTC alarm)"));
                nested.push(format!("Put the computer to sleep{wake}"));
                nested.push(format!(
                    "After the resume, {wait} and write {out}/{}-{number}.tar.gz",
                    job.transition.name()
                ));
            }
            Transition::Boot | Transition::Shutdown | Transition::RebootCycle => {
                nested.push("Restart the computer immediately (unsaved work is lost)".to_owned());
                if job.transition.records_shutdown() {
                    nested.push("After all processes have ended, save the trace and the logs".to_owned());
                }
                nested.push(format!("After the boot, {wait}"));
                for (is_recorded, kind) in
                    [(job.transition.records_shutdown(), "shutdown"), (job.transition.records_boot(), "boot")]
                {
                    if is_recorded {
                        nested.push(format!("Write {out}/{kind}-{number}.tar.gz"));
                    }
                }
            }
        }
        sentences.extend(nested.into_iter().map(|sentence| format!("    {sentence}")));
        sentences.push("Undo all changes".to_owned());
        if self.before_restart.is_some() {
            sentences.push(
                "If the recorded kernel hangs, turn the computer off and on: the entry is used only once, so the computer boots normally. \
                 Then run 'sudo onoff record --restore' to undo the changes"
                    .to_owned(),
            );
        }
        sentences
    }
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Returns the steps that install the program and the service that continues after a restart.
fn service_steps(program: &str, target: &str) -> Vec<Step> {
    let wants_folder = format!("/etc/systemd/system/{target}.wants");
    let reload = Undo::run(&["systemctl", "daemon-reload"]);
    vec![
        Step::Copy { from: program.to_owned(), to: PROGRAM.to_owned(), what: "this program".to_owned(), mode: 0o755 },
        Step::Command { what: "removes the service from systemd".to_owned(), line: None, undo: Some(reload) },
        Step::File {
            path: SERVICE.to_owned(),
            what: "service that continues after a restart".to_owned(),
            contents: service_unit(target),
            mode: 0o644,
        },
        Step::Folder { path: wants_folder.clone() },
        Step::Link { path: format!("{wants_folder}/onoff-record.service"), target: SERVICE.to_owned() },
    ]
}

fn service_unit(target: &str) -> String {
    format!(
        "# Written by 'onoff record'; 'onoff record --restore' removes it.\n\
         [Unit]\n\
         Description=Continue recording this computer's boots and shutdowns\n\
         # After the boot it measures, so as not to be part of it.\n\
         After={target} graphical.target\n\
         \n\
         [Service]\n\
         Type=simple\n\
         ExecStart={PROGRAM} record --resume\n\
         StandardOutput=journal+console\n\
         StandardError=journal+console\n"
    )
}
