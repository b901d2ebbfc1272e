//! Pages of Windows 11 24H2 and later: the data is an object inside the page.

use serde_json::Value;

use crate::fields::{from_ticks, from_us, text_or_empty, utc_ns};
use crate::{
    Blocker, BlockerKind, Error, KernelTimes, MAX_BLOCKERS, MAX_SESSIONS, Report, Session, SessionKind, literal,
};

/// `SESSION_TYPE_NAMES` of the page, by number.
const SESSION_KINDS: [SessionKind; 11] = [
    SessionKind::Active,
    SessionKind::ScreenOff,
    SessionKind::ModernStandby,
    SessionKind::Sleep,
    SessionKind::HybridSleep,
    SessionKind::Hibernate,
    SessionKind::HybridShutdown,
    SessionKind::Shutdown,
    SessionKind::Unknown,
    SessionKind::AbnormalShutdown,
    SessionKind::Crash,
];

/// The session that marks the moment of the report.
const REPORT_GENERATED: i64 = 11;

/// `BLOCKER_TYPE_NAMES` of the page, by number.
const BLOCKER_KINDS: [BlockerKind; 8] = [
    BlockerKind::Activator,
    BlockerKind::Device,
    BlockerKind::Phase,
    BlockerKind::Other,
    BlockerKind::Processor,
    BlockerKind::Other,
    BlockerKind::PlatformVeto,
    BlockerKind::SocSubsystem,
];

/// Reads the object at the byte offset `start` of the page.
pub(crate) fn read(page: &str, start: usize) -> Result<Report, Error> {
    let json = literal::to_json(page.get(start..).unwrap_or_default())
        .map_err(|offset| Error::Damaged { offset: start.saturating_add(offset) })?;
    let data: Value = serde_json::from_str(&json).map_err(|_| Error::Damaged { offset: start })?;
    let (information, system) = (&data["ReportInformation"], &data["SystemInformation"]);
    let model = format!("{} {}", text(system, "SystemManufacturer"), text(system, "SystemProductName"));
    let mut report = Report {
        created_unix_ns: time(information, "ScanTime"),
        utc_offset_minutes: number(information, "UtcOffset").and_then(|minutes| i32::try_from(minutes).ok()),
        computer: text(system, "ComputerName"),
        model: model.trim().to_owned(),
        firmware: text(system, "BIOSVersion"),
        os_version: text(system, "OSVer"),
        os_build: text(system, "OSBuild"),
        modern_standby: system["ConnectedStandby"].as_bool(),
        ..Report::default()
    };
    for value in data["ScenarioInstances"].as_array().into_iter().flatten() {
        if number(value, "Type") == Some(REPORT_GENERATED) {
            continue;
        }
        match session(value) {
            Some(session) if report.sessions.len() < MAX_SESSIONS => report.sessions.push(session),
            _ => report.unreadable_sessions += 1,
        }
    }
    Ok(report)
}

fn session(value: &Value) -> Option<Session> {
    let kind = number(value, "Type").and_then(|kind| SESSION_KINDS.get(usize::try_from(kind).ok()?));
    let kind = kind.copied().unwrap_or(SessionKind::Unknown);
    let mut session = Session::new(kind, time(value, "EntryTimestamp")?, number(value, "Duration").and_then(from_us)?);
    session.number = number(value, "SessionId").and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
    session.enter_reason = text(value, "EnterReason");
    session.exit_reason = text(value, "ExitReason");
    session.on_external_power = value["OnAc"].as_bool();
    // Without a battery, all capacities are 0. If batteries were changed, the capacities cannot be compared.
    if number(value, "EntryFullChargeCapacity").is_some_and(|full| full > 0)
        && value["BatteryCountChanged"].as_bool() != Some(true)
    {
        session.full_capacity_mwh = number(value, "EntryFullChargeCapacity");
        session.start_capacity_mwh = capacity(value, "EntryRemainingCapacity");
        session.end_capacity_mwh = capacity(value, "ExitRemainingCapacity");
    }
    let details = value["Metadata"]["Values"].as_array();
    let detail = |key: &str| {
        let item = details?.iter().find(|item| item["Key"].as_str() == Some(key))?;
        item.get("Value")
    };
    let detail_number = |key: &str| detail(key).and_then(Value::as_i64);
    session.deepest_ns = detail_number("Info.SwLowPowerStateTime").and_then(from_ticks);
    session.hardware_ns = detail_number("Info.HwLowPowerStateTime").and_then(from_ticks);
    session.exit_latency_ns =
        detail_number("MSExitPerformance.TotalInMs").filter(|&ms| ms > 0).and_then(|ms| ms.checked_mul(1_000_000));
    session.target_state = detail_number("EventLog.TargetState");
    session.effective_state = detail_number("EventLog.EffectiveState");
    session.wake_source = ["EventLog.WakeSourceFriendlyName", "EventLog.WakeSourceClassName"]
        .into_iter()
        .filter_map(|key| Some(text_or_empty(detail(key)?.as_str()?)))
        .find(|name| !name.is_empty())
        .unwrap_or_default();
    session.kernel_times = KernelTimes::from_fields(|name| detail_number(&format!("EventLog.{name}")));
    let blockers = value["TopBlockers"].as_array();
    session.blockers = blockers.into_iter().flatten().take(MAX_BLOCKERS).filter_map(blocker).collect();
    Some(session)
}

impl KernelTimes {
    /// Collects the times from the fields of the event.
    pub(crate) fn from_fields(field: impl Fn(&str) -> Option<i64>) -> Self {
        let time = |name: &str| field(name).filter(|&ms| ms >= 0);
        Self {
            suspend_ms: time("SleepDuration"),
            resume_ms: time("WakeDuration"),
            driver_wake_ms: time("DriverInitDuration"),
            firmware_ms: time("BiosInitDuration"),
            hibernate_write_ms: time("HiberWriteDuration"),
            hibernate_read_ms: time("HiberReadDuration"),
            hibernate_pages: time("HiberPagesWritten"),
        }
    }
}

fn blocker(value: &Value) -> Option<Blocker> {
    let kind = number(value, "Type").and_then(|kind| BLOCKER_KINDS.get(usize::try_from(kind).ok()?));
    Some(Blocker {
        name: text(value, "Name"),
        kind: kind.copied().unwrap_or(BlockerKind::Other),
        active_ns: number(value, "ActiveTime").and_then(from_us)?,
    })
}

fn number(value: &Value, key: &str) -> Option<i64> {
    value.get(key)?.as_i64()
}

/// Returns a remaining capacity. 0 stands for a capacity that was not read: such a computer would be off.
fn capacity(value: &Value, key: &str) -> Option<i64> {
    number(value, key).filter(|&mwh| mwh > 0)
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).map(text_or_empty).unwrap_or_default()
}

fn time(value: &Value, key: &str) -> Option<i64> {
    utc_ns(value.get(key)?.as_str()?)
}
