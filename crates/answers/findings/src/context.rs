//! The facts rules check: the analysis of a transition, the recording, and the critical path.

use onoff_blame::waits::{StepKind, Waits};
use onoff_evidence::missing_evidence::{MissingEvidence, UnknownFact};
use onoff_trace::{TableName, Trace};
use onoff_transitions::boot::BootReport;
use onoff_transitions::linux::boot::LinuxBootReport;
use onoff_transitions::shutdown::ShutdownReport;
use onoff_transitions::suspend::PowerTransition;
use onoff_transitions::{MissingSource, Phase, PhaseName};
use onoff_usage::processes::Images;
use onoff_usage::units::Unit;

use crate::cost::{Cost, Interval};
use crate::missing_input::MissingInput;
use crate::path::{CriticalPath, Step};
use crate::quantities::time;
use crate::thresholds;
use onoff_evidence::interval::covered_ns;

/// A Windows boot.
#[derive(Debug)]
pub struct BootFacts<'a> {
    pub trace: &'a Trace,
    pub report: &'a BootReport,
    /// Image file name of the user's shell.
    pub shell: &'a str,
    /// The critical path; `None` if the recording has no context switches or ready threads.
    pub path: Option<CriticalPath>,
    /// Process images by process id and time.
    pub images: Images<'a>,
}

/// A Linux boot.
#[derive(Debug)]
pub struct LinuxBootFacts<'a> {
    pub trace: &'a Trace,
    pub report: &'a LinuxBootReport,
}

/// A Windows shutdown.
#[derive(Debug)]
pub struct ShutdownFacts<'a> {
    pub trace: &'a Trace,
    pub report: &'a ShutdownReport,
    /// Process images by process id and time.
    pub images: Images<'a>,
}

/// The Windows power transitions of a recording.
#[derive(Debug)]
pub struct SuspendFacts<'a> {
    pub trace: &'a Trace,
    pub missing_evidence: &'a MissingEvidence,
}

impl<'a> BootFacts<'a> {
    #[must_use]
    pub fn new(trace: &'a Trace, waits: &Waits<'_>, report: &'a BootReport, shell: &'a str) -> Self {
        Self { trace, report, shell, path: CriticalPath::from_waits(waits, trace, report), images: Images::new(trace) }
    }

    /// The main path: from the kernel start to the desktop, or to the end of the last known phase if there is no
    /// desktop.
    #[must_use]
    pub fn main_path(&self) -> Interval {
        let main_path = &self.report.details.main_path_boot;
        let start = main_path.start_ns.unwrap_or(0);
        let last_known = self
            .report
            .phases
            .iter()
            .filter(|phase| phase.name < PhaseName::PostBoot)
            .filter_map(|phase| phase.end_ns)
            .max();
        (start, main_path.end_ns.or(last_known).unwrap_or(start))
    }

    /// Returns the phase if both its start and its end are known.
    #[must_use]
    pub fn phase(&self, name: PhaseName) -> Option<(&'a Phase, Interval)> {
        let phase = self.report.phase(name)?;
        Some((phase, (phase.start_ns?, phase.end_ns?)))
    }

    /// PostBoot with its interval, which ends with the recording if its end is unknown.
    #[must_use]
    pub fn post_boot(&self) -> Option<(&'a Phase, Interval)> {
        let phase = self.report.phase(PhaseName::PostBoot)?;
        let end = phase.end_ns.unwrap_or(self.trace.duration_ns);
        Some((phase, (phase.start_ns?, end)))
    }

    /// Upper bound of what work in these intervals cost the main path.
    #[must_use]
    pub fn cost(&self, intervals: Vec<Interval>) -> Cost {
        Cost::at_most(covered_ns(intervals, self.main_path()))
    }

    /// Cost of device operations of these threads in these intervals.
    #[must_use]
    pub fn device_cost(&self, intervals: Vec<Interval>, tids: &[u32]) -> Cost {
        match &self.path {
            Some(path) if !tids.is_empty() => {
                path.cost(&self.clip_to_main_path(&intervals), |step| step.tids.iter().any(|tid| tids.contains(tid)))
            }
            _ => self.cost(intervals),
        }
    }

    /// Cost of a system program in the interval: its time on the critical path, including what it waited for.
    #[must_use]
    pub fn program_cost(&self, image: &str, interval: Interval) -> Cost {
        let Some(path) = &self.path else { return self.cost(vec![interval]) };
        path.cost(&self.clip_to_main_path(&[interval]), |step| {
            step.pids.iter().any(|&pid| {
                let step_image = self.images.image_at(pid, step.interval.1);
                step_image.is_some_and(|step_image| step_image.eq_ignore_ascii_case(image))
            })
        })
    }

    /// Cost of a service start: its process, what that waited for, and the creation of its host process.
    #[must_use]
    pub fn service_cost(&self, service: &Unit) -> Cost {
        let end = service.end_ns.unwrap_or(self.trace.duration_ns);
        let intervals = vec![(service.start_ns, end)];
        let (Some(path), Some(pid)) = (&self.path, service.pid) else { return self.cost(intervals) };
        let host_started_ns = service.checkpoint_ns.unwrap_or(service.start_ns);
        path.cost(&self.clip_to_main_path(&intervals), |step| {
            step.pids.contains(&pid)
                || (step.interval.1 <= host_started_ns
                    && step.pid.is_some_and(|pid| {
                        let image = self.images.image_at(pid, step.interval.1);
                        image.is_some_and(|image| image.eq_ignore_ascii_case("services.exe"))
                    }))
        })
    }

    /// Describes what the critical path contained during a service start: the service's own work, or what it waited
    /// for.
    #[must_use]
    pub fn service_activity(&self, service: &Unit) -> Vec<String> {
        let (Some(path), Some(pid), Some(end)) = (&self.path, service.pid, service.end_ns) else { return Vec::new() };
        path.activity((service.start_ns, end), |step| step.pids.contains(&pid))
            .into_iter()
            .filter(|activity| activity.ns >= thresholds::NOISE_NS)
            .take(2)
            .map(|activity| {
                let image = activity.pid.and_then(|pid| self.images.image_at(pid, end)).unwrap_or("a process");
                let verb = match activity.kind {
                    StepKind::Cpu => "used the CPU for",
                    StepKind::Ready => "was ready without a free CPU for",
                    StepKind::Disk => "waited for the disk for",
                    StepKind::Timer if activity.is_sleep => "slept for",
                    StepKind::Timer => "waited for a timer for",
                    StepKind::Device => "waited for a device for",
                    StepKind::ServiceDependency => "waited for a service for",
                    StepKind::Other => "waited for something unknown for",
                };
                format!("meanwhile the boot waited for {image}, which {verb} {}", time(activity.ns))
            })
            .collect()
    }

    /// Cost of a process within `window`, at most `at_most_ns`: its own time on the critical path plus the ready time
    /// of others.
    #[must_use]
    pub fn process_cost(&self, pid: Option<u32>, window: Interval, at_most_ns: i64) -> Cost {
        self.processes_cost(pid.as_slice(), window, &[StepKind::Ready], at_most_ns)
    }

    /// Cost of processes within `window`, at most `at_most_ns`: their own time on the critical path plus the time of
    /// others in steps of these kinds.
    #[must_use]
    pub fn processes_cost(&self, pids: &[u32], window: Interval, contended: &[StepKind], at_most_ns: i64) -> Cost {
        let Some(path) = &self.path else { return Cost::at_most(at_most_ns) };
        let is_target = |step: &Step| step.pid.is_some_and(|pid| pids.contains(&pid));
        let own_ns = path.time(window, |step| is_target(step) && step.kind != StepKind::Timer);
        let others_ns =
            path.time(window, |step| !is_target(step) && (step.is_unknown || contended.contains(&step.kind)));
        if others_ns < thresholds::NOISE_NS {
            Cost::on_path(own_ns.min(at_most_ns))
        } else {
            Cost::at_most(own_ns.saturating_add(others_ns).min(at_most_ns))
        }
    }

    /// Clips the intervals to the main path.
    fn clip_to_main_path(&self, intervals: &[Interval]) -> Vec<Interval> {
        let (path_start, path_end) = self.main_path();
        intervals.iter().map(|&(start, end)| (start.max(path_start), end.min(path_end))).collect()
    }

    /// CPU plus disk time of a process in the phases before the desktop, ns.
    #[must_use]
    pub fn main_path_usage_ns(&self, pid: u32) -> i64 {
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

    /// Checks that a provider was recorded.
    ///
    /// # Errors
    /// It was not recorded.
    pub fn require_provider(&self, provider: &str) -> Result<(), MissingInput> {
        check_provider(&self.report.missing_evidence, provider)
    }

    /// Checks that a kernel logger flag was on.
    ///
    /// # Errors
    /// It was not recorded.
    pub fn require_kernel_flag(&self, flag: &str) -> Result<(), MissingInput> {
        check_kernel_flag(&self.report.missing_evidence, flag)
    }

    /// Checks that CPU time per process was recorded.
    ///
    /// # Errors
    /// Neither context switches nor samples were recorded.
    pub fn require_cpu_times(&self) -> Result<(), MissingInput> {
        if self.report.phases.iter().any(|phase| phase.cpu.is_some()) {
            Ok(())
        } else {
            self.require_kernel_flag("CSWITCH")
        }
    }
}

impl LinuxBootFacts<'_> {
    /// Upper bound of what work in this interval cost the boot, from the kernel start until every job is done.
    #[must_use]
    pub fn cost(&self, interval: Interval) -> Cost {
        let end = self.report.phase(PhaseName::UserSpace).and_then(|phase| phase.end_ns);
        Cost::at_most(covered_ns(vec![interval], (0, end.unwrap_or(i64::MAX))))
    }
}

impl<'a> ShutdownFacts<'a> {
    #[must_use]
    pub fn new(trace: &'a Trace, report: &'a ShutdownReport) -> Self {
        Self { trace, report, images: Images::new(trace) }
    }

    /// From the start to the end of the shutdown, or of the recording.
    #[must_use]
    pub fn window(&self) -> Interval {
        let start = self.report.details.starts.time_ns.unwrap_or(0);
        let end = self.report.details.ends.time_ns.unwrap_or(self.trace.duration_ns);
        (start, end)
    }

    /// Cost of work in this interval. A shutdown waits for every response, so while no other response is pending, all
    /// of the time counts.
    #[must_use]
    pub fn cost(&self, interval: Interval) -> Cost {
        let window = self.window();
        let total_ns = covered_ns(vec![interval], window);
        let others: Vec<Interval> = self
            .pending()
            .into_iter()
            // A program that never responded ends later here than at its timeout.
            .filter(|pending| pending.0 != interval.0)
            .map(|(start, end)| (start.max(interval.0), end.min(interval.1)))
            .collect();
        let alone_ns = total_ns.saturating_sub(covered_ns(others, window));
        if total_ns.saturating_sub(alone_ns) < thresholds::NOISE_NS {
            Cost::on_path(alone_ns)
        } else {
            Cost::at_most(total_ns)
        }
    }

    /// Intervals of all notified programs, services and scripts, without those that wait for others.
    fn pending(&self) -> Vec<Interval> {
        let effective_end = |end: Option<i64>| end.unwrap_or(self.trace.duration_ns);
        let report = self.report;
        let applications = report
            .details
            .sessions
            .iter()
            .flat_map(|session| &session.applications)
            .filter(|application| !waits_for_others(&application.name))
            .map(|application| (application.start_ns, effective_end(application.end_ns)));
        let services = report.units.iter().map(|service| (service.start_ns, effective_end(service.end_ns)));
        let scripts = report.details.scripts.iter().map(|script| (script.start_ns, effective_end(script.end_ns)));
        applications.chain(services).chain(scripts).collect()
    }

    /// Checks that a provider was recorded.
    ///
    /// # Errors
    /// It was not recorded.
    pub fn require_provider(&self, provider: &str) -> Result<(), MissingInput> {
        check_provider(&self.report.missing_evidence, provider)
    }

    /// Checks that a kernel logger flag was on.
    ///
    /// # Errors
    /// It was not recorded.
    pub fn require_kernel_flag(&self, flag: &str) -> Result<(), MissingInput> {
        check_kernel_flag(&self.report.missing_evidence, flag)
    }
}

/// True for system processes that respond to a shutdown notification only after others have responded.
pub(crate) fn waits_for_others(image: &str) -> bool {
    ["services.exe", "csrss.exe", "winlogon.exe", "wininit.exe"].iter().any(|name| name.eq_ignore_ascii_case(image))
}

impl SuspendFacts<'_> {
    /// Checks that power events of applications, services and devices were recorded.
    ///
    /// # Errors
    /// They were not recorded.
    pub fn require_power_events(&self) -> Result<(), MissingInput> {
        check_provider(self.missing_evidence, "Microsoft-Windows-Kernel-Power")
    }

    /// The resume of a transition.
    #[must_use]
    pub fn resume(transition: &PowerTransition) -> Option<Interval> {
        let resume = &transition.details.resume.measured;
        Some((resume.start_ns?, resume.end_ns?))
    }
}

fn check_provider(missing: &MissingEvidence, provider: &str) -> Result<(), MissingInput> {
    check_recorded(missing, |item| item.provider == provider)
}

fn check_kernel_flag(missing: &MissingEvidence, flag: &str) -> Result<(), MissingInput> {
    check_recorded(missing, |item| item.kernel_flags.iter().any(|missing_flag| missing_flag == flag))
}

fn check_recorded(missing: &MissingEvidence, is_required: impl Fn(&MissingSource) -> bool) -> Result<(), MissingInput> {
    let items: Vec<MissingSource> = missing.items.iter().filter(|item| is_required(item)).cloned().collect();
    if items.is_empty() { Ok(()) } else { Err(MissingInput { missing_evidence: items, needs: "" }) }
}

/// Input for a rule that no transition report covers: kernel logger flags.
#[must_use]
pub fn missing_kernel_flags(unknown: UnknownFact, flags: &[&str]) -> MissingInput {
    MissingInput { missing_evidence: vec![MissingSource::from_kernel_logger(unknown, flags)], needs: "" }
}

/// Input for a rule that is not in any event, as a clause.
#[must_use]
pub fn missing_input(needs: &'static str) -> MissingInput {
    MissingInput { missing_evidence: Vec::new(), needs }
}

/// Checks that interrupts and deferred procedure calls were recorded.
///
/// # Errors
/// They were not recorded.
pub fn require_interrupts(trace: &Trace) -> Result<(), MissingInput> {
    if trace.interrupts.is_empty() && trace.requested_tables.contains(TableName::Interrupts) {
        return Err(missing_kernel_flags(UnknownFact::DeferredProcedureCalls, &["DPC", "INTERRUPT"]));
    }
    Ok(())
}
