//! What rules look at: a transition's analysis, the recording, and what of its time was on the path.

use onoff_blame::waits::{StepKind, Waits};
use onoff_evidence::missing_evidence::{Lacking, Unanswered};
use onoff_trace::{TableName, Trace};
use onoff_transitions::boot::BootReport;
use onoff_transitions::linux::boot::LinuxBootReport;
use onoff_transitions::shutdown::ShutdownReport;
use onoff_transitions::suspend::PowerTransition;
use onoff_transitions::{MissingEvidence, Phase, PhaseName};
use onoff_usage::processes::Images;
use onoff_usage::units::Unit;

use crate::cost::{Cost, Stretch};
use crate::not_checked::NotChecked;
use crate::path::{MainPath, Step};
use crate::quantities::time;
use crate::thresholds;
use onoff_evidence::interval::covered_ns;

/// A boot, as rules see it.
#[derive(Debug)]
pub struct BootFacts<'a> {
    /// The recording.
    pub trace: &'a Trace,
    /// Its analysis.
    pub report: &'a BootReport,
    /// Image file name of the user's shell.
    pub shell: &'a str,
    /// The path it really took; `None` when the recording holds no chains of waits.
    pub path: Option<MainPath>,
    /// Who is who.
    pub images: Images<'a>,
}

/// A boot of Linux, as rules see it.
#[derive(Debug)]
pub struct LinuxBootFacts<'a> {
    /// The recording.
    pub trace: &'a Trace,
    /// Its analysis.
    pub report: &'a LinuxBootReport,
}

/// A shutdown, as rules see it.
#[derive(Debug)]
pub struct ShutdownFacts<'a> {
    /// The recording.
    pub trace: &'a Trace,
    /// Its analysis.
    pub report: &'a ShutdownReport,
    /// Who is who.
    pub images: Images<'a>,
}

/// The power transitions of a recording, as rules see them.
#[derive(Debug)]
pub struct SuspendFacts<'a> {
    /// The recording.
    pub trace: &'a Trace,
    /// What the recording lacked for them.
    pub lacking: &'a Lacking,
}

impl<'a> BootFacts<'a> {
    /// The boot of `report`, which is that of `trace`, whose waits are `waits`.
    #[must_use]
    pub fn new(trace: &'a Trace, waits: &Waits<'_>, report: &'a BootReport, shell: &'a str) -> Self {
        Self { trace, report, shell, path: MainPath::of(waits, trace, report), images: Images::of(trace) }
    }

    /// The main path, from the kernel's start to the desktop; up to the last known phase where there is no desktop.
    #[must_use]
    pub fn main_path(&self) -> Stretch {
        let span = &self.report.details.main_path_boot;
        let start = span.start_ns.unwrap_or(0);
        let last_known = self
            .report
            .phases
            .iter()
            .filter(|phase| phase.name < PhaseName::PostBoot)
            .filter_map(|phase| phase.end_ns)
            .max();
        (start, span.end_ns.or(last_known).unwrap_or(start))
    }

    /// A phase that has both ends.
    #[must_use]
    pub fn phase(&self, name: PhaseName) -> Option<(&'a Phase, Stretch)> {
        let phase = self.report.phase(name)?;
        Some((phase, (phase.start_ns?, phase.end_ns?)))
    }

    /// PostBoot as far as it was recorded, with when that was.
    #[must_use]
    pub fn post_boot(&self) -> Option<(&'a Phase, Stretch)> {
        let phase = self.report.phase(PhaseName::PostBoot)?;
        let end = phase.end_ns.unwrap_or(self.trace.duration_ns);
        Some((phase, (phase.start_ns?, end)))
    }

    /// What work in these intervals cost the main path.
    #[must_use]
    pub fn cost(&self, intervals: Vec<Stretch>) -> Cost {
        Cost::at_most(covered_ns(intervals, self.main_path()))
    }

    /// What operations on devices in these intervals cost the main path: those that threads of `tids` did.
    #[must_use]
    pub fn device_cost(&self, intervals: Vec<Stretch>, tids: &[u32]) -> Cost {
        match &self.path {
            Some(path) if !tids.is_empty() => {
                path.cost(&self.on_main_path(&intervals), |step| step.tids.iter().any(|tid| tids.contains(tid)))
            }
            _ => self.cost(intervals),
        }
    }

    /// What work of a program of the system cost the main path: where the path was in that program, or in what it waited for.
    #[must_use]
    pub fn program_cost(&self, image: &str, interval: Stretch) -> Cost {
        let Some(path) = &self.path else { return self.cost(vec![interval]) };
        path.cost(&self.on_main_path(&[interval]), |step| {
            step.pids.iter().any(|&pid| {
                let own = self.images.at(pid, step.when.1);
                own.is_some_and(|own| own.eq_ignore_ascii_case(image))
            })
        })
    }

    /// What the start of a service cost the main path: its process, what that waited for, and making its container.
    #[must_use]
    pub fn service_cost(&self, service: &Unit) -> Cost {
        let end = service.end_ns.unwrap_or(self.trace.duration_ns);
        let whole = vec![(service.start_ns, end)];
        let (Some(path), Some(pid)) = (&self.path, service.pid) else { return self.cost(whole) };
        let contained = service.checkpoint_ns.unwrap_or(service.start_ns);
        path.cost(&self.on_main_path(&whole), |step| {
            step.pids.contains(&pid)
                || (step.when.1 <= contained
                    && step.pid.is_some_and(|pid| {
                        let image = self.images.at(pid, step.when.1);
                        image.is_some_and(|image| image.eq_ignore_ascii_case("services.exe"))
                    }))
        })
    }

    /// What the path did while a service started, by who did it: what the service did, or what it waited for.
    #[must_use]
    pub fn doings_of_service(&self, service: &Unit) -> Vec<String> {
        let (Some(path), Some(pid), Some(end)) = (&self.path, service.pid, service.end_ns) else { return Vec::new() };
        path.doings((service.start_ns, end), |step| step.pids.contains(&pid))
            .into_iter()
            .filter(|doing| doing.ns >= thresholds::NOISE_NS)
            .take(2)
            .map(|doing| {
                let image = doing.pid.and_then(|pid| self.images.at(pid, end));
                let did = match doing.kind {
                    StepKind::Cpu => "computes for",
                    StepKind::Ready => "waits for a processor for",
                    StepKind::Disk => "waits for the disk for",
                    StepKind::Timer if doing.is_sleep => "sleeps for",
                    StepKind::Timer => "waits until a timer ends it, for",
                    StepKind::Device => "waits for a device for",
                    StepKind::ServiceDependency => "is waited for with its service for",
                    StepKind::Other => "waits, nothing says for what, for",
                };
                let who = image.unwrap_or("a process");
                format!("what the boot waits for meanwhile: {who} {did} {}", time(doing.ns))
            })
            .collect()
    }

    /// What a process cost the main path within `window`, where that may be `at_most_ns`: what it did there, and at most
    /// the time for which others had no processor.
    #[must_use]
    pub fn process_cost(&self, pid: Option<u32>, window: Stretch, at_most_ns: i64) -> Cost {
        self.processes_cost(pid.as_slice(), window, &[StepKind::Ready], at_most_ns)
    }

    /// What processes cost the main path within `window`, where that may be `at_most_ns`: what they did there, and at most
    /// the time of others of these kinds.
    #[must_use]
    pub fn processes_cost(&self, pids: &[u32], window: Stretch, held: &[StepKind], at_most_ns: i64) -> Cost {
        let Some(path) = &self.path else { return Cost::at_most(at_most_ns) };
        let is_its = |step: &Step| step.pid.is_some_and(|pid| pids.contains(&pid));
        let own = path.time(window, |step| is_its(step) && step.kind != StepKind::Timer);
        let others = path.time(window, |step| !is_its(step) && (step.is_unknown || held.contains(&step.kind)));
        if others < thresholds::NOISE_NS {
            Cost::on_path(own.min(at_most_ns))
        } else {
            Cost::at_most(own.saturating_add(others).min(at_most_ns))
        }
    }

    /// The intervals as far as they lie on the main path.
    fn on_main_path(&self, intervals: &[Stretch]) -> Vec<Stretch> {
        let (from, to) = self.main_path();
        intervals.iter().map(|&(start, end)| (start.max(from), end.min(to))).collect()
    }

    /// Processor and disk time of a process in the phases before the desktop, ns.
    #[must_use]
    pub fn main_path_use(&self, pid: u32) -> i64 {
        let phases = || self.report.phases.iter().filter(|phase| phase.name < PhaseName::PostBoot);
        let cpu = phases()
            .filter_map(|phase| phase.cpu.as_ref())
            .flat_map(|cpu| &cpu.by_process)
            .filter(|row| row.pid == Some(pid))
            .map(|row| row.cpu_ns);
        let disk = phases()
            .filter_map(|phase| phase.disk.as_ref())
            .flat_map(|disk| &disk.by_process)
            .filter(|row| row.pid == Some(pid))
            .map(|row| row.service_ns);
        cpu.chain(disk).fold(0, i64::saturating_add)
    }

    /// That a provider was recorded.
    ///
    /// # Errors
    /// It was not.
    pub fn needs(&self, provider: &str) -> Result<(), NotChecked> {
        provider_recorded(&self.report.lacking, provider)
    }

    /// That a flag of the kernel's logger was on.
    ///
    /// # Errors
    /// It was not.
    pub fn needs_kernel(&self, flag: &str) -> Result<(), NotChecked> {
        kernel_recorded(&self.report.lacking, flag)
    }

    /// That processor times by process were recorded.
    ///
    /// # Errors
    /// Neither switches nor samples were.
    pub fn needs_processors(&self) -> Result<(), NotChecked> {
        if self.report.phases.iter().any(|phase| phase.cpu.is_some()) { Ok(()) } else { self.needs_kernel("CSWITCH") }
    }
}

impl LinuxBootFacts<'_> {
    /// What work from one time to another cost the start, from the kernel's begin until every job is done.
    #[must_use]
    pub fn cost(&self, own: Stretch) -> Cost {
        let end = self.report.phase(PhaseName::UserSpace).and_then(|phase| phase.end_ns);
        Cost::at_most(covered_ns(vec![own], (0, end.unwrap_or(i64::MAX))))
    }
}

impl<'a> ShutdownFacts<'a> {
    /// The shutdown of `report`, which is that of `trace`.
    #[must_use]
    pub fn new(trace: &'a Trace, report: &'a ShutdownReport) -> Self {
        Self { trace, report, images: Images::of(trace) }
    }

    /// From its begin to its end, or to the recording's.
    #[must_use]
    pub fn window(&self) -> Stretch {
        let start = self.report.details.starts.time_ns.unwrap_or(0);
        let end = self.report.details.ends.time_ns.unwrap_or(self.trace.duration_ns);
        (start, end)
    }

    /// What work from one time to another cost the shutdown. A shutdown waits for everybody who was told: while nobody else is
    /// still to answer, the time is all its own.
    #[must_use]
    pub fn cost(&self, own: Stretch) -> Cost {
        let window = self.window();
        let whole = covered_ns(vec![own], window);
        let others: Vec<Stretch> = self
            .told()
            .into_iter()
            // One that never answered ends later here than where it was given up.
            .filter(|other| other.0 != own.0)
            .map(|(start, end)| (start.max(own.0), end.min(own.1)))
            .collect();
        let alone = whole.saturating_sub(covered_ns(others, window));
        if whole.saturating_sub(alone) < thresholds::NOISE_NS { Cost::on_path(alone) } else { Cost::at_most(whole) }
    }

    /// Everybody who was told or run, from the begin to the answer; those that wait for others are left out.
    fn told(&self) -> Vec<Stretch> {
        let until = |end: Option<i64>| end.unwrap_or(self.trace.duration_ns);
        let report = self.report;
        let applications = report
            .details
            .sessions
            .iter()
            .flat_map(|session| &session.applications)
            .filter(|one| !waits_for_others(&one.name))
            .map(|one| (one.start_ns, until(one.end_ns)));
        let services = report.units.iter().map(|one| (one.start_ns, until(one.end_ns)));
        let scripts = report.details.scripts.iter().map(|one| (one.start_ns, until(one.end_ns)));
        applications.chain(services).chain(scripts).collect()
    }

    /// That a provider was recorded.
    ///
    /// # Errors
    /// It was not.
    pub fn needs(&self, provider: &str) -> Result<(), NotChecked> {
        provider_recorded(&self.report.lacking, provider)
    }

    /// That a flag of the kernel's logger was on.
    ///
    /// # Errors
    /// It was not.
    pub fn needs_kernel(&self, flag: &str) -> Result<(), NotChecked> {
        kernel_recorded(&self.report.lacking, flag)
    }
}

/// Whether a process that is told of a shutdown answers only when others have: parts of the system.
pub(crate) fn waits_for_others(image: &str) -> bool {
    ["services.exe", "csrss.exe", "winlogon.exe", "wininit.exe"].iter().any(|name| name.eq_ignore_ascii_case(image))
}

impl SuspendFacts<'_> {
    /// That the kernel told of applications, services and devices.
    ///
    /// # Errors
    /// It did not.
    pub fn needs_power(&self) -> Result<(), NotChecked> {
        provider_recorded(self.lacking, "Microsoft-Windows-Kernel-Power")
    }

    /// The way up of a transition, ns.
    #[must_use]
    pub fn resume(transition: &PowerTransition) -> Option<Stretch> {
        let span = &transition.details.resume.measured;
        Some((span.start_ns?, span.end_ns?))
    }
}

fn provider_recorded(lacking: &Lacking, provider: &str) -> Result<(), NotChecked> {
    missing(lacking, |item| item.provider == provider)
}

fn kernel_recorded(lacking: &Lacking, flag: &str) -> Result<(), NotChecked> {
    missing(lacking, |item| item.kernel_flags.iter().any(|one| one == flag))
}

fn missing(lacking: &Lacking, is_asked: impl Fn(&MissingEvidence) -> bool) -> Result<(), NotChecked> {
    let lacking: Vec<MissingEvidence> = lacking.items.iter().filter(|item| is_asked(item)).cloned().collect();
    if lacking.is_empty() { Ok(()) } else { Err(NotChecked { lacking, needs: "" }) }
}

/// What a rule lacks that no question of a transition asks for: flags of the kernel's logger.
#[must_use]
pub fn lacks_kernel(unanswered: Unanswered, flags: &[&str]) -> NotChecked {
    NotChecked { lacking: vec![MissingEvidence::of_kernel_logger(unanswered, flags)], needs: "" }
}

/// What a rule lacks that no event tells.
#[must_use]
pub fn lacks_other(needs: &'static str) -> NotChecked {
    NotChecked { lacking: Vec::new(), needs }
}

/// That interrupts and deferred procedure calls were recorded.
///
/// # Errors
/// They were not.
pub fn needs_interrupts(trace: &Trace) -> Result<(), NotChecked> {
    if trace.interrupts.is_empty() && trace.wanted.contains(TableName::Interrupts) {
        return Err(lacks_kernel(Unanswered::DeferredProcedureCalls, &["DPC", "INTERRUPT"]));
    }
    Ok(())
}
