//! What rules look at: a transition's analysis, the recording, and what of its time was on the path.

use onoff_analysis::lacking::{Lacking, LackingItem};
use onoff_analysis::processes::Images;
use onoff_analysis::services::Service;
use onoff_analysis::transition::boot::{BootReport, Phase, PhaseName};
use onoff_analysis::transition::shutdown::ShutdownReport;
use onoff_analysis::transition::suspend::{PowerTransition, SuspendReport};
use onoff_trace::{TableName, Trace};

use crate::cost::{Cost, Interval, covered};
use crate::rule::NotChecked;

/// A boot, as rules see it.
#[derive(Debug)]
pub struct BootFacts<'a> {
    /// The recording.
    pub trace: &'a Trace,
    /// Its analysis.
    pub report: &'a BootReport,
    /// Image file name of the user's shell.
    pub shell: &'a str,
    /// Who is who.
    pub images: Images<'a>,
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
    /// Their analysis.
    pub report: &'a SuspendReport,
}

impl<'a> BootFacts<'a> {
    /// The boot of `report`, which is that of `trace`.
    #[must_use]
    pub fn new(trace: &'a Trace, report: &'a BootReport, shell: &'a str) -> Self {
        Self {
            trace,
            report,
            shell,
            images: Images::of(trace),
        }
    }

    /// The main path, from the kernel's start to the desktop; up to the last known phase where there is no desktop.
    #[must_use]
    pub fn main_path(&self) -> Interval {
        let span = &self.report.main_path_boot;
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
    pub fn phase(&self, name: PhaseName) -> Option<(&'a Phase, Interval)> {
        let phase = self.report.phase(name)?;
        Some((phase, (phase.start_ns?, phase.end_ns?)))
    }

    /// PostBoot as far as it was recorded, with when that was.
    #[must_use]
    pub fn post_boot(&self) -> Option<(&'a Phase, Interval)> {
        let phase = self.report.phase(PhaseName::PostBoot)?;
        let end = phase.end_ns.unwrap_or(self.trace.duration_ns);
        Some((phase, (phase.start_ns?, end)))
    }

    /// What work in these intervals cost the main path.
    #[must_use]
    pub fn cost(&self, intervals: Vec<Interval>) -> Cost {
        Cost::at_most(covered(intervals, self.main_path()))
    }

    /// What the start of a service cost the main path.
    #[must_use]
    pub fn service_cost(&self, service: &Service) -> Cost {
        let end = service.end_ns.unwrap_or(self.trace.duration_ns);
        self.cost(vec![(service.start_ns, end)])
    }

    /// What a process cost the main path within `window`, where that may be `at_most_ns`.
    #[must_use]
    pub fn process_cost(&self, _pid: Option<u32>, _window: Interval, at_most_ns: i64) -> Cost {
        Cost::at_most(at_most_ns)
    }

    /// What processes cost the main path, where that may be `at_most_ns`.
    #[must_use]
    pub fn processes_cost(&self, _pids: Vec<u32>, at_most_ns: i64) -> Cost {
        Cost::at_most(at_most_ns)
    }

    /// Processor and disk time of a process in the phases before the desktop, ns.
    #[must_use]
    pub fn main_path_use(&self, pid: u32) -> i64 {
        let phases = || {
            self.report
                .phases
                .iter()
                .filter(|phase| phase.name < PhaseName::PostBoot)
        };
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
        if self.report.phases.iter().any(|phase| phase.cpu.is_some()) {
            Ok(())
        } else {
            self.needs_kernel("CSWITCH")
        }
    }
}

impl<'a> ShutdownFacts<'a> {
    /// The shutdown of `report`, which is that of `trace`.
    #[must_use]
    pub fn new(trace: &'a Trace, report: &'a ShutdownReport) -> Self {
        Self {
            trace,
            report,
            images: Images::of(trace),
        }
    }

    /// From its begin to its end, or to the recording's.
    #[must_use]
    pub fn window(&self) -> Interval {
        let start = self.report.starts.time_ns.unwrap_or(0);
        let end = self.report.ends.time_ns.unwrap_or(self.trace.duration_ns);
        (start, end)
    }

    /// What work in these intervals cost the shutdown.
    #[must_use]
    pub fn cost(&self, intervals: Vec<Interval>) -> Cost {
        Cost::at_most(covered(intervals, self.window()))
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

impl SuspendFacts<'_> {
    /// That the kernel told of applications, services and devices.
    ///
    /// # Errors
    /// It did not.
    pub fn needs_power(&self) -> Result<(), NotChecked> {
        provider_recorded(&self.report.lacking, "Microsoft-Windows-Kernel-Power")
    }

    /// The way up of a transition, ns.
    #[must_use]
    pub fn resume(transition: &PowerTransition) -> Option<Interval> {
        let span = &transition.resume.measured;
        Some((span.start_ns?, span.end_ns?))
    }
}

fn provider_recorded(lacking: &Lacking, provider: &str) -> Result<(), NotChecked> {
    missing(lacking, |item| item.provider == provider)
}

fn kernel_recorded(lacking: &Lacking, flag: &str) -> Result<(), NotChecked> {
    missing(lacking, |item| {
        item.provider.is_empty() && item.kernel_flags.iter().any(|one| one == flag)
    })
}

fn missing(lacking: &Lacking, is_asked: impl Fn(&LackingItem) -> bool) -> Result<(), NotChecked> {
    let lacking: Vec<LackingItem> = lacking
        .items
        .iter()
        .filter(|item| is_asked(item))
        .cloned()
        .collect();
    if lacking.is_empty() {
        Ok(())
    } else {
        Err(NotChecked { lacking })
    }
}

/// What a rule lacks that no question of a transition asks for: flags of the kernel's logger.
#[must_use]
pub fn lacks_kernel(question: &str, flags: &[&str]) -> NotChecked {
    NotChecked {
        lacking: vec![LackingItem {
            question: question.to_owned(),
            provider: String::new(),
            guid: String::new(),
            keyword: String::new(),
            level: 0,
            kernel_flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        }],
    }
}

/// What a rule lacks that no event tells.
#[must_use]
pub fn lacks_other(question: &str) -> NotChecked {
    lacks_kernel(question, &[])
}

/// That interrupts and deferred procedure calls were recorded.
///
/// # Errors
/// They were not.
pub fn needs_interrupts(trace: &Trace) -> Result<(), NotChecked> {
    if trace.interrupts.is_empty() && trace.wanted.contains(TableName::Interrupts) {
        return Err(lacks_kernel(
            "how long deferred procedure calls held the processors",
            &["DPC", "INTERRUPT"],
        ));
    }
    Ok(())
}
