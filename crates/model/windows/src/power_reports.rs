//! Reads reports of `powercfg` into the tables of the model.
//!
//! The axis starts with the first session. Each sleep gets the milestones that a trace of it would have, so all analyses
//! of sleeps apply; the table of sessions adds what only reports have.

use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_power_report::{BlockerKind, Report, ReportKind, RequestKind, Session, SessionKind};
use onoff_trace::{
    AbsenceOutcome, AvailabilityRequest, AvailabilityRequestKind, Clock, Losses, LowPowerBlocker, LowPowerBlockerKind,
    Milestone, PowerSession, PowerSessionKind, PowerSource, RecordingFile, StringId, SystemKind, TableName, TableSet,
    Trace, UserAbsence, counters, milestone, windows_release,
};

use super::texts::Texts;

counters! {
    SESSIONS_UNREADABLE = "power_sessions_unreadable", Warning, [Milestones, PowerSessions],
        "Sessions of power reports without a time or a duration. They are missing.";
    STATES_UNKNOWN = "power_session_states_unknown", Warning, [Milestones],
        "Sessions of power reports whose state is not known, because the page is not in English, or Windows did not \
         know it or did not enter it. Sleeps among them are missing.";
    ABSENCES_UNREADABLE = "user_absences_unreadable", Warning, [UserAbsences, AvailabilityRequests],
        "Intervals without a user, or requests in them, without a time or a duration. They are missing.";
    ABSENCES_UNKNOWN = "user_absence_outcomes_unknown", Notice, [UserAbsences],
        "Intervals without a user for which the report has a state that is not known. Whether the computer stayed on in \
         them is not known.";
}

/// Tolerated overlap of sessions of two reports, ns. The reports round to seconds, each in its own way.
const OVERLAP_TOLERANCE_NS: i64 = 5_000_000_000;

/// `SYSTEM_POWER_STATE` values.
const S3: i64 = 4;
const HIBERNATE: i64 = 5;
const OFF: i64 = 6;

/// Reads one or several reports; sessions that several reports contain are read once, from the report with the most
/// details.
///
/// # Errors
/// A file that is not a power report, or is damaged.
pub fn open(files: &Files, wanted: TableSet) -> Result<Trace, Error> {
    let mut losses = Losses::new();
    let mut trace = Trace { recorder: "powercfg".to_owned(), requested_tables: wanted, ..Trace::default() };
    trace.system.kind = SystemKind::Windows;
    let mut sessions: Vec<(ReportKind, Session)> = Vec::new();
    let mut absences: Vec<onoff_power_report::UserAbsence> = Vec::new();
    let mut requests: Vec<onoff_power_report::AvailabilityRequest> = Vec::new();
    let mut newest: Option<Report> = None;
    for file in files.iter() {
        let mut report = onoff_power_report::read(file.bytes())
            .map_err(|source| Error::PowerReport { name: file.name().to_owned(), source })?;
        losses.add(&SESSIONS_UNREADABLE, report.unreadable_sessions);
        losses.add(&ABSENCES_UNREADABLE, report.unreadable_absences);
        trace.files.push(RecordingFile {
            name: file.name().to_owned(),
            content: report_name(report.kind),
            bytes: file.stored_bytes(),
            compressed: false,
            finished: true,
        });
        let kind = report.kind;
        absences.append(&mut report.absences);
        requests.append(&mut report.requests);
        sessions.extend(std::mem::take(&mut report.sessions).into_iter().map(|session| (kind, session)));
        if newest.as_ref().is_none_or(|newest| newest.created_unix_ns <= report.created_unix_ns) {
            newest = Some(report);
        }
    }
    let sessions = without_duplicates(sessions);
    let unknown = sessions.iter().filter(|(_, session)| session.kind == SessionKind::Unknown).count();
    losses.add(&STATES_UNKNOWN, unknown as u64);
    // Several reports may contain the same interval.
    absences.sort_by_key(|absence| (absence.start_unix_ns, absence.duration_ns));
    absences.dedup();
    let unknown = absences.iter().filter(|absence| absence_outcome(absence.outcome) == AbsenceOutcome::Unknown).count();
    losses.add(&ABSENCES_UNKNOWN, unknown as u64);
    requests.sort_by(|a, b| {
        let key = |request: &onoff_power_report::AvailabilityRequest| (request.start_unix_ns, request.duration_ns);
        key(a).cmp(&key(b)).then_with(|| a.requester.cmp(&b.requester)).then((a.kind as u8).cmp(&(b.kind as u8)))
    });
    requests.dedup();
    let starts = sessions.iter().map(|(_, session)| session.start_unix_ns);
    let starts = starts.chain(absences.iter().map(|absence| absence.start_unix_ns));
    let start_unix_ns = starts.chain(requests.iter().map(|request| request.start_unix_ns)).min();
    describe(&newest.unwrap_or_default(), start_unix_ns, &mut trace);
    let mut tables = Tables::new(start_unix_ns.unwrap_or(0));
    tables.add_absences(&absences, &requests, &mut trace);
    tables.fill(&sessions, &mut trace);
    trace.losses.merge(losses);
    Ok(trace)
}

const fn report_name(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::SleepDiagnostics => "system sleep diagnostics",
        ReportKind::Battery => "battery report",
        _ => "sleep study",
    }
}

/// Returns the sessions by start. A session that overlaps one of a report with more details is dropped.
fn without_duplicates(sessions: Vec<(ReportKind, Session)>) -> Vec<(ReportKind, Session)> {
    let key = |session: &Session| (session.start_unix_ns, session.kind as u8, session.duration_ns);
    let mut kept: Vec<(ReportKind, Session)> = Vec::new();
    for report in [ReportKind::SleepStudy, ReportKind::SleepDiagnostics, ReportKind::Battery] {
        kept.sort_by_key(|(_, session)| key(session));
        // Start of each kept session, with the latest end up to there.
        let mut latest_ns = i64::MIN;
        let covered: Vec<(i64, i64)> = kept
            .iter()
            .map(|(_, session)| {
                latest_ns = latest_ns.max(session.start_unix_ns.saturating_add(session.duration_ns));
                (session.start_unix_ns, latest_ns)
            })
            .collect();
        let is_covered = |session: &Session| {
            let end_ns = session.start_unix_ns.saturating_add(session.duration_ns);
            let last_start_ns = end_ns.saturating_sub(OVERLAP_TOLERANCE_NS);
            let before = covered.partition_point(|&(start_ns, _)| start_ns < last_start_ns);
            let latest_ns = before.checked_sub(1).and_then(|index| covered.get(index)).map(|&(_, end_ns)| end_ns);
            latest_ns.is_some_and(|end_ns| end_ns > session.start_unix_ns.saturating_add(OVERLAP_TOLERANCE_NS))
        };
        let new = sessions.iter().filter(|(kind, session)| *kind == report && !is_covered(session));
        kept.extend(new.cloned());
    }
    kept.sort_by_key(|(_, session)| key(session));
    kept.dedup_by_key(|(_, session)| key(session));
    kept
}

/// Sets the system and the clock.
fn describe(report: &Report, start_unix_ns: Option<i64>, trace: &mut Trace) {
    let build = [&report.os_version, &report.os_build];
    let number = |text: &String| text.split('.').next()?.parse().ok();
    trace.system.os_build = build.into_iter().find_map(number).unwrap_or(0);
    trace.system.os = windows_release(trace.system.os_build, "");
    trace.system.os_build_text.clone_from(&report.os_build);
    trace.system.computer.clone_from(&report.computer);
    trace.system.model.clone_from(&report.model);
    trace.system.firmware.clone_from(&report.firmware);
    trace.clock = Clock {
        start_unix_ns: start_unix_ns.filter(|_| !report.is_local_time),
        utc_bias_minutes: report.utc_offset_minutes.and_then(i32::checked_neg),
        source: "wall clock",
        ticks_per_second: 1_000_000,
    };
}

struct Tables {
    start_unix_ns: i64,
    texts: Texts,
    milestones: Vec<Milestone>,
    end_ns: i64,
}

impl Tables {
    fn new(start_unix_ns: i64) -> Self {
        Self { start_unix_ns, texts: Texts::default(), milestones: Vec::new(), end_ns: 0 }
    }

    /// Returns the interval on the axis.
    fn interval(&mut self, start_unix_ns: i64, duration_ns: i64) -> (i64, i64) {
        let start_ns = start_unix_ns.saturating_sub(self.start_unix_ns);
        let end_ns = start_ns.saturating_add(duration_ns);
        self.end_ns = self.end_ns.max(end_ns);
        (start_ns, end_ns)
    }

    fn add_absences(
        &mut self,
        absences: &[onoff_power_report::UserAbsence],
        requests: &[onoff_power_report::AvailabilityRequest],
        trace: &mut Trace,
    ) {
        let wants_absences = trace.requested_tables.contains(TableName::UserAbsences);
        for absence in absences {
            let (start_ns, end_ns) = self.interval(absence.start_unix_ns, absence.duration_ns);
            if wants_absences {
                let outcome = absence_outcome(absence.outcome);
                trace.user_absences.push(UserAbsence { outcome, start_ns, end_ns });
            }
        }
        if !trace.requested_tables.contains(TableName::AvailabilityRequests) {
            return;
        }
        for request in requests {
            let (start_ns, end_ns) = self.interval(request.start_unix_ns, request.duration_ns);
            let kind = match request.kind {
                RequestKind::Display => AvailabilityRequestKind::Display,
                RequestKind::System => AvailabilityRequestKind::System,
                RequestKind::Execution => AvailabilityRequestKind::Execution,
                _ => AvailabilityRequestKind::Other,
            };
            let requester = self.texts.str(&request.requester);
            trace.availability_requests.push(AvailabilityRequest { kind, requester, start_ns, end_ns });
        }
    }

    fn fill(mut self, sessions: &[(ReportKind, Session)], trace: &mut Trace) {
        let wants = |table| trace.requested_tables.contains(table);
        let (wants_sessions, wants_blockers) = (wants(TableName::PowerSessions), wants(TableName::LowPowerBlockers));
        for (report, session) in sessions {
            let (start_ns, end_ns) = self.interval(session.start_unix_ns, session.duration_ns);
            self.push_milestones(*report, session, start_ns, end_ns);
            if wants_sessions {
                trace.power_sessions.push(PowerSession {
                    kind: session_kind(session.kind),
                    start_ns,
                    end_ns,
                    enter_reason: self.texts.str(&session.enter_reason),
                    exit_reason: self.texts.str(&session.exit_reason),
                    power_source: match session.on_external_power {
                        Some(true) => PowerSource::External,
                        Some(false) => PowerSource::Battery,
                        None => PowerSource::Unknown,
                    },
                    start_capacity_mwh: session.start_capacity_mwh,
                    end_capacity_mwh: session.end_capacity_mwh,
                    full_capacity_mwh: session.full_capacity_mwh,
                });
            }
            if wants_blockers {
                let mut blockers: Vec<_> = session.blockers.iter().collect();
                blockers.sort_by_key(|blocker| std::cmp::Reverse(blocker.active_ns));
                for blocker in blockers {
                    trace.low_power_blockers.push(LowPowerBlocker {
                        kind: blocker_kind(blocker.kind),
                        session_start_ns: start_ns,
                        name: self.texts.str(&blocker.name),
                        active_ns: blocker.active_ns,
                    });
                }
            }
        }
        trace.duration_ns = self.end_ns;
        if wants(TableName::Milestones) {
            self.milestones.sort_by_key(|row| row.time_ns);
            trace.milestones = self.milestones.into_iter().collect();
        }
        trace.strings = self.texts.pool;
    }

    /// Adds the milestones of a sleep; other sessions have none.
    fn push_milestones(&mut self, report: ReportKind, session: &Session, start_ns: i64, end_ns: i64) {
        let event = self.texts.display(format_args!("{} session {}", report_name(report), session.number));
        let mut add = |time_ns: i64, name: &str, value: Option<i64>, detail: &str| {
            let (name, detail): (StringId, StringId) = (self.texts.str(name), self.texts.str(detail));
            self.milestones.push(Milestone { time_ns, name, value, detail, event, ..Milestone::UNKNOWN });
        };
        if session.kind == SessionKind::ModernStandby {
            add(start_ns, milestone::STANDBY_ENTER, None, &session.enter_reason);
            add(end_ns, milestone::STANDBY_EXIT, None, &session.exit_reason);
            for (name, value) in [
                (milestone::STANDBY_TIME, Some(session.duration_ns)),
                (milestone::STANDBY_DEEPEST_TIME, session.deepest_ns),
                (milestone::STANDBY_HARDWARE_TIME, session.hardware_ns),
                (milestone::STANDBY_EXIT_TIME, session.exit_latency_ns),
            ] {
                if value.is_some() {
                    add(end_ns, name, value, "");
                }
            }
            return;
        }
        let states = match session.kind {
            SessionKind::Sleep => Some((S3, S3)),
            SessionKind::HybridSleep => Some((S3, HIBERNATE)),
            SessionKind::Hibernate => Some((HIBERNATE, HIBERNATE)),
            SessionKind::HybridShutdown => Some((OFF, HIBERNATE)),
            SessionKind::Suspended => None,
            _ => return,
        };
        let target = session.target_state.or(states.map(|(target, _)| target));
        // A report with only the requested state says nothing about the state that devices were prepared for.
        let implied = states.filter(|_| session.target_state.is_none()).map(|(_, effective)| effective);
        let effective = session.effective_state.or(implied);
        let times = &session.kernel_times;
        let ns = |ms: Option<i64>| ms.and_then(|ms| ms.checked_mul(1_000_000));
        // The session ends with the resume.
        let resume_ns = ns(times.resume_ms).filter(|&ns| ns <= session.duration_ns);
        let wake_ns = end_ns.saturating_sub(resume_ns.unwrap_or(0));
        let number = |state: Option<i64>| state.map(|state| state.to_string()).unwrap_or_default();
        add(start_ns, milestone::SLEEP, target, &number(effective));
        let woke_from = match (session.kind, target, effective) {
            (SessionKind::HybridSleep, target, _) | (_, target, None) => target,
            (_, target, effective) => target.min(effective),
        };
        add(wake_ns, milestone::WAKE, woke_from, &number(target));
        if !session.wake_source.is_empty() {
            add(wake_ns, milestone::WAKE_SOURCE, None, &session.wake_source);
        }
        for (name, value) in [
            (milestone::POWER_SUSPEND_TIME, ns(times.suspend_ms)),
            (milestone::POWER_RESUME_TIME, resume_ns),
            (milestone::POWER_DRIVER_WAKE_TIME, ns(times.driver_wake_ms)),
            (milestone::POWER_FIRMWARE_TIME, ns(times.firmware_ms).filter(|&ns| ns > 0)),
            (milestone::POWER_HIBERNATE_WRITE_TIME, ns(times.hibernate_write_ms)),
            (milestone::POWER_HIBERNATE_READ_TIME, ns(times.hibernate_read_ms)),
            (milestone::POWER_HIBERNATE_PAGES, times.hibernate_pages),
        ] {
            if value.is_some() {
                add(end_ns, name, value, "");
            }
        }
    }
}

const fn absence_outcome(outcome: onoff_power_report::AbsenceOutcome) -> AbsenceOutcome {
    match outcome {
        onoff_power_report::AbsenceOutcome::StayedOn => AbsenceOutcome::StayedOn,
        onoff_power_report::AbsenceOutcome::Slept => AbsenceOutcome::Slept,
        _ => AbsenceOutcome::Unknown,
    }
}

const fn session_kind(kind: SessionKind) -> PowerSessionKind {
    match kind {
        SessionKind::Active => PowerSessionKind::Active,
        SessionKind::ScreenOff => PowerSessionKind::ScreenOff,
        SessionKind::ModernStandby => PowerSessionKind::ModernStandby,
        SessionKind::Sleep => PowerSessionKind::Sleep,
        SessionKind::HybridSleep => PowerSessionKind::HybridSleep,
        SessionKind::Hibernate => PowerSessionKind::Hibernate,
        SessionKind::Suspended => PowerSessionKind::Suspended,
        SessionKind::HybridShutdown => PowerSessionKind::HybridShutdown,
        SessionKind::Shutdown => PowerSessionKind::Shutdown,
        SessionKind::AbnormalShutdown => PowerSessionKind::AbnormalShutdown,
        SessionKind::Crash => PowerSessionKind::Crash,
        _ => PowerSessionKind::Unknown,
    }
}

const fn blocker_kind(kind: BlockerKind) -> LowPowerBlockerKind {
    match kind {
        BlockerKind::Activator => LowPowerBlockerKind::Activator,
        BlockerKind::Device => LowPowerBlockerKind::Device,
        BlockerKind::Phase => LowPowerBlockerKind::Phase,
        BlockerKind::Processor => LowPowerBlockerKind::Processor,
        BlockerKind::PlatformVeto => LowPowerBlockerKind::PlatformVeto,
        BlockerKind::SocSubsystem => LowPowerBlockerKind::SocSubsystem,
        _ => LowPowerBlockerKind::Other,
    }
}
