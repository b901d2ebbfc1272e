//! Reads reports of `powercfg` into the tables of the model.
//!
//! The axis starts with the first session. Each sleep gets the milestones that a trace of it would have, so all analyses
//! of sleeps apply; the table of sessions adds what only reports have.

use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_power_report::{BlockerKind, Report, Session, SessionKind};
use onoff_trace::{
    Clock, Losses, LowPowerBlocker, LowPowerBlockerKind, Milestone, PowerSession, PowerSessionKind, PowerSource,
    RecordingFile, StringId, SystemKind, TableName, TableSet, Trace, counters, milestone, windows_release,
};

use super::texts::Texts;

counters! {
    SESSIONS_UNREADABLE = "power_sessions_unreadable", Warning, [Milestones, PowerSessions],
        "Sessions of power reports without a time or a duration. They are missing.";
}

/// `SYSTEM_POWER_STATE` values.
const S3: i64 = 4;
const HIBERNATE: i64 = 5;
const OFF: i64 = 6;

/// Reads one or several reports; sessions that several reports contain are read once.
///
/// # Errors
/// A file that is not a power report, or is damaged.
pub fn open(files: &Files, wanted: TableSet) -> Result<Trace, Error> {
    let mut losses = Losses::new();
    let mut trace = Trace { recorder: "powercfg".to_owned(), requested_tables: wanted, ..Trace::default() };
    trace.system.kind = SystemKind::Windows;
    let mut sessions: Vec<Session> = Vec::new();
    let mut newest: Option<Report> = None;
    for file in files.iter() {
        let mut report = onoff_power_report::read(file.bytes())
            .map_err(|source| Error::PowerReport { name: file.name().to_owned(), source })?;
        losses.add(&SESSIONS_UNREADABLE, report.unreadable_sessions);
        trace.files.push(RecordingFile {
            name: file.name().to_owned(),
            content: "sleep study",
            bytes: file.stored_bytes(),
            compressed: false,
            finished: true,
        });
        sessions.append(&mut report.sessions);
        if newest.as_ref().is_none_or(|newest| newest.created_unix_ns <= report.created_unix_ns) {
            newest = Some(report);
        }
    }
    sessions.sort_by_key(|session| (session.start_unix_ns, session.kind as u8, session.duration_ns));
    sessions.dedup_by_key(|session| (session.start_unix_ns, session.kind as u8, session.duration_ns));
    let start_unix_ns = sessions.first().map(|session| session.start_unix_ns);
    describe(&newest.unwrap_or_default(), start_unix_ns, &mut trace);
    Tables::new(start_unix_ns.unwrap_or(0)).fill(&sessions, &mut trace);
    trace.losses.merge(losses);
    Ok(trace)
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

    fn fill(mut self, sessions: &[Session], trace: &mut Trace) {
        let wants = |table| trace.requested_tables.contains(table);
        let (wants_sessions, wants_blockers) = (wants(TableName::PowerSessions), wants(TableName::LowPowerBlockers));
        for session in sessions {
            let start_ns = session.start_unix_ns.saturating_sub(self.start_unix_ns);
            let end_ns = start_ns.saturating_add(session.duration_ns);
            self.end_ns = self.end_ns.max(end_ns);
            self.push_milestones(session, start_ns, end_ns);
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
    fn push_milestones(&mut self, session: &Session, start_ns: i64, end_ns: i64) {
        let event = self.texts.display(format_args!("sleep study session {}", session.number));
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
        let (target, effective) = match session.kind {
            SessionKind::Sleep => (S3, S3),
            SessionKind::HybridSleep => (S3, HIBERNATE),
            SessionKind::Hibernate => (HIBERNATE, HIBERNATE),
            SessionKind::HybridShutdown => (OFF, HIBERNATE),
            _ => return,
        };
        let target = session.target_state.unwrap_or(target);
        let effective = session.effective_state.unwrap_or(effective);
        let times = &session.kernel_times;
        let ns = |ms: Option<i64>| ms.and_then(|ms| ms.checked_mul(1_000_000));
        // The session ends with the resume.
        let resume_ns = ns(times.resume_ms).filter(|&ns| ns <= session.duration_ns);
        let wake_ns = end_ns.saturating_sub(resume_ns.unwrap_or(0));
        add(start_ns, milestone::SLEEP, Some(target), &effective.to_string());
        let woke_from = if session.kind == SessionKind::HybridSleep { target } else { target.min(effective) };
        add(wake_ns, milestone::WAKE, Some(woke_from), &target.to_string());
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

const fn session_kind(kind: SessionKind) -> PowerSessionKind {
    match kind {
        SessionKind::Active => PowerSessionKind::Active,
        SessionKind::ScreenOff => PowerSessionKind::ScreenOff,
        SessionKind::ModernStandby => PowerSessionKind::ModernStandby,
        SessionKind::Sleep => PowerSessionKind::Sleep,
        SessionKind::HybridSleep => PowerSessionKind::HybridSleep,
        SessionKind::Hibernate => PowerSessionKind::Hibernate,
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
