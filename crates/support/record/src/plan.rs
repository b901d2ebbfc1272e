//! The steps of a job, from what is wanted and what is offered.

use crate::capabilities::Offer;
use crate::check;
use crate::error::Error;
use crate::job::{Job, Transition};
use crate::loader;
use crate::step::{Step, Undo};
use crate::tracing;

/// Where the program lies while a job runs: where it was started from may be gone after a restart.
pub const PROGRAM: &str = "/usr/local/sbin/onoff-record";
/// The service that goes on after a restart.
pub const SERVICE: &str = "/etc/systemd/system/onoff-record.service";
/// What systemd runs when all else has ended.
pub const HOOK: &str = "/usr/lib/systemd/system-shutdown/onoff-record";

/// What will be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Once, before the first run; undone at the end, from the last to the first.
    pub prepare: Vec<Step>,
    /// Before each restart.
    pub before_restart: Option<Step>,
    /// Before each shutdown or sleep that is recorded: the kernel is made to trace.
    pub arm: Option<Step>,
}

/// Makes the plan, or says what keeps the job from being done.
pub fn plan(job: &Job, offer: &Offer, program: &str, id: &str) -> Result<Plan, Error> {
    check::refuse(job, offer, None)?;
    let mut prepare = Vec::new();
    if job.transition.restarts() {
        prepare.extend(service(program, &offer.default_target));
    }
    if let (true, Some(staging)) = (job.transition.records_shutdown(), &offer.staging) {
        prepare.push(Step::File {
            path: HOOK.to_owned(),
            what: "what collects the recording of a shutdown".to_owned(),
            contents: format!("#!/bin/sh\nexec {PROGRAM} record --shutdown-hook \"$1\" --staging {staging}\n"),
            mode: 0o755,
        });
    }
    if job.transition.records_boot() {
        prepare.extend(loader::steps(job, offer, id)?);
    }
    let arms = job.transition != Transition::Boot;
    Ok(Plan {
        prepare,
        before_restart: job.transition.records_boot().then(|| loader::before_restart(job, offer)).flatten(),
        arm: arms.then(|| tracing::arm(job, offer)).flatten(),
    })
}

impl Plan {
    /// The plan as sentences, in the order in which things happen.
    #[must_use]
    pub fn sentences(&self, job: &Job) -> Vec<String> {
        let mut sentences: Vec<String> = self.prepare.iter().map(Step::sentence).collect();
        sentences.push(match job.train {
            0 => format!("Do this {}:", times(job.runs)),
            train => format!("Do this {} for training, then {} recorded:", times(train), times(job.runs)),
        });
        let mut nested = Vec::new();
        nested.extend(self.before_restart.iter().map(Step::sentence));
        nested.extend(self.arm.iter().map(Step::sentence));
        let wait = match job.post_delay_s {
            Some(seconds) => format!("wait {seconds} s"),
            None => "wait until the computer has settled".to_owned(),
        };
        let number = "N";
        let out = job.out.trim_end_matches('/');
        match job.transition {
            Transition::Suspend | Transition::Hibernate => {
                let wake = job
                    .wake_after_s
                    .map_or_else(String::new, |seconds| format!(", to be woken by its clock after {seconds} s"));
                nested.push(format!("Send the computer to sleep{wake}"));
                nested.push(format!("Awake, {wait} and write {out}/{}-{number}.tar.gz", job.transition.word()));
            }
            Transition::Boot | Transition::Shutdown | Transition::RebootCycle => {
                nested.push("Restart the computer at once: what is open and not saved is lost".to_owned());
                if job.transition.records_shutdown() {
                    nested.push("When all processes have ended, keep the trace and the logs".to_owned());
                }
                nested.push(format!("After the boot, {wait}"));
                for (recorded, kind) in
                    [(job.transition.records_shutdown(), "shutdown"), (job.transition.records_boot(), "boot")]
                {
                    if recorded {
                        nested.push(format!("Write {out}/{kind}-{number}.tar.gz"));
                    }
                }
            }
        }
        sentences.extend(nested.into_iter().map(|sentence| format!("    {sentence}")));
        sentences.push("Put everything back".to_owned());
        if self.before_restart.is_some() {
            sentences.push(
                "If the recorded kernel hangs, switch the computer off and on: the entry is taken once, so it starts as always; \
                 'sudo onoff record --restore' then removes what was added"
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

/// The program and the service that goes on after a restart.
fn service(program: &str, target: &str) -> Vec<Step> {
    let wants = format!("/etc/systemd/system/{target}.wants");
    let reload = Undo::run(&["systemctl", "daemon-reload"]);
    vec![
        Step::Copy { from: program.to_owned(), to: PROGRAM.to_owned(), what: "this program".to_owned(), mode: 0o755 },
        Step::Command { what: "systemd forgets the service".to_owned(), line: None, undo: Some(reload) },
        Step::File {
            path: SERVICE.to_owned(),
            what: "the service that goes on after a restart".to_owned(),
            contents: unit(target),
            mode: 0o644,
        },
        Step::Folder { path: wants.clone() },
        Step::Link { path: format!("{wants}/onoff-record.service"), target: SERVICE.to_owned() },
    ]
}

fn unit(target: &str) -> String {
    format!(
        "# Written by 'onoff record'; 'onoff record --restore' removes it.\n\
         [Unit]\n\
         Description=Goes on with a recording of this computer turning on and off\n\
         # After what it measures, so that it is not part of it.\n\
         After={target} graphical.target\n\
         \n\
         [Service]\n\
         Type=simple\n\
         ExecStart={PROGRAM} record --resume\n\
         StandardOutput=journal+console\n\
         StandardError=journal+console\n"
    )
}
